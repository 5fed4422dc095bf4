"""A platform on one host, a person at another, a trainer at a third: passes alone connect them. The person submits, watches, pushes
and predicts as at home, with no data directory; the trainer, started by hand, gets its batches from workers over TCP while its cable
is cut, in each direction, and it stands still itself; the platform is stopped and comes back. Each sample is trained on once, and
nothing that went over the cables can be read.

elsewhere_test.py [SECONDS]: for how long each cable is cut (1); what is longer than 10 loses the connections.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading

import namespaces
from weirlab import DEADLINE_S, PIPELINE, Lab, assert_clean_audits, await_that, binaries, child, everyone_may_enter

CUT_S = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
STEP_MS = 200  # of 38 in a training: it is not over before it was disturbed, however busy the machine is
SYSTEM = """\
listen: tcp://{address}:5800
batches: {{listen: "tcp://{address}:*"}}
programs:
  byhand: {{command: [/bin/sh, -c, "env > .env && mv .env env; while [ -e env ]; do sleep 0.1; done"], modes: [train]}}
"""
LEARNS = re.sub(r"evaluation: .*\n", "", PIPELINE)
BY_HAND = re.sub(r"training: .*?\n.*?\n", "training: {{program: byhand, epochs: {epochs}, seed: 1, patience: 1h}}\n",
                 LEARNS).replace("name: lab", "name: byhand")
ROWS = """\
pipeline: {name: rows, mode: live}
dataset:
  name: rows
  source: {push: true, format: csv}
  time:   {from: field, field: ts}
  label:  {field: y, type: int}
trigger:   {policy: amount, samples: 1000000000}
selection: {policy: new_data}
preprocess:
  operators: [{op: csv_fields, columns: [ts, y, note], fields: [ts]}]
  batch: {samples: 8}
training: {model: linear, loss: logistic}
"""


def pause(seconds):
    threading.Event().wait(seconds)  # for as long as the cable is cut: nothing is to happen meanwhile


class Elsewhere:
    def __init__(self, net):
        self.net, self.lab = net, Lab(samples=600, every=300, epochs=1, pipeline=LEARNS)
        folder = self.lab.folder
        self.system = folder / "system.yaml"
        self.system.write_text(SYSTEM.format(address=net.addresses["platform"]))
        self.by_hand = folder / "byhand.yaml"
        self.by_hand.write_text(BY_HAND.format(data=folder / "stream", every=300, epochs=1))
        (folder / "rows.yaml").write_text(ROWS)
        everyone_may_enter(folder)
        self.server = None
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config")}

    def serve(self):
        self.server = child.start(
            self.net.inside("platform", binaries() / "orchestrator", "serve", "--data-dir", self.lab.data_dir, "--system", self.system),
            stdout=subprocess.PIPE, text=True)
        assert "serving" in self.server.stdout.readline()

    def stop(self):
        self.server.terminate()
        self.server.communicate(timeout=DEADLINE_S)

    def new_pass(self, role, name):
        path = self.lab.folder / f"{name}.pass"
        self.lab.weir("keys", "new", role, name, "-o", str(path))
        return path

    def begin(self, *arguments, **options):
        """A command at the person's host."""
        return child.start(self.net.inside("laptop", binaries() / "weir", *arguments), env=self.environment, cwd="/", text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def ask(self, *arguments, said=None):
        asked = self.begin(*arguments, stdin=subprocess.PIPE)
        printed, complaint = asked.communicate(said, timeout=DEADLINE_S)
        return asked.returncode, printed, complaint

    def weir(self, *arguments, said=None):
        code, printed, complaint = self.ask(*arguments, said=said)
        assert code == 0, (arguments, code, printed, complaint)
        return printed

    def events(self, pipeline):
        return [json.loads(line) for line in self.weir("logs", pipeline, "--json").splitlines()]


def contexts_name_platforms(far, operator):
    assert "none" in far.weir("context", "list") or "no contexts" in far.weir("context", "list")
    far.weir("context", "add", "lab", "--key", str(operator))
    assert far.ask("context", "add", "lab", "--key", str(operator))[0] == 2  # it is there
    far.weir("context", "use", "lab")
    listed = json.loads(far.weir("context", "list", "--json"))["contexts"]
    address = f"tcp://{far.net.addresses['platform']}:5800"
    assert [(c["context"], c["platform"], c["role"], c["used"]) for c in listed] == [("lab", address, "operator", True)], listed
    assert json.loads(far.weir("status", "--json"))["listen"] == address


def files_of_the_platform_are_not_here(far):
    code, _, complaint = far.ask("models", "export", "lab-1")
    assert code == 1 and "elsewhere" in complaint and "run it there" in complaint, complaint


def a_person_works_as_at_home(far):
    far.weir("submit", str(far.lab.pipeline))
    watching = far.begin("watch", "lab", "--json")
    far.stop()
    far.serve()
    printed, complaint = watching.communicate(timeout=DEADLINE_S)
    events = [json.loads(line) for line in printed.splitlines()]
    assert watching.returncode == 0, complaint
    assert_clean_audits(events)
    assert len([e for e in events if e["event"] == "model_stored"]) == 2, events
    row = json.dumps(far.lab.records[0]) + "\n"
    predicted = [json.loads(line) for line in far.weir("predict", "--json", said=row * 3).splitlines()]
    assert len(predicted) == 3, predicted
    far.weir("submit", str(far.lab.folder / "rows.yaml"))
    rows = "ts,y,note\n" + "".join(f"{1009843200 + i},{i % 2},note\n" for i in range(50))
    await_that(lambda: any(d["dataset"] == "rows" for d in json.loads(far.weir("datasets", "--json"))["datasets"]))
    assert json.loads(far.weir("push", "rows", "--json", said=rows))["samples"] == 50


def run_to_take_over(far, after):
    """The directory of the next run that waits for somebody, and what its program finds in its environment."""
    found = [path for path in far.lab.data_dir.glob("runs/*/env") if path.parent not in after]
    if not found:
        return None
    variables = dict(line.split("=", 1) for line in found[0].read_text().splitlines() if line.startswith("WEIR_"))
    return found[0].parent, variables


def train_by_hand(far, trainer, disturb, after):
    """A training that is disturbed: by what is called with its loop, and with a file that grows by a byte with each batch."""
    folder, variables = await_that(lambda: run_to_take_over(far, after))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    environment |= {"WEIR_KEY": str(trainer), "WEIR_RUN": variables["WEIR_RUN"], "WEIR_TOKEN": variables["WEIR_TOKEN"]}
    taken = far.lab.folder / f"taken-{variables['WEIR_RUN']}"
    loop = child.start(far.net.inside("trainer", binaries().parent / "tests/bin/slow_loop", STEP_MS, taken), env=environment,
                       cwd=folder, stderr=subprocess.PIPE, text=True)
    disturb(loop, taken)
    _, complaint = loop.communicate(timeout=DEADLINE_S)
    assert loop.returncode == 0, complaint
    (folder / "env").unlink(missing_ok=True)  # the run is over, and its directory may be gone
    return folder, variables["WEIR_TOKEN"]


def a_folder_that_is_not_here_is_said(far, trainer):
    """Of the run that waits for somebody, who does not see the data directory; it waits on."""
    _, variables = await_that(lambda: run_to_take_over(far, ()))
    environment = {**os.environ, "WEIR_KEY": str(trainer), "WEIR_RUN": variables["WEIR_RUN"], "WEIR_TOKEN": variables["WEIR_TOKEN"]}
    environment.pop("WEIR_SOCKET_DIR", None)
    blind = f'mount -t tmpfs none {far.lab.data_dir} && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", blind, "sh", binaries().parent / "tests/bin/slow_loop", 1, "/dev/null"]
    loop = child.start(far.net.inside("trainer", *command), env=environment, stderr=subprocess.PIPE, text=True)
    _, complaint = loop.communicate(timeout=DEADLINE_S)
    assert loop.returncode != 0, "it took the run"
    assert f"{far.lab.data_dir}/runs/" in complaint and "at the same path" in complaint, complaint


def await_batches(loop, taken, count):
    await_that(lambda: taken.exists() and taken.stat().st_size >= count)
    assert loop.poll() is None, "it was over before it was disturbed"


def a_trainer_is_cut_off(far, trainer):
    def each_way(loop, taken):
        for host, batches in (("trainer", 1), ("platform", 9)):
            await_batches(loop, taken, batches)
            with far.net.cut(host):
                pause(CUT_S)

    def stands_still(loop, taken):
        await_batches(loop, taken, 1)
        program = int(subprocess.run(["pgrep", "-P", str(loop.pid)], capture_output=True, text=True).stdout or loop.pid)
        os.kill(program, signal.SIGSTOP)
        with far.net.cut("trainer", "platform"):
            pause(CUT_S)
        os.kill(program, signal.SIGCONT)

    far.weir("submit", str(far.by_hand))
    watching = far.begin("watch", "byhand", "--json")
    a_folder_that_is_not_here_is_said(far, trainer)
    tokens, done = [], []
    for disturb in (each_way, stands_still):
        folder, token = train_by_hand(far, trainer, disturb, done)
        done.append(folder)
        tokens.append(token)
    printed, complaint = watching.communicate(timeout=DEADLINE_S)
    assert watching.returncode == 0, complaint
    events = [json.loads(line) for line in printed.splitlines()]
    assert_clean_audits(events)
    assert len([e for e in events if e["event"] == "training_finished"]) == 2, events
    return tokens


def nothing_can_be_read(far, captured, passes, tokens):
    told = [record[key] for record in far.lab.records for key in ("text", "user")] + ["[work, spam]", "tokenize_words"]
    for file in captured:
        namespaces.assert_unreadable(file, (*map(namespaces.secret_of, passes), *tokens, *told))


def main():
    namespaces.skip_without()
    with namespaces.hosts("platform", "laptop", "trainer") as net:
        far = Elsewhere(net)
        far.serve()
        operator, trainer = far.new_pass("operator", "rosa"), far.new_pass("trainer", "bench")
        captured = [far.lab.folder / "laptop.wire", far.lab.folder / "trainer.wire"]
        with net.captured("laptop", captured[0]), net.captured("trainer", captured[1]):
            contexts_name_platforms(far, operator)
            a_person_works_as_at_home(far)
            files_of_the_platform_are_not_here(far)
            tokens = a_trainer_is_cut_off(far, trainer)
        nothing_can_be_read(far, captured, (operator, trainer), tokens)
        far.stop()
        far.lab.remove()


if __name__ == "__main__":
    main()
