"""The object store of the tests, behind TLS, with one object of equally long records.

usage: store.py FOLDER RECORDS BYTES

Writes authority.pem and the pair of keys (storage.key), and last the address (endpoint) into the folder; listens until it is ended.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/support"))

from s3_server import KEY_ID, SECRET, Store  # noqa: E402


def record(at, size):
    text = json.dumps({"ts": 1700000000 + at, "text": ""})
    return text.replace('""', f'"{"x" * (size - len(text) - 1)}"') + "\n"


def main():
    folder, count, size = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    authority, key = folder / "authority.pem", folder / "authority.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=store", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", authority], check=True, capture_output=True)
    store = Store(page=100, tls=(authority, key))
    store.put("day/records.jsonl", "".join(record(i, size) for i in range(count)))
    (folder / "storage.key").write_text(f"{KEY_ID}\n{SECRET}\n")
    for path, mode in ((authority, 0o644), (folder / "storage.key", 0o600)):
        path.chmod(mode)
    (folder / "new").write_text(store.endpoint)
    (folder / "new").rename(folder / "endpoint")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
