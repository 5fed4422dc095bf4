/* Choices of every scoring method, kept in golden/scoring_methods.txt: the same bits from every compiler, for
 * every instruction set. After a change that is meant, write them again and look at the difference:
 *
 *     WEIR_UPDATE_GOLDEN=1 ctest --preset dev -R scoring_golden_test
 *
 * With arguments (METHOD OPTIONS TARGET WIDTH SEEDS VALUES [HOLDOUT]: options as YAML, files of floats) the program
 * prints what is chosen with so many seeds instead, a blank line after each; scoring_numpy_test.py and
 * selection_scipy_test.py compare that with their own computation. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "selector/scoring/scoring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 300, WIDTH = 12, TARGET = 40, VALUES_MAX = 1 << 26, FIRST_SEED = 17 };

static const char PATH[] = WEIR_SOURCE_DIR "/tests/contract/golden/scoring_methods.txt";

static const struct {
    const char *method, *options;
} CASES[] = {
    {"loss", "{}"},
    {"grad_norm", "{}"},
    {"uncertainty", "{metric: least_confidence}"},
    {"uncertainty", "{metric: entropy}"},
    {"uncertainty", "{metric: margin}"},
    {"rho_loss", "{}"},
    {"rs2", "{}"},
    {"k_center", "{}"},
    {"exemplar_clustering", "{}"},
    {"craig", "{}"},
    {"grad_match", "{}"},
    {"submodular", "{optimizer: naive}"},
    {"submodular", "{optimizer: lazy}"},
    {"submodular", "{optimizer: stochastic, epsilon: 0.2}"},
    {"submodular", "{optimizer: approximate, epsilon: 0.2}"},
    {"submodular", "{function: graph_cut}"},
    {"submodular", "{function: log_determinant}"},
};

/* Chooses with `options` as YAML and appends a line "position weight" for each. */
static enum weir_status show_choice(const struct scoring_method *method, const char *options,
                                    const struct scoring_input *input, struct weir_buf *out,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_FREE char *own = weir_calloc(1, method->options_size + 1);
    WEIR_AUTO_FREE size_t *chosen = weir_calloc(input->count + 1, sizeof(*chosen));
    WEIR_AUTO_FREE float *weights = weir_calloc(input->count + 1, sizeof(*weights));
    struct scoring_choice choice = {chosen, weights, 0};
    enum weir_status status = weir_yaml_parse("options", weir_bytes_of(options), &document, err);
    if (status == WEIR_OK)
        status = cfg_read(method->options, CFG_CLOSED, weir_yaml_root(document), "selection", NULL,
                          own, err);
    if (status != WEIR_OK)
        return status;
    selector_scoring_choose(method, own, input, &choice);
    for (size_t n = 0; n < choice.count; n++)
        weir_buf_printf(out, "%zu %.9g\n", chosen[n], (double)weights[n]);
    return WEIR_OK;
}

/* Rows around a few centers, as embeddings and gradients lie; positive, so that they are losses too. */
static void draw_values(float *values, size_t count, size_t width)
{
    struct weir_rng rng;
    weir_rng_init(&rng, 41);
    for (size_t i = 0; i < count * width; i++) {
        double center = (double)(weir_mix64(i / width % 7 * width + i % width) >> 11) * 0x1p-53;
        values[i] = (float)(center + 0.3 * weir_rng_unit(&rng));
    }
}

static void every_method_chooses_what_it_always_chose(void **state)
{
    float values[COUNT * WIDTH], holdout[COUNT];
    WEIR_AUTO_BUF found = {0}, golden = {0};
    struct weir_error err;
    (void)state;
    draw_values(values, COUNT, WIDTH);
    draw_values(holdout, COUNT, 1);
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        const struct scoring_method *method = scoring_find(CASES[c].method);
        struct scoring_input input = {.count = COUNT, .values = values, .holdout_losses = holdout};
        input.width = method->wants >= SCORING_WANTS_PROBABILITIES ? WIDTH : 1;
        input.target = TARGET;
        input.seed = FIRST_SEED;
        weir_buf_printf(&found, "%s %s\n", CASES[c].method, CASES[c].options);
        assert_int_equal(show_choice(method, CASES[c].options, &input, &found, &err), WEIR_OK);
    }
    if (getenv("WEIR_UPDATE_GOLDEN") != NULL)
        assert_int_equal(weir_file_write_atomic(PATH, weir_buf_view(&found), &err), WEIR_OK);
    if (weir_file_read(PATH, 1 << 20, &golden, &err) != WEIR_OK ||
        !weir_bytes_equal(weir_buf_view(&found), weir_buf_view(&golden)))
        fail_msg("other choices than those of %s; see the top of scoring_golden_test.c", PATH);
}

static void every_method_has_golden_choices(void **state)
{
    (void)state;
    for (size_t m = 0; m < scoring_count(); m++) {
        size_t cases = 0;
        for (size_t c = 0; c < WEIR_COUNT(CASES); c++)
            cases += strcmp(CASES[c].method, scoring_at(m)->name) == 0;
        assert_true(cases > 0);
    }
}

static enum weir_status choose_from_files(int argc, char **argv, struct weir_error *err)
{
    WEIR_AUTO_BUF values = {0}, holdout = {0}, out = {0};
    const struct scoring_method *method = scoring_find(argv[1]);
    struct scoring_input input = {.seed = FIRST_SEED};
    uint64_t end = FIRST_SEED + strtoul(argv[5], NULL, 10);
    enum weir_status status = weir_file_read(argv[6], VALUES_MAX, &values, err);
    if (status == WEIR_OK && argc > 7)
        status = weir_file_read(argv[7], VALUES_MAX, &holdout, err);
    if (status != WEIR_OK)
        return status;
    input.target = strtoul(argv[3], NULL, 10);
    input.width = strtoul(argv[4], NULL, 10);
    input.values = (const float *)(const void *)values.at;
    input.holdout_losses = (const float *)(const void *)holdout.at;
    input.count = values.size / sizeof(float) / input.width;
    for (; status == WEIR_OK && input.seed < end; input.seed++) {
        status = show_choice(method, argv[2], &input, &out, err);
        weir_buf_append_text(&out, "\n");
    }
    if (status == WEIR_OK)
        fwrite(out.at, 1, out.size, stdout);
    return status;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_chooses_what_it_always_chose),
        cmocka_unit_test(every_method_has_golden_choices),
    };
    struct weir_error err;
    if (argc < 7)
        return cmocka_run_group_tests_name("selector: golden choices", tests, NULL, NULL);
    if (choose_from_files(argc, argv, &err) == WEIR_OK)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return 1;
}
