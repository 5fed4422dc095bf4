/* The built-in model text_embedding against fastText: samples a second of CPU time, and accuracy. */
#include "benchmarks/trainer/bench.h"

#include "core/base/memory.h"
#include "orchestrator/platform/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { EPOCHS = 5, NOT_THERE = 77, OUTPUT_MAX = 256 };

static const double ACCURACY_MARGIN = 0.005;

static enum weir_status run_titles(const struct trainer_bench *bench, const char *side,
                                   double *ret_rate, double *ret_accuracy, struct weir_error *err)
{
    const char *data = getenv("WEIR_TEST_DATA");
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *command =
        weir_format("/usr/bin/python3 %s/benchmarks/trainer/titles.py %s '%s' '%s/arxiv' "
                    "'%s/orchestrator' %d",
                    WEIR_SOURCE_DIR, side, data != NULL ? data : "", bench->directory, bin, EPOCHS);
    char output[OUTPUT_MAX] = "";
    FILE *pipe = popen(command, "re");
    size_t size = pipe != NULL ? fread(output, 1, sizeof(output) - 1, pipe) : 0;
    int code = pipe != NULL ? pclose(pipe) : -1;
    output[size] = '\0';
    if (WIFEXITED(code) && WEXITSTATUS(code) == NOT_THERE)
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "fastText cannot be compared: install fasttext and zstd, and set "
                         "WEIR_TEST_DATA to the folder with the stream arxiv");
    if (code != 0 || sscanf(output, "%lf %lf", ret_rate, ret_accuracy) != 2)
        return weir_fail(err, WEIR_INTERNAL, "titles.py %s: expected rate and accuracy, found '%s'",
                         side, output);
    return WEIR_OK;
}

enum weir_status prepare_titles(void *state, struct weir_error *err)
{
    struct trainer_bench *bench = state;
    double rate = 0;

    if (bench->fasttext_accuracy > 0)
        return WEIR_OK;
    return run_titles(bench, "fasttext", &rate, &bench->fasttext_accuracy, err);
}

#define RATE(name, side)                                                         \
    enum weir_status name(void *state, double *ret_rate, struct weir_error *err) \
    {                                                                            \
        double accuracy = 0;                                                     \
        return run_titles(state, side, ret_rate, &accuracy, err);                \
    }
RATE(titles_relaxed, "relaxed")
RATE(titles_deterministic, "deterministic")
RATE(titles_fasttext, "fasttext")

enum weir_status titles_accuracy(void *state, double *ret_rate, struct weir_error *err)
{
    double rate = 0;

    return run_titles(state, "relaxed", &rate, ret_rate, err);
}

enum weir_status titles_accuracy_wanted(void *state, double *ret_rate, struct weir_error *err)
{
    const struct trainer_bench *bench = state;

    (void)err;
    *ret_rate = bench->fasttext_accuracy - ACCURACY_MARGIN;
    return WEIR_OK;
}
