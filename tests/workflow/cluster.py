"""A real Slurm of two virtual nodes on this machine, in a folder of its own, for as long as a test needs it."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel")
WAIT_SECONDS = 20.0

CONFIGURATION = """
ClusterName=respeed
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SelectType=select/cons_tres
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
KillWait=2
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
GresTypes=gpu
NodeName=cpu1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=500 Feature=old
NodeName=gpu1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=500 Feature=new Gres=gpu:h200:1
PartitionName=cpu Nodes=cpu1 Default=YES
PartitionName=gpu Nodes=gpu1
"""


def missing() -> str | None:
    """Why there can be no Slurm here; None if there can."""
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"no {', '.join(absent)} (Debian: apt install slurm-wlm munge)"
    return "Slurm's own user is root here" if os.getuid() else None


@contextlib.contextmanager
def running(folder: Path) -> Iterator[dict[str, str]]:
    """Start it; gives what its commands need in their environment. It ends whatever happens."""
    environment = _configure(folder)
    with contextlib.ExitStack() as stack:
        _start(stack, folder, "munged", "--foreground", "--force", *_munge(folder))
        _wait(lambda: (folder / "munge.socket").exists(), folder)
        _start(stack, folder, "slurmctld", "-D", **environment)
        for node in ("cpu1", "gpu1"):
            _start(stack, folder, "slurmd", "-D", "-N", node, **environment)
        _wait(lambda: _ask("sinfo", "-h", "-t", "idle", "-o", "%D", **environment).split() == ["2"], folder)
        try:
            yield environment
        finally:
            _ask("scancel", "--user", "root", **environment)
            with contextlib.suppress(AssertionError):
                _wait(lambda: not _ask("squeue", "-h", **environment), folder)


def _configure(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True)
    # munged wants all folders above its socket to be closed to writers other than their owner.
    folder.chmod(0o755)
    (folder / "state").mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    text = CONFIGURATION.format(host=socket.gethostname(), folder=folder, ports=_free_ports(3))
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text("NodeName=gpu1 Name=gpu Type=h200 File=/dev/null\n")
    # The plugin forgets SLURM_CONF on the node, where a cluster has its configuration in /etc/slurm.
    wrapper = folder / "bin" / "srun"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
    wrapper.chmod(0o755)
    return {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"}


def _munge(folder: Path) -> list[str]:
    names = {"socket": "munge.socket", "key-file": "munge.key", "log-file": "munged.log", "pid-file": "munged.pid"}
    return [f"--{key}={folder / name}" for key, name in (names | {"seed-file": "munged.seed"}).items()]


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _start(stack: contextlib.ExitStack, folder: Path, *command: str, **environment: str) -> None:
    log = stack.enter_context((folder / f"{'-'.join(command[:1])}.log").open("a"))
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT)
    stack.callback(_end, process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ask(*command: str, **environment: str) -> str:
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _wait(ready: object, folder: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not ready():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise AssertionError("\n".join(path.read_text()[-2000:] for path in folder.glob("*.log")))
        time.sleep(0.05)
