"""A run in a notebook or under a debugger.

As the program of a pipeline, `python3 -m weir` stands in for a program until somebody takes its place: a notebook with
weir.attach(), or a program that is started with `python3 -m weir DATA_DIR COMMAND…`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from weir import _weir
from weir.session import STANDS_IN, Task, task

LOOK_S = 0.1


def attach(data_dir: str = ".weir/default", *, key: str | None = None, timeout: float | None = None) -> Task:
    """Wait for a run that waits to be taken over, at most `timeout` seconds (None: for ever), and take it over.

    The process goes to the directory of the run, as a program of the platform begins there. Raise Timeout when there is none.
    `key` is the file of a pass where the platform is on another host (default: what WEIR_KEY names, else it is on this
    one); its data directory is on a file system that both have, at the same path.
    """
    if key is not None:
        os.environ["WEIR_KEY"] = key
    return task(run=_enter(data_dir, timeout)["run"])


def _enter(data_dir: str, timeout: float | None) -> dict[str, Any]:
    if "WEIR_KEY" in os.environ:
        os.environ["WEIR_KEY"] = os.path.abspath(os.environ["WEIR_KEY"])  # it goes to another directory below
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        waiting = Path(data_dir).glob(f"runs/*/{STANDS_IN}")
        for path in sorted(waiting, key=lambda path: -int(path.parent.name)):
            try:
                found: dict[str, Any] = json.loads(path.read_text())
                os.chdir(path.parent)
            except FileNotFoundError:
                continue  # it is over
            if "WEIR_KEY" not in os.environ:
                os.environ["WEIR_SOCKET_DIR"] = found["socket_dir"]
            os.environ["WEIR_RUN"] = str(found["run"])
            os.environ["WEIR_TOKEN"] = found["token"]
            os.environ["WEIR_ATTENDED"] = "1"  # training.patience is with programs, not with people
            return found
        if end is not None and time.monotonic() > end:
            raise _weir.Timeout(f"attach: no run below {data_dir} waits to be taken over (python3 -m weir)")
        time.sleep(LOOK_S)


def _stand_in() -> None:
    """Wait until the run is over: who finishes it removes the file, or the platform its directory."""
    found = {
        "run": int(os.environ["WEIR_RUN"]),
        "socket_dir": os.environ["WEIR_SOCKET_DIR"],
        "token": os.environ.get("WEIR_TOKEN", ""),
    }
    with open(f"{STANDS_IN}.new", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        json.dump(found, file)
    os.replace(f"{STANDS_IN}.new", STANDS_IN)
    print(f"run {found['run']} waits to be taken over: weir.attach() in a notebook", flush=True)
    while os.path.exists(STANDS_IN):
        time.sleep(LOOK_S)


def main(arguments: list[str]) -> None:
    if not arguments:
        _stand_in()
        return
    data_dir, *command = arguments
    command = [os.path.abspath(word) if os.path.isfile(word) else word for word in command]
    _enter(data_dir, None)
    os.execvp(command[0], command)

