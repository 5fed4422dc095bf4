"""pip installs the package out of the tree, without a network and without anything that the tree does not have."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from weirlab import SKIPPED

ROOT = Path(__file__).parents[2]
CHECK = "import weir, weir.session; print(weir.__file__, weir.Error.status)"
NOWHERE = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}

if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
    print("python_install_test.py: skipped: no pip (apt-get install python3-pip)")
    sys.exit(SKIPPED)
with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--target", folder, ROOT / "trainer_client/python"],
                          env={**os.environ, **NOWHERE}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Successfully installed weir-[\d.]+$", done.stdout, re.M), done.stdout
    said = subprocess.run([sys.executable, "-c", CHECK], env={**os.environ, "PYTHONPATH": folder}, cwd="/", check=True,
                          capture_output=True, text=True).stdout
    assert said == f"{folder}/weir/__init__.py 0\n", said
print("ok the package is installed out of the tree")
