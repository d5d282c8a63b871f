"""Files whose names end otherwise than ours are told of."""

from pathlib import Path

from respeed.inputs.files import overlooked


def test_a_file_that_is_not_read_because_of_its_name_is_told_with_the_right_one(tmp_path: Path) -> None:
    for name in ("hardware/gpu.yml", "machines/box.YAML", "papers/draft/paper.yml", "papers/ok/paper.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a: 1\n")
    lines = overlooked(tmp_path / "hardware", tmp_path / "machines", tmp_path / "papers")
    assert lines == [
        f"{tmp_path}/hardware/gpu.yml: is not read, because of its name; rename it to gpu.yaml",
        f"{tmp_path}/machines/box.YAML: is not read, because of its name; rename it to box.yaml",
        f"{tmp_path}/papers/draft/paper.yml: is not read, because of its name; rename it to paper.yaml",
    ]


def test_the_project_has_none() -> None:
    assert overlooked() == []
