"""respeed check tells every mistake of every file at once, a line each."""

import os

from tests.conftest import Project


def test_every_fault_of_every_file_is_told_at_once(project: Project) -> None:
    workflow = project.folder / "workflow"
    project.edit("workflow/hardware/torch-1.yaml", "PyTorch, one core", r'"\e[31mred\u202e"')
    os.mkfifo(workflow / "hardware/pipe.yaml")
    (workflow / "hardware/zero.yaml").symlink_to("/dev/zero")
    (workflow / "hardware/gpu2.yml").write_text("label: GPU\n")
    (workflow / "machines/My Box.yaml").write_text("")
    (workflow / "machines/box.yaml").write_text("price: !!int ''\n")
    project.edit("workflow/papers/bergstra2010/published.csv", "6573.73,ex", "6_573.73,ex")
    project.edit("workflow/papers/lectures/paper.yaml", "title: ", "title: !!str ")
    (workflow / "respeed/workloads/mine.py").write_text("def build(:\n")
    (workflow / "respeed/backends/mine.py").write_text('DEVICES = ("cpu",)\n')
    project.edit("config.yaml", "seed: 2009", "seed: !!int ''")
    seed = (project.folder / "config.yaml").read_text().partition("\nseed:")[0].count("\n") + 2
    done = project.run("respeed", "check", check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert str(project.folder) not in done.stdout
    assert "\x1b" not in done.stdout
    wanted = (
        f"config.yaml:{seed}: tags (!!int) are not allowed",
        "workflow/hardware/torch-1.yaml: label: holds the character U+001B",
        "workflow/hardware/pipe.yaml: is no regular file",
        "workflow/hardware/zero.yaml: is no regular file",
        "workflow/hardware/gpu2.yml: is not read, because of its name; rename it to gpu2.yaml",
        "workflow/machines/My Box.yaml: 'My Box' cannot be the name of a machine",
        "workflow/machines/box.yaml:1: tags (!!int) are not allowed",
        "workflow/papers/bergstra2010/published.csv:",
        "workflow/papers/lectures/paper.yaml:",
        "workflow/respeed/workloads/mine.py:1: is not Python",
        "workflow/respeed/backends/mine.py: has no PRECISIONS",
    )
    for line in wanted:
        assert any(said.startswith(line) for said in done.stdout.splitlines()), f"{line}\n{done.stdout}"
