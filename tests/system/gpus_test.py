"""Trainers hold GPU slots. What a trainer is started as says which GPUs it may see, waits until the test lets it go on, is then
the real one, and takes its time to leave. Three pipelines of one GPU each and one of both share two slots: nobody sees a GPU of
somebody else, who finds none waits, and the slot of a trainer that is killed is the next one's."""

import json
import os
import signal

from weirlab import Lab, assert_clean_audits, await_that, served, with_trainer

TRAINER = """\
#!/bin/sh
echo "began $$ $CUDA_VISIBLE_DEVICES $*" >> {folder}/log
while [ ! -e {folder}/go ]; do sleep 0.02; done
{real} "$@"
code=$?
sleep 0.5
echo "ended $$" >> {folder}/log
exit $code
"""
WANTS = {"one": 1, "two": 1, "three": 1, "both": 2}


class Slots:
    """The log that the trainers write."""

    def __init__(self, lab):
        folder = with_trainer(lab, TRAINER)
        self.log, self.go = folder / "log", folder / "go"
        self.log.touch()
        self.log.chmod(0o666)

    def began(self):
        """Lists each trainer so far: its process, the GPUs it sees, its name."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [(int(words[1]), words[2], words[words.index("--name") + 1]) for words in lines if words[0] == "began"]

    def note_killed(self, process):
        """It will not say so itself."""
        with self.log.open("a") as log:
            log.write(f"ended {process}\n")

    def never_shared(self):
        """Counts the trainers. No two at the same time saw the same GPU."""
        seeing = {}
        for what, process, *gpus in (line.split() for line in self.log.read_text().splitlines()):
            if what == "ended":
                del seeing[process]
                continue
            mine = set(gpus[0].split(","))
            assert not any(mine & others for others in seeing.values()), (process, gpus, seeing, self.log.read_text())
            seeing[process] = mine
        return len(self.began())


def trainers(lab):
    return json.loads(lab.weir("status", "--json"))["trainers"]


def submit(lab, name, gpus):
    file = lab.folder / f"{name}.yaml"
    file.write_text(lab.pipeline.read_text().replace("name: lab,", f"name: {name},").replace(
        "training: {", f"training: {{gpus: {gpus}, "))
    return lab.ask("submit", str(file))


def main():
    lab = Lab(samples=60, every=60, epochs=1)
    slots = Slots(lab)
    system = lab.folder / "system.yaml"
    system.write_text("trainers: 8\nworkers: 1\ngpus: 2\n")
    with served(lab, "--system", str(system)):
        for name in ("one", "two", "three"):
            assert submit(lab, name, WANTS[name]).returncode == 0
        await_that(lambda: trainers(lab)["waiting"] == 1 and len(slots.began()) == 2, lambda: (trainers(lab), slots.began()))
        assert submit(lab, "both", WANTS["both"]).returncode == 0
        await_that(lambda: trainers(lab)["waiting"] == 2, lambda: trainers(lab))
        now = trainers(lab)
        assert (now["gpus"], now["gpus_busy"], now["busy"]) == (2, 2, 2), now
        (first, its_gpu, its_run), (_, other_gpu, _) = slots.began()
        assert {its_gpu, other_gpu} == {"0", "1"}, slots.began()

        slots.note_killed(first)
        os.kill(first, signal.SIGKILL)
        await_that(lambda: len(slots.began()) == 3, slots.began)
        _, gpu, run = slots.began()[2]
        assert gpu == its_gpu and run != its_run, slots.began()

        slots.go.touch()
        for name in WANTS:
            told = [json.loads(line) for line in lab.weir("watch", name, "--json").splitlines()]
            assert told[-1]["event"] == "pipeline_finished", told[-3:]
            assert_clean_audits(told)
            trained = next(e for e in told if e["event"] == "training_finished")
            assert trained["cost"]["gpu_seconds"] > 0, trained
        assert "0,1" in [gpus for _, gpus, _ in slots.began()], slots.began()
        print(f"{slots.never_shared()} trainers shared two GPUs, none saw another one's", flush=True)
        await_that(lambda: trainers(lab)["gpus_busy"] == 0, lambda: trainers(lab))

        refused = submit(lab, "three-of-two", 3)
        assert refused.returncode == 2 and "three-of-two.yaml:" in refused.stderr, refused
        assert "training.gpus: found 3, expected at most 2 of the system file" in refused.stderr, refused
        assert "three-of-two" not in lab.weir("list")
    lab.remove()


main()
