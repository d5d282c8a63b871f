"""What the rules ask about the jobs that measure machines: here, or through Slurm on nodes of theirs."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from respeed.errors import UserError
from respeed.inputs.profiles import Profile
from respeed.schedule.answers import checksum
from respeed.schedule.description import make_description
from respeed.schedule.slurm import PROFILE, SPARE_RETRIES, budget_seconds, resources
from respeed.schedule.target import Target


@dataclass(frozen=True)
class Jobs:
    """Of a run: the machines that it measures, what --config said, and the hardware profiles there are."""

    targets: tuple[Target, ...]
    overrides: Mapping[str, Any]
    profiles: Mapping[str, Profile]

    @property
    def on_cluster(self) -> bool:
        return self.targets[0].node is not None

    @property
    def session_number(self) -> str:
        """A pattern of the number of each machine's next session: an earlier one is not measured again."""
        found = [re.fullmatch(r"(.+/session-)(\d+)\.json", target.session) for target in self.targets]
        return "|".join(f"(?<={re.escape(place[1])}){place[2]}" for place in found if place)

    def settings(self, wildcards: Any) -> list[str]:
        """What --config said, for the command that measures the machine, where it runs."""
        there = {"machine": wildcards.machine, "cluster": False} if self.on_cluster else {}
        return as_settings({**self.overrides, **there})

    def budget(self, wildcards: Any) -> str:
        """How long the machine's job may measure, for the same command."""
        node = next(target.node for target in self.targets if target.machine == wildcards.machine)
        return f"--budget {budget_seconds(node):g}s" if node else ""

    def resources(self, short: bool = False) -> dict[str, Callable[..., Any]]:
        """What a rule asks of Slurm so that its job runs on the machine of its wildcard; nothing where that is here.
        A `short` job takes minutes at most."""
        return resources({target.machine: target.node for target in self.targets if target.node}, short)

    @property
    def retries(self) -> int:
        """How often a job is asked for again: as often as its time limit makes necessary, and some more."""
        return max(target.jobs_needed() for target in self.targets) - 1 + SPARE_RETRIES if self.on_cluster else 0

    def described(self, wildcards: Any) -> dict[str, Any]:
        """When this changes, the machine's description is written anew: its contents, or of a machine that only its
        own job can look at, what it was asked."""
        if self.on_cluster:
            return {name: checksum(profile) for name, profile in self.profiles.items()}
        facts = make_description(wildcards.machine, self.profiles)
        # What a kernel leaves of the memory after its own start differs from boot to boot, and is no news.
        del facts["hardware"]["memory_bytes"]
        return facts

    def check_executor(self, snakemake: Any) -> None:
        """UserError if this run would measure a cluster's machine here, or this machine on a cluster. `snakemake` is
        its own workflow."""
        elsewhere = snakemake.executor_plugin.common_settings.non_local_exec
        if self.on_cluster and not elsewhere:
            raise UserError(f"cluster: true measures through Slurm: add --profile {PROFILE}, or say cluster: false")
        if elsewhere and not self.on_cluster:
            raise UserError(f"jobs on a cluster need to know which machine they measure; use --profile {PROFILE}")


def as_settings(overrides: Mapping[str, Any]) -> list[str]:
    """What --config said, as words for a command."""
    return [f"{key}={json.dumps(value)}" for key, value in overrides.items()]
