"""The client library as `cmake --install` puts it into a prefix, and the program of docs/guides/write-a-training-loop.md as it stands there."""

import os
import re
import subprocess
from pathlib import Path

from weirlab import everyone_may_enter

GUIDE = Path(__file__).parents[2] / "docs/guides/write-a-training-loop.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE.read_text(), re.S | re.M)


def install(prefix):
    """Installs under another name first: nothing of the library may know where it was put."""
    build = Path(os.environ["WEIR_TEST_BIN_DIR"]).parents[1]
    first = prefix.with_name("elsewhere")
    subprocess.run(["cmake", "--install", build, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
    first.rename(prefix)
    for folder in (prefix, *(path for path in prefix.rglob("*") if path.is_dir())):
        everyone_may_enter(folder)
    return prefix


def environment(prefix):
    return {**os.environ, "PKG_CONFIG_PATH": str(library_folder(prefix) / "pkgconfig"), "CMAKE_PREFIX_PATH": str(prefix)}


def library_folder(prefix):
    (library,) = prefix.rglob("libweir_client.a")
    return library.parent


def write_program(folder):
    """Writes the only program of the guide."""
    (text,) = blocks("c")
    folder.mkdir()
    everyone_may_enter(folder)
    (folder / "loop.c").write_text(text)
    return folder


def build_with_cmake(folder, prefix, target="weir::client"):
    """Builds the program as the guide's CMakeLists.txt says; returns it."""
    (text,) = blocks("cmake")
    (folder / "CMakeLists.txt").write_text(text.replace("weir::client", target))
    for command in (["cmake", "-S", folder, "-B", folder / "build"], ["cmake", "--build", folder / "build"]):
        subprocess.run(command, check=True, env=environment(prefix), stdout=subprocess.DEVNULL)
    everyone_may_enter(folder / "build")
    return folder / "build/loop"
