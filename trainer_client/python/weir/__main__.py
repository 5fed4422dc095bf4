"""python3 -m weir: see weir.attach()."""

import sys

from weir.attach import main

main(sys.argv[1:])
