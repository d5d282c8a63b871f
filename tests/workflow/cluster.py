"""A real Slurm of two virtual nodes on this machine, in a folder of its own, for as long as a test needs it."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
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
TaskPlugin=task/affinity
SelectTypeParameters=CR_CPU_Memory
DefMemPerNode=100
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

    def ask(*command: str) -> str:
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def start(*command: str) -> None:
        log = stack.enter_context((folder / f"{command[0]}.log").open("a"))
        process = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=subprocess.STDOUT)
        stack.enter_context(process)  # waits for its end
        stack.callback(process.terminate)

    with contextlib.ExitStack() as stack:
        names = {"socket": "munge.socket", "key-file": "munge.key", "log-file": "munged.log", "pid-file": "munged.pid"}
        own = [f"--{key}={folder / name}" for key, name in (names | {"seed-file": "munged.seed"}).items()]
        start("munged", "--foreground", "--force", *own)
        _wait((folder / "munge.socket").exists, folder)
        start("slurmctld", "-D")
        for node in ("cpu1", "gpu1"):
            start("slurmd", "-D", "-N", node)
        _wait(lambda: ask("sinfo", "-h", "-t", "idle", "-o", "%D").split() == ["2"], folder)
        try:
            yield environment
        finally:
            ask("scancel", "--user", "root")
            with contextlib.suppress(AssertionError):
                _wait(lambda: not ask("squeue", "-h"), folder)


def _configure(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True)
    # munged wants all folders above its socket to be closed to writers other than their owner.
    folder.chmod(0o755)
    (folder / "state").mkdir()
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        ports = [one.getsockname()[1] for one in sockets]
    text = CONFIGURATION.format(host=socket.gethostname(), folder=folder, ports=ports)
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text("NodeName=gpu1 Name=gpu Type=h200 File=/dev/null\n")
    # The plugin forgets SLURM_CONF on the node, where a cluster has its configuration in /etc/slurm.
    wrapper = folder / "bin" / "srun"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
    wrapper.chmod(0o755)
    return {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"}


def _wait(is_ready: Callable[[], bool], folder: Path) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_ready():
        if time.monotonic() > deadline:
            raise AssertionError("\n".join(path.read_text()[-2000:] for path in folder.glob("*.log")))
        time.sleep(0.05)
