"""A browser without a window, told what to do over a pipe (Chrome DevTools Protocol, `--remote-debugging-pipe`)."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile

from weirlab import SKIPPED


def above(descriptor):
    """The same, out of the way of 3 and 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
    os.close(descriptor)
    return moved


class Browser:
    """One page. What its scripts complain of is an error."""

    def __init__(self, *options):
        program = shutil.which("chromium")
        if program is None:
            print("skipped: no chromium is installed; ./dev test --all installs it")
            sys.exit(SKIPPED)
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        reads, orders = os.pipe()
        answers, writes = os.pipe()
        reads, writes = above(reads), above(writes)
        own = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [program, "--headless", "--disable-gpu", *own, f"--user-data-dir={self.folder.name}",
                   "--remote-debugging-pipe", *options, "about:blank"]
        # the browser's ends are its descriptors 3 and 4
        shell = ["bash", "-c", f'exec "$@" 3<&{reads} 4>&{writes} {reads}<&- {writes}>&-', "browser", *command]
        self.process = subprocess.Popen(shell, pass_fds=(reads, writes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(reads)
        os.close(writes)
        self.orders, self.answers = os.fdopen(orders, "wb"), os.fdopen(answers, "rb")
        self.count, self.buffer, self.session = 0, b"", None
        page = next(t for t in self.order("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.order("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.order("Page.enable")
        self.order("Runtime.enable")

    def order(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.orders.write(json.dumps(message).encode() + b"\0")
        self.orders.flush()
        while (answer := self._next()).get("id") != self.count:
            assert answer.get("method") != "Runtime.exceptionThrown", answer
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.answers.fileno(), 65536)
            assert piece, "the browser has ended"
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def open(self, url):
        self.order("Page.navigate", url=url)

    def ask(self, script):
        """The value of an expression."""
        answer = self.order("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def resize(self, width, height=900):
        self.order("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
