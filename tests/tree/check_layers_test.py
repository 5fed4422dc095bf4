"""tools/check_layers on a copy of the tree, with one thing wrong at a time."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class CheckLayers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weir-layers-")
        cls.addClassCleanup(folder.cleanup)
        cls.tree = pathlib.Path(folder.name)
        for name in ("core", "storage", "selector", "orchestrator", "preprocess", "trainer_client", "cli", "tools"):
            shutil.copytree(ROOT / name, cls.tree / name)
        shutil.copy(ROOT / "ARCHITECTURE.md", cls.tree)

    def check(self):
        done = subprocess.run([self.tree / "tools/check_layers"], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def change(self, name, change):
        """Rewrites a file for the rest of the test; one that was not there is removed again."""
        path = self.tree / name
        before = path.read_text() if path.exists() else None
        self.addCleanup(lambda: path.unlink() if before is None else path.write_text(before))
        path.parent.mkdir(exist_ok=True)
        path.write_text(change(before))

    def refused(self, line):
        code, printed = self.check()
        self.assertEqual(code, 1, printed)
        self.assertIn(line, printed.splitlines())

    def test_the_tree_as_it_is_passes(self):
        self.assertEqual(self.check()[0], 0)

    def test_an_include_that_goes_up_is_refused_with_its_place_and_what_is_allowed(self):
        self.change("preprocess/order/order.c", lambda text: '#include "preprocess/plan/plan.h"\n' + text)
        self.refused("preprocess/order/order.c:1: room order must not include preprocess/plan/plan.h; "
                     "it may use: sql order")

    def test_an_include_of_a_file_beside_the_rooms_goes_up(self):
        self.change("trainer_client/models/loss.c", lambda text: '#include "trainer_client/batch.h"\n' + text)
        self.refused("trainer_client/models/loss.c:1: room models must not include trainer_client/batch.h; "
                     "it may use: include/weir models")

    def test_files_beside_the_rooms_include_any_of_them(self):
        self.change("trainer_client/batch.c", lambda text: '#include "trainer_client/models/loss.h"\n' + text)
        self.assertEqual(self.check()[0], 0)

    def test_files_of_a_room_that_include_each_other_in_a_circle_are_refused(self):
        self.change("preprocess/order/geometry.c", lambda text: '#include "preprocess/order/order.h"\n' + text)
        self.refused("preprocess/order: a circle of includes: geometry order")

    def test_a_circle_through_a_third_file_is_refused_and_says_who_is_in_it(self):
        self.change("core/base/require.h", lambda text: '#include "core/base/utf8.h"\n' + text)
        self.refused("core/base: a circle of includes: bytes memory require utf8")

    def test_parts_of_one_module_may_include_each_other(self):
        self.change("preprocess/order/order_state.h", lambda _: '#include "preprocess/order/order.h"\n')
        self.change("preprocess/order/order.c", lambda text: '#include "preprocess/order/order_state.h"\n' + text)
        self.assertEqual(self.check()[0], 0)

    def test_a_folder_that_is_not_listed_is_refused(self):
        self.change("preprocess/attic/attic.c", lambda _: "/* Nothing. */\n")
        self.refused("preprocess/attic/attic.c: lies in no room that preprocess/CMakeLists.txt lists")

    def test_rooms_that_are_drawn_in_another_order_are_refused(self):
        self.change("preprocess/CMakeLists.txt", lambda text: text.replace("sql order", "order sql"))
        self.refused("ARCHITECTURE.md: preprocess/ lists other rooms: draw them one a line, lowest first: "
                     "order sql operators operators/exec operators/text operators/pictures plan preview scale dispatcher worker")


if __name__ == "__main__":
    unittest.main()
