"""Logical CPUs, and the physical cores that they form."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

# What a hardware profile may say of its CPUs in words; a kind's word is also what a machine's facts call it.
KINDS = ("performance", "efficiency")
CHOICES = "a list of CPUs such as 0-3,8 or [0, 1], a socket such as socket 1, performance cores, or efficiency cores"
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_SOCKET = re.compile(r"socket (\d{1,5})")
# No machine has more; a longer range is a slip of the pen.
MOST = 65536


@dataclass(frozen=True)
class Core:
    """The logical CPUs of one physical core, its socket and its kind; None where the system does not tell, or all
    cores are of one kind."""

    cpus: tuple[int, ...]
    socket: int | None = None
    kind: str | None = None


def parse_list(text: str) -> tuple[int, ...] | None:
    """The CPUs of a list as Linux writes it, "0-3,8"; None if it is none."""
    found: dict[int, None] = {}
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < MOST:
            return None
        found |= dict.fromkeys(range(first, last + 1))
    return tuple(found)


def show_list(cpus: Iterable[int]) -> str:
    """The inverse, as short as it can be: "0-3, 8"."""
    parts = []
    for _, group in groupby(enumerate(sorted(set(cpus))), key=lambda item: item[1] - item[0]):
        run = [cpu for _, cpu in group]
        parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(parts)


def choice_as_text(value: Any) -> str | None:
    """What a profile says of its CPUs, as one text; None if it is none of the `CHOICES`."""
    text = show_list(value) if isinstance(value, list) else " ".join(str(value).split())
    if listed := parse_list(text):
        return show_list(listed)
    return text if socket_of(text) is not None or kind_of(text) else None


def socket_of(choice: str) -> int | None:
    """The number of the socket that a choice names; None if it names none."""
    match = _SOCKET.fullmatch(choice)
    return int(match[1]) if match else None


def kind_of(choice: str) -> str | None:
    """The kind of cores that a choice names; None if it names none."""
    kind = choice.removesuffix(" cores")
    return kind if kind in KINDS and kind != choice else None


def cores_as_facts(cores: Collection[Core]) -> list[dict[str, Any]]:
    """Cores for a machine's facts: those of one socket and kind together, "0,64 1,65" being two of two CPUs each."""
    groups: dict[tuple[int | None, str | None], list[str]] = {}
    for core in cores:
        groups.setdefault((core.socket, core.kind), []).append(",".join(map(str, core.cpus)))
    return [{"socket": socket, "kind": kind, "cores": " ".join(texts)} for (socket, kind), texts in groups.items()]


def cores_of_facts(facts: Iterable[Mapping[str, Any]]) -> tuple[Core, ...]:
    """The inverse."""
    return tuple(
        Core(tuple(map(int, text.split(","))), group["socket"], group["kind"])
        for group in facts
        for text in group["cores"].split()
    )
