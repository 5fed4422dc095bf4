"""OpenStack Swift with s3api, from Debian's packages, on loopback and in a folder of its own.

Objects are written by Swift's own interface, with a token, so that nothing of what is tested takes part in it.
"""

import getpass
import http.client
import json
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.parse
from pathlib import Path

import child
from s3_server import BUCKET, KEY_ID, REGION, SECRET

PROGRAMS = ["swift-ring-builder", "swift-proxy-server", "swift-account-server", "swift-container-server",
            "swift-object-server", "memcached"]
TRIES, PAUSE_S = 600, 0.1

BACKEND = """\
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
fallocate_reserve = 0
workers = 0
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
PROXY = """\
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
workers = 0
[pipeline:main]
pipeline = catch_errors cache s3api tempauth slo dlo versioned_writes symlink proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memcached}
[filter:s3api]
use = egg:swift#s3api
location = {region}
[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{name} = {secret} .admin
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[filter:versioned_writes]
use = egg:swift#versioned_writes
allow_object_versioning = true
[filter:symlink]
use = egg:swift#symlink
"""


def is_installed():
    return all(shutil.which(program) for program in PROGRAMS)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Swift:
    """`put` and `delete` by Swift's interface, `versions` of what begins with a prefix; runs until `close`."""

    def __init__(self, versioned):
        self.folder = Path(tempfile.mkdtemp(prefix="weir-swift-"))
        (self.folder / "devices/d1").mkdir(parents=True)
        self.ports = {name: free_port() for name in ("account", "container", "object", "proxy", "memcached")}
        self.processes = []
        (self.folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = weir\n")
        for kind in ("account", "container", "object"):
            self.make_ring(kind)
            self.start(kind, BACKEND)
        self.launch("memcached", "-l", "127.0.0.1", "-p", str(self.ports["memcached"]), "-u", getpass.getuser())
        self.start("proxy", PROXY)
        self.endpoint = f"http://127.0.0.1:{self.ports['proxy']}"
        self.token = None
        self.await_all()
        self.call("PUT", "", **({"X-Versions-Enabled": "true"} if versioned else {}))

    def make_ring(self, kind):
        builder = str(self.folder / f"{kind}.builder")
        for words in (["create", "4", "1", "1"], ["add", f"r1z1-127.0.0.1:{self.ports[kind]}/d1", "1"], ["rebalance"]):
            subprocess.run(["swift-ring-builder", builder, *words], check=True, capture_output=True)

    def start(self, kind, text):
        account, name = KEY_ID.split(":")
        conf = self.folder / f"{kind}-server.conf"
        conf.write_text(text.format(kind=kind, port=self.ports[kind], folder=self.folder, user=getpass.getuser(),
                                    memcached=self.ports["memcached"], region=REGION, account=account, name=name,
                                    secret=SECRET))
        self.launch(f"swift-{kind}-server", str(conf))

    def launch(self, *command):
        with open(self.folder / "log", "ab") as log:
            started = child.start(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.processes.append(started)

    def request(self, method, path, headers, body=None):
        link = http.client.HTTPConnection("127.0.0.1", self.ports["proxy"], timeout=60)
        link.request(method, path, body, headers)
        answer = link.getresponse()
        found = (answer.status, dict(answer.getheaders()), answer.read())
        link.close()
        return found

    def has_come_up(self):
        """All five listen, and the proxy gives out tokens."""
        try:
            for port in self.ports.values():
                socket.create_connection(("127.0.0.1", port)).close()
            status, headers, _ = self.request("GET", "/auth/v1.0", {"X-Auth-User": KEY_ID, "X-Auth-Key": SECRET})
        except OSError:
            return False
        self.token = headers.get("X-Auth-Token")
        return status == 200

    def await_all(self):
        for _ in range(TRIES):
            if self.has_come_up():
                return
            assert all(process.poll() is None for process in self.processes), (self.folder / "log").read_text()
            threading.Event().wait(PAUSE_S)  # nothing tells when five servers have come up
        raise AssertionError("Swift does not answer: " + (self.folder / "log").read_text())

    @staticmethod
    def path(rest):
        return f"/v1/AUTH_{KEY_ID.split(':')[0]}/{BUCKET}{rest}"

    def call(self, method, rest, body=None, **headers):
        status, _, found = self.request(method, self.path(rest), {"X-Auth-Token": self.token, **headers}, body)
        assert status // 100 == 2, (method, rest, status, found)
        return found

    def put(self, key, body):
        self.call("PUT", "/" + urllib.parse.quote(key), body.encode())

    def delete(self, key):
        self.call("DELETE", "/" + urllib.parse.quote(key))

    def versions(self, prefix=""):
        found = json.loads(self.call("GET", "?format=json&versions&prefix=" + urllib.parse.quote(prefix)) or "[]")
        return sorted(entry["name"] for entry in found)

    def close(self):
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait()
        shutil.rmtree(self.folder)
