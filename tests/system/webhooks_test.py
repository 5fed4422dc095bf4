"""Events posted to others: each one that is asked for, signed, in order and at least once, whatever fails at the receiver and dies
on the way; nobody is followed elsewhere, and no secret is in any log."""

import hashlib
import hmac
import http.server
import json
import os
import pwd
import threading

from weirlab import DEADLINE_S, Lab, Run, await_that, kill, run_tests, serve

SECRET = "swordfish-of-the-webhook"
WANTED = ["trigger_fired", "model_stored"]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(body)
        code = self.server.codes.pop(0) if self.server.codes else 204
        number = int(self.headers["Weir-Delivery"])
        signed = self.headers["Weir-Timestamp"].encode() + b"." + body
        assert self.headers["Weir-Signature"] == "v1=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        event = json.loads(body)
        assert event["event"] == self.headers["Weir-Event"]
        self.server.tries.append((number, code))
        if code < 300:
            self.server.taken.append((number, event))
        self.send_response(code)
        if code == 302:
            self.send_header("Location", self.server.elsewhere)
        self.end_headers()

    def do_GET(self):
        self.server.followed = True


class Receiver(http.server.ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.codes, self.bodies, self.tries, self.taken, self.followed = [], [], [], [], False
        self.url = f"http://127.0.0.1:{self.server_port}/hook?token=of-the-receiver"
        self.elsewhere = f"http://127.0.0.1:{self.server_port}/elsewhere"
        threading.Thread(target=self.serve_forever, daemon=True).start()


def configured(lab, receiver, more=""):
    (lab.folder / "secret").write_text(SECRET + "\n")
    os.chmod(lab.folder / "secret", 0o600)
    if os.geteuid() == 0:  # Weir becomes the owner of its data directory
        user = "postgres" if "postgres" in {p.pw_name for p in pwd.getpwall()} else "nobody"
        os.chown(lab.folder / "secret", pwd.getpwnam(user).pw_uid, -1)
    system = lab.folder / "system.yaml"
    system.write_text(f'webhooks: [{{url: "{receiver.url}", events: [{", ".join(WANTED)}], secret: {lab.folder}/secret}}]\n{more}')
    return system


def standing(lab):
    (hook,) = json.loads(lab.weir("webhooks", "--json"))["webhooks"]
    return hook


def all_events(lab):
    told = [json.loads(line) for line in lab.weir("watch", "lab", "--json").splitlines()]
    return [event for event in told if event.get("event") in WANTED]


def test_events_are_posted_in_order_and_at_least_once_through_failures_and_deaths():
    lab, receiver = Lab(samples=900, every=150, epochs=1), Receiver()
    receiver.codes = [500, 302, 404]
    system = configured(lab, receiver)
    server = serve(lab, "--system", system)
    lab.weir("submit", str(lab.pipeline))
    await_that(lambda: len(receiver.taken) >= 2)
    server.kill()
    server.wait(DEADLINE_S)
    kill(lab.data_dir, "postgres")
    receiver.codes = [503]
    server = serve(lab, "--system", system)
    wanted = all_events(lab)
    await_that(lambda: len({number for number, _ in receiver.taken}) >= len(wanted))
    await_that(lambda: standing(lab)["behind"] == 0)
    first = dict(reversed(receiver.taken))  # of each number
    numbers = [number for number, _ in receiver.taken]
    assert numbers == sorted(numbers) and len(numbers) - len(first) <= 1, numbers  # one died before it was noted
    assert [first[number] for number in sorted(first)] == wanted, (first, wanted)
    assert not receiver.followed
    hook = standing(lab)
    assert hook["error"] is None and hook["webhook"].startswith("127.0.0.1:") and "token" not in hook["webhook"], hook
    server.terminate()
    server.communicate(timeout=DEADLINE_S)
    logs = "".join(path.read_text(errors="replace") for path in (lab.data_dir / "log").glob("*.log"))
    assert SECRET not in logs and "of-the-receiver" not in logs
    lab.remove()


def test_a_receiver_that_does_not_answer_holds_nobody_up_and_is_shown():
    lab, receiver = Lab(samples=300, every=150, epochs=1), Receiver()
    system = configured(lab, receiver)
    receiver.shutdown()
    receiver.server_close()
    server = serve(lab, "--system", system)
    lab.weir("submit", str(lab.pipeline))
    assert all_events(lab)
    hook = await_that(lambda: (hook := standing(lab))["error"] and hook)
    assert hook["sent"] == 0 and hook["behind"] >= len(WANTED) and hook["tries"] >= 1 and hook["failing_since"] and hook["again"], hook
    os.chmod(lab.folder / "secret", 0o644)
    await_that(lambda: "others may read the secret" in (standing(lab)["error"] or ""))
    server.terminate()
    server.communicate(timeout=DEADLINE_S)
    lab.remove()


def test_hooks_that_cannot_be_are_refused_with_their_place():
    lab = Lab(samples=1)
    for hooks, told in (('[{url: "ftp://x/", secret: /s}]', "expected https://HOST"),
                        ('[{url: "https://me:pass@x/", secret: /s}]', "without user and password"),
                        ('[{url: "https://x/", secret: s}]', "expected an absolute path"),
                        ('[{url: "https://x/"}]', "the key 'secret' is missing"),
                        ('[{url: "https://x/", secret: /s}, {url: "https://x/", secret: /t}]', "twice")):
        (lab.folder / "system.yaml").write_text(f"webhooks: {hooks}\n")
        run = Run(lab.pipeline, lab.data_dir, lab.folder / "system.yaml").finish(expect=2)
        said = "".join(run.stderr) + repr(run.events)
        assert "system.yaml:1:" in said and told in said and "me:pass" not in said, said
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())
