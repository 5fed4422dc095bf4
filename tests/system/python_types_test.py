"""The types that the package declares are those that it has: the stub against the module, the sources against the stub, and a
program of a user against both."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from weirlab import SKIPPED, binaries

PACKAGE = binaries().parent / "python/weir"
CACHE = binaries().parent / "mypy"  # stays: what it knows of PyTorch is minutes of work, and is true until that is another one
GOOD = """\
import weir

with weir.Session() as session:
    for epoch in session.epochs():
        for batch in epoch:
            samples: int = len(batch) + epoch.number + len(epoch)
            name: str = batch.ids.dtype
    session.finish("model", loss=0.5)
"""
WRONG = {"session.finish(1)": "[arg-type]", "session.begin()": "[attr-defined]", "weir.Session().next().ids": "[union-attr]"}


def python(*words, **options):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=PACKAGE.parent, **options)


if python("-c", "import mypy.stubtest").returncode != 0:
    print("python_types_test.py: skipped: no mypy (apt-get install mypy)")
    sys.exit(SKIPPED)
if not (PACKAGE / "_weir.abi3.so").exists():
    print(f"python_types_test.py: skipped: {PACKAGE} was not built: the headers of Python are missing (apt-get install python3-dev)")
    sys.exit(SKIPPED)


def checked(*words):
    cache = CACHE / ("strict" if "--strict" in words else "plain")  # each of them would make the other's anew
    done = python("-m", "mypy", "--cache-dir", cache, *words, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    return done.returncode, done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        done = python("-m", "mypy.stubtest", "weir._weir", env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
        assert done.returncode == 0, done.stdout + done.stderr
        print("ok the stub says what the module has")
        code, said = checked("--strict", PACKAGE / "__init__.py", PACKAGE / "session.py")
        assert code == 0, said
        if python("-c", "import torch").returncode == 0:
            code, said = checked(PACKAGE / "torch.py")
            assert code == 0, said
        print("ok the sources hold to their types")
        program = Path(folder) / "program.py"
        program.write_text(GOOD)
        code, said = checked("--strict", program)
        assert code == 0, said
        for line, kind in WRONG.items():
            program.write_text(f"import weir\n\nsession = weir.Session()\n{line}\n")
            code, said = checked(program)
            assert code == 1 and kind in said, (line, said)
        print("ok what a program gets wrong is found")


if __name__ == "__main__":
    main()
