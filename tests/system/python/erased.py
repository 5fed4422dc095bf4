"""Says what it sees. In its first run it says that it is in the midst of it, and waits there, with a batch in hand if it is told to
hold one."""

import os
import sys
import time

import weir

with weir.Session() as session:
    learns, waits = session.task.learns, session.info.run == 1
    while (batch := session.next()) is not None:
        ids = memoryview(batch.ids).tolist()
        print("batch", session.info.attempt, batch.number, *ids, flush=True)
        if not learns:
            session.output(batch, "predictions", [[0.5]] * len(ids))
        held = batch if "hold" in sys.argv and waits and session.info.attempt == 1 else None
        del batch
        if waits and not os.path.exists("midst"):
            with open("midst.new", "w") as file:
                print(*ids, file=file)
            os.rename("midst.new", "midst")
        while held is not None or (waits and not session.stopping and not os.path.exists("go")):
            time.sleep(0.01)
        if session.stopping:  # the run is paused: it comes again
            sys.exit()
    open("model", "w").close()
    session.finish("model" if learns else None)
