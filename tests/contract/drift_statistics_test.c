/* Promises of every statistic of drift, looped over the registry, and the numbers it has always given. A new
 * statistic needs a row in CASES and nothing else; WEIR_UPDATE_GOLDEN=1 writes its numbers down.
 *
 * drift_statistics_test NAME OPTIONS WIDTH CORRECTION SEED REFERENCE CURRENT prints one score of two files, so that
 * drift_scipy_test.py can compare it: of floats, or of int64 labels when WIDTH is 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "orchestrator/drift/statistic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH WEIR_SOURCE_DIR "/tests/contract/golden/drift_statistics.txt"

enum { COUNT = 90, WIDTH = 5, BYTES_MAX = 1 << 28 };

static const struct {
    const char *name, *options;
} CASES[] = {
    {"mmd", "{permutations: 50}"},
    {"ks", "{}"},
    {"cvm", "{}"},
    {"wasserstein", "{}"},
    {"wasserstein", "{unit: none}"},
    {"hellinger", "{}"},
    {"jensen_shannon", "{by: width, bins: 7}"},
    {"psi", "{}"},
    {"chi_square", "{}"},
    {"kullback_leibler", "{bins: 5}"},
    {"lsdd", "{permutations: 50}"},
    {"classifier", "{}"},
};

static enum weir_status score_of(const char *name, const char *text,
                                 enum drift_correction correction, const struct drift_input *input,
                                 struct weir_buf *out, struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    const struct drift_statistic *statistic = orchestrator_drift_find(name);
    enum weir_status status = weir_yaml_parse("t.yaml", weir_bytes_of(text), &document, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE void *options = weir_calloc(1, statistic->options_size);
    status = cfg_read(statistic->options, CFG_CLOSED, weir_yaml_root(document), "drift", NULL,
                      options, err);
    if (status != WEIR_OK)
        return status;
    const struct drift_request asked = {statistic, options, correction};
    struct drift_score score = {0};
    if (orchestrator_drift_measure(&asked, input, &score))
        weir_buf_printf(out, "%.17g %.17g %zu\n", score.distance, score.p_value, score.features);
    else
        weir_buf_append_text(out, "none\n");
    return WEIR_OK;
}

static void score(size_t c, const struct drift_input *input, struct weir_buf *out)
{
    struct weir_error err;
    if (score_of(CASES[c].name, CASES[c].options, DRIFT_BONFERRONI, input, out, &err) != WEIR_OK)
        fail_msg("%s %s: %s", CASES[c].name, CASES[c].options, err.text);
}

/* ---- what two windows hold ---- */

struct windows {
    float reference[COUNT * WIDTH], current[COUNT * WIDTH];
    int64_t reference_labels[COUNT], current_labels[COUNT];
};

/* Sums of uniform numbers, the current ones `shift` further to the right in every feature. */
static void draw(struct windows *windows, double shift)
{
    struct weir_rng rng;
    weir_rng_init(&rng, 23);
    for (size_t i = 0; i < WEIR_COUNT(windows->reference); i++) {
        windows->reference[i] = (float)(weir_rng_unit(&rng) + weir_rng_unit(&rng));
        windows->current[i] = (float)(weir_rng_unit(&rng) + weir_rng_unit(&rng) + shift);
    }
    for (size_t i = 0; i < COUNT; i++) {
        windows->reference_labels[i] = (int64_t)weir_rng_below(&rng, 4);
        windows->current_labels[i] = (int64_t)weir_rng_below(&rng, shift > 0 ? 6 : 4);
    }
}

static struct drift_input numbers_of(const struct windows *windows)
{
    return (struct drift_input){.reference = {.count = COUNT, .values = windows->reference},
                                .current = {.count = COUNT - 7, .values = windows->current},
                                .width = WIDTH,
                                .p_value = true,
                                .seed = 3};
}

static struct drift_input labels_of(const struct windows *windows)
{
    return (struct drift_input){.reference = {.count = COUNT, .labels = windows->reference_labels},
                                .current = {.count = COUNT - 7, .labels = windows->current_labels},
                                .width = 1,
                                .p_value = true,
                                .seed = 3};
}

static bool parse_score(struct weir_buf *text, double *ret_distance, double *ret_p_value)
{
    return sscanf(weir_buf_text(text), "%lf %lf", ret_distance, ret_p_value) == 2;
}

/* ---- promises ---- */

static void every_statistic_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_drift_count(); i++) {
        const struct drift_statistic *statistic = orchestrator_drift_at(i);
        size_t cases = 0;
        assert_ptr_equal(orchestrator_drift_find(statistic->name), statistic);
        assert_true(strlen(statistic->summary) > 10);
        assert_true((statistic->measure != NULL) != (statistic->measure_feature != NULL));
        for (const struct cfg_key *key = statistic->options; key->name != NULL; key++)
            assert_non_null(key->doc);
        for (size_t c = 0; c < WEIR_COUNT(CASES); c++)
            cases += strcmp(CASES[c].name, statistic->name) == 0;
        assert_true(cases > 0);
    }
}

static void every_statistic_gives_what_it_always_gave(void **state)
{
    WEIR_AUTO_BUF found = {0}, golden = {0};
    struct windows windows;
    struct weir_error err;
    (void)state;
    draw(&windows, 0.2);
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        struct drift_input input = numbers_of(&windows);
        weir_buf_printf(&found, "%s %s ", CASES[c].name, CASES[c].options);
        score(c, &input, &found);
        input = labels_of(&windows);
        weir_buf_printf(&found, "%s %s labels ", CASES[c].name, CASES[c].options);
        score(c, &input, &found);
    }
    if (getenv("WEIR_UPDATE_GOLDEN") != NULL)
        assert_int_equal(weir_file_write_atomic(PATH, weir_buf_view(&found), &err), WEIR_OK);
    if (weir_file_read(PATH, 1 << 20, &golden, &err) != WEIR_OK ||
        !weir_bytes_equal(weir_buf_view(&found), weir_buf_view(&golden)))
        fail_msg("other scores than those of %s:\n%s", PATH, weir_buf_text(&found));
}

static void a_shift_is_farther_than_none(void **state)
{
    struct windows windows;
    (void)state;
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        double distance[3], p_value[3];
        for (size_t i = 0; i < 3; i++) {
            WEIR_AUTO_BUF text = {0};
            draw(&windows, (double)i * 0.5);
            struct drift_input input = numbers_of(&windows);
            score(c, &input, &text);
            assert_true(parse_score(&text, &distance[i], &p_value[i]));
        }
        assert_true(distance[0] < distance[1] && distance[1] < distance[2]);
        if (orchestrator_drift_find(CASES[c].name)->has_p_value) {
            assert_true(p_value[0] > 0.05);
            assert_true(p_value[2] < 0.05);
        }
    }
}

static void a_window_against_itself_is_near(void **state)
{
    struct windows windows;
    (void)state;
    draw(&windows, 0);
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        WEIR_AUTO_BUF text = {0};
        double distance, p_value;
        struct drift_input input = numbers_of(&windows);
        input.current = input.reference;
        score(c, &input, &text);
        assert_true(parse_score(&text, &distance, &p_value));
        assert_true(distance < 0.06);
        assert_true(isnan(p_value) || p_value >= 0.5);
    }
}

static void windows_without_samples_have_no_score(void **state)
{
    struct windows windows;
    (void)state;
    draw(&windows, 0);
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        for (size_t side = 0; side < 3; side++) {
            WEIR_AUTO_BUF text = {0};
            struct drift_input input = numbers_of(&windows);
            if (side != 1)
                input.reference.count = 0;
            if (side != 0)
                input.current.count = 0;
            score(c, &input, &text);
            assert_string_equal(weir_buf_text(&text), "none\n");
        }
    }
}

static void equal_constants_are_nothing_apart(void **state)
{
    struct windows windows;
    (void)state;
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        WEIR_AUTO_BUF text = {0};
        double distance, p_value;
        for (size_t i = 0; i < COUNT * WIDTH; i++)
            windows.reference[i] = windows.current[i] = 4;
        struct drift_input input = numbers_of(&windows);
        score(c, &input, &text);
        assert_true(parse_score(&text, &distance, &p_value));
        assert_true(fabs(distance) < 0.01);
        assert_true(isnan(p_value) || p_value == 1);
    }
}

/* A number that is missing, or a feature of them, changes nothing about the rest. */
static void what_is_missing_is_not_counted(void **state)
{
    static const float MISSING[] = {NAN, INFINITY, -INFINITY};
    struct windows windows;
    (void)state;
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        WEIR_AUTO_BUF text = {0};
        double distance, p_value;
        draw(&windows, 0);
        for (size_t i = 0; i < 30; i++) {
            windows.reference[i * WIDTH + i % WIDTH] = MISSING[i % 3];
            windows.current[i * WIDTH + i % WIDTH] = MISSING[i % 3];
        }
        struct drift_input input = numbers_of(&windows);
        score(c, &input, &text);
        assert_true(parse_score(&text, &distance, &p_value));
        assert_true(isfinite(distance));
        assert_true(isnan(p_value) || p_value > 0.01);
    }
}

static void a_window_of_nothing_but_holes_harms_nobody(void **state)
{
    struct windows windows;
    (void)state;
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        WEIR_AUTO_BUF text = {0};
        draw(&windows, 0);
        for (size_t i = 0; i < COUNT * WIDTH; i++)
            windows.current[i] = NAN;
        struct drift_input input = numbers_of(&windows);
        score(c, &input, &text); /* a score where holes are counted, else none */
    }
}

static void long_windows_are_compared_by_rows_evenly_spaced(void **state)
{
    WEIR_AUTO_BUF found = {0}, expected = {0};
    struct windows windows, thin;
    struct weir_error err;
    (void)state;
    draw(&windows, 0.3);
    for (size_t i = 0; i < 30; i++) {
        memcpy(thin.reference + i * WIDTH, windows.reference + i * COUNT / 30 * WIDTH,
               WIDTH * sizeof(*thin.reference));
        memcpy(thin.current + i * WIDTH, windows.current + i * (COUNT - 7) / 30 * WIDTH,
               WIDTH * sizeof(*thin.current));
    }
    struct drift_input input = numbers_of(&windows);
    assert_int_equal(score_of("mmd", "{rows: 30}", DRIFT_FDR, &input, &found, &err), WEIR_OK);
    input = numbers_of(&thin);
    input.reference.count = input.current.count = 30;
    assert_int_equal(score_of("mmd", "{}", DRIFT_FDR, &input, &expected, &err), WEIR_OK);
    assert_string_equal(weir_buf_text(&found), weir_buf_text(&expected));
}

static void only_statistics_of_classes_take_labels(void **state)
{
    struct windows windows;
    (void)state;
    draw(&windows, 0.5);
    for (size_t c = 0; c < WEIR_COUNT(CASES); c++) {
        WEIR_AUTO_BUF text = {0};
        struct drift_input input = labels_of(&windows);
        score(c, &input, &text);
        assert_int_equal(strcmp(weir_buf_text(&text), "none\n") != 0,
                         orchestrator_drift_find(CASES[c].name)->takes_labels);
    }
}

static void p_values_are_corrected_for_their_number(void **state)
{
    (void)state;
    static const struct {
        double p_values[4];
        size_t count;
        double bonferroni, fdr;
    } ROWS[] = {
        {{0.02}, 1, 0.02, 0.02},
        {{0.04, 0.02, 0.03, 0.01}, 4, 0.04, 0.04},
        {{0.5, 0.9, 0.02, 0.021}, 4, 0.08, 0.042},
        {{0.6, 0.9, 0.7, 0.8}, 4, 1, 0.9},
        {{0}, 0, NAN, NAN},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        double first[4], second[4];
        memcpy(first, ROWS[i].p_values, sizeof(first));
        memcpy(second, ROWS[i].p_values, sizeof(second));
        double bonferroni = orchestrator_drift_correct(DRIFT_BONFERRONI, first, ROWS[i].count);
        double fdr = orchestrator_drift_correct(DRIFT_FDR, second, ROWS[i].count);
        assert_true(ROWS[i].count == 0 ? isnan(bonferroni) && isnan(fdr)
                                       : fabs(bonferroni - ROWS[i].bonferroni) < 1e-12 &&
                                             fabs(fdr - ROWS[i].fdr) < 1e-12);
    }
}

/* ---- for comparison ---- */

static struct drift_window window_of(const struct weir_buf *file, size_t width)
{
    if (width == 0)
        return (struct drift_window){.count = file->size / sizeof(int64_t),
                                     .labels = (const int64_t *)(const void *)file->at};
    return (struct drift_window){.count = file->size / sizeof(float) / width,
                                 .values = (const float *)(const void *)file->at};
}

static enum weir_status score_files(char **argv, struct weir_error *err)
{
    WEIR_AUTO_BUF reference = {0}, current = {0}, out = {0};
    size_t width = strtoul(argv[3], NULL, 10);
    enum drift_correction correction = strcmp(argv[4], "fdr") == 0 ? DRIFT_FDR : DRIFT_BONFERRONI;
    enum weir_status status = weir_file_read(argv[6], BYTES_MAX, &reference, err);
    if (status == WEIR_OK)
        status = weir_file_read(argv[7], BYTES_MAX, &current, err);
    if (status != WEIR_OK)
        return status;
    const struct drift_input input = {.reference = window_of(&reference, width),
                                      .current = window_of(&current, width),
                                      .width = width == 0 ? 1 : width,
                                      .p_value = true,
                                      .seed = strtoul(argv[5], NULL, 10)};
    status = score_of(argv[1], argv[2], correction, &input, &out, err);
    if (status == WEIR_OK)
        fwrite(out.at, 1, out.size, stdout);
    return status;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_statistic_is_whole),
        cmocka_unit_test(every_statistic_gives_what_it_always_gave),
        cmocka_unit_test(a_shift_is_farther_than_none),
        cmocka_unit_test(a_window_against_itself_is_near),
        cmocka_unit_test(windows_without_samples_have_no_score),
        cmocka_unit_test(equal_constants_are_nothing_apart),
        cmocka_unit_test(what_is_missing_is_not_counted),
        cmocka_unit_test(a_window_of_nothing_but_holes_harms_nobody),
        cmocka_unit_test(long_windows_are_compared_by_rows_evenly_spaced),
        cmocka_unit_test(only_statistics_of_classes_take_labels),
        cmocka_unit_test(p_values_are_corrected_for_their_number),
    };
    struct weir_error err;
    if (argc < 8)
        return cmocka_run_group_tests_name("drift statistics", tests, NULL, NULL);
    if (score_files(argv, &err) == WEIR_OK)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return 1;
}
