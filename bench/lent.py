"""What bench/record_machine.py does on a machine that is lent, step by step, each in a process of its own."""

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace

from stages import TIME_UP

from respeed.backends import make_backend
from respeed.errors import NotMeasurable, UserError
from respeed.inputs.config import Config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import Profile
from respeed.machine.accelerators import accelerator_driver
from respeed.machine.software import package_versions, telling_environment
from respeed.measure.learning import learn
from respeed.measure.session import measure_session
from respeed.paths import learning_path
from respeed.schedule.availability import why_not
from respeed.schedule.selection import Work, make_work
from respeed.timing.clock import seconds_now

# What a program learns is shown after some seconds of it; with its set-up.
LEARNING_SECONDS = 30.0
# As far as one of these is there.
TOOLS = (["nvidia-smi"], ["rocm-smi"], ["xpu-smi", "discovery"])

# How a step ended, as its process's exit code.
WELL, ILL = 0, 1
# The configuration, the profiles, the machine's name, and the seconds that there are.
Step = Callable[[Config, Mapping[str, Profile], str, float], int]


def device(config: Config, profiles: Mapping[str, Profile], machine: str, seconds: float) -> int:
    """Print what there is, and whether every row that applies can be set up."""
    print(f"{machine}: driver {accelerator_driver()}, {package_versions()}")
    print(json.dumps(telling_environment()), flush=True)
    for command in TOOLS:
        try:
            subprocess.run(command, check=False, timeout=20)
        except (OSError, subprocess.TimeoutExpired) as reason:
            print(f"{command[0]}: {reason}", flush=True)
    well = True
    for name, profile in profiles.items():
        if reason := why_not(profile):
            print(f"{name}: {reason}", flush=True)
            continue
        if profile.is_cpu:
            continue
        how = {"device": profile.device, "precision": profile.precision}
        try:
            print(f"{name}: {make_backend(profile.backend, threads=1, seed=1, **how).describe()}", flush=True)
        except NotMeasurable as reason:
            print(f"{name}: {reason}", flush=True)
        except Exception as error:  # whatever it is: the next row may be well
            well = False
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
    return WELL if well else ILL


def first(config: Config, profiles: Mapping[str, Profile], machine: str, seconds: float) -> int:
    """One round of everything on the rows of accelerators."""
    names = tuple(name for name in config.profiles if not profiles[name].is_cpu)
    preset = replace(config.preset, rounds=1, most=1, minutes=0.0)
    return _measure(_work(replace(config, profiles=names, preset=preset), profiles, machine), seconds)


def rounds(config: Config, profiles: Mapping[str, Profile], machine: str, seconds: float) -> int:
    """The rounds of the preset in their order."""
    return _measure(_work(config, profiles, machine), seconds)


def learning(config: Config, profiles: Mapping[str, Profile], machine: str, seconds: float) -> int:
    """What programs learn, as far as it is not there."""
    work, began, ended = _work(config, profiles, machine), seconds_now(), WELL
    for paper, experiment in dict.fromkeys((cell.paper, cell.experiment) for cell in work.cells):
        path = learning_path(machine, paper, experiment, work.smoke)
        if path.exists() or not work.papers[paper].experiments[experiment].learning:
            continue
        if seconds_now() - began + LEARNING_SECONDS > seconds:
            print(f"{paper} {experiment}: not begun, as its programs may take {LEARNING_SECONDS:g} s", flush=True)
            ended = ended or TIME_UP
            continue
        try:
            learn(path)
        except UserError as error:
            ended = ILL
            print(error, flush=True)
    return ended


STEPS: dict[str, Step] = {"device": device, "first": first, "rounds": rounds, "learning": learning}


def _work(config: Config, profiles: Mapping[str, Profile], machine: str) -> Work:
    return make_work(config, load_papers(config.papers), profiles, machine)


def _measure(work: Work, seconds: float) -> int:
    """Measure until all is done, or the next turn would end too late; says why it ended."""
    if not work.cells:
        print("nothing to measure")
        return WELL
    outcome = measure_session(work, budget_seconds=seconds, say=_say)
    print(outcome, flush=True)
    return WELL if outcome.is_whole else TIME_UP


def _say(text: str) -> None:
    print(text, flush=True)
