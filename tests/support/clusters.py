"""Clusters of tests: data directories get copies of one that has all schemas, where making each costs more than what is done in it.

Usage: clusters.py PROGRAM ARGUMENT…, which finds it so; PROGRAM lies in tests/bin of the build
"""

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path


def copy(programs):
    """For all that this process starts; `programs`: the folder tests/bin of the build."""
    installed = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]), default=None)
    if installed is None or "WEIR_POSTGRES_BIN" in os.environ:
        return
    schemas = (programs / "migrations").read_text().strip()
    folder = Path(tempfile.gettempdir()) / f"weir-test-clusters-{installed.parts[-3]}-{os.geteuid()}-{schemas}"
    if not folder.exists():
        fresh = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
        shutil.copy(Path(__file__).resolve().with_name("initdb"), fresh)
        (fresh / "real-initdb").symlink_to(installed)
        (fresh / "postgres").symlink_to(installed.with_name("postgres"))
        shutil.copy(programs / "migrate", fresh)  # the tree may be closed to the user that Postgres runs as
        (fresh / "clusters").mkdir()
        os.chmod(fresh / "clusters", 0o1777)  # Postgres may run as another user
        os.chmod(fresh, 0o755)
        with contextlib.suppress(OSError):  # another test was faster
            fresh.rename(folder)
    assert folder.stat().st_uid == os.geteuid(), f"{folder} is somebody else's"
    os.environ["WEIR_POSTGRES_BIN"] = str(folder)


if __name__ == "__main__":
    copy(Path(sys.argv[1]).parent)
    os.execv(sys.argv[1], sys.argv[1:])
