"""An object store in memory that answers on loopback and believes nobody: signatures are checked with hmac alone.

Written for the tests of the object store source. `faults` is a list of what the next answers do instead of what they
should: "500", "half" (the connection ends in the middle), "long" (more bytes than were asked for), "nonsense" (no XML),
"endless" (a listing that goes on without end), "redirect".
"""

import hashlib
import hmac
import http.server
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

KEY_ID, SECRET, REGION, BUCKET = "weir:dev", "s3cret/of+the=tests", "eu-test-1", "data"


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(handler, names, scope):
    """Of the request as it came in: Signature Version 4, from its description."""
    path, _, query = handler.path.partition("?")
    headers = "".join(f"{name}:{handler.headers[name].strip()}\n" for name in names)
    pairs = sorted(part if "=" in part else part + "=" for part in query.split("&") if part)
    canonical = "\n".join([handler.command, path, "&".join(pairs), headers, ";".join(names),
                           handler.headers["x-amz-content-sha256"]])
    day, region, service, _ = scope
    to_sign = "\n".join(["AWS4-HMAC-SHA256", handler.headers["x-amz-date"], "/".join(scope),
                         hashlib.sha256(canonical.encode()).hexdigest()])
    key = digest(digest(digest(digest(("AWS4" + SECRET).encode(), day), region), service), "aws4_request")
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, code, word):
        self.answer(code, f"<Error><Code>{word}</Code></Error>".encode())

    def is_signed(self):
        words = self.headers.get("Authorization", "").removeprefix("AWS4-HMAC-SHA256 ").split(",")
        fields = dict(word.strip().split("=", 1) for word in words if "=" in word)
        key_id, *scope = fields.get("Credential", "").split("/")
        names = fields.get("SignedHeaders", "").split(";")
        if key_id != KEY_ID or len(scope) != 4 or scope[1:] != [REGION, "s3", "aws4_request"] or "host" not in names:
            return False
        if self.headers["x-amz-content-sha256"] != hashlib.sha256(b"").hexdigest():
            return False
        return hmac.compare_digest(fields.get("Signature", ""), signature(self, names, scope))

    def do_GET(self):
        store = self.server.store
        fault = store.faults.pop(0) if store.faults else None
        store.requests.append(self.path)
        path, _, query = self.path.partition("?")
        parts = path.split("/", 2)
        if fault == "500":
            return self.refuse(500, "InternalError")
        if fault == "redirect":
            return self.answer(307, Location="http://127.0.0.1:9/")
        if not self.is_signed():
            return self.refuse(403, "SignatureDoesNotMatch")
        if parts[1] != BUCKET:
            return self.refuse(404, "NoSuchBucket")
        if len(parts) == 2 or not parts[2]:
            return self.list(dict(urllib.parse.parse_qsl(query, keep_blank_values=True)), fault)
        return self.get(urllib.parse.unquote(parts[2]), fault)

    def list(self, query, fault):
        store = self.server.store
        with store.lock:
            keys = sorted((k for k in store.objects if k.startswith(query["prefix"])), key=str.encode)
            keys = [k for k in keys if k.encode() > query.get("continuation-token", "").encode()]
            page, rest = keys[:store.page], keys[store.page:]
            entries = "".join(
                f"<Contents><Key>{escape(urllib.parse.quote(k, safe='/'))}</Key><LastModified>{o['modified']}</LastModified>"
                f"<ETag>&quot;{o['etag']}&quot;</ETag><Size>{len(o['body'])}</Size></Contents>"
                for k, o in ((k, store.objects[k]) for k in page))
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if rest else ""
        text = (f"<?xml version='1.0'?><ListBucketResult><IsTruncated>{str(bool(rest)).lower()}</IsTruncated>{more}"
                f"{entries}</ListBucketResult>")
        if fault == "nonsense":
            text = text.replace("<Key>", "<Kex>")
        if fault == "endless":
            text = text.replace("</ListBucketResult>", "<Contents>" * 2_000_000 + "</ListBucketResult>")
        self.send_whole(200, text.encode(), fault)

    def get(self, key, fault):
        with self.server.store.lock:
            found = self.server.store.objects.get(key)
        if found is None:
            return self.refuse(404, "NoSuchKey")
        if self.headers.get("If-Match", f'"{found["etag"]}"') != f'"{found["etag"]}"':
            return self.refuse(412, "PreconditionFailed")
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        self.send_whole(206, found["body"][int(first):int(last) + 1] + (b"x" if fault == "long" else b""), fault)

    def send_whole(self, code, body, fault):
        if fault != "half":
            return self.answer(code, body)
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2])
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that hangs up, as it should when it is told too much."""


class Store:
    """`put`, `delete`, `faults`, `requests`; listens until `close`."""

    def __init__(self, page=3):
        self.objects, self.lock, self.page = {}, threading.Lock(), page
        self.faults, self.requests = [], []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.store = self
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"

    def put(self, key, body):
        body = body.encode() if isinstance(body, str) else body
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        with self.lock:
            self.objects[key] = {"body": body, "etag": hashlib.md5(body).hexdigest(), "modified": stamp}

    def delete(self, key):
        with self.lock:
            del self.objects[key]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
