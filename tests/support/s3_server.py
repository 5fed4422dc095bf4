"""An object store in memory that answers on loopback and believes nobody: signatures are checked with hmac alone.

Written for the tests of the object store source. `faults` is a list of what the next answers do instead of what they
should: "500", "half" (the connection ends in the middle), "long" (more bytes than were asked for), "short" (fewer), "whole"
(a 200 with all of the object), "shifted" (other bytes than were asked for, and says so), "other" (another object's), "busy", "nonsense"
(no XML), "endless" (a listing that goes on without end), "redirect", "timeout" (400 RequestTimeout). With `versioned`, what was there under a key stays until its
versions are deleted one by one, unless `locked` holds the key with a date; `denied` holds methods that are answered 403,
and `on_delete`, `on_put`, `on_get` (of an object) are called before each one, `on_listed` between making a listing and sending
it. What comes while `is_watched` is false is answered, and counts for none of these. The bucket may stand in the path, or in front of the host.
Requests that are signed in their query, as others may be given them, are in `granted` once they are answered, and `urls`, whatever
is answered; `grants_fault` is what they are answered instead ("403", "500", "hang up", or another fault of objects). With `tls`, a certificate and
its key as files, it speaks TLS.
"""

import calendar
import hashlib
import hmac
import http.server
import ssl
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

KEY_ID, SECRET, REGION, BUCKET = "weir:dev", "s3cret/of+the=tests", "eu-test-1", "data"


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(handler, names, scope, secret, date=None):
    """Of the request as it came in: Signature Version 4, from its description. With a date, of one that is signed in its query."""
    path, _, query = handler.path.partition("?")
    headers = "".join(f"{name}:{' '.join((handler.headers[name] or '').split())}\n" for name in names)
    pairs = sorted(part if "=" in part else part + "=" for part in query.split("&") if part)
    pairs = [pair for pair in pairs if not pair.startswith("X-Amz-Signature=")]
    canonical = "\n".join([handler.command, path, "&".join(pairs), headers, ";".join(names),
                           "UNSIGNED-PAYLOAD" if date else handler.headers["x-amz-content-sha256"]])
    day, region, service, _ = scope
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date or handler.headers["x-amz-date"], "/".join(scope),
                         hashlib.sha256(canonical.encode()).hexdigest()])
    key = digest(digest(digest(digest(("AWS4" + secret).encode(), day), region), service), "aws4_request")
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def is_kept(name):
    """True for a header that an object is sent with, and given back with."""
    return name.lower().startswith(("x-amz-meta-", "x-amz-storage-class")) or name.lower() in ("content-type", "cache-control")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b""
    is_watched = True

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
        secret, token = self.server.store.keys.get(key_id, (None, None))
        if secret is None or len(scope) != 4 or scope[1:] != [REGION, "s3", "aws4_request"] or "host" not in names:
            return False
        if self.headers["x-amz-content-sha256"] != hashlib.sha256(self.body).hexdigest():
            return False
        if self.headers.get("x-amz-security-token") != token or (token and "x-amz-security-token" not in names):
            return False
        return hmac.compare_digest(fields.get("Signature", ""), signature(self, names, scope, secret))

    def query(self):
        return dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))

    def is_granted(self):
        """True for a request that is signed in its query, whose time has come and is not over."""
        query, store = self.query(), self.server.store
        key_id, *scope = query.get("X-Amz-Credential", "").split("/")
        names = query.get("X-Amz-SignedHeaders", "").split(";")
        secret, token = store.keys.get(key_id, (None, None))
        date = query.get("X-Amz-Date", "")
        if secret is None or key_id in store.expired or query.get("X-Amz-Security-Token") != token or "host" not in names:
            return False
        age = time.time() + store.ahead_s - calendar.timegm(time.strptime(date, "%Y%m%dT%H%M%SZ"))
        if scope != [date[:8], REGION, "s3", "aws4_request"] or not 0 <= age <= int(query["X-Amz-Expires"]) <= 604800:
            return False
        return hmac.compare_digest(query.get("X-Amz-Signature", ""), signature(self, names, scope, secret, date))

    def get_granted(self, key):
        store = self.server.store
        store.urls.append((self.path, dict(self.headers)))
        if store.grants_fault == "hang up":
            self.close_connection = True
            return None
        if store.grants_fault == "500":
            return self.refuse(500, "InternalError")
        if store.grants_fault == "403" or not self.is_granted():
            return self.refuse(403, "AccessDenied")
        store.granted.append((key, self.headers["Range"]))
        return self.get(key, store.grants_fault)

    def is_late(self):
        """True when the request was signed by a clock that is more than a quarter of an hour off ours."""
        signed = calendar.timegm(time.strptime(self.headers["x-amz-date"], "%Y%m%dT%H%M%SZ"))
        return abs(signed - time.time() - self.server.store.ahead_s) > 900

    def has_expired(self):
        return any(f"Credential={key}/" in self.headers.get("Authorization", "") for key in self.server.store.expired)

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + self.server.store.ahead_s if timestamp is None else timestamp)

    def parts(self):
        """The bucket, and the key or nothing."""
        path = self.path.partition("?")[0][1:]
        if self.headers["Host"].startswith(BUCKET + "."):
            return BUCKET, urllib.parse.unquote(path)
        bucket, _, key = path.partition("/")
        return bucket, urllib.parse.unquote(key)

    def do_GET(self):
        store = self.server.store
        self.body = b""
        self.is_watched = store.is_watched()
        fault = store.faults.pop(0) if self.is_watched and store.faults else None
        if self.is_watched:
            store.requests.append(self.path)
        query = self.path.partition("?")[2]
        bucket, key = self.parts()
        if fault == "500":
            return self.refuse(500, "InternalError")
        if fault == "redirect":
            return self.answer(307, Location="http://127.0.0.1:9/")
        if fault == "timeout":
            return self.refuse(400, "RequestTimeout")
        if "X-Amz-Signature" in query:
            return self.get_granted(key)
        if self.has_expired():
            return self.refuse(403, "ExpiredToken")
        if self.is_late():
            return self.refuse(403, "RequestTimeTooSkewed")
        if self.is_watched and not self.is_signed():
            return self.refuse(403, "SignatureDoesNotMatch")
        if bucket != BUCKET:
            return self.refuse(404, "NoSuchBucket")
        if "retention=" in query:
            return self.retention(key)
        if not key:
            return self.list(dict(urllib.parse.parse_qsl(query, keep_blank_values=True)), fault)
        if not self.is_watched:
            return self.get(key, None)
        store.on_get(key)
        return self.get(key, fault or store.key_faults.get(key) or store.object_fault)

    def do_DELETE(self):
        store = self.server.store
        store.requests.append("DELETE " + self.path)
        self.body = b""
        query = self.path.partition("?")[2]
        bucket, key = self.parts()
        store.on_delete(len([r for r in store.requests if r.startswith("DELETE")]))
        if not self.is_signed():
            return self.refuse(403, "SignatureDoesNotMatch")
        if "DELETE" in store.denied or bucket != BUCKET:
            return self.refuse(403, "AccessDenied")
        version = dict(urllib.parse.parse_qsl(query)).get("versionId")
        if key in store.locked:
            return self.refuse(403, "AccessDenied")
        store.delete(key, version)
        self.answer(204)

    def retention(self, key):
        until = self.server.store.locked.get(key)
        if until is None:
            return self.refuse(404, "NoSuchObjectLockConfiguration")
        self.answer(200, f"<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>{until}</RetainUntilDate></Retention>".encode())

    def do_PUT(self):
        store = self.server.store
        store.requests.append("PUT " + self.path)
        self.body = self.rfile.read(int(self.headers["Content-Length"]))
        bucket, key = self.parts()
        wanted = self.headers.get("If-Match")
        store.on_put(len([r for r in store.requests if r.startswith("PUT")]))
        if not self.is_signed():
            return self.refuse(403, "SignatureDoesNotMatch")
        if "PUT" in store.denied or bucket != BUCKET:
            return self.refuse(403, "AccessDenied")
        with store.lock:
            found = store.objects.get(key)
            if wanted and (found is None or wanted != f'"{found["etag"]}"'):
                return self.refuse(412, "PreconditionFailed")
            etag = hashlib.md5(self.body).hexdigest()
            store.write(key, self.body, etag, {n: v for n, v in self.headers.items() if is_kept(n)})
        store.after_put(key)
        self.answer(200, ETag=f'"{etag}"')

    def list_versions(self, prefix, fault):
        store = self.server.store
        with store.lock:
            keys = sorted((k for k in store.history if k.startswith(prefix)), key=str.encode)
            entries = [self.version(k, v, i == 0) for k in keys for i, v in enumerate(store.history[k])]
        page = "".join(entries[:store.page])
        text = (f"<?xml version='1.0'?><ListVersionsResult><IsTruncated>{str(len(entries) > store.page).lower()}"
                f"</IsTruncated>{page}</ListVersionsResult>")
        self.send_whole(200, text.encode(), fault)

    @staticmethod
    def version(key, found, is_latest):
        name = "Version" if found["body"] is not None else "DeleteMarker"
        what = f"<ETag>&quot;{found['etag']}&quot;</ETag><Size>{len(found['body'])}</Size>" if name == "Version" else ""
        return (f"<{name}><Key>{escape(urllib.parse.quote(key, safe='/'))}</Key><VersionId>{found['id']}</VersionId>"
                f"<IsLatest>{str(is_latest).lower()}</IsLatest><LastModified>{found['modified']}</LastModified>{what}</{name}>")

    def list(self, query, fault):
        store = self.server.store
        if "versions" in query:
            return self.refuse(403, "AccessDenied") if "versions" in store.denied else \
                self.list_versions(query["prefix"], fault)
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
        if self.is_watched:
            store.on_listed(query["prefix"])
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
        if fault == "busy":
            return self.refuse(503, "SlowDown")
        if self.headers.get("If-Match", f'"{found["etag"]}"') != f'"{found["etag"]}"':
            return self.refuse(412, "PreconditionFailed")
        first, last = (int(n) for n in self.headers["Range"].removeprefix("bytes=").split("-"))
        first, last = (first + 1, last + 1) if fault == "shifted" else (first, min(last, len(found["body"]) - 1))
        if self.is_watched:
            self.server.store.ranges.append((key, first, last))
        body = found["body"][first:last + 1]
        body = body[:-1] if fault == "short" else body + b"x" if fault == "long" else body
        etag = "other" if fault == "other" else found["etag"]
        if fault == "whole":
            return self.answer(200, found["body"], ETag=f'"{etag}"')
        self.send_whole(206, body, fault, ETag=f'"{etag}"', **found["meta"],
                        Content_Range=f"bytes {first}-{last}/{len(found['body'])}")

    def send_whole(self, code, body, fault, **headers):
        if fault != "half":
            return self.answer(code, body, **headers)
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2])
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # connections that come at once: whoever finds no room is silently put off for a second

    def handle_error(self, *_):
        """A client that hangs up, as it should when it is told too much."""


class Store:
    """`put` (with metadata, underscores for dashes), `delete`, `faults`, `requests`, `ranges` that were asked for; listens until
    `close`."""

    def __init__(self, page=3, versioned=False, tls=None):
        self.history, self.lock, self.page = {}, threading.Lock(), page  # of each key, the newest first
        self.versioned, self.written = versioned, 0
        self.faults, self.requests, self.ranges, self.denied, self.locked = [], [], [], set(), {}
        self.keys, self.expired = {KEY_ID: (SECRET, None)}, set()  # secret and token of each key; those whose token is over
        self.ahead_s = 0  # of its clock
        self.is_watched = lambda: True
        self.object_fault = None  # of every answer with bytes of an object
        self.key_faults = {}  # the same of one object
        self.granted, self.urls, self.grants_fault = [], [], None
        self.on_delete = self.on_put = self.after_put = self.on_get = self.on_listed = lambda what: None
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.store = self
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.endpoint = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_port}"

    @property
    def objects(self):
        """Returns the listing: the newest version of each key that is no delete marker."""
        return {k: v[0] for k, v in self.history.items() if v[0]["body"] is not None}

    def write(self, key, body, etag, meta=None):
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        self.written += 1
        new = {"id": f"v{self.written}/+=" if self.versioned else "null", "body": body, "etag": etag, "modified": stamp,
               "meta": meta or {}}
        self.history[key] = [new] + (self.history.get(key, []) if self.versioned else [])

    def put(self, key, body, **meta):
        body = body.encode() if isinstance(body, str) else body
        with self.lock:
            self.write(key, body, hashlib.md5(body).hexdigest(), meta)

    def delete(self, key, version=None):
        with self.lock:
            if version is None and self.versioned:
                return self.write(key, None, None)
            left = [v for v in self.history.get(key, []) if version is not None and v["id"] != version]
            if left:
                self.history[key] = left
            else:
                self.history.pop(key, None)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
