"""Messages that decode and make no sense, to every process of a platform that has trained: each is answered, refused or dropped,
and none ends or restarts a process. `nonsense_test.py [SEED [COUNT]]`; a seed reproduces what was sent."""

import os
import sys
from pathlib import Path

from weirlab import DEADLINE_S, Lab, child, logs, served

SERVICES = ("storage", "selector", "dispatcher", "orchestrator", "worker-1")
PIPELINE_SAMPLES = 300


def socket_of(lab, name):
    """The socket that a process of this platform has bound."""
    for line in Path("/proc/net/unix").read_text().splitlines():
        path = line.split()[-1]
        if path.endswith(f"/{name}.sock") and Path(path).exists() and lab.data_dir in Path(os.path.realpath(path)).parents:
            return path
    raise AssertionError(f"{name} has no socket in {lab.data_dir}")


def main(seed=1, count=400):
    lab = Lab(samples=PIPELINE_SAMPLES, every=150, epochs=1)
    lab.run().finish()
    with served(lab):
        for name in SERVICES:
            endpoint = f"ipc://{socket_of(lab, name)}"
            done = child.run([Path(os.environ["WEIR_TEST_BIN_DIR"]) / "nonsense", endpoint, str(seed), str(count), lab.pipeline],
                             capture_output=True, text=True, timeout=DEADLINE_S + count / 10)
            print(done.stdout.strip(), flush=True)
            assert done.returncode == 0, f"{done.stderr}\n{logs(lab.data_dir)}"
    lab.remove()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
