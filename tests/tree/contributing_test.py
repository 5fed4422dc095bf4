"""Adds one of each kind of thing to a copy of the tree, as the table of CONTRIBUTING.md says and nowhere else: it is
compiled, linked, listed, and held to the contract of its registry.

Usage: contributing_test.py BUILD_DIR

A plug-in is a copy of the first of its kind under another name. Only the files that were written or named are compiled;
their objects stand before the libraries of BUILD_DIR at the link, which takes everything else from these.
"""
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop()).resolve()
FOLDERS = ("core", "storage", "selector", "orchestrator", "preprocess", "trainer_client", "cli", "cmake", "tools", "tests")
LINKER = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []  # a third of the time of the usual one
PROGRAMS = ("orchestrator", "storage", "selector", "dispatcher", "worker", "trainer", "weir")
CHECK_LISTS = """
#include "core/base/status.h"
#include "core/db/migration.h"
#include "core/wire/wire.h"
#include "storage/sql/queries.h"
#include <stdio.h>

extern const struct weir_migration STORAGE_MIGRATIONS[];
extern const size_t STORAGE_MIGRATIONS_count;

int main(void)
{
    bool is_answer = weir_message_answers(MSG_added_is, MSG_added_request);
    printf("%s: %s\\n", weir_message_info(MSG_added_request)->name, is_answer ? "answered" : "not answered");
    printf("%s: %s\\n", weir_status_name(WEIR_ADDED), weir_status_text(WEIR_ADDED));
    printf("%s: %s\\n", STORAGE_QUERIES[Q_added].name, STORAGE_QUERIES[Q_added].sql);
    printf("%s\\n", STORAGE_MIGRATIONS[STORAGE_MIGRATIONS_count - 1].name);
    return 0;
}
"""
CHECK_LAUNCHER = """
#include "orchestrator/launchers/launcher.h"
#include <stdio.h>

int main(void)
{
    const struct launcher *added = orchestrator_launcher_find("added");
    printf("%s\\n", added != NULL ? added->name : "not found");
    return 0;
}
"""


def rows():
    """{what is added: (paths that are written, paths that it is named in)}"""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("| you want to add |"):].split("\n\n")[0]
    found = {}
    for line in table.splitlines()[2:]:
        added, written, named = (cell.strip() for cell in line.strip("|").split("|"))
        found[added] = tuple([path for path in re.findall(r"`([^`]+)`", cell) if "/" in path] for cell in (written, named))
    return found


def run(arguments, **more):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def doubled(text, model):
    """The first row of each array of examples that begins with the name, a second time under the name `added`."""
    for found in reversed(list(re.finditer(rf'(?<=\[\] = \{{\n)    \{{"{model}",', text))):
        at = end = found.start() + 4
        depth = 0
        while depth > 0 or end == at:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        row = text[at:end]
        text = f"{text[:end]},\n    {re.sub(rf'{model}(?=[^_])', 'added', row, count=1)}{text[end:]}"
    return text


class Contributing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weir-contributing-")
        cls.addClassCleanup(folder.cleanup)
        cls.tree, cls.build = pathlib.Path(folder.name) / "tree", pathlib.Path(folder.name) / "build"
        for name in FOLDERS:
            shutil.copytree(ROOT / name, cls.tree / name)
        shutil.copy(ROOT / "CMakeLists.txt", cls.tree)
        cls.rows, cls.changed = rows(), set()
        cls.plugins = {added: places for added, places in cls.rows.items() if "NAME" in "".join(places[0])}
        for written, named in cls.plugins.values():
            cls.add_plugin(written[0], named)
        cls.add_to_lists()
        cls.add_to_tables()
        cls.compile()

    @classmethod
    def edit(cls, path, change):
        before = (cls.tree / path).read_text()
        after = change(before)
        assert after != before, f"{path}: nothing was added"
        (cls.tree / path).write_text(after)
        cls.changed.add(path)

    @classmethod
    def add_plugin(cls, pattern, named):
        """Copies the first plug-in that the registry names, under the name `added`."""
        registry = (cls.tree / named[0]).read_text()
        model = next(name for name in re.findall(r"\bX\((\w+)[,)]", registry)
                     if (cls.tree / pattern.replace("NAME", name)).exists())
        symbol = pathlib.PurePath(pattern).stem
        old, new = pattern.replace("NAME", model), pattern.replace("NAME", "added")
        text = (cls.tree / old).read_text().replace(f'"{model}"', '"added"')
        (cls.tree / new).write_text(re.sub(rf"\b([a-z]+_)?{symbol.replace('NAME', model)}\b",
                                          lambda found: (found[1] or "") + symbol.replace("NAME", "added"), text))
        cls.changed.add(new)
        for path in named:
            if path.endswith("CMakeLists.txt"):
                source = old.removeprefix(str(pathlib.PurePath(path).parent) + "/")
                cls.edit(path, lambda text: text.replace(source, f"{source} {source.replace(model, 'added')}", 1))
            elif path.startswith("tests/"):
                cls.edit(path, lambda text: doubled(text, model))
            else:
                row = re.compile(rf"\bX\({model}(?=[,)])[^)]*\)")
                cls.edit(path, lambda text: row.sub(lambda found: f"{found[0]} {found[0].replace(model, 'added', 1)}", text, count=1))

    @classmethod
    def add_to_lists(cls):
        """A message with its answer, a status and a statement: rows at the end of the lists that the table names."""
        (messages,), (answers, *_) = cls.rows["a message"]
        end = "// clang-format on"
        cls.edit(messages, lambda text: text.replace(end, """MESSAGE(added_request, 0x01fe, PLATFORM, "any -> storage: a test")
    FIELD(u64, number, "any")
END(added_request)
MESSAGE(added_is, 0x01ff, PLATFORM, "storage -> any: the same")
    FIELD(u64, number, "as asked")
END(added_is)
""" + end))
        cls.edit(answers, lambda text: text + "ANSWER(added_request, added_is)\n")
        last = re.compile(r'( X\(\w+, +\d+, +"[^"]*"\))\n// clang-format on')
        cls.edit(cls.rows["a status"][0][0], lambda text: last.sub(r'\1 \\\n    X(ADDED, 99, "added by a test")\n' + end, text))
        (statements,), _ = cls.rows["a statement"]
        cls.edit(statements.replace("SERVICE", "storage"), lambda text: text.replace(end, 'QUERY(added, "SELECT 1 AS one")\n' + end))
        (cls.tree / "tests/lists.c").write_text(CHECK_LISTS)

    @classmethod
    def add_to_tables(cls):
        """A loss, an optimizer, a key, a table with its holder, and a command: rows in the tables that the table names."""
        for added in ("a loss", "an optimizer"):
            (path,), _ = cls.rows[added]
            cls.edit(path, lambda text: re.sub(r'(?<=\(X\)) +\\\n(    X\("\w+".*?\) +\\\n)(?=    X)', lambda rows: rows[0] + re.sub(r'"\w+"', '"added"', rows[1], count=1), text, flags=re.DOTALL))
        (keys,), _ = cls.rows["a configuration key"]
        cls.edit(keys, lambda text: re.sub(r"(struct deletion_section \{\n)", r"\1    uint64_t added;\n", text))
        cls.edit(keys, lambda text: re.sub(r"(DELETION_KEYS\[\] = \{\n)", r'\1    CFG_U64(struct deletion_section, added, .doc = "by a test"),\n', text))
        (migration,), (holders,) = cls.rows["a column or table of the database"]
        migration = migration.replace("SERVICE", "storage").replace("NNN_title", "999_added")
        (cls.tree / migration).write_text("CREATE TABLE added (id bigint PRIMARY KEY);\n")
        assert holders in cls.rows["a holder"][0]
        cls.edit(holders, lambda text: text.replace("\nTABLE(", '\nTABLE(storage, added, NOTHING, KEPT, "")\nTABLE(', 1))
        (commands, _), (rendering, topics, _) = cls.rows["a command of `weir`"]
        cls.edit(commands, lambda text: re.sub(r"(COMMANDS\[\] = \{\n)", r'''\1    {.words = "added", .summary = "by a test", .example = "weir added",
     .topic = "added", .render = cli_render_added},
''', text))
        cls.edit(rendering, lambda text: text.replace("cli_render_fn ", "cli_render_fn cli_render_added, ", 1))
        cls.edit("cli/render_feed.c", lambda text: text + """
void cli_render_added(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "%s", cli_text(answer, "added"));
}
""")
        cls.edit(topics, lambda text: text.replace("\nTOPIC(", "\nTOPIC(added, PEOPLE, READS, PIPELINES)\nTOPIC(", 1))
        cls.edit("orchestrator/topics/feed.c", lambda text: text + """
void orchestrator_topic_added(struct topic_call *call)
{
    orchestrator_topic_answer(call, json_pack("{s:s}", "added", "by a test"));
}
""")
        (cls.tree / "tests/launcher.c").write_text(CHECK_LAUNCHER)

    @classmethod
    def compile(cls):
        """Compiles what was written, and the files that a list which was written to is expanded in."""
        cache = (BUILD / "CMakeCache.txt").read_text()
        compiler = re.findall(r"^(CMAKE_C_COMPILER(?:_LAUNCHER)?):\w+=(.+)$", cache, re.MULTILINE)
        run(["cmake", "-G", "Ninja", "-S", cls.tree, "-B", cls.build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DWEIR_BENCHMARKS=OFF",
             "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=", *(f"-D{key}={value}" for key, value in compiler)])
        commands = {}
        for entry in json.loads((cls.build / "compile_commands.json").read_text()):
            commands.setdefault(entry["file"].removeprefix(f"{cls.tree}/"), entry)
        sources = {path for path in cls.changed if path.endswith(".c")} | {"core/base/status.c", "core/wire/wire.c", "core/wire/export_formats.c",
                                                                                 "selector/policies/registry.c", "storage/formats/registry.c", "storage/sql/queries.c",
                                                                                 "orchestrator/topics/topics.c", "trainer_client/exports/registry.c",
                                                                                 "tests/contract/exports_test.c"}
        cls.objects = {}
        for path in sorted(sources):
            assert path in commands, f"{path}: no CMakeLists.txt names it"
            command = shlex.split(commands[path]["command"])
            cls.objects[path] = cls.build / command[command.index("-o") + 1]
            cls.objects[path].parent.mkdir(parents=True, exist_ok=True)
            run(command, cwd=cls.build)
        run(["ninja", "-C", cls.build, "storage/STORAGE_MIGRATIONS.c"])
        any_of_storage = commands["storage/sql/queries.c"]
        flags = [word for word in shlex.split(any_of_storage["command"]) if word.startswith(("-I", "-i", "-std", "-D"))]
        for source, made in ((cls.build / "storage/STORAGE_MIGRATIONS.c", "migrations.o"), (cls.tree / "tests/lists.c", "lists.o"),
                             (cls.tree / "tests/launcher.c", "launcher.o")):
            run(["cc", *flags, "-c", source, "-o", cls.build / made])

    def link(self, target, main=None):
        """Links a program of BUILD once more, what was added before its libraries, or another program of the same libraries;
        returns its path."""
        command = run(["ninja", "-C", BUILD, "-t", "commands", target]).splitlines()[-1]
        words = shlex.split(command.removeprefix(": && ").removesuffix(" && :"))
        made = self.build / (target if main is None else pathlib.PurePath(main).stem)
        made.parent.mkdir(parents=True, exist_ok=True)
        at = words.index("-o")
        library = next((name for name in map(lambda word: pathlib.PurePath(word).name, words) if name.endswith("_lib.a")), "liborchestrator_platform.a")
        folder = {"libtrainer_lib.a": "trainer_client", "libweir_lib.a": "cli", "liborchestrator_platform.a": "orchestrator/launchers"}.get(library, library[3:-6])
        added = [str(made) for path, made in self.objects.items() if path.startswith((folder + "/", "core/"))]
        own = [str(made) for path, made in self.objects.items() if path.startswith("tests/") and f"/{pathlib.PurePath(path).name}.o" in command]
        inputs = [word for word in words[1:at] if not any(word.endswith("/" + pathlib.PurePath(one).name) for one in own)]
        if main is not None:
            inputs = [main if word.endswith("/main.c.o") else word for word in inputs]
        run([words[0], *LINKER, "-Wl,--strip-debug", *inputs, *own, "-o", made, *added, *words[at + 2:]], cwd=BUILD)
        return made

    def test_what_is_added_is_listed(self):
        for program in PROGRAMS:
            self.link(f"bin/{program}")
        page = run([self.build / "bin/orchestrator", "--describe-config"])
        headings = re.findall(r"^#+ (\S+): added$", page, re.MULTILINE)
        # launchers and formats of exports have no options; an optimizer is a row that has
        self.assertEqual(len(headings), len(self.plugins) - 1, headings)
        self.assertIn("training.optimizer", headings)
        rows = [row for row in page.splitlines() if re.match(r"\| `(loss|added)` .*added", row) or row.endswith("| by a test |")]
        self.assertEqual(len(rows), 2, rows)
        self.assertRegex(run([self.build / "bin/weir", "--help"]), r"(?m)^  added +by a test$")
        self.assertIn(" added: ", run([self.build / "bin/weir", "materialize", "--help"]))
        self.assertEqual(run([self.link("bin/orchestrator", self.build / "launcher.o")]), "added\n")
        self.assertIn("| `storage.added` | nothing |  |  |", self.page_of_holders())

    def page_of_holders(self):
        loader = importlib.machinery.SourceFileLoader("update_reference", str(self.tree / "tools/update_reference"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        return module.holders_page()

    def test_what_is_added_keeps_the_contract_of_its_kind(self):
        contracts = sorted((ROOT / "tests/contract").glob("*_test.c"))
        self.assertGreater(len(contracts), 5)
        for path in contracts:
            test = self.link(f"tests/bin/{path.stem}")
            with self.subTest(path.stem):
                if f"tests/contract/{path.name}" in self.changed:  # its golden file is the copy's
                    subprocess.run([test], env={"WEIR_UPDATE_GOLDEN": "1"}, capture_output=True, check=False)
                run([test])

    def test_rows_of_lists_are_there(self):
        made = self.build / "lists"
        libraries = [BUILD / "lib" / f"libweir_{name}.a" for name in ("wire", "base")]
        new = [*(self.objects[path] for path in ("core/base/status.c", "core/wire/wire.c", "storage/sql/queries.c")),
               self.build / "lists.o", self.build / "migrations.o"]
        run(["cc", *new, *libraries, "-lmsgpackc", "-lxxhash", "-lm", "-o", made])
        self.assertEqual(run([made]), "added_request: answered\nADDED: added by a test\nadded: SELECT 1 AS one\n999_added\n")


if __name__ == "__main__":
    unittest.main()
