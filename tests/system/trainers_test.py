"""Trainers that do not do their part: one that leaves without a word, one that prints whatever, one that hangs, one that starts
processes and does not look after them. Each costs its own run at most, is told of in words, and holds no slot and no process."""

import json
import os
import threading

from weirlab import Lab, assert_clean_audits, served, with_trainer

TRAINER = """\
#!/bin/sh
case "$(cat {folder}/mode)" in
    leaves) exit 0 ;;
    prints) head -c 200000 /dev/urandom; exit 1 ;;
    hangs) echo real > {folder}/mode; sleep 1000 ;;
    forks) sleep 1000 & echo $! > {folder}/child; {real} "$@" ;;
    *) exec {real} "$@" ;;
esac
"""


def train(lab, folder, mode, options, expect=0):
    """What is told of a pipeline whose trainers do so, and how it stands then."""
    (folder / "mode").write_text(mode)
    (folder / "mode").chmod(0o666)
    file = lab.folder / f"{mode}.yaml"
    file.write_text(lab.pipeline.read_text().replace("name: lab,", f"name: {mode},").replace(
        "training: {", f"training: {{{options}, "))
    lab.weir("submit", str(file))
    told = [json.loads(line) for line in lab.weir("watch", mode, "--json", expect=expect).splitlines()]
    (stands,) = [p for p in json.loads(lab.weir("list", "--json"))["pipelines"] if p["pipeline"] == mode]
    trainers = json.loads(lab.weir("status", "--json"))["trainers"]
    assert trainers["waiting"] == 0, trainers
    return told, stands


def is_running(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def main():
    lab = Lab(samples=60, every=60, epochs=1)
    folder = with_trainer(lab, TRAINER)
    system = lab.folder / "system.yaml"
    system.write_text("trainers: 1\nworkers: 1\n")
    with served(lab, "--system", str(system)):
        _, stands = train(lab, folder, "leaves", "retries: 1", expect=1)
        assert "trainer failed 2 times, the last time: exit code 0, and its run was not done" in stands["error"], stands
        _, stands = train(lab, folder, "prints", "retries: 1", expect=1)
        assert stands["state"] == "FAILED" and "trainer failed 2 times" in stands["error"], stands
        assert all(c == "\t" or c >= " " for c in stands["error"]), stands
        for mode, options in (("hangs", "patience: 3s"), ("forks", "retries: 0")):
            told, stands = train(lab, folder, mode, options)
            assert stands["state"] == "FINISHED" and told[-1]["event"] == "pipeline_finished", (stands, told[-1])
            assert_clean_audits(told)
        pid = int((folder / "child").read_text())
        while is_running(pid):  # its trainer stays for as long as the pipeline is at work, and is on its way out
            threading.Event().wait(0.05)
    lab.remove()


main()
