"""Postgres of somebody else, as companies run it: over TLS with a certificate of their own authority, with a password that SCRAM
proves, a role that owns its database and is no superuser, all named by a service file. Behind pgbouncer, where sessions stay whole."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path

from secrets_test import Server as LocalServer
from secrets_test import children
from weirlab import DEADLINE_S, Lab, Run, assert_clean_audits, binaries, child, everyone_may_enter, served

ROOT = Path(__file__).parents[2]
PASSWORD = "okapi-4b1f'%7"
PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
SERVICE = """\
[platform]
host=localhost
port={port}
dbname=platform
user=team
sslmode=verify-full
sslrootcert={folder}/authority.crt
channel_binding=require
"""
POOLER = """\
[databases]
{databases}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
server_tls_sslmode = require
default_pool_size = {size}
"""
MAILS = 600


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server(LocalServer):
    """Over TCP it speaks TLS alone, and lets in the role `team`, which owns the database `platform` and is nothing else."""

    address = "127.0.0.1"

    def __init__(self):
        self.port = free_port()
        super().__init__()
        quoted = PASSWORD.replace("'", "''")
        self.sql(f"CREATE ROLE team LOGIN PASSWORD '{quoted}' NOSUPERUSER NOCREATEDB NOCREATEROLE")
        self.start_again()
        self.write("service.conf", SERVICE.format(port=self.port, folder=self.folder))
        self.write("passwords", f"localhost:{self.port}:platform:team:{PASSWORD}\n", mode=0o600)

    def prepare(self):
        data = self.folder / "data"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", "server.key", "-out", "server.crt"],
                       check=True, capture_output=True, cwd=data, **self.user)
        (data / "server.key").chmod(0o600)
        self.write("authority.crt", (data / "server.crt").read_text())
        with (data / "postgresql.conf").open("a") as conf:
            conf.write("ssl = on\n")
        (data / "pg_hba.conf").write_text("local all weir scram-sha-256\nhostssl platform team 127.0.0.1/32 scram-sha-256\n")

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        if self.user:
            shutil.chown(path, **self.user)

    def start_again(self):
        self.sql("DROP DATABASE IF EXISTS platform WITH (FORCE)")
        self.sql("CREATE DATABASE platform OWNER team")

    @contextlib.contextmanager
    def named(self):
        """As people name it: variables of libpq in the environment of who starts the platform."""
        given = {"PGSERVICEFILE": str(self.folder / "service.conf"), "PGPASSFILE": str(self.folder / "passwords")}
        os.environ.update(given)
        try:
            yield
        finally:
            for name in given:
                del os.environ[name]


@contextlib.contextmanager
def pooled(server, mode, size=20):
    """pgbouncer in front of it; the words that connect to it."""
    port = free_port()
    database = f"platform = host=127.0.0.1 port={server.port} user=team pool_mode={mode}"
    server.write("pooler.ini", POOLER.format(databases=database, port=port, folder=server.folder, size=size))
    server.write("users", f'"team" "{PASSWORD}"\n', mode=0o600)
    pooler = child.start([PGBOUNCER, server.folder / "pooler.ini"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         **server.user)
    try:
        assert any("process up" in line for line in pooler.stderr), "pgbouncer does not start"
        reader = threading.Thread(target=pooler.stderr.read, daemon=True)
        reader.start()
        yield f"host={server.folder} port={port} dbname=platform user=team"
    finally:
        pooler.send_signal(signal.SIGTERM)
        pooler.wait(DEADLINE_S)


def written(lab, connection):
    system = lab.folder / "system.yaml"
    system.write_text(f'postgres: {{connection: "{connection}"}}\n')
    return system


class Quickstart(Lab):
    """The pipeline that people begin with, over the first mails of those it is given without a network."""

    def __init__(self):
        super().__init__(samples=1)
        mails = self.folder / "mails"
        subprocess.run([ROOT / "tools/synthetic_mails", mails], check=True)
        for path in sorted(mails.glob("*.txt"))[MAILS:]:
            path.unlink()
        everyone_may_enter(mails)
        manifest = (mails / "manifest.csv").read_text().splitlines()
        kept = [line for line in manifest[1:] if (mails / line.split(",")[0]).exists()]
        (mails / "manifest.csv").write_text("\n".join([manifest[0], *kept]) + "\n")
        self.pipeline.write_text((ROOT / "config/pipelines/quickstart.yaml").read_text().replace(".weir/mails", str(mails)))
        self.sender = kept[0].rsplit(",", 1)[1]


class Watch:
    """Whether the password was ever in the command line or the environment of a process of the platform."""

    def __init__(self, pid):
        self.pid, self.seen, self.found, self.over = pid, set(), [], threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self):
        while not self.over.wait(0.01):  # leaves the processors to those that are watched
            for pid in [self.pid, *children(self.pid)]:
                with contextlib.suppress(OSError):
                    words, variables = (Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
                    self.seen.add(Path(os.fsdecode(words.split(b"\0")[0])).name)
                    if PASSWORD.encode() in words + variables:
                        self.found.append((words, variables))

    def end(self):
        self.over.set()
        self.thread.join(DEADLINE_S)
        return self.seen, self.found


def assert_unsaid(lab, *texts):
    assert not any(PASSWORD in text for text in texts), texts
    for path in lab.data_dir.rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path


def test_the_quickstart_runs_over_tls_as_a_role_that_owns_its_database(server):
    lab = Quickstart()
    system = written(lab, "service=platform")
    with server.named():
        run = Run(lab.pipeline, lab.data_dir, system)
        watch = Watch(run.process.pid)
        run.finish()
        seen, found = watch.end()
        assert {"storage", "selector", "dispatcher", "orchestrator", "trainer"} <= seen and not found, (seen, found)
        assert_clean_audits(run.events)
        with served(lab, "--system", system):
            tls = server.sql("SELECT bool_and(ssl AND usename = 'team') FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                             "WHERE datname = 'platform'")
            answer = json.loads(lab.weir("erase", "request", "--subject", lab.sender, "--wait", "--json"))
            receipt = json.loads(lab.weir("erase", "receipt", str(answer["erasure"]), "--json"))
    assert tls.strip() == "t", tls
    assert answer["state"] == "FINISHED", answer
    remarks = receipt["storage"]["outside_reach"]
    assert any("its write-ahead log was not cycled" in remark for remark in remarks), remarks
    assert_unsaid(lab, "".join(run.stderr), repr(run.events))
    lab.remove()


def refused(lab, connection, *told, code=1):
    """A service that is started by hand says why it does not start; so would the platform, which goes on trying for a minute."""
    done = child.run([binaries() / "storage", "--data-dir", lab.folder / "data", "--socket-dir", lab.folder, "--postgres", "-"],
                     input=connection, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == code and all(text in done.stderr for text in told), done
    assert PASSWORD not in done.stdout + done.stderr, done


def test_what_the_user_asks_of_the_server_is_insisted_on(server):
    lab = Lab(samples=1)
    strange = server.folder / "strange.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=other",
                    "-keyout", "/dev/null", "-out", strange], check=True, capture_output=True)
    with server.named():
        refused(lab, f"service=platform sslrootcert={strange}", "certificate verify failed")
        refused(lab, "service=platform sslmode=disable channel_binding=disable", "no encryption")
        refused(lab, "service=platform passfile=/dev/null", "no password supplied")
        refused(lab, "service=platform password=okapi", "password authentication failed")
    lab.remove()


def test_behind_a_pooler_of_sessions_it_works(server):
    server.start_again()
    lab = Lab(samples=300, every=150, epochs=1)
    with pooled(server, "session") as connection:
        run = Run(lab.pipeline, lab.data_dir, written(lab, connection)).finish()
    assert_clean_audits(run.events)
    lab.remove()


def test_a_pooler_of_transactions_or_statements_is_refused_in_words(server):
    lab = Lab(samples=20)
    with pooled(server, "statement") as connection:
        refused(lab, connection, "set pool_mode = session", code=3)
    with pooled(server, "transaction") as connection:
        run = Run(lab.pipeline, lab.data_dir, written(lab, connection)).finish(expect=1)
    said = "".join(run.stderr) + repr(run.events)
    assert "set pool_mode = session" in said, said
    assert_unsaid(lab, said)
    lab.remove()


def main():
    server = Server()
    try:
        for test in (test_the_quickstart_runs_over_tls_as_a_role_that_owns_its_database,
                     test_what_the_user_asks_of_the_server_is_insisted_on,
                     *((test_behind_a_pooler_of_sessions_it_works,
                        test_a_pooler_of_transactions_or_statements_is_refused_in_words) if PGBOUNCER else ())):
            test(server)
            print(f"ok {test.__name__.removeprefix('test_').replace('_', ' ')}", flush=True)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
