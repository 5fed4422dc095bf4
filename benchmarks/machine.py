"""What a benchmark ran on, and how busy others kept it meanwhile."""
import os
import pathlib
import re
import resource
import subprocess

BUSY_SHARE = 0.1  # of the cores, used by others: more than that, and a run says nothing certain
MEMORY_SHARE = 0.05  # kernels differ in how much of the same memory they keep for themselves


def first(pattern, path):
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return ""
    return found[1].strip() if found else ""


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.splitlines()[0] if done.stdout else ""


def describe(compiler):
    return {
        "cpu": first(r"^model name\s*: (.*)$", "/proc/cpuinfo") or os.uname().machine,
        "cores": len(os.sched_getaffinity(0)),
        "memory_mb": int(first(r"^MemTotal:\s*(\d+) kB", "/proc/meminfo") or 0) // 1024,
        "kernel": os.uname().release,
        "compiler": first_line(compiler, "--version"),
    }


def is_same(one, other):
    """Kernel and compiler may differ: they are what a user changes, and are named where they have."""
    return (one["cpu"], one["cores"]) == (other["cpu"], other["cores"]) and \
        abs(one["memory_mb"] - other["memory_mb"]) <= MEMORY_SHARE * one["memory_mb"]


def differences(then, now):
    return [f"{key}: {then[key]} then, {now[key]} now" for key in ("kernel", "compiler") if then[key] != now[key]]


def load():
    return [round(value, 2) for value in os.getloadavg()]


class Others:
    """CPU time that nobody but this process and the children it has waited for used, as cores: unlike the load average it counts
    neither the benchmark itself nor the build before it. Time that a hypervisor took counts too."""

    def __init__(self):
        self.began, self.seconds = self.read()

    @staticmethod
    def read():
        try:
            user, nice, system, _, _, irq, softirq, steal = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
        except (OSError, ValueError):
            return 0, float(first(r"^(\S+)", "/proc/uptime") or 0)
        used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            usage = resource.getrusage(who)
            used -= usage.ru_utime + usage.ru_stime
        return used, float(first(r"^(\S+)", "/proc/uptime") or 0)

    def cores(self):
        used, seconds = self.read()
        return max(0, round((used - self.began) / max(seconds - self.seconds, 1), 2))


def is_busy(others, machine):
    return others > BUSY_SHARE * machine["cores"]
