"""A trigger whose training does nothing: how often Postgres is waited for until its model is stored. Counted, not timed: each round trip
is as long as Postgres is far. With `--list`: which statements take them, and which of them follow each other."""

import contextlib
import statistics
import sys

from round_trips import Passage
from secrets_test import PASSWORD, Server
from weirlab import Lab, Run, assert_clean_audits, everyone_may_write, run_tests

TRIGGERS = 8
WARM_UP = 2  # triggers: until then statements are prepared
MOST = {"orchestrator": 9, "selector": 4, "preprocess": 5}  # storage only follows its sources meanwhile
ONCE = {"orchestrator": "trigger_stored", "selector": "put_selection", "preprocess": "job_add"}  # statements, for each trigger
MOST_IN_SEQUENCE = 12
FAR_S = 0.06  # a round trip, much longer than what is done between two of them
LATE = ("cost_save/", "rank_report/")  # what is stored when there is time
PIPELINE = """\
pipeline: {{name: trips, mode: replay}}
datasets:
  - name: points
    source: {{path: {data}, format: csv, include: "*.csv"}}
    time:   {{from: field, field: ts}}
    label:  {{field: y}}
trigger:   {{policy: amount, samples: 1}}
selection: {{policy: new_data, tail_triggers: 0}}
training:  {{model: linear, loss: logistic, epochs: 1, seed: 1, start_from: previous, optimizer: {{name: sgd, lr: 0.1}}}}
preprocess:
  operators: [{{op: csv_fields, columns: [ts, x, y], fields: [x]}}]
  batch: {{samples: 16, last: short}}
"""


def write_points(lab):
    for path in lab.folder.glob("stream/*"):
        path.unlink()
    rows = [f"2024-01-01T{i:02d}:00:00Z,{i % 7}.5,{i % 2}\n" for i in range(TRIGGERS)]
    (lab.folder / "stream/a.csv").write_text("ts,x,y\n" + "".join(rows))


@contextlib.contextmanager
def passed(lab, server, round_trip_s):
    """A system file whose connection leads through a passage, and that."""
    folder, system = lab.folder / "passage", lab.folder / "system.yaml"
    folder.mkdir()
    everyone_may_write(folder)
    quoted = PASSWORD.replace("'", "\\\\'")
    system.write_text(f'postgres: {{connection: "host={folder} dbname=postgres user=weir password=\'{quoted}\'"}}\n')
    passage = Passage(folder, server.folder, round_trip_s)
    try:
        yield system, passage
    finally:
        passage.end()


def is_late(trip):
    return all(name.startswith(LATE) for name in trip.statements if name not in ("BEGIN", "COMMIT"))


def between(trips, statement):
    """Returns the trips from each one with the statement, exclusive, to the next, inclusive."""
    found = [[]]
    for trip in sorted(trips, key=lambda trip: trip.sent_s):
        found[-1].append(trip)
        if any(name.startswith(statement + "/") for name in trip.statements):
            found.append([])
    return found[WARM_UP:-1]


def between_models(trips):
    return between(trips, ONCE["orchestrator"])


def counted(trips, service):
    """Returns the number of trips that a service waits for, per trigger. Services run ahead of each other, on a busy machine
    further than on an idle one: each is counted from its own statement to its next."""
    windows = between([trip for trip in trips if trip.service == service], ONCE[service])
    assert len(windows) == TRIGGERS - WARM_UP, f"{service}: {ONCE[service]} {len(windows) + WARM_UP} times"
    return statistics.median(map(len, windows))


def in_sequence(trips):
    """As many as possible of which each was sent when the one before was answered."""
    found = []
    for trip in sorted(trips, key=lambda trip: trip.answered_s):
        if not found or trip.sent_s >= found[-1].answered_s:
            found.append(trip)
    return found


def told(trips):
    numbers = {id(trip): number for number, trip in enumerate(in_sequence(trips), 1)}
    return "\n".join(f"{numbers.get(id(trip), ''):3} {trip.service:13}{' + '.join(trip.statements)}" for trip in trips)


def run_through(round_trip_s):
    server, lab = Server(), Lab(samples=1, pipeline=PIPELINE)
    try:
        write_points(lab)
        with passed(lab, server, round_trip_s) as (system, passage):
            run = Run(lab.pipeline, lab.data_dir, system).finish()
        assert_clean_audits(run.events)
        assert len(run.of("model_stored")) == TRIGGERS
        return [trip for trip in passage.trips if trip.service in MOST and not is_late(trip)]
    finally:
        server.remove()
        lab.remove()


def test_a_trigger_waits_for_few_round_trips():
    trips = run_through(0)
    found = {service: counted(trips, service) for service in MOST}
    assert all(found[of] <= most for of, most in MOST.items()), f"{found}, expected at most {MOST}\n{told(trips)}"


def test_few_of_them_follow_each_other():
    """In the best of the triggers: where the machine is busy, what is asked ahead is late."""
    best = min(between_models(run_through(FAR_S)), key=lambda trips: len(in_sequence(trips)))
    assert len(in_sequence(best)) <= MOST_IN_SEQUENCE, told(best)


if __name__ == "__main__":
    if "--list" in sys.argv:
        for trips in between_models(run_through(float(sys.argv[2]) if len(sys.argv) > 2 else FAR_S)):
            print(told(trips), end="\n\n")
    else:
        run_tests(globals())
