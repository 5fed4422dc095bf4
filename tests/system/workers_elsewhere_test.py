"""Workers elsewhere: with a pass and a directory of their own, without a socket or a directory of the platform. Each lives in a
mount namespace, where the kernel calls itself another one, and where files of the platform are hidden, or shown as they were."""

import contextlib
import json
import os
import shutil
import subprocess
import sys

import namespaces
from weirlab import (DEADLINE_S, PIPELINE, SKIPPED, Lab, assert_clean_audits, await_force, await_that, binaries, child, free_ports,
                     outcome, run_tests)

REFERENCE = PIPELINE.replace("import: copy", "import: reference")
NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
BOOT_ID = "/proc/sys/kernel/random/boot_id"


@contextlib.contextmanager
def platform(lab, address="127.0.0.1", host=(), system_keys=""):
    """A platform without workers of its own."""
    system = lab.folder / "system.yaml"
    system.write_text(f"workers: 0\nlisten: tcp://{address}:{free_ports()}\n{system_keys}")
    server = child.start([*host, binaries() / "orchestrator", "serve", "--data-dir", lab.data_dir, "--system", system],
                         stdout=subprocess.PIPE, text=True)
    try:
        assert "serving" in server.stdout.readline()
        yield
    finally:
        server.terminate()
        server.communicate(timeout=DEADLINE_S)
    assert server.returncode == 0, server.returncode


def pass_of(lab, name, *words):
    path = lab.folder / f"{name}.key"
    lab.weir("keys", "new", "worker", name, *words, "-o", str(path))
    return path


class Worker:
    """One elsewhere, to whom the file system looks as `view`, commands of the shell, makes it look."""

    def __init__(self, lab, name, *view, options=(), key=None, address="127.0.0.1", host=()):
        boot_id = lab.folder / "boot_id"
        boot_id.write_text("another host\n")
        self.lab, self.name, self.log = lab, name, lab.folder / f"{name}.log"
        words = [binaries() / "worker", "--key", key or pass_of(lab, name), "--data-dir", lab.folder / f"scratch-{name}",
                 "--listen", f"tcp://{address}:*", "--name", name, *options]
        script = " && ".join([f"mount --bind {boot_id} {BOOT_ID}", *view, 'exec "$@"'])
        self.words = [*host, *NAMESPACE, "sh", "-c", script, "sh", *words]
        self.start()

    def start(self):
        with open(self.log, "a") as log:
            self.process = child.start(self.words, stderr=log, stdout=log)

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE_S)

    def row(self):
        workers = json.loads(self.lab.weir("workers", "--json"))["workers"]
        return next((row for row in workers if row["worker"] == self.name), None)

    def await_row(self, what):
        return await_that(lambda: (row := self.row()) and what(row) and row, lambda: f"{self.row()}\n{self.log.read_text()}")

    def end(self):
        self.process.terminate()
        assert self.process.wait(DEADLINE_S) == 0, self.log.read_text()


@contextlib.contextmanager
def working(*arguments, **options):
    worker = Worker(*arguments, **options)
    try:
        yield worker
    finally:
        worker.kill()


def nothing(lab):
    """Where neither the platform's directory nor the stream is."""
    return [f"mount -t tmpfs none {lab.data_dir}", f"mount -t tmpfs none {lab.folder / 'stream'}"]


def as_it_was(lab):
    """Where the stream has other bytes under the same names, sizes and times."""
    old, stream = lab.folder / "old", lab.folder / "stream"
    shutil.copytree(stream, old)
    for path in old.iterdir():
        about = path.stat()
        path.write_bytes(path.read_bytes().replace(b"hello", b"jello").replace(b"#", b"@"))
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        assert path.stat().st_size == about.st_size
    return [f"mount --bind {old} {stream}"]


def submit(lab):
    lab.weir("submit", str(lab.pipeline))


def told(lab):
    """All that came of the pipeline, once it is over."""
    events = [json.loads(line) for line in lab.weir("watch", "lab", "--json").splitlines()]
    assert events[-1]["event"] == "pipeline_finished", events[-1]
    assert_clean_audits(events)
    return events


def expected(lab):
    """The same, of a platform that does it all itself."""
    return outcome(lab.run(lab.folder / "local").finish().events)


def test_a_worker_that_sees_no_file_is_handed_all_and_makes_the_same_models_though_it_is_killed():
    lab = Lab(samples=600, every=200, epochs=3)
    wanted = expected(lab)
    with platform(lab), working(lab, "rosa", *nothing(lab)) as rosa:
        submit(lab)
        rosa.await_row(lambda row: row["bytes_read"] > 0)
        rosa.kill()
        rosa.start()
        assert outcome(told(lab)) == wanted
        assert list((lab.folder / "scratch-rosa/fetched/rosa").glob("*.set")), "it has seen the sets of the platform"
        rosa.end()
    lab.remove()


def test_a_worker_that_sees_the_files_reads_them_itself():
    lab = Lab(samples=600, every=200, epochs=1, pipeline=REFERENCE)
    wanted = expected(lab)
    with platform(lab), working(lab, "rosa") as rosa:
        submit(lab)
        assert outcome(told(lab)) == wanted
        assert rosa.row()["mismatches"] == 0, rosa.row()
    lab.remove()


def test_old_bytes_of_a_shared_file_system_never_reach_a_trainer():
    lab = Lab(samples=600, every=200, epochs=1, pipeline=REFERENCE)
    wanted = expected(lab)
    with platform(lab), working(lab, "rosa", *as_it_was(lab)) as rosa:
        submit(lab)
        assert outcome(told(lab)) == wanted
        assert rosa.row()["mismatches"] > 0, rosa.row()
        assert "shows old bytes" in lab.weir("workers")
    lab.remove()


def test_an_erasure_is_in_force_while_a_worker_elsewhere_reads():
    lab = Lab(samples=400, every=400, epochs=100, pipeline=PIPELINE.replace("retrain_now", "keep"))
    with platform(lab), working(lab, "rosa", *nothing(lab)) as rosa:
        submit(lab)
        rosa.await_row(lambda row: row["bytes_read"] > 0)
        asked = json.loads(lab.weir("erase", "request", "--subject", lab.records[10]["user"], "--json"))
        await_force(lab, asked["erasure"])
        (trained,) = [e for e in told(lab) if e["event"] == "training_finished"]
        assert trained["audit"]["erased"] > 0, trained
    lab.remove()


def test_a_worker_that_trainers_cannot_reach_is_leased_nothing_and_says_so():
    lab = Lab(samples=200, every=200, epochs=1, pipeline=PIPELINE[:PIPELINE.index("evaluation:")])
    with platform(lab), working(lab, "nat", options=["--advertise", "127.0.0.2"]) as nat:
        submit(lab)
        nat.await_row(lambda row: row["unreached"] and row["leases"] == 0)
        assert "nat: a trainer cannot reach it" in lab.weir("workers")
        await_that(lambda: "--advertise must name this host" in nat.log.read_text())
        with working(lab, "rosa") as rosa:
            told(lab)
            assert rosa.row()["bytes_sent"] > 0 and nat.row()["bytes_sent"] == 0, (rosa.row(), nat.row())
    lab.remove()


def test_a_worker_of_another_name_than_its_key_is_refused_in_words():
    lab = Lab(samples=100, every=100, epochs=1)
    with platform(lab):
        key = pass_of(lab, "rosa")
        with working(lab, "worker-1", key=key, options=["--log-level", "debug"]) as other, \
                working(lab, "rosa-7", key=key) as array:
            array.await_row(lambda row: True)
            await_that(lambda: "no orders, beating on" in other.log.read_text(), other.log.read_text)  # it was refused before
            (line,) = (line for line in other.log.read_text().splitlines() if "the platform refuses this worker" in line)
            assert "has the key of 'rosa': expected --name rosa" in line, line
            assert other.row() is None
    lab.remove()


def test_a_worker_of_another_tenant_is_leased_nothing():
    lab = Lab(samples=200, every=200, epochs=1, pipeline=PIPELINE[:PIPELINE.index("evaluation:")])
    with platform(lab), working(lab, "red", key=pass_of(lab, "red", "--tenant", "red")) as red, working(lab, "rosa") as rosa:
        red.await_row(lambda row: True)
        submit(lab)
        told(lab)
        assert rosa.row()["bytes_sent"] > 0 and red.row()["bytes_sent"] == red.row()["bytes_read"] == 0, (rosa.row(), red.row())
    lab.remove()


def test_a_worker_of_a_tenant_is_handed_the_samples_and_sets_of_its_tenant():
    lab = Lab(samples=200, every=200, epochs=1, pipeline=PIPELINE[:PIPELINE.index("evaluation:")])
    with platform(lab), working(lab, "red", *nothing(lab), key=pass_of(lab, "red", "--tenant", "red")) as red:
        anna = lab.folder / "anna.key"
        lab.weir("keys", "new", "submitter", "anna", "--tenant", "red", "-o", str(anna))
        child.run([binaries() / "weir", "--key", anna, "submit", lab.pipeline], check=True, timeout=DEADLINE_S)
        told(lab)
        assert list((lab.folder / "scratch-red/fetched/red").glob("*.set")) and red.row()["bytes_sent"] > 0, red.row()
    lab.remove()


def test_a_worker_on_another_host_makes_the_same_models_and_nothing_on_its_way_can_be_read():
    if namespaces.lacking():
        print(f"not tried: {namespaces.lacking()}")
        return
    lab = Lab(samples=600, every=200, epochs=1)
    wanted, wire = expected(lab), lab.folder / "wire"
    with namespaces.hosts("platform", "rosa") as net, net.captured("rosa", wire), \
            platform(lab, net.addresses["platform"], net.inside("platform")), \
            working(lab, "rosa", *nothing(lab), address=net.addresses["rosa"], host=net.inside("rosa")):
        submit(lab)
        assert outcome(told(lab)) == wanted
    people = {record["user"] for record in lab.records}
    namespaces.assert_unreadable(wire, (namespaces.secret_of(lab.folder / "rosa.key"), "[work, spam]", "tokenize_words", *people,
                                        *(record["text"] for record in lab.records)))
    lab.remove()


if __name__ == "__main__":
    if subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0:
        sys.exit(SKIPPED)
    run_tests(globals(), wanted=sys.argv[1:])
