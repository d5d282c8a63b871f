"""Some four hundred bundles that must be refused: each is what one of somebody's tricks makes of a good one.

What changes a byte of a header or of the directory is not among them: test_hostile_bundles tries all of these.
"""

import copy
import gzip
import io
import itertools
import json
import operator
import random
import struct
import tarfile
import zlib
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from tests.records.forge import MANIFEST, Entry, bundle_of, entry, manifest_of, zip_of

Files = dict[str, Any]
Trick = Callable[[Files], bytes]
FIRST = "records/box/raina2009/rbm/torch-1/round-01.json"
SECOND = "records/box/raina2009/rbm/torch-1/round-02.json"
LEARNING = "records/box/raina2009/rbm/learning.json"
DESCRIPTION = "records/box/machine.json"
SESSION = "records/box/session-001.json"
SHEET = "records/box/hardware.json"
TOLD = "records/box/told.yaml"
MIB = 2**20
# What is said in places of files, of manifests and of prices, and names of members.
DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text())


def tricks() -> dict[str, Trick]:
    """All of them, by what they are."""
    groups = (_no_zip, _cut, _ends, _headers, _names, _bombs, _manifests, _json, _facts, _prices)
    return {name: trick for group in groups for name, trick in group().items()}


def _good(files: Files) -> bytes:
    return zip_of(bundle_of(files))


def _no_zip() -> dict[str, Trick]:
    def tar(files: Files) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            info = tarfile.TarInfo(FIRST)
            info.size = 2
            archive.addfile(info, io.BytesIO(b"{}"))
        return out.getvalue()

    return {
        "empty file": lambda files: b"",
        "one byte": lambda files: b"P",
        "text": lambda files: b"results, as agreed\n" * 100,
        "zeros": lambda files: bytes(MIB),
        "a record itself": lambda files: json.dumps(files[FIRST]).encode(),
        "tar.gz": tar,
        "gzip of a bundle": lambda files: gzip.compress(_good(files)),
        "7z": lambda files: b"7z\xbc\xaf\x27\x1c" + bytes(1000),
        "empty zip": lambda files: zip_of([]),
        "the beginning of a header and an end": lambda files: b"PK\3\4abc" + zip_of([]),
        "zip without a manifest": lambda files: zip_of(bundle_of(files)[1:]),
        "bundle within a zip": lambda files: zip_of([entry("bundle.zip", _good(files))]),
        "bundle within a bundle": lambda files: zip_of(bundle_of(files | {"records/box/bundle.zip": _good(files)})),
    }


def _cut() -> dict[str, Trick]:
    def cut(share: float) -> Trick:
        return lambda files: _good(files)[: int(share * len(_good(files)))]

    def without_end(length: int) -> Trick:
        return lambda files: _good(files)[:-length]

    def flip(share: float, bit: int) -> Trick:
        def trick(files: Files) -> bytes:
            data = bytearray(_good(files))
            data[int(share * (len(data) - 1))] ^= 1 << bit
            return bytes(data)

        return trick

    return (
        {f"cut at {share} %": cut(share / 100) for share in range(5, 100, 10)}
        | {f"without its last {length} bytes": without_end(length) for length in (1, 2, 21, 22, 23)}
        | {f"a bit flipped at {share} %": flip(share / 100, share % 8) for share in range(0, 101, 4)}
    )


def _ends() -> dict[str, Trick]:
    def ends(**told: Any) -> Trick:
        return lambda files: zip_of(bundle_of(files), **told)

    def zip64(files: Files) -> bytes:
        """A directory of 64 bits, hidden where the real one ends."""
        data = _good(files)
        locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(data) - 22 - 56, 1)
        record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**40, 2**40, 0, 0)
        return data[:-22] + record + locator + data[-22:]

    def hidden_zip64(files: Files) -> bytes:
        """The same inside the last member's comment, so that all lengths agree."""
        entries = bundle_of(files)
        record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 0, 0, 0, 0)
        entries[-1].comment = record + struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
        return zip_of(entries)

    return {
        "something before": ends(before=b"#!/bin/sh\nexit\n"),
        "something between": ends(gap=bytes(100)),
        "something after": ends(after=b"more"),
        "two bundles in a row": lambda files: _good(files) * 2,
        "a comment": ends(after=b"0123456789", end={"comment": 10}),
        "fewer members told": ends(end={"here": 2, "all": 2}),
        "no members told": ends(end={"here": 0, "all": 0}),
        "zip64 record": zip64,
        "zip64 record in a comment": hidden_zip64,
    }


def _headers() -> dict[str, Trick]:
    def changed(**said: Any) -> Trick:
        def trick(files: Files) -> bytes:
            entries = bundle_of(files)
            for key, value in said.items():
                setattr(entries[2], key, value)
            return zip_of(entries)

        return trick

    def overlapping(files: Files) -> bytes:
        entries = bundle_of(files)
        for one in entries[1:]:
            one.offset = 0
        return zip_of(entries)

    def quoted(files: Files) -> bytes:
        """Two members of one body: the second begins inside the first."""
        entries = bundle_of(files)
        entries[3].offset = len(zip_of(entries[:2])) // 2
        return zip_of(entries)

    def hidden(files: Files) -> bytes:
        entries = bundle_of(files)
        entries[2].packed = entries[2].body() + b"behind the end of what is packed"
        return zip_of(entries)

    def twice(files: Files) -> bytes:
        entries = bundle_of(files)
        return zip_of([*entries, entries[-1]])

    return {
        "stored": changed(method=0),
        "stored and said to be deflated": changed(method=8, packed=b"{}", size=2),
        "link": changed(attributes=0o120777 << 16, data=b"/etc/passwd"),
        "folder": changed(attributes=0o040755 << 16 | 0x10),
        "made on DOS": changed(system=0),
        "extra field": changed(extra=b"UT\5\0\3\0\0\0\0"),
        "zip64 extra field": changed(extra=struct.pack("<2H2Q", 1, 16, 2**40, 2**40), size=2**32 - 1),
        "unicode path field": changed(extra=b"up\x0a\0\1\0\0\0\0../x"),
        "comment at a member": changed(comment=b"run me"),
        "larger than told": changed(size=100),
        "smaller than told": changed(size=MIB),
        "of 4 GiB as told": changed(size=2**32 - 1, packed_size=2**32 - 1),
        "packed larger than told": changed(packed_size=10),
        "packed smaller than told": changed(packed_size=MIB),
        "another name in its header": changed(local={"name": SECOND.replace("02", "03").encode()}),
        "body that is no deflate": changed(packed=b"\xff" * 100),
        "body that never ends": changed(packed=b"\x00" * 100),
        "something hidden in a body": hidden,
        "all begin at 0": overlapping,
        "begins inside another": quoted,
        "a member twice": twice,
        "members not in order": lambda files: zip_of([bundle_of(files)[0], *bundle_of(files)[:0:-1]]),
        "manifest last": lambda files: zip_of([*bundle_of(files)[1:], bundle_of(files)[0]]),
        "manifest twice": lambda files: zip_of([bundle_of(files)[0], *bundle_of(files)]),
    }


def _names() -> dict[str, Trick]:
    def named(name: bytes) -> Trick:
        def trick(files: Files) -> bytes:
            entries = bundle_of(files)[1:]
            entries = sorted([*entries, Entry(name, entries[0].data)], key=lambda one: one.name)
            return zip_of([entry(MANIFEST, manifest_of(entries)), *entries])

        return trick

    odd = [*(name.encode("latin-1") for name in DATA["names"]), b"records/" + b"x" * 60_000 + b"/machine.json"]
    return {f"named {name[:60]!r} ({number})": named(name) for number, name in enumerate(odd)}


def _bombs() -> dict[str, Trick]:
    def squeezed(data: bytes, path: str = FIRST) -> Trick:
        return lambda files: zip_of(bundle_of(files | {path: data}))

    def lying_bomb(files: Files) -> bytes:
        """30 MiB in 100 kB, said to be small."""
        entries = bundle_of(files)
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        entries[2].packed = b"".join(packer.compress(bytes(MIB)) for _ in range(30)) + packer.flush()
        entries[2].size = 4 * MIB
        return zip_of(entries)

    def many(files: Files) -> bytes:
        names = (f"records/box/raina2009/rbm/p{number}/round-01.json" for number in range(60_000))
        return zip_of([Entry(name.encode(), b"{}", packed=b"\xabV\2\0") for name in itertools.chain([MANIFEST], names)])

    def many_large(files: Files) -> bytes:
        """Each as large as may be, and too large together."""
        names = (f"records/box/raina2009/rbm/torch-1/whole-{number:02}.json" for number in range(1, 40))
        entries = [Entry(name.encode(), b"", packed=bytes(MIB), size=16 * MIB) for name in names]
        return zip_of([entry(MANIFEST, {}), *entries])

    return {
        "40 MiB of zeros": squeezed(bytes(40 * MIB)),
        "30 MiB of zeros": squeezed(bytes(30 * MIB)),
        "a million values": squeezed(_digits(10**6)),
        "many megabytes of digits": squeezed(_digits(2 * 10**6)),
        "a million lists": squeezed(_digits(10**6).replace(b"1", b"[]"), path=LEARNING),
        "1 MiB of blanks around a record": squeezed(b" " * MIB + b"{}"),
        "2 MiB of a list": squeezed(b"[" + b"0," * MIB + b"0]"),
        "manifest of blanks": lambda files: zip_of(bundle_of(files, told=b" " * (8 * MIB) + b"{}")),
        "lying bomb": lying_bomb,
        "60,000 members": many,
        "1 GiB together": many_large,
    }


def _digits(number: int) -> bytes:
    """A list of so many digits that shrinks no more than a record does."""
    chance = random.Random(1)
    return b"[" + ",".join(chance.choices("0123456789", k=number)).encode() + b"]"


def _manifests() -> dict[str, Trick]:
    def told(change: Callable[[dict[str, Any]], Any]) -> Trick:
        def trick(files: Files) -> bytes:
            manifest = manifest_of(bundle_of(files)[1:])
            return zip_of(bundle_of(files, told=change(manifest)))

        return trick

    def member(**changed: Any) -> Trick:
        def change(manifest: dict[str, Any]) -> dict[str, Any]:
            manifest["members"][1] |= changed
            return manifest

        return told(change)

    def without(key: str) -> Trick:
        return told(lambda manifest: {name: value for name, value in manifest.items() if name != key})

    another = {"path": SECOND.replace("02", "09"), "size": 10, "sha256": "0" * 64}
    return {
        **{f"manifest without {key}": without(key) for key in ("schema", "respeed", "smoke", "machines", "members")},
        **{f"manifest {name}": told(lambda one, more=more: one | more) for name, more in DATA["manifest"].items()},
        **{name: member(**changed) for name, changed in DATA["member"].items()},
        "manifest that is no JSON": told(lambda manifest: b"schema: 1\n"),
        "manifest that is a list": told(lambda manifest: [manifest]),
        "manifest that is null": told(lambda manifest: b"null"),
        "manifest with a member less": told(lambda manifest: manifest | {"members": manifest["members"][:-1]}),
        "manifest with a member more": told(lambda manifest: manifest | {"members": [*manifest["members"], another]}),
        "manifest with a member twice": told(lambda one: one | {"members": [*one["members"], one["members"][0]]}),
        "manifest in another order": told(lambda manifest: manifest | {"members": manifest["members"][::-1]}),
    }


def _json() -> dict[str, Trick]:
    def text(change: Callable[[str], str | bytes]) -> Trick:
        def trick(files: Files) -> bytes:
            changed = change(json.dumps(files[FIRST]))
            return zip_of(bundle_of(files | {FIRST: changed if isinstance(changed, bytes) else changed.encode()}))

        return trick

    def with_value(value: str) -> Trick:
        return text(lambda record: f'{record[:-1]}, "more": {value}}}')

    long = {
        "a whole number of 100,000 digits": "9" * 100_000, "100,000 that never end": "[" * 100_000,
        "100,000 lists in one another": "[" * 100_000 + "]" * 100_000,
        "a text of 100,000 letters": f'"{"x" * 100_000}"',
        "a key of 100,000 letters": f'{{"{"x" * 100_000}": 1}}',
    }  # fmt: skip
    return {f"JSON with {name}": with_value(value) for name, value in (DATA["json"] | long).items()} | {
        "JSON after a byte order mark": text(lambda record: b"\xef\xbb\xbf" + record.encode()),
        "JSON in UTF-16": text(lambda record: record.encode("utf-16")),
        "JSON that is no UTF-8": text(lambda record: record.replace("CPU", "\xff").encode("latin-1")),
        "JSON followed by JSON": text(lambda record: record + record),
        "JSON cut in the middle": text(lambda record: record[: len(record) // 2]),
        "JSON list": text(lambda record: f"[{record}]"),
        "JSON text": text(lambda record: '"record"'),
        "JSON null": text(lambda record: "null"),
        "no JSON at all": text(lambda record: b"\0"),
        "a pickle": text(lambda record: b"cos\nsystem\n(S'id'\ntR."),
    }  # fmt: skip


def put(files: Files, file: str, changes: dict[str, Any]) -> Files:
    """The same files, with other values at these places of one; `...` takes away what is there."""
    changed = copy.deepcopy(files)
    for place, value in changes.items():
        *way, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        inner = reduce(operator.getitem, way, changed[file])
        if value is ...:
            del inner[last]
        else:
            inner[last] = value
    return changed


# What is of another type is not among these: test_hostile_bundles tries that everywhere.
CASE = "cases.0"


def _facts() -> dict[str, Trick]:
    def changed(file: str, changes: dict[str, Any]) -> Trick:
        return lambda files: _good(put(files, file, changes))

    without_blocks = {f"{CASE}.status": "not-run", f"{CASE}.blocks": [], f"{CASE}.warmup": None}
    files = {"first": FIRST, "description": DESCRIPTION, "learning": LEARNING, "sheet": SHEET, "session": SESSION}
    instead = [
        *(
            (kind, place, one)
            for kind, places in DATA["facts"].items()
            for place, all_ in places.items()
            for one in all_
        ),
        *((kind, place, ...) for kind, places in DATA["missing"].items() for place in places),
    ]
    return {
        f"{kind}: {place} {'missing' if value is ... else json.dumps(value)[:40]}": changed(files[kind], {place: value})
        for kind, place, value in instead
    } | {
        "forty facts untold": changed(
            FIRST, {"provenance.accelerator": {"untold": {f"fact {number}": "why" for number in range(40)}}}
        ),
        "not run without a reason": changed(FIRST, without_blocks),
        "product without operations": changed(FIRST, {f"{CASE}.workload": "matmul", f"{CASE}.flops": None}),
    }


def _prices() -> dict[str, Trick]:
    good = "price: {per_hour: 1, currency: EUR, source: bill, date: 2026-01-31}\n"
    texts = DATA["told"] | {
        "a price of 1,000 digits": good.replace("1,", "9" * 1000 + ",", 1),
        "10,000 lists in one another": "price: " + "[" * 10_000,
        "more bytes than any": good + "# " + "x" * 5000 + "\n",
    }
    found: dict[str, Trick] = {
        f"told: {name}": lambda files, text=text: zip_of(bundle_of(files | {TOLD: text.encode()}))  # type: ignore[misc]
        for name, text in texts.items()
    }
    return found | {"told: no UTF-8": lambda files: zip_of(bundle_of(files | {TOLD: b"price: \xff\n"}))}
