"""The shapes of the files of a machine: what tables, figures and the report take for granted. They hold wherever such a
file is read, from a folder of ours or from a bundle."""

from respeed.model.paper import ARCHITECTURES
from respeed.records.layout import Kind
from respeed.records.shape import (
    Every,
    Maybe,
    OrNone,
    anything,
    either,
    flag,
    like,
    moment,
    name,
    number,
    numbers,
    one_of,
    pair_of,
    reason,
    scalar,
    text,
    whole,
)

SCHEMA, LEARNING_SCHEMA, SHEET_SCHEMA, SESSION_SCHEMA = 3, 1, 1, 1
# The shortest that a step may take.
LEAST_SECONDS = 1e-12
# Seconds of anything; three years.
_SECONDS = number(0, 1e8)
_POSITIVE = number(1e-12, 1e24)
# Of a picture, in dots.
_SIDE = 128
_COUNT = whole(0)
# Operations or bytes, of a step or in a second: a part of one would lie at the end of no axis.
_WORK = either(one_of(0), number(1, 1e24))
_DIGEST = like("[0-9a-f]{16}")
# "0,64 1,65": the CPUs of each core.
_CORES = r"[0-9]{1,5}([, ][0-9]{1,5})*"

# What model/identity.py compares.
_FIELDS = {
    "cpu": text,
    "sockets": whole(1),
    "physical_cores": whole(1),
    "usable_cores": whole(1),
    "cpu_flags": Every(text),
    "memory_bytes": whole(1),
    "accelerators": Every(text),
    "host": text,
}
FINGERPRINT = {field: Maybe(shape) for field, shape in _FIELDS.items()}
# Not every system tells all of these, and earlier versions did not ask for all.
FACTS = {
    **{field: Maybe(OrNone(shape)) for field, shape in _FIELDS.items()},
    **{field: Maybe(_FIELDS[field]) for field in ("cpu", "usable_cores", "cpu_flags", "memory_bytes", "accelerators")},
    "accelerator_driver": Maybe(OrNone(text)),
    "logical_cpus": Maybe(OrNone(whole(1))),
    "cpu_quota": Maybe(OrNone(number(0, 1e6))),
    "frequency_governor": Maybe(OrNone(text)),
    "architecture": Maybe(text),
    "system": Maybe(text),
    # What hardware profiles ask for.
    "cores": Maybe(OrNone(Every({"socket": OrNone(_COUNT), "kind": OrNone(text), "cores": like(_CORES)}))),
    "core_kinds": Maybe(Every(_COUNT, keyed=True)),
    "devices": Maybe(Every(OrNone(_COUNT), keyed=True)),
    "blas": Maybe(text),
}
_JOULES = Every(number(0, 1e12), keyed=True)
_BLOCK = {
    "sample_steps": whole(1),
    "sample_seconds": numbers(LEAST_SECONDS, 1e8, least=1),
    "probe_seconds": numbers(LEAST_SECONDS, 1e8, least=2),
    "run_delay_seconds": OrNone(_SECONDS),
    "threads_ran": OrNone(_COUNT),
    "minor_faults": _COUNT,
    "quota_throttles": OrNone(_COUNT),
    "clock_throttles": OrNone(_COUNT),
    "part_seconds": Maybe(Every(numbers(0, 1e8))),
    "joules": Maybe(_JOULES),
    "slept_seconds": Maybe(OrNone(_SECONDS)),
}
_CASE = {
    "case": name,
    "workload": name,
    "parameters": Every(anything, keyed=True),
    "flops": OrNone(_WORK),
    "traffic_bytes": OrNone(_WORK),
    "parts": Maybe(Every(_WORK, keyed=True)),
    "status": one_of("measured", "not-run", "failed", "wrong"),
    "reason": OrNone(text),
    "errors": Every(OrNone(number(0)), keyed=True),
    "warmup": OrNone({"settled": flag, "step_seconds": _POSITIVE}),
    "blocks": Every(_BLOCK),
    "energy_run": Maybe({"steps": whole(1), "seconds": _POSITIVE, "joules": _JOULES}),
    "wall_seconds": _SECONDS,
    "attempts": Maybe(whole(1)),
    "graphs": Maybe(text),
}
_PROVENANCE = {
    # A process that never started has told neither its machine nor its library.
    "machine": Maybe(OrNone(FACTS)),
    "backend": Maybe(Every(scalar, keyed=True)),
    "versions": Maybe(Every(text, keyed=True)),
    "libraries": Maybe(Every(Every(scalar, keyed=True))),
    "environment": Maybe(Every(text, keyed=True)),
    "energy": Maybe({"reason": OrNone(text), "update_seconds": Every(_POSITIVE, keyed=True)}),
}
_RUN_BY = {"package": text, "backend": name, "device": text, "precision": text}
_ID = {"machine": name, "paper": name, "experiment": name, "profile": name, "index": whole(1, 999), "smoke": flag}
RECORD = {
    "schema": one_of(SCHEMA),
    "id": _ID | {"whole": flag},
    "profile": _RUN_BY
    | {
        "name": name,
        "label": text,
        "architecture": one_of(*ARCHITECTURES),
        "threads": either(one_of("all"), whole(1)),
    },
    "threads": whole(1),
    "seed": whole(-(2**63)),
    "timing": Every(number(), keyed=True),
    "digest": _DIGEST,
    "started": moment,
    "wall_seconds": _SECONDS,
    "start_seconds": _SECONDS,
    "clock": Maybe(OrNone({"boot": text, "seconds": _SECONDS})),
    "provenance": _PROVENANCE | {"commit": text},
    "ceilings": OrNone(Every(_WORK, keyed=True)),
    "cases": Every(_CASE, least=1),
}
LEARNING = {
    "schema": one_of(LEARNING_SCHEMA),
    "machine": name,
    "paper": name,
    "experiment": name,
    "smoke": flag,
    "started": moment,
    # As many as a page has room for; a figure of each is drawn.
    "programs": Every(
        {
            "workload": name,
            "parameters": Every(scalar, keyed=True),
            "steps": _COUNT,
            # Seconds, and what is left to explain: on logarithmic axes.
            "curve": Every(pair_of(_POSITIVE), least=1, most=1000),
            "pictures": Every(
                Every(numbers(0, 255, least=1, most=_SIDE, whole=True), least=1, most=_SIDE), least=1, most=64
            ),
        },
        most=16,
    ),
    # Those that cannot learn there.
    "absent": Maybe(Every({"workload": name, "parameters": Every(scalar, keyed=True), "reason": reason}, most=16)),
}
_ASKED = {"asked": _DIGEST}
DESCRIPTION = {
    "machine": Maybe(name),
    "hardware": FACTS,
    "not_measurable": Maybe(Every(reason, keyed=True)),
    "profiles": Maybe(Every(either(_ASKED | {"threads": whole(1)}, _ASKED | {"reason": reason}), keyed=True)),
    "started": Maybe(moment),
}
SHEET = {
    "schema": one_of(SHEET_SCHEMA),
    "machine": name,
    "smoke": flag,
    "digest": _DIGEST,
    "started": moment,
    "wall_seconds": _SECONDS,
    # Its rows are of these.
    "provenance": {"machine": FACTS | {"cpu": text, "memory_bytes": whole(1), "accelerators": Every(text)}},
    "memory": {"caches": Every(whole(1), keyed=True), "accelerators": Every(whole(1), keyed=True)},
    # Nothing is run whole for it.
    "rounds": Every(RECORD | {"id": _ID | {"whole": lambda value: value is False}, "provenance": _PROVENANCE}),
    "absent": Every(
        {
            "profile": _RUN_BY | {"name": name},
            "threads": whole(1),
            "cases": Every({"name": text, "workload": name, "parameters": Every(anything, keyed=True)}),
            "reason": reason,
        }
    ),
}
# What a hardware sheet's numbers are made of, by workload: of its name and its parameters. Others are in no table.
_SIZES = {"name": like("[0-9]{1,9}x[0-9]{1,9}")}
GAUGED = {
    "rbm": _SIZES,
    "cd1_products": _SIZES,
    "memory_copy": {"parameters": {"length": whole(1)}},
    "copies": {
        "parameters": {"length": whole(1), "direction": one_of("to", "from"), "memory": one_of("pinned", "pageable")}
    },
    "small_step": {"parameters": {"count": whole(1), "how": one_of("waited", "queued", "graph", "spread")}},
}
# How small steps are asked for, on a CPU and on a device.
CPU_STEPS, DEVICE_STEPS = ("waited", "spread"), ("waited", "queued", "graph")
SESSION = {"schema": one_of(SESSION_SCHEMA), "machine": name, "started": moment}
SCHEMAS = {
    Kind.RECORD: SCHEMA,
    Kind.LEARNING: LEARNING_SCHEMA,
    Kind.SHEET: SHEET_SCHEMA,
    Kind.SESSION: SESSION_SCHEMA,
}
SHAPES = {
    Kind.RECORD: RECORD,
    Kind.LEARNING: LEARNING,
    Kind.DESCRIPTION: DESCRIPTION,
    Kind.SHEET: SHEET,
    Kind.SESSION: SESSION,
}
