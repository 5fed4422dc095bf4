"""Triggers of random policies over random streams, against a model of the policies in Python: what the guide says, and nothing that
is read off the code. Ensembles stand in ensembles; label drift, amounts and periods are members. First many, rehearsed (`--dry-run`),
then one for real, whose platform is killed and whose pipeline is told to pause, stop and resume at random; then one live, to
which files come late and one by one. Usage: triggers_test.py [SEED [ROUNDS]]"""

import calendar
import datetime
import json
import math
import random
import sys
import time

from weirlab import DEADLINE_S, Lab, assert_clean_audits, await_that, kill, serve

SECOND, DAY = 1_000_000, 86_400_000_000
BEGIN = calendar.timegm((2002, 1, 1, 0, 0, 0)) * SECOND
SAMPLES, POLICIES = 300, 15


# ---- the model: policies that see (time, label) ----


class Amount:
    def __init__(self, draw):
        self.limit, self.count = draw.randint(3, 90), 0

    def yaml(self):
        return f"{{policy: amount, samples: {self.limit}}}"

    def before(self, _):
        return False

    def observe(self, _):
        self.count += 1
        return self.count >= self.limit

    def checks(self):
        return False

    def fired(self):
        self.count = 0


class Time(Amount):
    """Boundaries of a grid that begins in 1970; of weeks, on a Monday."""

    def __init__(self, draw):
        self.every, self.months, self.length, self.origin = draw.choice([
            ("36h", 0, 36 * 3600 * SECOND, 0), ("1d", 0, DAY, 0), ("5d", 0, 5 * DAY, 0), ("1w", 0, 7 * DAY, 4 * DAY),
            ("1d at 03:00", 0, DAY, 3 * 3600 * SECOND), ("1 month", 1, 0, 0), ("2 months", 2, 0, 0)])
        self.first = draw.choice([None, BEGIN + draw.randrange(60) * DAY])
        self.next = None

    def yaml(self):
        first = "" if self.first is None else f", from: {iso(self.first)}"
        return f"{{policy: time, every: {self.every}{first}}}"

    def boundary(self, after):
        after = after if self.first is None or after >= self.first else self.first - 1
        if not self.months:
            return (after - self.origin) // self.length * self.length + self.length + self.origin
        then = datetime.datetime.fromtimestamp(after // SECOND, datetime.timezone.utc)
        month = ((then.year - 1970) * 12 + then.month - 1) // self.months * self.months + self.months
        return calendar.timegm((1970 + month // 12, month % 12 + 1, 1, 0, 0, 0)) * SECOND

    def before(self, sample):
        crossed = self.next is not None and sample[0] >= self.next
        if self.next is None or crossed:
            self.next = self.boundary(sample[0])
        return crossed

    def observe(self, _):
        return False

    def fired(self):
        pass


class Drift(Amount):
    """Of two classes; psi over shares that half a sample is added to. What the first check finds is a reference only if it is a quarter
    of the window: if not, the first check that has so much fires, too. Less than a quarter of the current window is not compared."""

    def __init__(self, draw):
        self.every, self.limit = draw.randint(10, 60), draw.choice([0.02, 0.1, 0.3])
        self.sizes, self.after = (draw.randint(20, 80), draw.randint(20, 80)), draw.choice(["reset", "slide"])
        self.recent, self.current, self.reference, self.count = [], [], None, 0
        self.taken, self.is_settled = 0, False

    def yaml(self):
        return (f"{{policy: drift, on: labels, samples: {self.every}, reference: {self.sizes[0]}, current: {self.sizes[1]}, "
                f"after_trigger: {self.after}, statistics: [{{name: psi, criterion: {{policy: threshold, value: {self.limit}}}}}]}}")

    def observe(self, sample):
        self.taken += 1
        self.recent = (self.recent + [sample[1]])[-self.sizes[0]:]
        self.current = (self.current + [sample[1]])[-self.sizes[1]:]
        self.count += 1
        return False

    def checks(self):
        return self.count >= self.every

    def check(self):
        self.count = 0
        if self.reference is None or not self.is_settled:
            return self.reference is None or 4 * self.taken >= self.sizes[0]
        if 4 * len(self.current) < self.sizes[1]:
            return False
        p, q = ((sum(w) + 0.5) / (len(w) + 1) for w in (self.reference, self.current))
        return sum((b - a) * math.log(b / a) for a, b in ((p, q), (1 - p, 1 - q))) >= self.limit

    def fired(self):
        self.reference, self.count = list(self.recent), 0
        self.is_settled = 4 * self.taken >= self.sizes[0]
        if self.after == "reset":
            self.current = []


class Performance(Amount):
    """Of the newest model, which nobody can foresee: so of limits that every accuracy is below, or none."""

    def __init__(self, draw):
        self.every, self.always = draw.randint(50, 120), draw.random() < 0.4
        self.count, self.has_model, self.made = 0, False, 0

    def yaml(self):
        limit = 2 if self.always else -1
        return f"{{policy: performance, samples: {self.every}, criteria: [{{policy: threshold, value: {limit}}}]}}"

    def observe(self, _):
        self.count += 1
        return False

    def checks(self):
        return self.count >= self.every

    def check(self):
        self.count, self.made = 0, self.made + 1
        return self.always or not self.has_model

    def fired(self):
        self.count, self.has_model = 0, True


class Ensemble:
    """A vote stays until the ensemble fires."""

    def __init__(self, draw, kinds, depth):
        self.members = [some(draw, kinds, depth - 1) for _ in range(draw.randint(1, 3))]
        self.word, self.needed = draw.choice([("any", 1), ("all", len(self.members)), ("of", draw.randint(1, len(self.members)))])
        self.votes = set()

    def yaml(self):
        least = f", at_least: {self.needed}" if self.word == "of" else ""
        return f"{{policy: ensemble, {self.word}: [{', '.join(m.yaml() for m in self.members)}]{least}}}"

    def decided(self):
        return len(self.votes) >= self.needed

    def ask(self, what, sample):
        voted = {i for i, member in enumerate(self.members) if getattr(member, what)(sample)}
        self.votes |= voted
        return bool(voted)

    def before(self, sample):
        return self.ask("before", sample) and self.decided()

    def observe(self, sample):
        self.ask("observe", sample)
        return self.decided()

    def checks(self):
        return any(member.checks() for member in self.members)

    def check(self):
        index = next(i for i, member in enumerate(self.members) if member.checks())
        if self.members[index].check():
            self.votes.add(index)
        return self.decided()

    def fired(self):
        self.votes = set()
        for member in self.members:
            member.fired()


def some(draw, kinds, depth):
    if depth > 0 and draw.random() < 0.6:
        return Ensemble(draw, kinds, depth)
    return draw.choice(kinds)(draw)


def fires_of(policy, rows, checks_a_row=100):
    """Counts the samples of each trigger. It may end before a sample of a replay, which has rows of one, and after each row."""
    fired, new = [], 0

    def fire():
        nonlocal new
        policy.fired()
        fired.extend([new] if new > 0 else [])  # a period in which nothing came fires nothing
        new = 0

    for row in rows:
        due = False
        for sample in row:
            if policy.before(sample):
                fire()
            new += 1
            due |= policy.observe(sample)
        for _ in range(checks_a_row):
            due = due or (policy.checks() and policy.check())
        if due:
            fire()
    return fired


# ---- streams ----


def iso(us):
    return datetime.datetime.fromtimestamp(us / SECOND, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def stream(draw):
    """Bursts and gaps, samples of the same time, shares of the classes that change; not in order of time."""
    at, share, samples = BEGIN, 0.5, []
    for _ in range(SAMPLES):
        at += draw.choice([0, 0, 60, 3600, 6 * 3600, 18 * 3600]) * SECOND
        if draw.random() < 0.02:
            at += draw.randint(1, 9) * DAY
            share = draw.uniform(0.2, 0.8)
        samples.append((at, int(draw.random() < share)))
    draw.shuffle(samples)
    return samples


def write(path, samples):
    lines = [json.dumps({"ts": iso(at), "label": ["work", "spam"][label], "user": "u", "text": f"meeting {i}"})
             for i, (at, label) in enumerate(samples)]
    aside = path.with_suffix(".part")
    aside.write_text("\n".join(lines) + "\n")
    aside.rename(path)


def file_of(lab, name, policy, mode="replay", dataset="notes"):
    text = lab.pipeline.read_text().replace("name: lab, mode: replay", f"name: {name}, mode: {mode}")
    text = text.replace("{policy: amount, samples: 1000}", policy.yaml(), 1).replace("name: notes", f"name: {dataset}")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("evaluation:"))
    path = lab.folder / f"{name}.yaml"
    path.write_text(text.replace("/stream,", f"/{dataset},"))
    return path


# ---- against Weir ----


class Platform:
    """One that dies now and then."""

    def __init__(self, lab):
        self.lab, self.server = lab, serve(lab)

    def die(self):
        self.server.kill()
        self.server.communicate(timeout=DEADLINE_S)
        self.server = serve(self.lab)

    def end(self):
        self.server.terminate()
        self.server.communicate(timeout=DEADLINE_S)
        assert self.server.returncode == 0, self.server.returncode


def status_of(lab, name):
    return next(p for p in json.loads(lab.weir("status", "--json"))["pipelines"] if p["pipeline"] == name)


def until(lab, name, what):
    await_that(lambda: what(status_of(lab, name)), lambda: status_of(lab, name))


def rehearse(lab, draw, samples):
    ordered = sorted(samples, key=lambda sample: sample[0])  # stable: those of one time in order of their ids
    for number in range(POLICIES):
        seed = draw.random()
        policy = some(random.Random(seed), [Amount, Time, Drift], 3)
        said = json.loads(lab.weir("submit", str(file_of(lab, f"rehearsed-{number}", policy)), "--dry-run", "--json"))
        fired = [t["samples_new"] for t in said["triggers"]]
        expected = fires_of(policy, [[sample] for sample in ordered])
        assert said["exact"] and fired == expected, (policy.yaml(), fired, expected)
        assert said["left_over"] == SAMPLES - sum(expected), said


def measures_of(policy, rows):
    """Counts the runs that it takes to measure for it; for the first check there is no model."""
    fires_of(policy, rows)
    found, made = [policy], 0
    while found:
        one = found.pop()
        found += getattr(one, "members", [])
        made += max(getattr(one, "made", 0) - 1, 0)
    return made


def few(draw, kinds, rows, is_good=lambda policy, expected: True):
    """A policy that fires a few times."""
    while True:
        seed = draw.random()
        expected = fires_of(some(random.Random(seed), kinds, 3), rows)
        if 2 <= len(expected) <= 4 and is_good(some(random.Random(seed), kinds, 3), expected):
            return some(random.Random(seed), kinds, 3), expected


def disturb(platform, draw, name):
    lab, what = platform.lab, draw.choice(["die", "postgres", "storage", "selector", "pause", "stop"])
    if what == "die":
        platform.die()
    elif what in ("pause", "stop"):
        done = lab.ask(what, name, *(["--wait"] if what == "pause" else []))
        assert done.returncode == 0 or "FINISHED" in done.stderr, done
        if done.returncode == 0:
            done = lab.ask("resume", name)
            assert done.returncode == 0 or "FINISHED" in done.stderr, done
    else:
        kill(lab.data_dir, what)
    return what


def explains(lab, name, told, expected):
    """Each trigger once, as the model has it, and with a reason that people are shown."""
    fired = [e for e in told if e["event"] == "trigger_fired"]
    assert [e["samples_new"] for e in fired] == expected, (fired, expected)
    shown = status_of(lab, name)["fired"]
    assert [(t["trigger"], t["reason"], t["samples_new"]) for t in shown] == [
        (e["trigger"], e["reason"], e["samples_new"]) for e in fired] and all(t["reason"] for t in shown), (shown, fired)
    models = [e["trigger"] for e in told if e["event"] == "model_stored"]
    assert models == list(range(1, len(expected) + 1)), models
    assert_clean_audits(told)


def train(platform, draw, samples):
    lab, name = platform.lab, "trained"
    rows = [[sample] for sample in sorted(samples, key=lambda sample: sample[0])]
    policy, expected = few(draw, [Amount, Time, Drift, Performance], rows, lambda policy, _: 1 <= measures_of(policy, rows) <= 5)
    lab.weir("submit", str(file_of(lab, name, policy)))
    done = []
    for number in range(len(expected)):
        until(lab, name, lambda p: p["triggers"] > number or p["state"] == "FINISHED")
        done.append(disturb(platform, draw, name))
    until(lab, name, lambda p: p["state"] == "FINISHED")
    explains(lab, name, [json.loads(line) for line in lab.weir("logs", name, "--json").splitlines()], expected)
    return done


def follow(platform, draw):
    """Files come one by one, each of its own change, and what they hold is older than what is there, or newer. It matters that all
    checks that fall due with a row are made there."""
    lab, name = platform.lab, "followed"
    rows = [[(BEGIN + draw.randrange(90) * DAY, draw.randrange(2)) for _ in range(draw.randint(1, 40))] for _ in range(12)]
    policy, expected = few(draw, [Amount, Drift], rows, lambda policy, expected: fires_of(policy, rows, 1) != expected)
    folder = lab.folder / "late"
    folder.mkdir(mode=0o755)
    write(folder / "f00.jsonl", rows[0])
    lab.weir("submit", str(file_of(lab, name, policy, mode="live", dataset="late")))
    sizes, visible, done = [], [], []
    for number, row in enumerate(rows):
        begun = time.time()
        if number > 0:
            write(folder / f"f{number:02}.jsonl", row)
        sizes.append(len(row))
        until_ingested(lab, "late", sum(sizes))
        visible.append((begun, time.time()))
        if draw.random() < 0.2:
            done.append(disturb(platform, draw, name))
    until(lab, name, lambda p: p["models"] >= len(expected))
    told = [json.loads(line) for line in lab.weir("logs", name, "--json").splitlines()]
    explains(lab, name, told, expected)
    for event in (e for e in told if e["event"] == "model_stored" and e["trigger"] > 1 and "stop" not in done):
        first = next(i for i in range(len(rows)) if sum(sizes[:i]) == sum(expected[:event["trigger"] - 1]))
        arrived = datetime.datetime.fromisoformat(event["timeline"]["arrived"]).timestamp()
        assert visible[first][0] <= arrived <= visible[first][1], (event["timeline"], visible[first])
    return done


def until_ingested(lab, dataset, count):
    def seen():
        done = lab.ask("datasets", "--json")
        rows = json.loads(done.stdout)["datasets"] if done.returncode == 0 else []
        return next((row["ingested"] for row in rows if row["dataset"] == dataset), 0)
    await_that(lambda: seen() >= count, lambda: (seen(), count), pause_s=0.02)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for number in range(seed, seed + (int(sys.argv[2]) if len(sys.argv) > 2 else 1)):
        draw = random.Random(number)
        lab = Lab(samples=1, every=1000, epochs=1)
        samples = stream(draw)
        folder = lab.folder / "notes"
        folder.mkdir(mode=0o755)
        for part in range(3):
            write(folder / f"part{part}.jsonl", samples[part * SAMPLES // 3:(part + 1) * SAMPLES // 3])
        platform = Platform(lab)
        done = train(platform, draw, samples)
        rehearse(lab, draw, samples)
        done += follow(platform, draw)
        platform.end()
        print(f"seed {number}: triggers as the model has them, through {', '.join(done)}", flush=True)
        lab.remove()


main()
