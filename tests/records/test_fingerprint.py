"""Two machines are told apart by what neither changes without becoming another."""

import pytest

from respeed.records.fingerprint import FIELDS, difference

BOX = {
    "cpu": "A CPU", "sockets": 2, "physical_cores": 16, "usable_cores": 16, "cpu_flags": ["avx2"],
    "memory_bytes": 64 * 2**30, "accelerators": ["H100"], "host": "0123456789abcdef", "system": "Linux 6.1",
}  # fmt: skip
OTHER = {
    "cpu": "Another CPU", "sockets": 1, "physical_cores": 8, "usable_cores": 2, "cpu_flags": [],
    "memory_bytes": 32 * 2**30, "accelerators": [], "host": "f" * 16,
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_the_fingerprint_tells_machines_apart(field: str) -> None:
    found = difference(BOX, BOX | {field: OTHER[field]})
    assert found is not None
    assert found.startswith(f"{FIELDS[field]}, ")


def test_a_new_kernel_or_driver_is_no_new_machine() -> None:
    assert difference(BOX, BOX | {"system": "Linux 6.2", "accelerator_driver": "570"}) is None


def test_what_the_kernel_leaves_of_the_memory_may_differ_a_little() -> None:
    assert difference(BOX, BOX | {"memory_bytes": 63 * 2**30}) is None


def test_what_older_records_do_not_tell_is_not_compared() -> None:
    assert difference({"cpu": "A CPU"}, BOX) is None
    assert difference(BOX | {"host": None}, BOX) is None
