"""Adds one of each kind of thing to a copy of the tree, as the table of CONTRIBUTING.md says and nowhere else: it is
compiled, linked, listed, run, and held to the contract of its registry.

Usage: contributing_test.py BUILD_DIR

A plug-in is a copy of the first of its kind under another name. The copy holds what was written alone: everything else is
included from the tree, and linked from BUILD_DIR, behind the objects of what was written.
"""
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
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
LINKER = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []  # a third of the time of the usual one
PROGRAMS = ("orchestrator", "storage", "selector", "dispatcher", "worker", "trainer", "weir")
CONTRACTS = sorted((ROOT / "tests/contract").glob("*_test.c"))
GOLDEN = "tests/contract/golden"
BENCH = "bin/bench_orchestrator"
# Files in which a list that was written to is expanded.
EXPANDED = ("core/base/status.c", "core/wire/wire.c", "core/wire/export_formats.c", "selector/policies/registry.c",
            "storage/formats/registry.c", "storage/sql/queries.c", "orchestrator/topics/topics.c", "orchestrator/topics/access.c",
            "orchestrator/monitoring/measures.c", "orchestrator/monitoring/figures.c", "cli/modyn/keys.c",
            "trainer_client/exports/registry.c", "tests/contract/exports_test.c")
# Programs that use what has no other way to be seen; each is linked in place of the main() of another one.
MAINS = {"tests/bin/storage_columns_test": """
#include "core/base/status.h"
#include "core/db/db.h"
#include "core/wire/wire.h"
#include "storage/sql/queries.h"
#include "tests/support/postgres.h"
#include <stdio.h>

extern const struct weir_migration ADDED[];
extern const size_t ADDED_count;

static int64_t column_of(const char *conninfo)
{
    struct weir_error err;
    WEIR_AUTO(weir_db) db = NULL;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = weir_db_open(conninfo, "storage", STORAGE_QUERIES, STORAGE_QUERY_COUNT, &db, &err);
    for (size_t i = 0; i < ADDED_count && status == WEIR_OK; i++)
        status = weir_db_exec(db, ADDED[i].sql, &err);
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_added, &rows, &err, DB_I64(5));
    if (status != WEIR_OK)
        fprintf(stderr, "%s\\n", err.text);
    return status == WEIR_OK ? weir_rows_i64(rows, 0, "number") : -1;
}

int main(void)
{
    bool is_answer = weir_message_answers(MSG_added_is, MSG_added_request);
    struct weir_test_postgres postgres;
    printf("%s: %s\\n", weir_message_info(MSG_added_request)->name, is_answer ? "answered" : "not answered");
    printf("%s: %d\\n", weir_status_name(WEIR_ADDED), WEIR_ADDED);
    weir_test_postgres_start(&postgres);
    printf("%s: %ld\\n", ADDED[ADDED_count - 1].name, column_of(postgres.conninfo));
    weir_test_postgres_stop(&postgres);
    return 0;
}
""", "bin/orchestrator": """
#include "orchestrator/launchers/launcher.h"
#include "orchestrator/metrics/metric.h"
#include <stdio.h>

int main(void)
{
    const struct launcher *added = orchestrator_launcher_find("added");
    const struct metric *formula = orchestrator_metric_find("added_formula");
    const struct metric_input input = {.values = (const float[]){1, 4}, .labels = (const int64_t[]){3, 3}, .count = 2, .width = 1};
    double value = 0;
    printf("%s\\n", added != NULL ? added->name : "not found");
    if (formula != NULL && formula->measure(NULL, &input, &value))
        printf("%s: %g\\n", formula->name, value);
    return 0;
}
""", "bin/trainer": """
#include "trainer_client/models/schedule.h"
#include <stdio.h>

int main(void)
{
    const struct schedule *added = trainer_schedule_find("added");
    const struct schedule_shared shared = {.warmup = 4};
    const struct schedule_place place = {.batch = 1, .batches_per_epoch = 9, .epochs = 1};
    const struct schedule_options options = {.every = 1};
    if (added != NULL)
        printf("%s: %g\\n", added->name, trainer_schedule_factor(added, &shared, &options, &place));
    return 0;
}
"""}
MODYN = """pipeline: {name: moved}
model: {id: net}
training: {added: 1, batch_size: 64, epochs_per_trigger: 1}
data: {dataset_id: clicks}
trigger: {id: TimeTrigger, config: {every: 1d}}
selection_strategy: {name: NewDataStrategy, maximum_keys_in_memory: 1000}
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
        cls.folder, cls.tree, cls.build = (pathlib.Path(folder.name) / name for name in ("", "tree", "build"))
        shutil.copytree(ROOT / GOLDEN, cls.tree / GOLDEN)
        cls.rows, cls.changed, cls.models = rows(), set(), {}
        cls.plugins = {added: places for added, places in cls.rows.items() if places[0] and "NAME" in pathlib.PurePath(places[0][0]).stem}
        for written, named in cls.plugins.values():
            cls.add_plugin(written[0], named)
        cls.add_to_lists()
        cls.add_to_tables()
        cls.add_to_database()
        cls.commands = cls.commands_of_links()
        cls.compile()

    @classmethod
    def read(cls, path):
        return ((cls.tree if (cls.tree / path).exists() else ROOT) / path).read_text()

    @classmethod
    def write(cls, path, text):
        (cls.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (cls.tree / path).write_text(text)
        cls.changed.add(path)

    @classmethod
    def edit(cls, path, change):
        before = cls.read(path)
        after = change(before)
        assert after != before, f"{path}: nothing was added"
        cls.write(path, after)

    @classmethod
    def add_plugin(cls, pattern, named):
        """Copies the first plug-in that the registry names, under the name `added`."""
        registry = cls.read(named[0])
        model = next(name for name in re.findall(r"\bX\((\w+)[,)]", registry)
                     if (ROOT / pattern.replace("NAME", name)).exists())
        symbol = pathlib.PurePath(pattern).stem
        old, new = pattern.replace("NAME", model), pattern.replace("NAME", "added")
        text = cls.read(old).replace(f'"{model}"', '"added"')
        cls.write(new, re.sub(rf"\b([a-z]+_)?{symbol.replace('NAME', model)}\b",
                              lambda found: (found[1] or "") + symbol.replace("NAME", "added"), text))
        for path in named:
            if path.endswith("CMakeLists.txt"):
                source = old.removeprefix(str(pathlib.PurePath(path).parent) + "/")
                assert re.search(rf"\s{re.escape(source)}\s", cls.read(path)), f"{path} does not list {source}"
                cls.models[new] = old  # what is listed beside it is compiled in the same way
            elif path.startswith("tests/"):
                cls.edit(path, lambda text: doubled(text, model))
            else:
                row = re.compile(rf"\bX\({model}(?=[,)])[^)]*\)")
                cls.edit(path, lambda text: row.sub(lambda found: f"{found[0]} {found[0].replace(model, 'added', 1)}", text, count=1))

    @classmethod
    def add_to_lists(cls):
        """Rows at the end of lists: a message with its answer, a status, a key of Modyn, a figure at /metrics."""
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
        last = re.compile(r"( X\(\w+, +\d+\) */\* [^*]* \*/)\n// clang-format on")
        cls.edit(cls.rows["a status"][0][0], lambda text: last.sub(r'\1 \\\n    X(ADDED, 99) /* added by a test */\n' + end, text))
        modyn, _ = cls.rows["a key of Modyn that `weir import modyn` knows"][0]
        cls.edit(modyn, lambda text: text + 'KEY("training.added", "", DIFFERS, "training.options", "by a test")\n')
        (measures,), _ = cls.rows["a figure at `/metrics`"]
        cls.edit(measures, lambda text: text + 'MEASURE(added, "weir_added", GAUGE, NO_LABELS, "By a test")\n')
        cls.edit(f"{pathlib.PurePath(measures).parent}/own.c", lambda text: text.replace(
            "    FIGURE(figures, service_up, ", "    FIGURE(figures, added, 1, NULL);\n    FIGURE(figures, service_up, ", 1))

    @classmethod
    def add_to_tables(cls):
        """Rows in tables: a loss, an optimizer, a schedule, a formula of a metric, a key, a command, a figure of a benchmark."""
        for added in ("a loss", "an optimizer", "a schedule of the learning rate"):
            (path,), _ = cls.rows[added]
            cls.edit(path, lambda text: re.sub(r'(?<=\(X\)) +\\\n(    X\("\w+".*?\) +\\\n)(?=    X)', lambda rows: rows[0] + re.sub(r'"\w+"', '"added"', rows[1], count=1), text, flags=re.DOTALL))
        (_, family), (registry, *_) = cls.rows["a metric"]
        cls.edit(family.replace("FAMILY", "regression"), lambda text: text + """
static bool added_formula(const struct metric_input *input, size_t output, double *ret_value)
{
    return mean_error(input, output, absolute, ret_value);
}
REGRESSION(added_formula, "by a test", false)
""")
        cls.edit(registry, lambda text: text.replace(" X(accuracy)", " X(accuracy) X(added_formula)", 1))
        (keys,), _ = cls.rows["a configuration key"]
        cls.edit(keys, lambda text: re.sub(r"(struct deletion_section \{\n)", r"\1    uint64_t added;\n", text))
        cls.edit(keys, lambda text: re.sub(r"(DELETION_KEYS\[\] = \{\n)", r'\1    CFG_U64(struct deletion_section, added, .doc = "by a test"),\n', text))
        cls.add_command()
        (bench,), _ = cls.rows["a figure of a benchmark"]
        cls.edit(bench.replace("NAME", "orchestrator"), lambda text: text.replace("static const struct bench_figure FIGURES[] = {\n", """static enum weir_status added(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 2;
    return WEIR_OK;
}

static const struct bench_figure FIGURES[] = {
    {.name = "orchestrator.added", .against = "the same", .unit = "1/s", .bar = 1, .ours = added, .theirs = added},
"""))

    @classmethod
    def add_command(cls):
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

    @classmethod
    def add_to_database(cls):
        """A table with its holder, a column of it, and a statement that reads the column."""
        (migration,), (holders,) = cls.rows["a column or table of the database"]
        assert holders in cls.rows["a holder"][0]
        cls.migrations = []
        for title, sql in (("998_added", "CREATE TABLE added (id bigint PRIMARY KEY);"),
                           ("999_added_number", "ALTER TABLE added ADD COLUMN number bigint NOT NULL DEFAULT 7;")):
            path = migration.replace("SERVICE", "storage").replace("NNN_title", title)
            assert not list((ROOT / path).parent.glob(f"{title[:3]}_*"))
            cls.write(path, sql + "\n")
            cls.migrations.append(cls.tree / path)
        cls.edit(holders, lambda text: text.replace("\nTABLE(", '\nTABLE(storage, added, NOTHING, KEPT, "")\nTABLE(', 1))
        (statements,), _ = cls.rows["a statement"]
        end = "// clang-format on"
        cls.edit(statements.replace("SERVICE", "storage"), lambda text: text.replace(
            end, 'QUERY(added, "INSERT INTO added (id) VALUES ($1) RETURNING number")\n' + end))

    @classmethod
    def commands_of_links(cls):
        """{what is linked: the words of the command by which BUILD does}"""
        targets = [*(f"bin/{name}" for name in PROGRAMS), *(f"tests/bin/{path.stem}" for path in CONTRACTS), *MAINS]
        targets += [BENCH] if (BUILD / BENCH).exists() else []
        found = {}
        for line in run(["ninja", "-C", BUILD, "-t", "commands", *dict.fromkeys(targets)]).splitlines():
            if made := re.search(r" -o ((?:tests/)?bin/\S+) ", line):
                found[made[1]] = shlex.split(line.removeprefix(": && ").removesuffix(" && :"))
        return found

    @classmethod
    def compile_one(cls, command, source, made):
        """Compiles a file of the copy as BUILD would, but without optimizing it; files of the copy come first."""
        made.parent.mkdir(parents=True, exist_ok=True)
        words = [word for word in shlex.split(command)[:-4] if not re.match(r"-[Og]|-[DU]_FORTIFY", word)]
        words = [word.replace(f"{ROOT}\"", f"{cls.tree}\"") if word.startswith("-DWEIR_SOURCE_DIR") else word for word in words]
        at = next(n for n, word in enumerate(words) if word.startswith("-"))
        run([*words[:at], f"-I{cls.tree}", *words[at:], "-o", made, "-c", source])

    @classmethod
    def compile(cls):
        """Compiles what was written, and the files that a list which was written to is expanded in."""
        database = json.loads((BUILD / "compile_commands.json").read_text())
        commands = {entry["file"].removeprefix(f"{ROOT}/"): entry["command"] for entry in reversed(database)}
        sources = {path for path in cls.changed if path.endswith(".c")} | set(EXPANDED)
        if BENCH not in cls.commands:
            sources = {path for path in sources if not path.startswith("benchmarks/")}
        todo, cls.objects = [], {}
        for path in sorted(sources):
            model = cls.models.get(path, path)
            assert model in commands, f"{path}: no CMakeLists.txt names it"
            cls.objects[path] = cls.build / f"{path}.o"
            todo.append((commands[model], (cls.tree if path in cls.changed else ROOT) / path, cls.objects[path]))
        run([ROOT / "tools/embed_sql", "ADDED", cls.folder / "migrations.c", *cls.migrations])
        todo.append((commands["storage/sql/queries.c"], cls.folder / "migrations.c", cls.build / "migrations.o"))
        for target, text in MAINS.items():
            name = pathlib.PurePath(target).stem
            (cls.folder / f"{name}.c").write_text(text)
            todo.append((commands["cli/main.c"], cls.folder / f"{name}.c", cls.build / f"{name}.o"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda one: cls.compile_one(*one), todo))

    def link(self, target, main=None, also=()):
        """Links a program of BUILD once more, what was added before its libraries, or another program of the same libraries;
        returns its path."""
        words = self.commands[target]
        made = self.build / (target if main is None else f"{pathlib.PurePath(main).stem}_main")
        made.parent.mkdir(parents=True, exist_ok=True)
        at = words.index("-o")
        if made.exists():
            return made
        library = next((name for name in map(lambda word: pathlib.PurePath(word).name, words) if name.endswith("_lib.a")), "liborchestrator_platform.a")
        folder = {"libtrainer_lib.a": "trainer_client", "libweir_lib.a": "cli", "liborchestrator_platform.a": "orchestrator/launchers"}.get(library, library[3:-6])
        added = [made for path, made in self.objects.items() if path.startswith((folder + "/", "core/"))]
        inputs = [self.objects.get(re.sub(r"CMakeFiles/[^/]+\.dir/(.+)\.o$", r"\1", word), word) for word in words[1:at]]
        if main is not None:
            inputs = [word for word in inputs if not str(word).endswith(".o")] + [main]
        run([words[0], *LINKER, "-Wl,--strip-debug", *inputs, "-o", made, *also, *added, *words[at + 2:]], cwd=BUILD)
        return made

    def run_main(self, target, also=()):
        for name in ("migrate", "migrations"):  # by which a test makes its Postgres, beside it
            if not (self.build / name).exists():
                (self.build / name).symlink_to(BUILD / "tests/bin" / name)
        return run([self.link(target, self.build / f"{pathlib.PurePath(target).stem}.o", also)])

    def test_what_is_added_is_listed(self):
        for program in PROGRAMS:
            self.link(f"bin/{program}")
        page = run([self.build / "bin/orchestrator", "--describe-config"])
        headings = re.findall(r"^#+ (\S+): added$", page, re.MULTILINE)
        # launchers and formats of exports have no options; an optimizer and a schedule are rows that have
        self.assertEqual(len(headings), len(self.plugins), headings)
        self.assertLess({"training.optimizer", "training.schedule"}, set(headings))
        rows = [row for row in page.splitlines() if re.match(r"\| `(loss|added)` .*added", row) or row.endswith("| by a test |")]
        self.assertEqual(len(rows), 2, rows)
        self.assertRegex(run([self.build / "bin/weir", "--help"]), r"(?m)^  added +by a test$")
        self.assertIn(" added: ", run([self.build / "bin/weir", "materialize", "--help"]))
        self.assertIn("| `weir_added` | gauge |  | By a test |", run([self.build / "bin/orchestrator", "--describe-metrics"]))
        self.assertIn("| `storage.added` | nothing |  |  |", self.page_of_holders())

    def test_a_key_of_modyn_is_told(self):
        (self.folder / "moved.yml").write_text(MODYN)
        said = subprocess.run([self.link("bin/weir"), "import", "modyn", "--check", "moved.yml"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertRegex(said.stdout, r"(?m)^differs +training\.added +1 +training\.options +by a test$")

    def page_of_holders(self):
        loader = importlib.machinery.SourceFileLoader("update_reference", str(ROOT / "tools/update_reference"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        module.ROOT = self.tree
        return module.holders_page()

    def test_what_is_added_keeps_the_contract_of_its_kind(self):
        self.assertGreater(len(CONTRACTS), 5)
        for path in CONTRACTS:
            test = self.link(f"tests/bin/{path.stem}")
            with self.subTest(path.stem):
                if f"tests/contract/{path.name}" in self.changed:  # its golden file is the copy's
                    subprocess.run([test], env={**os.environ, "WEIR_UPDATE_GOLDEN": "1"}, capture_output=True, check=False)
                run([test])

    def test_what_is_added_to_lists_and_tables_is_there(self):
        self.assertEqual(self.run_main("bin/orchestrator"), "added\nadded_formula: 1.5\n")
        self.assertEqual(self.run_main("bin/trainer"), "added: 0.5\n")
        self.assertEqual(self.run_main("tests/bin/storage_columns_test", [self.build / "migrations.o"]),
                         "added_request: answered\nADDED: 99\n999_added_number: 7\n")

    def test_a_figure_of_a_benchmark_is_measured(self):
        if BENCH not in self.commands:
            self.skipTest("no benchmarks are built")
        (line,) = run([self.link(BENCH), "orchestrator.added", "--runs=1", "--json"]).splitlines()
        self.assertEqual([json.loads(line)[key] for key in ("bench", "ratio", "pass")], ["orchestrator.added", 1, True])


if __name__ == "__main__":
    unittest.main()
