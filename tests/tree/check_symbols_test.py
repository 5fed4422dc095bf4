"""tools/check_symbols on a copy of the libraries, with one more file in one of them.

Usage: check_symbols_test.py NM COMPILER LIBRARY_DIR
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NM, COMPILER, LIBRARIES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
del sys.argv[1:4]


class CheckSymbols(unittest.TestCase):
    def check(self, source):
        """Adds a compiled source to the library of the selector; returns what the check printed after it failed."""
        with tempfile.TemporaryDirectory(prefix="weir-symbols-") as name:
            folder = pathlib.Path(name)
            for library in LIBRARIES.glob("lib*.*"):
                (folder / library.name).symlink_to(library)
            (folder / "libselector_lib.a").unlink()
            shutil.copy(LIBRARIES / "libselector_lib.a", folder)
            (folder / "added.c").write_text(source)
            subprocess.run([COMPILER, "-O2", "-c", "added.c"], cwd=folder, check=True)
            subprocess.run(["ar", "q", "libselector_lib.a", "added.o"], cwd=folder, check=True)
            done = subprocess.run([ROOT / "tools/check_symbols", NM, folder], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout

    def test_what_is_refused_is_named_line_by_line(self):
        """Functions that the C library rounds as it likes, and names without the prefix of the service."""
        calls = ("exp(x)", "log1p(x)", "powf(x, 3)", "tgammal(x)")
        code, printed = self.check("#include <math.h>\nint added(void) { return 1; }\n" + "".join(
            f"double selector_{call.split('(')[0]}(double x) {{ return (double){call}; }}\n" for call in calls))
        self.assertEqual(code, 1, printed)
        for line in ("libselector_lib.a: added.o: added: make it static, or begin it with selector_",
                     *(f"libselector_lib.a: added.o: calls {call.split('(')[0]}(): use core/base/elementary.h" for call in calls)):
            self.assertIn(line, printed.splitlines())

    def test_functions_that_are_exact_or_rounded_as_the_standard_says_pass(self):
        code, printed = self.check("#include <math.h>\ndouble selector_added(double x) "
                                   "{ return floor(sqrt(x)) + rint(x) + fmax(x, 1) + ldexp(x, 3); }")
        self.assertEqual(code, 0, printed)


if __name__ == "__main__":
    unittest.main()
