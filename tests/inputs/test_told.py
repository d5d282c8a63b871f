"""What is told of machines: a small file each, checked like every other."""

from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.inputs.machines import Price, SlurmNode, load_told, read_told

PRICE = "{per_hour: 2.5, currency: EUR, source: a bill, date: 2026-11-01}"


def write(folder: Path, text: str) -> None:
    (folder / "box.yaml").write_text(text)


def test_price_profiles_and_nodes_are_told(tmp_path: Path) -> None:
    write(tmp_path, f"price: {PRICE}\nprofiles: [gpu]\nslurm: {{partition: gpu, gres: 'gpu:1', cpus: 16}}\n")
    told = load_told(tmp_path)["box"]
    assert told.price == Price(2.5, "EUR", "a bill", "2026-11-01")
    assert told.profiles == ("gpu",)
    assert told.slurm == SlurmNode(partition="gpu", gres="gpu:1", cpus=16)


def test_nothing_need_be_told(tmp_path: Path) -> None:
    write(tmp_path, "")
    assert load_told(tmp_path)["box"].price is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prize: 1", "did you mean price?"),
        ("price: {per_hour: 1, currency: USD, source: a bill}", "'date' is missing"),
        ("price: {per_hour: 0, currency: USD, source: a, date: 2026-11-01}", "greater than 0"),
        ("price: {per_hour: 1, currency: dollars, source: a, date: 2026-11-01}", "three capital letters"),
        ("price: {per_hour: 1, currency: USD, source: a, date: 2026-02-30}", "no day of the calendar"),
        ("profiles: [gpuu]", "did you mean gpu?"),
        ("slurm: {partition: 'gpu; rm x'}", "as Slurm takes it"),
        ("slurm: {minutes: 1}", "at least 5"),
    ],
)
def test_a_mistake_is_one_line_with_the_file_and_the_key(tmp_path: Path, text: str, told: str) -> None:
    write(tmp_path, text)
    found, mistakes = read_told("box", tmp_path)
    assert found is None
    assert len(mistakes) == 1
    assert mistakes[0].startswith(str(tmp_path / "box.yaml"))
    assert told in mistakes[0]
    with pytest.raises(UserError):
        load_told(tmp_path)
