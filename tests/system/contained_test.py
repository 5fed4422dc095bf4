"""Programs that misbehave as trainers: each is ended or refused, counted, and quoted; nothing else is harmed, and the same pipeline goes
on when the program is mended. The bad ones are the program of the guide, with one thing wrong."""

import re
import shutil
import subprocess

from client_package import blocks
from loop_test import MODES, OURS, built, changed, declare
from weirlab import Lab, Run, run_tests

LOG_BYTES_MAX = (16 << 20) + (1 << 16)  # of a log, and of what was set aside of it
HUNGRY = """    char *much = malloc(300 << 20);
    memset(much, 1, 300 << 20);
    sleep(60);
"""
FORKS = """    if (fork() == 0) {
        setsid();
""" + HUNGRY.replace("300", "200") + """    }
    sleep(60);
"""
OPENED = "    must(weir_client_open(&options, &client, &error));\n"
MODEL = 'result.model = "model";'


def compiled(change, to):
    """The program with these changes, built in the place of the one before."""
    program, (text,) = built(), blocks("c")
    (program.parents[1] / "loop.c").write_text(changed(text, change))
    subprocess.run(["cmake", "--build", program.parent], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(program, to)
    return to


def bad_program(change, declared="", **training):
    """The lab, its system file, and its program."""
    keys = ", ".join(f"{key}: {value}" for key, value in {"retries": 0, **training}.items())
    lab = Lab(samples=200, every=100, epochs=1, pipeline=OURS.replace("seed: 1}}", f"seed: 1, {keys}}}}}"))
    program = compiled(change, lab.folder / "loop")
    return lab, declare(lab, program, f"{MODES}{declared}"), program


def fails_with(words, change, declared="", is_mended=False, **training):
    """Ends so; and where the program is mended then, the pipeline goes on."""
    lab, system, program = bad_program(change, declared, **training)
    run = Run(lab.pipeline, lab.data_dir, system).finish(expect=1)
    assert re.search(words, "".join(run.stderr)), (words, run.stderr)
    if is_mended:
        program.unlink()
        compiled([], program)
        Run(lab.pipeline, lab.data_dir, system).finish()
        lab.weir("doctor")
    lab.remove()


def test_one_that_takes_more_memory_than_allowed_is_ended():
    said = r"trainer failed 2 times, the last time: it held [1-3]\d\d\.\d MiB of memory, 100\.0 MiB are allowed \(programs\.loop\.memory"
    fails_with(said, [(OPENED, OPENED + HUNGRY)], ", memory: 100MiB", is_mended=True, retries=1)


def test_what_its_children_take_counts():
    fails_with(r"it held [1-3]\d\d\.\d MiB of memory, 150\.0 MiB", [(OPENED, OPENED + FORKS)], ", memory: 150MiB")


def test_address_space_is_its_own_affair():
    reserves = "#include <sys/mman.h>\n"
    maps = "    if (mmap(NULL, 64L << 30, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)\n        return 9;\n"
    lab, system, _ = bad_program([("#include <math.h>\n", "#include <math.h>\n" + reserves), (OPENED, OPENED + maps),
                                  ("_POSIX_C_SOURCE 200809L", "_GNU_SOURCE")], ", memory: 200MiB")
    Run(lab.pipeline, lab.data_dir, system).finish()
    lab.remove()


def test_one_that_prints_megabytes_fills_no_disk():
    prints = '    for (int i = 0; i < 400000; i++)\n        printf("line %d: this is of no use to anybody, and there is much of it\\n", i);\n'
    lab, system, _ = bad_program([(OPENED, OPENED + prints)])
    Run(lab.pipeline, lab.data_dir, system).finish()
    logs = [path.stat().st_size for path in (lab.data_dir / "log").glob("trainer-*.log*")]
    assert logs and max(logs) <= LOG_BYTES_MAX, logs
    lab.remove()


def test_one_that_hangs_is_ended():
    fails_with(r"it said nothing for 1\d s \(training\.patience\)", [("must(weir_client_task", "pause();\n    must(weir_client_task")],
               is_mended=True, patience="10s")


def test_one_that_leaves_early_is_quoted():
    leaves = '    puts("that is enough");\n    return 0;\n'
    fails_with("exit code 0, and its run was not done; it said: that is enough", [(OPENED, OPENED + leaves)], is_mended=True)


def test_half_a_model_is_none():
    fails_with("finish: found no model 'half', expected a file or a directory in", [(MODEL, 'result.model = "half";')], is_mended=True)


def test_a_model_elsewhere_is_none():
    fails_with("finish: found no model '/etc/passwd'", [(MODEL, 'result.model = "/etc/passwd";')])


def test_a_loss_that_is_no_number_is_refused():
    fails_with("finish: the loss is -?nan, expected a number", [(MODEL, MODEL + " result.loss = 0.0 / 0.0;")])


def test_outputs_of_every_sample_are_needed():
    fails_with(r"outputs: found those of 0 samples, expected \d+: say weir_client_output\(\) of each batch",
               [("            say_predictions(client, batch);", "            (void)say_predictions;")])


def test_one_that_cannot_be_started_is_named():
    lab, system, program = bad_program([])
    aside = program.rename(lab.folder / "aside")
    run = Run(lab.pipeline, lab.data_dir, system).finish(expect=1)
    assert str(program) in "".join(run.stderr), run.stderr
    aside.rename(program)
    Run(lab.pipeline, lab.data_dir, system).finish()
    lab.remove()


if __name__ == "__main__":
    run_tests(globals())
