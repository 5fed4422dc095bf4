"""Nobody reads what the orchestrator prints: it works on, and ends."""

import fcntl
import json
import os

from weirlab import DEADLINE_S, Lab, binaries, child, run_tests

F_SETPIPE_SZ = 1031
PIPE_BYTES = 8192  # two pages


def small_pipe():
    reading, writing = os.pipe()
    fcntl.fcntl(writing, F_SETPIPE_SZ, PIPE_BYTES)
    return reading, writing


def test_a_run_ends_whose_output_nobody_reads(lab):
    (out, out_end), (err, err_end) = small_pipe(), small_pipe()
    run = child.start([binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.data_dir, "--json", "--log-level", "debug"],
                      stdout=out_end, stderr=err_end)
    os.close(out_end)
    os.close(err_end)
    assert run.wait(DEADLINE_S) == 0, run.returncode
    printed = os.read(out, 1 << 20)
    assert PIPE_BYTES // 4 < len(printed) <= PIPE_BYTES and b"pipeline_finished" not in printed, printed  # there was more
    (pipeline,) = json.loads(lab.weir("list", "--json"))["pipelines"]
    assert pipeline["state"] == "FINISHED", pipeline


if __name__ == "__main__":
    lab = Lab(samples=600, every=60, epochs=1)
    run_tests(globals(), lab)
    lab.remove()
