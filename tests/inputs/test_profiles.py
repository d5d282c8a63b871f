"""What a hardware profile may say, and what a wrong one leaves of the others."""

from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.inputs.profiles import Profile, default_profiles, load_profile, load_profiles, read_profiles
from respeed.paths import HARDWARE
from respeed.schedule.shown import profiles_shown

CPU = (HARDWARE / "torch-all.yaml").read_text()
GPU = (HARDWARE / "gpu.yaml").read_text()


def written(folder: Path, text: str, name: str = "mine") -> Profile:
    (folder / f"{name}.yaml").write_text(text)
    return load_profile(name, folder)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", "0-3, 8"),
        ("8, 0-3", "0-3, 8"),
        ("[0, 1, 2]", "0-2"),
        ("4", "4"),
        ("socket 1", "socket 1"),
        ("performance cores", "performance cores"),
        ("efficiency  cores", "efficiency cores"),
    ],
)
def test_cpus_are_a_list_a_socket_or_a_kind_of_cores(tmp_path: Path, text: str, cpus: str) -> None:
    assert written(tmp_path, f"{CPU}cpus: {text}\n").cpus == cpus


def test_a_profile_that_says_nothing_more_is_as_it_always_was(tmp_path: Path) -> None:
    profile = written(tmp_path, CPU)
    assert (profile.cpus, profile.smt, profile.requires, profile.optional) == (None, False, {}, False)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:1", "xpu:12"])
def test_a_device_may_have_a_number(tmp_path: Path, device: str) -> None:
    profile = written(tmp_path, GPU.replace("device: cuda", f"device: {device}"))
    assert (profile.device, profile.is_cpu) == (device, False)


WRONG = [
    (CPU, "cpus: 3-1", "cpus: '3-1' must be a list of CPUs such as 0-3,8 or [0, 1], a socket such as socket 1"),
    (CPU, "cpus: fast cores", "efficiency cores"),
    (CPU, "cpus: socket", "a socket such as socket 1"),
    (CPU, "cpus: []", "cpus: [] must be a list of CPUs"),
    (CPU, "cpus: [0, 0]", "cpus: [0, 0] must be a list of CPUs"),
    (CPU, "smt: yes", "smt: 'yes' must be true"),
    (CPU, "requires: {instructions: [avx512]}", "did you mean avx512f?"),
    (CPU, "requires: {memory: 64}", "unknown key 'memory' (did you mean memory_gb?)"),
    (CPU, "requires: {memory_gb: 0}", "must be a number greater than 0"),
    (CPU, "requires: {library: acelerate}", "did you mean accelerate?"),
    (
        CPU,
        "price_per_hour: 2.5",
        "price_per_hour: a price is a machine's, and stands in workflow/machines/<machine>.yaml",
    ),
    (GPU, "cpus: 0-3", "cpus: is for the device cpu"),
    (GPU, "smt: true", "smt: is for the device cpu"),
]


@pytest.mark.parametrize(("text", "line", "message"), WRONG)
def test_a_wrong_key_gets_one_line(tmp_path: Path, text: str, line: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        written(tmp_path, f"{text}{line}\n")
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "mine.yaml"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("device", ["cpu:0", "cuda:", "cuda:one", "cuda:01", "cuda:-1", "cuda:1:2", "cdua:1"])
def test_a_device_that_is_none_gets_one_line(tmp_path: Path, device: str) -> None:
    with pytest.raises(UserError, match=r"mine\.yaml: device: .*(must be|did you mean cuda)"):
        written(tmp_path, GPU.replace("device: cuda", f"device: '{device}'"))


def test_what_a_device_may_be_is_one_that_is_there_wherever_its_kind_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'mps:x' must be mps or mps:0$"):
        written(tmp_path, GPU.replace("device: cuda", "device: 'mps:x'"))


@pytest.fixture
def one_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("good", CPU), ("bad", CPU.replace("threads: all", "threads: al")), ("Bad name", CPU)):
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.setattr("respeed.schedule.shown.read_profiles", lambda: read_profiles(tmp_path))
    return tmp_path


def test_a_wrong_file_leaves_the_others_as_they_are(one_wrong: Path) -> None:
    right, wrong = read_profiles(one_wrong)
    assert list(right) == ["good"]
    assert "threads: 'al' must be" in wrong["bad"][0]
    assert "small letters" in wrong["Bad name"][0]
    assert load_profile("good", one_wrong).name == "good"


def test_all_profiles_are_not_all_while_a_file_is_wrong(one_wrong: Path) -> None:
    for load in (default_profiles, load_profiles):
        with pytest.raises(UserError):
            load(one_wrong)


def test_a_run_of_profiles_that_are_fine_goes_on_and_says_which_other_is_wrong(
    one_wrong: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(profiles_shown(["good"])) == ["good"]
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if line.startswith(f"respeed: the profile bad is left out: {one_wrong}/bad.yaml: ")]
    assert len(said) == 2
    with pytest.raises(UserError, match="threads"):
        profiles_shown(["good", "bad"])
