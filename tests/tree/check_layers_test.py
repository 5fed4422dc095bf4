"""tools/check_layers on copies of the tree: one with everything that is refused, and one with what looks like it and is allowed."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def including(header):
    return lambda text: f'#include "{header}"\n{text or ""}'


REFUSED = {
    "preprocess/order/order.c": including("preprocess/plan/plan.h"),
    "trainer_client/models/loss.c": including("trainer_client/batch.h"),
    "preprocess/order/geometry.c": including("preprocess/order/order.h"),
    "core/base/require.h": including("core/base/utf8.h"),
    "preprocess/attic/attic.c": lambda _: "/* Nothing. */\n",
    "selector/CMakeLists.txt": lambda text: text.replace("sql scoring", "scoring sql"),
}
ALLOWED = {
    "trainer_client/batch.c": including("trainer_client/models/loss.h"),
    "preprocess/order/order_state.h": including("preprocess/order/order.h"),
    "preprocess/order/order.c": including("preprocess/order/order_state.h"),
}


def checked(changes):
    """Returns the exit code of the tool on a tree with these changes, and its lines."""
    with tempfile.TemporaryDirectory(prefix="weir-layers-") as folder:
        tree = pathlib.Path(folder)
        for name in ("core", "storage", "selector", "orchestrator", "preprocess", "trainer_client", "cli", "tools"):
            shutil.copytree(ROOT / name, tree / name)
        shutil.copy(ROOT / "ARCHITECTURE.md", tree)
        for name, change in changes.items():
            path = tree / name
            path.parent.mkdir(exist_ok=True)
            before = path.read_text() if path.exists() else None
            path.write_text(change(before))
            assert path.read_text() != before, f"{name}: nothing was changed"
        done = subprocess.run([tree / "tools/check_layers"], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


class CheckLayers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code, cls.printed = checked(REFUSED)

    def refused(self, line):
        self.assertEqual(self.code, 1, self.printed)
        self.assertIn(line, self.printed)

    def test_what_is_allowed_passes(self):
        """Files beside the rooms include any of them, and the parts of one module each other."""
        code, printed = checked(ALLOWED)
        self.assertEqual(code, 0, printed)

    def test_nothing_else_is_refused(self):
        self.assertEqual(len(self.printed), len(REFUSED) + 1, self.printed)  # the last line counts them

    def test_an_include_that_goes_up_is_refused_with_its_place_and_what_is_allowed(self):
        self.refused("preprocess/order/order.c:1: room order must not include preprocess/plan/plan.h; "
                     "it may use: sql order")

    def test_an_include_of_a_file_beside_the_rooms_goes_up(self):
        self.refused("trainer_client/models/loss.c:1: room models must not include trainer_client/batch.h; "
                     "it may use: include/weir models")

    def test_files_of_a_room_that_include_each_other_in_a_circle_are_refused(self):
        self.refused("preprocess/order: a circle of includes: geometry order")

    def test_a_circle_through_a_third_file_is_refused_and_says_who_is_in_it(self):
        self.refused("core/base: a circle of includes: bytes memory require utf8")

    def test_a_folder_that_is_not_listed_is_refused(self):
        self.refused("preprocess/attic/attic.c: lies in no room that preprocess/CMakeLists.txt lists")

    def test_rooms_that_are_drawn_in_another_order_are_refused(self):
        self.refused("ARCHITECTURE.md: selector/ lists other rooms: draw them one a line, lowest first: "
                     "scoring sql policies sets pipelines scores choices tasks")


if __name__ == "__main__":
    unittest.main()
