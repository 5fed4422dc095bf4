"""Processes of a test: programs that end with it, however that ends (and take along what they started themselves).

The kernel ends them when the thread that started them ends: start them from the main one.
"""

import subprocess

WITH_THE_TEST = ("setpriv", "--pdeathsig", "KILL", "--")


def start(command, **options):
    return subprocess.Popen([*WITH_THE_TEST, *command], **options)


def run(command, **options):
    return subprocess.run([*WITH_THE_TEST, *command], **options)
