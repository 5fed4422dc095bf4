"""Real binaries under test: one data directory, one stream, runs that can be killed at any point.

Standard library only. Every wait ends with an event (a line of output, an exit) or a named deadline.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import child  # noqa: E402
import clusters  # noqa: E402

SKIPPED = 77  # ctest counts it as skipped
DEADLINE_S = 300


def binaries():
    return Path(os.environ["WEIR_BIN_DIR"])


def make_clusters():
    """For the tests that are about a first start."""
    os.environ.pop("WEIR_POSTGRES_BIN", None)


class Stream:
    """A seeded stream of short texts: two classes that use other words, a few people, three months."""

    WORDS = {
        "work": "meeting report budget review agenda minutes draft schedule office team".split(),
        "spam": "winner prize money offer credit casino cheap click free bonus".split(),
    }
    BOTH = "hello today please regards thanks monday the and of for you with that this".split()

    def __init__(self, samples=1500, seed=1):
        self.samples, self.random = samples, random.Random(seed)

    def record(self, index):
        draw = self.random
        label = draw.choice(["work", "work", "spam"])
        words = draw.choices(self.BOTH, k=8) + draw.choices(self.WORDS[label], k=draw.randint(2, 6))
        draw.shuffle(words)
        seconds = index * 90 * 86400 // self.samples
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_009_843_200 + seconds))  # 2002-01-01
        person = f"person{draw.randrange(40)}@example.org"
        return {"ts": when, "label": label, "user": person, "text": " ".join(words) + f" #{index}"}

    def write_jsonl(self, folder, files=3):
        folder.mkdir(parents=True, exist_ok=True)
        records = [self.record(i) for i in range(self.samples)]
        size = -(-len(records) // files)
        for part in range(files):
            lines = [json.dumps(r) for r in records[part * size : (part + 1) * size]]
            (folder / f"part{part}.jsonl").write_text("\n".join(lines) + "\n")
        return records


PIPELINE = """\
pipeline: {{name: lab, mode: replay}}
datasets:
  - name: notes
    source:  {{path: {data}, format: jsonl, include: "*.jsonl", import: copy, on_erase: scrub}}
    time:    {{from: field, field: ts}}
    label:   {{field: label, classes: [work, spam]}}
    subject: {{field: user}}
trigger:   {{policy: amount, samples: {every}}}
selection: {{policy: random, ratio: 0.8, tail_triggers: all, seed: 7}}
preprocess:
  operators:
    - {{op: json_text, field: text}}
    - {{op: normalize_text}}
    - {{op: tokenize_words, max_tokens: 100}}
    - {{op: tokenize_hash, ngrams: 2, buckets: 4096}}
  batch: {{samples: 8, last: short, shuffle: full, order: deterministic, delivery: exactly_once}}
training: {{model: {{name: text_bag, buckets: 4096}}, loss: logistic, epochs: {epochs}, seed: 1, start_from: previous,
           optimizer: {{name: adagrad, lr: 0.1}}, checkpoint: {{every: 10ms}}}}
evaluation: [{{name: next_month, on: new, strategy: slicing, every: 1 month, metrics: [roc_auc, accuracy]}}]
deletion:  {{policy: retrain_now}}
"""


def everyone_may_enter(path):
    """Started as root, Weir's children run as another user: temporary folders must let them in."""
    os.chmod(path, 0o755)


def everyone_may_write(path):
    """The same for folders that Weir itself writes into."""
    for folder in [path, *path.rglob("*")]:
        os.chmod(folder, 0o777)


clusters.copy(binaries().parent / "tests/bin")
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell has its background ignore, and so all that starts there


class Lab:
    """A temporary folder with a stream and a pipeline; `run` is one `orchestrator run` in it."""

    def __init__(self, samples=1500, every=300, epochs=2, seed=1, pipeline=PIPELINE):
        self.folder = Path(tempfile.mkdtemp(prefix="weir-system-"))
        everyone_may_enter(self.folder)
        self.data_dir = self.folder / "data"
        self.records = Stream(samples, seed).write_jsonl(self.folder / "stream")
        self.pipeline = self.folder / "lab.yaml"
        self.pipeline.write_text(pipeline.format(data=self.folder / "stream", every=every, epochs=epochs))

    def run(self, data_dir=None):
        return Run(self.pipeline, data_dir or self.data_dir)

    def run_through_deaths(self, faults):
        """The run that ended well, begun again as often as a fault ended the platform, and how often that was."""
        with faulty(faults):
            run, deaths = self.run().finish(expect=None), 0
            while run.process.returncode < 0:
                run, deaths = self.run().finish(expect=None), deaths + 1
        assert run.process.returncode == 0, "".join(run.stderr)
        assert_clean_audits(run.events)
        return run, deaths

    def command(self, *arguments, data_dir=None):
        return [binaries() / "weir", "--data-dir", data_dir or self.data_dir, *arguments]

    def begin(self, *arguments, **streams):
        """A command that is on its way."""
        return child.start(self.command(*arguments), text=True, **streams)

    def ask(self, *arguments, data_dir=None, **options):
        """A command that has ended, in whatever way."""
        return child.run(self.command(*arguments, data_dir=data_dir), capture_output=True, text=True,
                         timeout=DEADLINE_S, **options)

    def weir(self, *arguments, data_dir=None, expect=0):
        """Returns the output of a command that ends as expected."""
        done = self.ask(*arguments, data_dir=data_dir)
        if done.returncode != expect:
            raise AssertionError(f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def remove(self):
        outside = [found.read_text().strip() for found in self.folder.glob("**/postgres.location")]
        subprocess.run(["rm", "-rf", str(self.folder), *outside], check=True)


def with_trainer(lab, script):
    """The programs as they are, but for the trainer: this shell script, to which {real} and {folder} are the real one and a folder
    that both of us may write to. Returns that folder."""
    real, folder = binaries(), lab.folder / "programs"
    bin_dir = folder / "bin"
    bin_dir.mkdir(parents=True)
    for program in real.iterdir():
        if program.is_file() and program.name not in ("trainer", "orchestrator"):
            (bin_dir / program.name).symlink_to(program)
    shutil.copy(real / "orchestrator", bin_dir)  # it looks for the others beside itself
    (bin_dir / "trainer").write_text(script.format(real=real / "trainer", folder=folder))
    for path in (folder, *(bin_dir / name for name in ("trainer", "orchestrator"))):
        os.chmod(path, 0o777)
    os.environ["WEIR_BIN_DIR"] = str(bin_dir)
    return folder


class HeldTrainers:
    """Trainers that wait at their start until so many are there: none of them takes a batch before the others can."""

    SCRIPT = """\
#!/bin/sh
echo $$ >> {folder}/began
while [ ! -e {folder}/go ]; do sleep 0.02; done
exec {real} "$@"
"""

    def __init__(self, lab):
        self.folder = with_trainer(lab, self.SCRIPT)
        self.began = self.folder / "began"
        self.began.touch()
        self.began.chmod(0o666)

    def let_go(self, count):
        await_that(lambda: len(self.began.read_text().split()) == count)
        (self.folder / "go").touch()


def serve(lab, *options):
    """A platform that is up when this returns."""
    server = child.start([binaries() / "orchestrator", "serve", "--data-dir", lab.data_dir, *options],
                         stdout=subprocess.PIPE, text=True)
    assert "serving" in server.stdout.readline()
    return server


@contextlib.contextmanager
def served(lab, *options):
    """Somebody keeps the platform up."""
    server = serve(lab, *options)
    try:
        yield server
        assert server.poll() is None, "a command stopped the platform of somebody else"
    finally:
        server.terminate()
        server.communicate(timeout=DEADLINE_S)
    assert server.returncode == 0, server.returncode


def free_ports(address="127.0.0.1", count=4):
    """The first of so many in a row, anywhere: tests beside this one look, too, and whoever begins at the same place finds the same."""
    for first in random.sample(range(23000, 32760, 8), 100):
        with contextlib.ExitStack() as taken, contextlib.suppress(OSError):
            for port in range(first, first + count):
                taken.enter_context(socket.socket()).bind((address, port))
            return first
    raise AssertionError("no ports are free")


def victims(data_dir, name):
    """Process numbers of the processes of a data directory called `name` (storage, worker-1, trainer, postgres, …)."""
    wanted, marks = name.rstrip("-0123456789"), [str(data_dir)]
    location = data_dir / "postgres.location"  # of a cluster outside, see docs/decisions/003
    if name == "postgres" and location.exists():
        marks.append(location.read_text().strip())
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if Path(words[0]).name == wanted and any(mark in w for w in words[1:] for mark in marks):
            if wanted == name or name in words:
                found.append(int(entry.name))
    return found


def peak_bytes(pid):
    """The most memory that the process has had; 0: it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return 0


def kill(data_dir, name):
    """kill -9; False when there is no such process at this moment."""
    return kill_all(victims(data_dir, name))


def kill_all(pids):
    """kill -9; False when none of them is there any more."""
    hit = False
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            hit = True
        except ProcessLookupError:
            pass
    return hit


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@contextlib.contextmanager
def stopped(pids):
    """These processes stand still meanwhile: what is asked of them waits."""
    assert pids, "nobody is there"
    signal_all(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_all(pids, signal.SIGCONT)


@contextlib.contextmanager
def faulty(faults):
    """Processes that start meanwhile fail, die or stop at these points (core/base/fault.h)."""
    os.environ["WEIR_FAULTS"] = faults
    try:
        yield
    finally:
        del os.environ["WEIR_FAULTS"]


def stands_still(pid):
    """True of a process that was stopped, by a signal or at a point of faulty()."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def starts(data_dir, name):
    """How often the service has come up."""
    return (data_dir / "log" / f"{name}.log").read_text().count('"ready"')


class Run:
    """One `orchestrator run --json`: its events, its processes, its end."""

    def __init__(self, pipeline, data_dir, system=None, *options):
        self.data_dir = Path(data_dir)
        self.events, self.over, self.changed = [], False, threading.Condition()
        self.process = child.start(
            [binaries() / "orchestrator", "run", str(pipeline), "--data-dir", str(data_dir), "--json",
             *(["--system", str(system)] if system else []), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.stderr = []
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self._read_events, self._read_errors)]
        for reader in self.readers:
            reader.start()

    def _read_events(self):
        for line in self.process.stdout:
            with self.changed:
                self.events.append(json.loads(line))
                self.changed.notify_all()
        self.process.wait()  # whoever waits for an event or the end learns of both
        with self.changed:
            self.over = True
            self.changed.notify_all()

    def _read_errors(self):
        self.stderr.extend(self.process.stderr)

    def of(self, kind):
        with self.changed:
            return [e for e in self.events if e["event"] == kind]

    def wait_until(self, what):
        """Until `what` holds of the events that have come, or the run has ended. Whether it holds."""
        with self.changed:
            self.changed.wait_for(lambda: what() or self.over, DEADLINE_S)
            return what()

    def wait_for(self, count):
        """Until `count` events have come, or the run has ended. True while it runs."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) >= count or self.over, DEADLINE_S)
            return not self.over

    def finish(self, expect=0, deadline_s=DEADLINE_S):
        code = self.process.wait(deadline_s)
        for reader in self.readers:
            reader.join(DEADLINE_S)
        if expect is not None and code != expect:
            raise AssertionError(f"exit {code}, expected {expect}\n{''.join(self.stderr[-30:])}\n{logs(self.data_dir)}")
        return self

    def has_data_dir(self):
        """It holds the lock: before that, a command would start a platform of its own there."""
        try:
            return (self.data_dir / "lock").read_text().split("\n")[0] == str(self.process.pid)
        except FileNotFoundError:
            return False

    def victims(self, name):
        return victims(self.data_dir, name)

    def pause_s(self):
        """Pauses between kills of trainers that are short enough to fall into trainings like this run's."""
        return min(0.2, min(event["seconds"] for event in self.of("training_finished")) / 2)

    def checkpoint(self):
        """The newest one of any training, as what tells it from others."""
        found = []
        for path in self.data_dir.glob("runs/*/checkpoint"):
            try:
                found.append((path.stat().st_mtime_ns, str(path)))
            except FileNotFoundError:
                pass  # its training is over
        return max(found, default=None)

    def kill(self, name):
        return kill(self.data_dir, name)


def write_pictures(lab, count, every_s=1):
    """JPEG files in folders that are classes, in place of the lab's records, each so much younger than the one before."""
    for path in lab.folder.glob("stream/*"):
        path.unlink()
    subprocess.run([binaries().parent / "tests/bin/make_pictures", lab.folder / "stream", str(count)], check=True)
    paths = sorted(lab.folder.glob("stream/*/*"), key=lambda path: path.name)
    for i, path in enumerate(paths):
        os.utime(path, (1_000_000_000 + i * every_s,) * 2)
    return paths


def await_dataset(run, lab, name):
    """Until the run's pipeline has declared its dataset."""
    while run.process.poll() is None:
        if run.has_data_dir():
            done = lab.ask("datasets", "--json")
            if done.returncode == 0 and any(d["dataset"] == name for d in json.loads(done.stdout)["datasets"]):
                return
        threading.Event().wait(0.2)  # nothing else tells that a data directory has come up
    raise AssertionError(f"the run ended: {''.join(run.stderr[-20:])}")


def await_that(what, told=lambda: "it does not come", pause_s=0.05):
    """Returns what it is once it holds: for what nothing tells of."""
    began = looked = time.monotonic()
    pause = threading.Event()
    while not (found := what()):
        now = time.monotonic()
        assert now < began + DEADLINE_S, told()
        pause.wait(max(pause_s, now - looked))  # leaves the processors to those that are waited for, however long a look takes
        looked = time.monotonic()
    return found


def await_force(lab, erasure):
    """Until no batch anywhere may hold what was erased."""
    def state():
        return json.loads(lab.weir("erase", "status", str(erasure), "--json"))["state"]
    await_that(lambda: state() not in ("ACCEPTED", "TOMBSTONED"), state, pause_s=0.1)


def stop(run):
    run.process.terminate()
    run.finish(expect=None)


def push(lab, text, *words, expect=0):
    done = lab.ask("push", *words, "--json", input=text)
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout) if expect < 2 and done.stdout else done.stderr


def read_set(path):
    """core/wire/sample_set.h: the ids."""
    data = Path(path).read_bytes()
    (count,) = struct.unpack_from("<Q", data, 8)
    return struct.unpack_from(f"<{count}Q", data, 64)


def read_scores(path):
    """selector/scores/packed.h: how many numbers a sample has, and of each sample its label and the first of them."""
    data = path.read_bytes()
    count, width, label_bytes = struct.unpack_from("<QII", data, 8)
    least, id_bytes = struct.unpack_from("<qQ", data, 48)
    values = struct.unpack_from(f"<{count * width}f", data, 64)
    at = 64 + 4 * count * width
    labels = [least + int.from_bytes(data[at + i * label_bytes:at + (i + 1) * label_bytes], "little") for i in range(count)]
    ids, number, shift = [], 0, 0
    for byte in data[len(data) - id_bytes:]:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            ids.append(number + (ids[-1] if ids else 0))
            number = shift = 0
    assert len(ids) == count and at + count * label_bytes + id_bytes == len(data)
    return width, {i: (label, values[n * width]) for n, (i, label) in enumerate(zip(ids, labels))}


STAYING = {"postgres", "storage", "selector", "dispatcher", "worker"}


class TrainerHunt:
    """kill -9, once, of the trainer of each of these runs: when it is there and, with `behind`, has written that file."""

    def __init__(self, run, numbers, behind=None):
        self.run, self.left, self.behind = run, set(numbers), behind
        self.killed, self.over, self.others = [], threading.Event(), set()
        self.thread = threading.Thread(target=self._hunt, daemon=True)
        self.thread.start()

    def _trainer_of(self, number):
        """A child of the orchestrator's, while it lives: it writes to the log of that run, whichever it was started for."""
        pid = self.run.process.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            words = {child: Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
                     for child in children if child not in self.others}
        except OSError:
            return None
        self.others |= {child for child, line in words.items() if Path(line[0]).name in STAYING}
        return next((int(child) for child in words if self._log_of(child) == f"trainer-{number}.log"), None)

    @staticmethod
    def _log_of(child):
        try:
            return Path(os.readlink(f"/proc/{child}/fd/2")).name
        except OSError:
            return None

    def _is_ripe(self, number):
        return self.behind is None or (self.run.data_dir / "runs" / str(number) / self.behind).exists()

    @staticmethod
    def _kill(trainer):
        try:
            os.kill(trainer, signal.SIGKILL)
        except ProcessLookupError:
            return False  # it has left meanwhile
        return True

    def _hunt(self):
        while self.left and not self.over.is_set():
            for number in sorted(self.left):
                trainer = self._trainer_of(number)
                if trainer and self._is_ripe(number) and self._kill(trainer):
                    self.left.discard(number)
                    self.killed.append(number)
            self.over.wait(0.002)  # leaves the processors to those that are hunted

    def end(self):
        """The runs whose trainers have died."""
        self.over.set()
        self.thread.join(DEADLINE_S)
        return self.killed


def await_sums(lab):
    """Until each block of each file of Weir's own has its checksum."""
    def said():
        findings = json.loads(lab.ask("doctor", "--deep", "--json").stdout)["findings"]
        return [f["found"] for f in findings if f["check"] == "bytes" and "bytes read" in f["found"]]
    await_that(lambda: all(" 0 have none yet" in text for text in said() or ["nothing is said"]), said, pause_s=0.2)


def query(lab, sql):
    """The words of what the platform's own Postgres answers."""
    socket = next(lab.data_dir.glob("run/**/.s.PGSQL.5432"), None) or next(
        Path(lab.data_dir.joinpath("postgres.location").read_text().strip()).glob("**/.s.PGSQL.5432"))
    return subprocess.run(["psql", "-h", str(socket.parent), "-p", "5432", "-U", "weir", "-d", "weir", "-Atc", sql],
                          check=True, capture_output=True, text=True).stdout.split()


def run_tests(module, *arguments, prefix="test_", wanted=()):
    """Calls the functions of `module` (its globals()) whose names begin so, or the wanted ones; each name is a sentence."""
    for name, test in list(module.items()):
        if name.startswith(prefix) and (not wanted or name in wanted):
            began = time.monotonic()
            test(*arguments)
            print(f"ok {name[len(prefix):].replace('_', ' ')}: {time.monotonic() - began:.1f} s", flush=True)


def logs(data_dir, lines=15):
    """The last lines of every log, for the message of a failed test."""
    parts = []
    for path in sorted(Path(data_dir).glob("log/*.log")):
        tail = path.read_text(errors="replace").splitlines()[-lines:]
        parts.append(f"--- {path.name}\n" + "\n".join(tail))
    return "\n".join(parts)


def outcome(events):
    """Returns the results that must not depend on crashes: per trigger the reason, the digest of its set, that of all batches
    where they are kept, and the model's checksum."""
    found = {}
    for event in events:
        if event["event"] in ("trigger_fired", "selection_sealed", "model_stored"):
            keys = ("reason", "digest", "samples", "checksum")
            found.setdefault(event["trigger"], {}).update({k: event[k] for k in keys if k in event})
        if "digests" in event.get("audit", {}):
            found.setdefault(event["trigger"], {})["batches"] = event["audit"]["digests"], event["audit"]["digest"]
    return found


def assert_clean_audits(events):
    """Every training saw its set exactly once per epoch, less the holes it names."""
    trained = [e for e in events if e["event"] == "training_finished"]
    assert trained, "nothing was trained"
    for event in trained:
        audit = event["audit"]
        assert audit["lost"] == 0 and audit["duplicated"] == 0, event
        holes = sum(audit[k] for k in ("filtered", "failed", "erased", "gone"))
        assert audit["delivered"] + holes == audit["set"], event
