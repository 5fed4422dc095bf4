"""A Slurm of one's own: munged, slurmctld and a slurmd for each node, in a folder of their own, up in a second or two, and gone
without a trace. As root each node is a network namespace with an address of its own, joined by a bridge; otherwise all nodes share
the loopback. Several may stand side by side: names of namespaces and interfaces are those of the process that made them, and
whoever comes next removes what a killed one has left.

As a program it runs a command in the presence of such a Slurm: slurmlab.py [--nodes N] [--one-address] COMMAND…
"""

import contextlib
import grp
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import child  # noqa: E402

DEADLINE_S = 30
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
SKIPPED = 77

CONF = """\
ClusterName=weir
SlurmctldHost={host}({controller})
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.socket,cred_expire=10
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmctldLogFile={folder}/log/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmdLogFile={folder}/log/slurmd-%n.log
SlurmdSpoolDir={folder}/spool/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,defer_batch
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
MessageTimeout=10
MinJobAge={job_age}
KillWait=5
SlurmctldTimeout=30
SlurmdTimeout=10
GresTypes=gpu
{nodes}
PartitionName=work Nodes=ALL Default=YES MaxTime=INFINITE State=UP LLN=YES PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP LLN=YES PriorityTier=9 PreemptMode=OFF
PartitionName=brief Nodes=ALL MaxTime=1 State=UP LLN=YES PriorityTier=1
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr={address} Port={port} CPUs=8 RealMemory=8000 Gres=gpu:2 State=UNKNOWN\n"


def missing():
    """The programs that are not there; on Debian they come with slurmctld, slurmd, slurm-client and munge."""
    path = os.environ.get("PATH", "") + ":/usr/sbin"
    return [program for program in PROGRAMS if shutil.which(program, path=path) is None]


def can_part_networks():
    """True for who may make network namespaces."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"wstry{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], check=True)
    return made


def skip_without():
    """Ends a test that cannot run here; as root that is a failure."""
    lacking = missing()
    if not lacking:
        return
    print(f"Slurm is not installed: {', '.join(lacking)}; ./dev test --all installs it")
    sys.exit(1 if os.geteuid() == 0 else SKIPPED)


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def is_alive(pid):
    return Path(f"/proc/{pid}").exists()


def sweep_left():
    """Removes networks of processes that are gone."""
    for line in ip("netns", "list", check=False).stdout.splitlines():
        found = re.match(r"weir-slurm-(\d+)-", line)
        if found and not is_alive(found[1]):
            end_all(ip("netns", "pids", line.split()[0], check=False).stdout.split())
            ip("netns", "del", line.split()[0], check=False)
    for found in re.findall(r"^\d+: (ws(\d+)\.\w+)", ip("-o", "link", check=False).stdout, re.M):
        if not is_alive(found[1]):
            ip("link", "del", found[0], check=False)


def end_all(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class Node:
    def __init__(self, name, address, port, space):
        self.name, self.address, self.port, self.space = name, address, port, space
        self.daemon = None

    def inside(self, command):
        """The command as it is run on the node."""
        return ["ip", "netns", "exec", self.space, *command] if self.space else list(command)


class SlurmLab:
    """`conf` is what SLURM_CONF names; `nodes` by their names n1, n2, ….

    job_age: seconds that Slurm remembers a job which has ended. one_address: no namespaces, also where they can be made."""

    def __init__(self, nodes=3, job_age=300, one_address=False):
        self.folder = Path(tempfile.mkdtemp(prefix="weir-slurm-"))
        os.chmod(self.folder, 0o755)
        self.conf = self.folder / "slurm.conf"
        self.daemons, self.links = [], []
        self.controller = None
        self.networks = not one_address and can_part_networks()
        try:
            self._make_nodes(nodes)
            self._write_conf(job_age)
            self._start_munge()
            self.start_controller()
            for node in self.nodes.values():
                self.start_node(node.name)
            self.await_nodes(nodes)
        except BaseException:
            print(self.logs(), file=sys.stderr)
            self.close()
            raise

    # ---- the network ----

    def _make_nodes(self, count):
        self.nodes = {}
        if not self.networks:
            self.address = "127.0.0.1"
            for number in range(1, count + 1):
                self.nodes[f"n{number}"] = Node(f"n{number}", self.address, free_port(), None)
            return
        sweep_left()
        self._make_bridge()
        for number in range(1, count + 1):
            self._make_network(number)

    def _make_bridge(self):
        """The bridge's subnet is one that no interface has yet; the bridge takes it for everybody."""
        bridge = f"ws{os.getpid()}.{secrets.token_hex(1)}"
        ip("link", "add", bridge, "type", "bridge")
        self.links.append(bridge)
        self.bridge = bridge
        for third in secrets.SystemRandom().sample(range(256), 256):
            self.subnet = f"10.213.{third}"
            if f" {self.subnet}." not in ip("-o", "-4", "addr").stdout:
                break
        self.address = f"{self.subnet}.1"
        ip("addr", "add", f"{self.address}/24", "dev", bridge)
        ip("link", "set", bridge, "up")

    def _make_network(self, number):
        name, space = f"n{number}", f"weir-slurm-{os.getpid()}-{self.bridge[-2:]}-{number}"
        link = f"{self.bridge}{number}"
        self.nodes[name] = Node(name, f"{self.subnet}.{10 + number}", 16818, space)
        ip("netns", "add", space)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("link", "set", link, "master", self.bridge, "up")
        ip("-n", space, "addr", "add", f"{self.subnet}.{10 + number}/24", "dev", "eth0")
        ip("-n", space, "link", "set", "eth0", "up")
        ip("-n", space, "link", "set", "lo", "up")

    # ---- the daemons ----

    def _write_conf(self, job_age):
        user = pwd.getpwuid(os.geteuid()).pw_name
        host = socket.gethostname().split(".")[0]
        for name in ("run", "log", "state", "munge", *(f"spool/{node}" for node in self.nodes)):
            (self.folder / name).mkdir(parents=True)
        nodes = "".join(NODE.format(name=node.name, host=host, address=node.address, port=node.port)
                        for node in self.nodes.values())
        self.conf.write_text(CONF.format(folder=self.folder, host=host, controller=self.address, port=free_port(), user=user,
                                         nodes=nodes, job_age=job_age))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (self.folder / "gres.conf").write_text("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")

    def _start(self, command, who=()):
        env = {**os.environ, "SLURM_CONF": str(self.conf), "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}
        log = open(self.folder / "log" / "daemons.log", "a")  # noqa: SIM115
        with log:
            started = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *who, "--", *command], env=env, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log)
        self.daemons.append(started)
        return started

    def _start_munge(self):
        munge, run = self.folder / "munge", self.folder / "run"
        who, key = (), munge / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        munge.chmod(0o700)
        if os.geteuid() == 0 and "munge" in {entry.pw_name for entry in pwd.getpwall()}:
            who = ("--reuid=munge", "--regid=munge", "--clear-groups")
            owner = pwd.getpwnam("munge").pw_uid, grp.getgrnam("munge").gr_gid
            for path in (munge, run, key):
                os.chown(path, *owner)
        self.munge_socket = run / "munge.socket"
        self._start(["munged", "--foreground", f"--socket={self.munge_socket}", f"--key-file={key}",
                     f"--pid-file={run}/munged.pid", f"--log-file={munge}/munged.log", f"--seed-file={munge}/munged.seed"], who)
        self._await(self.munge_socket.exists, "munged does not come up")

    def start_controller(self):
        self.controller = self._start(["slurmctld", "-D", "-f", str(self.conf)])

    def stop_controller(self):
        self.controller.terminate()
        self.controller.wait(DEADLINE_S)

    def forget(self):
        """What the controller, which is stopped, has saved is lost."""
        shutil.rmtree(self.folder / "state")
        (self.folder / "state").mkdir()

    def start_node(self, name):
        node = self.nodes[name]
        node.daemon = self._start(node.inside(["slurmd", "-D", "-f", str(self.conf), "-N", name]))

    def kill_node(self, name):
        """The machine stops: everything that ran on it is gone at once."""
        node = self.nodes[name]
        node.daemon.kill()
        node.daemon.wait(DEADLINE_S)
        end_all(self.processes_of(name))

    def processes_of(self, name):
        """Numbers of all processes on the node."""
        node = self.nodes[name]
        if node.space:
            return ip("netns", "pids", node.space).stdout.split()
        return [pid for pid, words in self._mine() if f"SLURMD_NODENAME={name}" in words or "slurmstepd" in words[0]]

    def cut(self, name, is_cut=True):
        """Pulls the cable of a node, or plugs it in again."""
        ip("-n", self.nodes[name].space, "link", "set", "eth0", "down" if is_cut else "up")

    # ---- commands ----

    def run(self, *command, check=True):
        """Returns what a command of Slurm prints."""
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=DEADLINE_S,
                              env={**os.environ, "SLURM_CONF": str(self.conf)})
        assert done.returncode == 0 or not check, (command, done.stdout, done.stderr)
        return done.stdout

    def jobs(self, states="all"):
        """What squeue tells: a list of (name, id, state, node)."""
        lines = self.run("squeue", "-h", "-r", "-t", states, "-o", "%j|%i|%T|%N").splitlines()
        return [tuple(line.split("|")) for line in lines]

    def up(self):
        """Names of the nodes that jobs can be put on."""
        return self.run("sinfo", "-h", "-N", "-p", "work", "-t", "idle,mix,alloc", "-o", "%N", check=False).split()

    def await_nodes(self, count):
        self._await(lambda: len(self.up()) >= count, "the nodes do not come up")

    @staticmethod
    def _await(what, complaint):
        end, pause = time.monotonic() + DEADLINE_S, threading.Event()
        while not what():
            assert time.monotonic() < end, complaint
            pause.wait(0.02)  # nothing tells of it

    # ---- the end ----

    def _mine(self):
        """Processes whose environment names this Slurm, with their command lines."""
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and int(entry.name) != os.getpid():
                    words = (entry / "environ").read_bytes()
                    if f"SLURM_CONF={self.conf}".encode() in words.split(b"\0"):
                        command = (entry / "cmdline").read_bytes()
                        yield entry.name, (command + b"\0" + words).decode(errors="replace").split("\0")

    def logs(self, lines=30):
        parts = []
        for path in sorted(self.folder.glob("log/*.log")):
            parts.append(f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-lines:]))
        return "\n".join(parts)

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.kill()
        for daemon in self.daemons:
            daemon.wait(DEADLINE_S)
        end_all(pid for pid, words in self._mine() if Path(words[0]).name.startswith("slurm"))
        for node in self.nodes.values():
            if node.space:
                end_all(ip("netns", "pids", node.space, check=False).stdout.split())
                ip("netns", "del", node.space, check=False)
        end_all(pid for pid, words in self._mine() if any(word.startswith("SLURM_JOB_ID=") for word in words))
        for link in self.links:
            ip("link", "del", link, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def slurm(**options):
    """A Slurm that whatever is started meanwhile finds."""
    lab = SlurmLab(**options)
    os.environ["SLURM_CONF"] = str(lab.conf)
    try:
        yield lab
    finally:
        del os.environ["SLURM_CONF"]
        lab.close()


def main(words):
    options = {}
    if words[:1] == ["--nodes"]:
        options["nodes"], words = int(words[1]), words[2:]
    if words[:1] == ["--one-address"]:
        options["one_address"], words = True, words[1:]
    skip_without()
    with slurm(**options) as lab:
        os.environ["WEIR_SLURM_ADDRESS"] = lab.address
        return child.run(words).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
