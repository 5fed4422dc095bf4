"""A group of which rank 1 fails, while the others wait for it."""

import os
import sys

import weir

with weir.Session() as session:
    for batch in session:
        if os.environ["RANK"] == "1":
            sys.exit("no numbers today")
    session.finish()
