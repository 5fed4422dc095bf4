"""A program that stays: it learns nothing, for as many seconds as its argument says."""

import sys
import time

import weir

seconds = float(sys.argv[1])
for task in weir.tasks():
    with weir.Session(task=task) as session:
        begun = 0.0
        for _ in session:
            begun = begun or time.monotonic()
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        with open("model", "w", encoding="ascii") as file:
            file.write("nothing")
        session.finish(model="model")
