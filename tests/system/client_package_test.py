"""The installed client library: the program of the guide is built out of the tree in each way the guide names, and each comes as far as
its refusal without a platform; C99 and C++ read the header."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from client_package import blocks, build_with_cmake, environment, install, library_folder, write_program
from weirlab import run_tests

STRICT = "-Wall -Wextra -Wpedantic -Werror"
CPP = """
#include <weir/client.h>
int main()
{
    weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    weir_client_error error;
    struct weir_client_task *task = nullptr; /* a function has the same name */
    if (weir_client_task(&options, &task, &error) == WEIR_CLIENT_OK)
        return 0;
    std::fprintf(stderr, "%s\\n", error.text);
    return 1;
}
"""


@contextlib.contextmanager
def installed():
    """The library in a prefix, and the program in a folder beside it."""
    with tempfile.TemporaryDirectory(prefix="weir-package-") as folder:
        yield install(Path(folder) / "prefix"), write_program(Path(folder) / "program")


def build_by_line(line, prefix, folder):
    subprocess.run(line, shell=True, check=True, cwd=folder, env=environment(prefix))
    return folder / "loop"


def is_linked_dynamically(program):
    listing = subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True).stdout
    return re.search(r"NEEDED.*libweir_client\.so\.3", listing) is not None


def symbols(binary, section):
    """Dynamic symbols called weir_…: defined ones (section: a number), or those that it needs (section: UND)."""
    listing = subprocess.run(["readelf", "-W", "--dyn-syms", binary], check=True, capture_output=True, text=True).stdout
    return re.findall(rf" GLOBAL +DEFAULT +{section} (weir_\S+)", listing)


def assert_refuses(program, prefix):
    env = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    env["LD_LIBRARY_PATH"] = str(library_folder(prefix))
    done = subprocess.run([program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("no run: expected"), (program, done)


def test_the_program_of_the_guide_is_built_by_pkg_config():
    shared, static = (line for text in blocks("sh") for line in text.splitlines() if line.startswith("cc "))
    with installed() as (prefix, folder):
        for line, is_dynamic in ((shared, True), (static, False)):
            program = build_by_line(line, prefix, folder)
            assert is_linked_dynamically(program) == is_dynamic, line
            assert_refuses(program, prefix)


def test_the_program_of_the_guide_is_built_by_cmake():
    with installed() as (prefix, folder):
        for target, is_dynamic in (("weir::client", True), ("weir::client_static", False)):
            program = build_with_cmake(folder, prefix, target)
            assert is_linked_dynamically(program) == is_dynamic, target
            assert_refuses(program, prefix)


def test_where_only_the_static_library_is_pkg_config_names_what_it_needs():
    with installed() as (prefix, folder):
        for library in library_folder(prefix).glob("*.so*"):
            library.unlink()
        line = "cc -o loop loop.c $(pkg-config --static --cflags --libs weir-client)"
        assert_refuses(build_by_line(line, prefix, folder), prefix)


def test_symbols_carry_the_version_and_a_program_asks_for_it():
    with installed() as (prefix, folder):
        line = "cc -o loop loop.c $(pkg-config --cflags --libs weir-client) -lm"
        (library,) = library_folder(prefix).glob("libweir_client.so.3")
        own, wanted = symbols(library, r"\d+"), symbols(build_by_line(line, prefix, folder), "UND")
        assert own and all(name.endswith("@@WEIR_CLIENT_3") for name in own), own
        assert wanted and {re.sub("@.*", "", name) for name in wanted} <= {re.sub("@.*", "", name) for name in own}, wanted
        assert all(re.search(r"@WEIR_CLIENT_3$", name) for name in wanted), wanted


def test_c99_and_cpp_read_the_header():
    with installed() as (prefix, folder):
        build_by_line(f"cc -std=c99 {STRICT} -fsyntax-only loop.c $(pkg-config --cflags weir-client)", prefix, folder)
        if shutil.which("c++") is None:
            return
        (folder / "loop.cpp").write_text("#include <cstdio>" + CPP)
        line = f"c++ -std=c++11 {STRICT} -o loop loop.cpp $(pkg-config --cflags --libs weir-client)"
        assert_refuses(build_by_line(line, prefix, folder), prefix)


if __name__ == "__main__":
    run_tests(globals())
