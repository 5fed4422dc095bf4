"""A platform, a worker and a trainer on a host each, of which one no longer hears another that hears it: in each of the six
directions in turn, while the trainer takes batches. Each sample is trained on once, in the batches of an undisturbed run.

partitions_test.py [SECONDS]: for how long (1); what is longer than 10 loses the connections.
"""

import json

import namespaces
from elsewhere_test import CUT_S, Elsewhere, await_batches, pause, train_by_hand
from weirlab import DEADLINE_S, Run, assert_clean_audits, outcome
from workers_elsewhere_test import nothing, working

APART = (("worker", "platform"), ("platform", "worker"), ("worker", "trainer"), ("trainer", "worker"), ("trainer", "platform"),
         ("platform", "trainer"))  # a training for each


class Apart(Elsewhere):
    """Its worker, too, is elsewhere, and digests of its batches are kept."""

    def __init__(self, net):
        super().__init__(net)
        self.system.write_text("workers: 0\n" + self.system.read_text())
        for pipeline in (self.lab.pipeline, self.by_hand):
            text = pipeline.read_text().replace("name: lab", "name: byhand").replace("seed: 1", "seed: 1, digests: true")
            pipeline.write_text(text.replace("samples: 300}", "samples: 100}"))


def sets_and_batches(events):
    return {trigger: (told["digest"], told["batches"]) for trigger, told in outcome(events).items()}


def apart(net, sender, receiver):
    def disturb(loop, taken):
        await_batches(loop, taken, 1)
        with net.lost(sender, receiver):
            pause(CUT_S)
    return disturb


def main():
    namespaces.skip_without()
    with namespaces.hosts("platform", "laptop", "worker", "trainer") as net:
        far = Apart(net)
        wanted = sets_and_batches(Run(far.lab.pipeline, far.lab.folder / "quiet").finish().events)
        far.serve()
        operator, trainer = far.new_pass("operator", "rosa"), far.new_pass("trainer", "bench")
        with working(far.lab, "worker", *nothing(far.lab), address=net.addresses["worker"], host=net.inside("worker")) as worker:
            far.weir("context", "add", "lab", "--key", str(operator))
            far.weir("context", "use", "lab")
            far.weir("submit", str(far.by_hand))
            watching, done = far.begin("watch", "byhand", "--json"), []
            for pair in APART:
                done.append(train_by_hand(far, trainer, apart(net, *pair), done)[0])
            printed, complaint = watching.communicate(timeout=DEADLINE_S)
            assert watching.returncode == 0, complaint
            worker.end()
        events = [json.loads(line) for line in printed.splitlines()]
        assert_clean_audits(events)
        assert len(wanted) == len(APART) and sets_and_batches(events) == wanted, (sets_and_batches(events), wanted)
        far.stop()
        far.lab.remove()


if __name__ == "__main__":
    main()
