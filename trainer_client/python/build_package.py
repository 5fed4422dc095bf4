"""What pip asks to build the package (PEP 517): CMake compiles it, a zip file with three lists is a wheel."""

import base64
import hashlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def compile_package(folder):
    """Returns the folder of the compiled package, for the Python that runs this and every later one."""
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DWEIR_TESTS=OFF", "-DWEIR_BENCHMARKS=OFF", f"-DPython3_EXECUTABLE={sys.executable}"]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "weir_python"], check=True)
    return folder / "python" / "weir"


def describe():
    """Returns the folder of the lists, and METADATA and WHEEL without the tag."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    (version,) = re.findall(r"^project\(weir VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    metadata = (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\nSummary: {project['description']}\n"
                f"Requires-Python: {project['requires-python']}\n")
    return f"weir-{version}", metadata


def digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def pack(package, wheel_directory):
    name, metadata = describe()
    tag = "cp311-abi3-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    files = {f"weir/{path.name}": path.read_bytes() for path in sorted(package.iterdir()) if path.is_file()}
    files[f"{name}.dist-info/METADATA"] = metadata.encode()
    files[f"{name}.dist-info/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: weir\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{name}.dist-info/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = f"{name}.dist-info/RECORD"
    lines = [f"{path},{digest(content)},{len(content)}" for path, content in files.items()] + [f"{record},,"]
    files[record] = "\n".join([*lines, ""]).encode()
    wheel = f"{name}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory(prefix="weir-wheel-") as folder:
        return pack(compile_package(Path(folder)), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the package is built out of Weir's tree: pip install TREE/trainer_client/python")
