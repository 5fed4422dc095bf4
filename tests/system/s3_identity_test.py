"""Who storage is to an object store: keys with the token of a session, found where the SDKs of AWS look, in shared files, from a
program, the Security Token Service, a container's and an instance's endpoint; renewed before they end; no secret in any log. The
endpoints answer in the formats that AWS publishes."""

import contextlib
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from s3_server import KEY_ID, SECRET, Store  # noqa: E402
from s3_test import PIPELINE, Bucket, lines  # noqa: E402
from weirlab import Run, binaries, run_tests  # noqa: E402

TOKEN = "token/of+a=session"
DECLARED = PIPELINE.replace("region: %s,", "region: %s, credentials: lab,")
OTHERS = {name: None for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")}
ROLE, IDENTITY, METADATA, AUTHORIZATION = "arn:aws:iam::1:role/weir", "identity-of-a-pod", "token-of-imds", "Basic of-a-container"


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, text, code=200):
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        is_asked = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"] == "21600"
        self.answer(METADATA if is_asked else "", 200 if is_asked else 400)

    def do_GET(self):
        instance = "/latest/meta-data/iam/security-credentials/"
        if self.server.faults:
            self.answer("", self.server.faults.pop())
        elif self.path.startswith(instance):
            known = self.headers["X-aws-ec2-metadata-token"] == METADATA
            text = "weir-role\n" if self.path == instance else json.dumps({"Code": "Success", **self.keys("Token")})
            self.answer(text if known else "", 200 if known else 401)
        elif self.path == "/container":
            known = self.headers["Authorization"] == AUTHORIZATION
            self.answer(json.dumps(self.keys("Token")) if known else "", 200 if known else 403)
        else:
            self.answer("", 404)

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        wanted = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": ROLE, "RoleSessionName": "weir",
                  "WebIdentityToken": IDENTITY}
        known = form == wanted
        keys = "".join(f"<{name}>{value}</{name}>" for name, value in self.keys("SessionToken").items())
        text = f"<AssumeRoleWithWebIdentityResponse><Credentials>{keys}</Credentials></AssumeRoleWithWebIdentityResponse>"
        self.answer(text if known else "<Error><Code>InvalidIdentityToken</Code></Error>", 200 if known else 400)

    def keys(self, token):
        key_id, secret, session, expires = self.server.give()
        return {"AccessKeyId": key_id, "SecretAccessKey": secret, token: session, "Expiration": expires}


@contextlib.contextmanager
def serving(handler, give=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.give = give or (lambda: (KEY_ID, SECRET, TOKEN, utc(3600)))
    server.faults, server.seen = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def bucket(token=TOKEN):
    """A store that knows one key, of a session, and who looks into it."""
    store = Store()
    store.keys = {KEY_ID: (SECRET, token)}
    store.put("day/a.jsonl", lines(0, 20))
    lab = Bucket(store, pipeline=DECLARED)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del os.environ[name]
    store.is_watched = lambda: True
    (lab.folder / "scratch").mkdir()
    (lab.folder / "found").write_text(json.dumps({"scratch": str(lab.folder / "scratch")}))
    try:
        yield store, lab
    finally:
        lab.remove()
        store.close()


def look(lab, way, variables, told=None):
    """Has a check of the file read the first records of the bucket, or be told why it cannot."""
    env = {name: value for name, value in os.environ.items() if name not in OTHERS}
    env |= {"WEIR_CREDENTIALS": f'lab: {{hosts: ["*"], {way}}}', "HOME": str(lab.folder), "AWS_EC2_METADATA_DISABLED": "true",
            **variables}
    with (lab.folder / "found").open() as found:
        done = subprocess.run([binaries() / "storage", "--check-config", lab.pipeline, "--found"], stdin=found, capture_output=True,
                              text=True, env=env, check=False)
    was_read = done.returncode == 0 and "was not looked at" not in done.stderr
    assert was_read if told is None else not was_read and told in done.stderr, done
    assert not any(secret in done.stdout + done.stderr for secret in (SECRET, TOKEN, IDENTITY, METADATA)), done


def shared(lab, name, text):
    (lab.folder / ".aws").mkdir(exist_ok=True)
    (lab.folder / ".aws" / name).write_text(text)


def test_keys_of_a_session_are_read_from_variables_and_files():
    with bucket() as (_, lab):
        given = {"LAB_ID": KEY_ID, "LAB_SECRET": SECRET, "LAB_TOKEN": TOKEN}
        look(lab, "key_id_env: LAB_ID, secret_env: LAB_SECRET, token_env: LAB_TOKEN", given)
        look(lab, "key_id_env: LAB_ID, secret_env: LAB_SECRET", given, told="SignatureDoesNotMatch")
        (lab.folder / "keys").write_text(f"{KEY_ID}\n{SECRET}\n{TOKEN}\n")
        look(lab, f"file: {lab.folder}/keys", {})
        look(lab, "chain: true", {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN})


def test_a_profile_gives_keys_or_names_a_program_that_does():
    with bucket() as (_, lab):
        shared(lab, "credentials", "[other]\naws_access_key_id = no\n[lab]\n# mine\naws_access_key_id = %s\naws_secret_access_key=%s\n"
               "aws_session_token = %s\n" % (KEY_ID, SECRET, TOKEN))
        look(lab, "profile: lab", {})
        look(lab, "chain: true", {"AWS_PROFILE": "lab"})
        said = json.dumps({"Version": 1, "AccessKeyId": KEY_ID, "SecretAccessKey": SECRET, "SessionToken": TOKEN, "Expiration": utc(900)})
        (lab.folder / "says").write_text(said)
        shared(lab, "config", f"[default]\ncredential_process = cat {lab.folder}/says\n[profile broken]\ncredential_process = false\n"
               "[profile sso]\nsso_session = x\n")
        look(lab, "chain: true", {})
        look(lab, "profile: broken", {}, told="does not end with success")
        look(lab, "profile: sso", {}, told="profile 'sso' says neither keys nor")
        look(lab, "profile: none", {}, told="profile 'none' is in neither")


def test_a_web_identity_is_exchanged_for_keys():
    with bucket() as (_, lab), serving(Handler) as sts:
        (lab.folder / "identity").write_text(IDENTITY + "\n")
        look(lab, "chain: true", {"AWS_WEB_IDENTITY_TOKEN_FILE": f"{lab.folder}/identity", "AWS_ROLE_ARN": ROLE,
                                  "AWS_ENDPOINT_URL_STS": sts.url})
        shared(lab, "config", f"[profile pod]\nrole_arn = {ROLE}\nweb_identity_token_file = {lab.folder}/identity\n")
        look(lab, "profile: pod", {"AWS_ENDPOINT_URL_STS": sts.url})
        (lab.folder / "identity").write_text("somebody else")
        look(lab, "profile: pod", {"AWS_ENDPOINT_URL_STS": sts.url}, told="Security Token Service answers with HTTP status 400")


def test_a_container_and_an_instance_give_keys():
    with bucket() as (_, lab), serving(Handler) as endpoint:
        (lab.folder / "token").write_text(AUTHORIZATION)
        container = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{endpoint.url}/container"}
        look(lab, "chain: true", {**container, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": f"{lab.folder}/token"})
        endpoint.faults.append(503)  # it is asked again
        look(lab, "chain: true", {**container, "AWS_CONTAINER_AUTHORIZATION_TOKEN": AUTHORIZATION})
        for url in ("http://example.org/keys", "http://localhost@example.org/", "http://127.0.0.1.example.org/"):
            look(lab, "chain: true", {"AWS_CONTAINER_CREDENTIALS_FULL_URI": url}, told="expected https, or an address of this host")
        instance = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint.url, "AWS_EC2_METADATA_DISABLED": "false"}
        look(lab, "chain: true", {**instance, "http_proxy": "http://127.0.0.1:9"})  # beside any proxy
        look(lab, "chain: true", {}, told="no keys")


def test_an_answer_that_is_no_keys_is_told_of_and_not_quoted():
    with bucket() as (_, lab), serving(Handler, lambda: (KEY_ID, SECRET, TOKEN, "soon")) as endpoint:
        instance = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint.url, "AWS_EC2_METADATA_DISABLED": "false"}
        look(lab, "chain: true", instance, told="without an end of them that is a time")
        endpoint.give = lambda: (KEY_ID, None, TOKEN, utc(60))
        look(lab, "chain: true", instance, told="without a secret")
        endpoint.give = lambda: (KEY_ID, SECRET, TOKEN, utc(-60))
        look(lab, "chain: true", instance, told="the keys that are found have ended")


def test_what_a_store_says_of_time_and_tokens_is_heeded():
    with bucket() as (store, lab), serving(Handler) as endpoint:
        instance = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint.url, "AWS_EC2_METADATA_DISABLED": "false"}
        store.faults = ["timeout"]
        look(lab, "chain: true", instance)
        store.ahead_s = 7200
        look(lab, "chain: true", instance)
        store.ahead_s = 0
        keys = [("OLD", "old", "over", utc(3600)), (KEY_ID, SECRET, TOKEN, utc(3600))]
        store.keys["OLD"], store.expired = ("old", "over"), {"OLD"}
        endpoint.give = lambda: keys.pop(0)
        look(lab, "chain: true", instance)
        assert keys == []


class Proxy(http.server.BaseHTTPRequestHandler):
    """Connects to whatever it is asked for, and passes bytes on."""

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.server.seen.append(self.path)
        host, port = self.path.split(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=self.relay, args=(there, self.connection), daemon=True)
            back.start()
            self.relay(self.connection, there)
            back.join()
        self.close_connection = True

    @staticmethod
    def relay(source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)


def test_an_authority_of_ones_own_vouches_for_a_store_behind_a_proxy_too():
    with bucket(token=None) as (store, lab), serving(Proxy) as proxy:
        subprocess.run([shutil.which("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key", "-out", "ca"],
                       check=True, capture_output=True, cwd=lab.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(lab.folder / "ca", lab.folder / "key")
        store.server.socket = context.wrap_socket(store.server.socket, server_side=True)
        lab.pipeline.write_text(lab.pipeline.read_text().replace("http://127", "https://127"))
        given, way = {"LAB_ID": KEY_ID, "LAB_SECRET": SECRET}, "key_id_env: LAB_ID, secret_env: LAB_SECRET"
        looked = f"{way}, ca: {lab.folder}/ca"
        look(lab, looked, given)
        asked = len(store.requests)
        assert asked and proxy.seen == []
        look(lab, way, given, told="was not looked at")
        assert len(store.requests) == asked
        look(lab, looked, {**given, "https_proxy": proxy.url})
        seen = len(proxy.seen)
        assert len(store.requests) == 2 * asked and seen
        look(lab, looked, {**given, "https_proxy": proxy.url, "no_proxy": "127.0.0.1"})
        assert len(store.requests) == 3 * asked and len(proxy.seen) == seen


class Generations:
    """Keys that end soon, each once."""

    def __init__(self, store):
        self.store, self.given = store, 0

    def __call__(self):
        self.given += 1
        key = f"KEY{self.given}"
        self.store.keys[key] = (f"secret-{self.given}", f"session-{self.given}")
        return key, f"secret-{self.given}", f"session-{self.given}", utc(4)


def test_keys_that_end_are_replaced_while_a_platform_goes_on():
    with bucket() as (store, lab):
        generations = Generations(store)
        with serving(Handler, generations) as endpoint:
            system = lab.folder / "system.yaml"
            system.write_text('credentials: {lab: {hosts: ["*"], chain: true}}\n')
            os.environ.update(AWS_EC2_METADATA_SERVICE_ENDPOINT=endpoint.url)
            lab.started = Run(lab.pipeline, lab.data_dir, system)
            del os.environ["AWS_EC2_METADATA_SERVICE_ENDPOINT"]
            lab.await_that(lambda d: d["live"] == 20)
            before = generations.given
            lab.await_that(lambda _: generations.given >= before + 2)
            store.expired = {f"KEY{generations.given}"}
            store.put("day/b.jsonl", lines(20, 5))
            lab.await_that(lambda d: d["live"] == 25)
            lab.started.process.terminate()
            lab.started.finish(expect=None)
        logs = "".join(path.read_text(errors="replace") for path in (lab.data_dir / "log").glob("*.log"))
        assert "secret-" not in logs and "session-" not in logs, logs


if __name__ == "__main__":
    run_tests(globals(), wanted=sys.argv[1:])
