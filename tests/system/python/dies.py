"""The program that is named, killed once in each training: after its first commit."""

import os
import runpy
import signal
import sys

import weir

commit = weir.Session.commit


def commit_and_die(session, *arguments):
    commit(session, *arguments)
    if not os.path.exists("died"):
        open("died", "x").close()
        print("dies here", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


weir.Session.commit = commit_and_die
runpy.run_path(sys.argv[1], run_name="__main__")
