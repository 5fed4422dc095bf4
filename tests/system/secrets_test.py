"""Postgres of somebody else, with a password: while a pipeline trains, with a program of the user in it, neither the command
line nor the environment of any process of the platform holds that password, nor does anything that is printed, logged or kept.
Those that do not connect do not have it from the environment of whoever starts the platform either."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from weirlab import DEADLINE_S, Lab, Run, assert_clean_audits, binaries, child, everyone_may_enter, served

PASSWORD = "quagga 7'%42&"
CONNINFO = "host={host} dbname=postgres user=weir {password}"
IN_QUOTES = "password='" + PASSWORD.replace("'", "\\'") + "'"
CONNECT = ("storage", "selector", "dispatcher", "orchestrator")
OTHERS = ("worker", "trainer", "python3")
EXAMPLE = Path(__file__).parents[2] / "docs/guides/programs/text_numbers.py"
OPERATORS = """\
    - {op: json_text, field: text}
    - {op: exec, program: numbers, name: numbers, makes: dense, type: f32, width: 3}
    - {op: standardize}
  batch:"""


class Server:
    """A Postgres that lets in whoever knows the password."""

    port, address = 5432, ""  # a socket in its folder alone

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="weir-secrets-"))
        everyone_may_enter(self.folder)
        self.user = {}
        if os.geteuid() == 0:
            self.user = {"user": "postgres" if "postgres" in {p.pw_name for p in pwd.getpwall()} else "nobody"}
            shutil.chown(self.folder, **self.user)
        bin_dir = max(Path("/usr/lib/postgresql").iterdir(), key=lambda path: float(path.name)) / "bin"
        secret = self.folder / "pw"
        secret.write_text(PASSWORD + "\n")
        secret.chmod(0o644)
        subprocess.run([bin_dir / "initdb", "-D", self.folder / "data", "-U", "weir", "-A", "scram-sha-256", "--pwfile", secret,
                        "--no-sync", "--locale=C", "-E", "UTF8"], check=True, capture_output=True, cwd="/", **self.user)
        secret.unlink()
        self.prepare()
        self.process = child.start([bin_dir / "postgres", "-D", self.folder / "data", "-k", self.folder, "-h", self.address,
                                    "-p", str(self.port), "-F"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/", **self.user)
        assert any("ready to accept connections" in line for line in self.process.stderr), "Postgres does not start"
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def prepare(self):
        """For more of it, before it starts."""

    def sql(self, text):
        """Run by its superuser."""
        environment = os.environ | {"PGHOST": str(self.folder), "PGPORT": str(self.port), "PGUSER": "weir", "PGDATABASE": "postgres",
                                    "PGPASSWORD": PASSWORD}
        return subprocess.run([shutil.which("psql"), "-qAtc", text], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=environment, text=True).stdout

    def remove(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(DEADLINE_S)
        shutil.rmtree(self.folder)


def children(pid):
    try:
        found = [int(number) for task in Path(f"/proc/{pid}/task").iterdir() for number in (task / "children").read_text().split()]
    except OSError:
        return []
    return found + [further for number in found for further in children(number)]


class Watch:
    """Everything that /proc says of a process and all that come from it, by the name of the program."""

    def __init__(self, pid):
        self.pid, self.seen, self.over = pid, {}, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self):
        while not self.over.is_set():
            for pid in [self.pid, *children(self.pid)]:
                try:
                    words, variables = (Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
                except OSError:
                    continue
                self.seen.setdefault(Path(os.fsdecode(words.split(b"\0")[0])).name, set()).add((words, variables))
            self.over.wait(0.01)  # leaves the processors to those that are watched

    def end(self):
        self.over.set()
        self.thread.join(DEADLINE_S)
        missing = [name for name in (*CONNECT, *OTHERS) if name not in self.seen]
        assert not missing, f"never seen: {missing}"
        return self.seen


def begin(lab, server, password, environment):
    programs = f"programs:\n  numbers: {{command: [/usr/bin/python3, {lab.folder / 'numbers.py'}]}}\n"
    conninfo = CONNINFO.format(host=server.folder, password=password).replace("\\", "\\\\")
    system = lab.folder / "system.yaml"
    system.write_text(f'postgres: {{connection: "{conninfo}"}}\n{programs}')
    os.environ.update(environment)
    try:
        return Run(lab.pipeline, lab.data_dir, system)
    finally:
        for name in environment:
            del os.environ[name]


def start_again(server):
    """The server has nothing of an earlier platform."""
    server.sql("DROP SCHEMA IF EXISTS storage, selector, preprocess, orchestrator CASCADE")


def make_lab():
    lab = Lab(samples=400, every=200, epochs=1)
    shutil.copy(EXAMPLE, lab.folder / "numbers.py")
    (lab.folder / "numbers.py").chmod(0o644)
    text = lab.pipeline.read_text()
    first, last = text.index("    - {op: json_text"), text.index("  batch:")
    lab.pipeline.write_text((text[:first] + OPERATORS + text[last + len("  batch:"):]).replace("{name: text_bag, buckets: 4096}", "linear"))
    return lab


def assert_kept_nowhere(lab, run):
    secret = PASSWORD.encode()
    said = "".join(run.stderr) + repr(run.events)
    assert PASSWORD not in said, said
    for path in lab.data_dir.rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes(), path


def test_a_password_in_the_system_file_is_in_no_command_line_and_no_environment(server):
    lab = make_lab()
    run = begin(lab, server, IN_QUOTES, {})
    watch = Watch(run.process.pid)
    run.finish()
    assert_clean_audits(run.events)
    for name, processes in watch.end().items():
        for words, variables in processes:
            assert PASSWORD.encode() not in words and b"password" not in words, (name, words)
            assert PASSWORD.encode() not in variables, (name, variables)
    assert_kept_nowhere(lab, run)
    lab.remove()


def test_variables_of_libpq_reach_those_that_connect_and_no_worker_trainer_or_program(server):
    start_again(server)
    lab = make_lab()
    run = begin(lab, server, "", {"PGPASSWORD": PASSWORD, "PGSERVICEFILE": "/nowhere"})
    watch = Watch(run.process.pid)
    run.finish()
    assert_clean_audits(run.events)
    seen = watch.end()
    for name in OTHERS:
        for words, variables in seen[name]:
            assert PASSWORD.encode() not in words + variables and b"\0PG" not in b"\0" + variables, (name, variables)
    assert_kept_nowhere(lab, run)
    lab.remove()


def test_a_receipt_says_that_the_files_of_this_server_were_not_searched(server):
    start_again(server)
    lab = make_lab()
    begin(lab, server, IN_QUOTES, {}).finish()
    with served(lab, "--system", lab.folder / "system.yaml"):
        answer = json.loads(lab.weir("erase", "request", "--subject", lab.records[10]["user"], "--wait", "--json"))
        receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
    remarks = receipt["storage"]["outside_reach"]
    assert answer["state"] == "FINISHED", answer
    assert any(remark.startswith("Postgres is not Weir's own: its files and write-ahead log were not searched") for remark in remarks), remarks
    lab.remove()


def test_a_connection_that_cannot_be_understood_is_not_quoted(server):
    wrong = [CONNINFO.format(host=server.folder, password=f"password={PASSWORD}"), f"postgresql://weir:{PASSWORD}@[nowhere/weir"]
    for conninfo in wrong:
        lab = make_lab()
        system = lab.folder / "system.yaml"
        system.write_text(f'postgres: {{connection: "{conninfo}"}}\nprograms:\n  numbers: {{command: [/bin/cat]}}\n')
        done = child.run([binaries() / "orchestrator", "run", lab.pipeline, "--data-dir", lab.data_dir, "--system", system],
                         capture_output=True, text=True, timeout=DEADLINE_S)
        told = done.stdout + done.stderr
        assert done.returncode == 2 and "system.yaml:1:" in told and "7'%42" not in told and "quagga" not in told, told
        lab.remove()


def main():
    server = Server()
    try:
        for test in (test_a_password_in_the_system_file_is_in_no_command_line_and_no_environment,
                     test_variables_of_libpq_reach_those_that_connect_and_no_worker_trainer_or_program,
                     test_a_receipt_says_that_the_files_of_this_server_were_not_searched,
                     test_a_connection_that_cannot_be_understood_is_not_quoted):
            test(server)
            print(f"ok {test.__name__.removeprefix('test_').replace('_', ' ')}", flush=True)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
