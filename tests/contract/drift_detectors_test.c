/* Promises of every detector of change, looped over the registry. A new one needs a row in EXAMPLES and nothing else.
 *
 * drift_detectors_test YAML reads numbers from stdin and prints a verdict for each, so that drift_detectors_test.py can
 * compare them with those of another implementation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/rng.h"
#include "orchestrator/drift/detector.h"
#include "tests/support/yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUES = 4000 };

static const struct {
    const char *name, *yaml;
} EXAMPLES[] = {
    {"ddm", "{policy: ddm}"},
    {"eddm", "{policy: eddm}"},
    {"adwin", "{policy: adwin}"},
    {"page_hinkley", "{policy: page_hinkley, limit: 20}"},
    {"kswin", "{policy: kswin, window: 200, newest: 60}"},
};

static struct detector *open_detector(const struct weir_yaml *document)
{
    struct detector *detector = NULL;
    struct weir_error err;
    if (orchestrator_detector_open(weir_yaml_root(document), "detector", &detector, &err) !=
        WEIR_OK)
        fail_msg("%s", err.text);
    return detector;
}

/* Errors, one of ten, from the middle on `later` of them. */
static double value_at(struct weir_rng *rng, size_t i, double later)
{
    return weir_rng_unit(rng) < (i < VALUES / 2 ? 0.1 : later) ? 1 : 0;
}

/* Verdicts as digits; every so many values the detector is replaced by one restored from its state. */
static void watch(const char *yaml, double later, size_t save_every, struct weir_buf *out)
{
    WEIR_AUTO(weir_yaml) document = yaml_of(yaml);
    struct detector *detector = open_detector(document);
    struct weir_rng rng;
    weir_rng_init(&rng, 8);
    for (size_t i = 0; i < VALUES; i++) {
        enum detector_verdict verdict =
            orchestrator_detector_take(detector, value_at(&rng, i, later), NULL);
        weir_buf_printf(out, "%d", (int)verdict);
        if (save_every != 0 && i % save_every == 0) {
            WEIR_AUTO_BUF saved = {0};
            struct weir_error err;
            orchestrator_detector_save(detector, &saved);
            orchestrator_detector_close(detector);
            detector = open_detector(document);
            struct weir_bytes view = weir_buf_view(&saved);
            assert_int_equal(orchestrator_detector_restore(detector, &view, &err), WEIR_OK);
            assert_int_equal(view.size, 0);
        }
    }
    orchestrator_detector_close(detector);
}

static void every_detector_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_detector_count(); i++) {
        const struct detector_kind *kind = orchestrator_detector_at(i);
        size_t examples = 0;
        assert_ptr_equal(orchestrator_detector_find(kind->name), kind);
        assert_true(strlen(kind->summary) > 10);
        for (const struct cfg_key *key = kind->options; key->name != NULL; key++)
            assert_non_null(key->doc);
        for (size_t e = 0; e < WEIR_COUNT(EXAMPLES); e++)
            examples += strcmp(EXAMPLES[e].name, kind->name) == 0;
        assert_int_equal(examples, 1);
    }
}

static void a_jump_is_seen_soon_and_little_before_it(void **state)
{
    (void)state;
    for (size_t e = 0; e < WEIR_COUNT(EXAMPLES); e++) {
        WEIR_AUTO_BUF verdicts = {0};
        watch(EXAMPLES[e].yaml, 0.6, 0, &verdicts);
        size_t early = 0;
        for (size_t i = 0; i < VALUES / 2; i++)
            early += verdicts.at[i] == '2';
        const void *seen = memchr(verdicts.at + VALUES / 2, '2', 400);
        if (early > 6 || seen == NULL)
            fail_msg("%s: %zu changes before there was one, then %s", EXAMPLES[e].name, early,
                     seen == NULL ? "none" : "one");
    }
}

static void better_is_no_change_to_detectors_of_errors(void **state)
{
    (void)state;
    for (size_t e = 0; e < WEIR_COUNT(EXAMPLES); e++) {
        WEIR_AUTO_BUF verdicts = {0};
        if (strcmp(EXAMPLES[e].name, "kswin") == 0) /* sees changes of any kind */
            continue;
        watch(EXAMPLES[e].yaml, 0, 0, &verdicts);
        assert_null(memchr(verdicts.at + VALUES / 2, '2', VALUES / 2));
    }
}

static void a_saved_state_goes_on_where_it_was(void **state)
{
    (void)state;
    for (size_t e = 0; e < WEIR_COUNT(EXAMPLES); e++) {
        WEIR_AUTO_BUF straight = {0}, restored = {0};
        watch(EXAMPLES[e].yaml, 0.4, 0, &straight);
        watch(EXAMPLES[e].yaml, 0.4, 7, &restored);
        assert_true(weir_bytes_equal(weir_buf_view(&straight), weir_buf_view(&restored)));
    }
}

static void a_short_saved_state_is_refused_and_forgetting_begins_anew(void **state)
{
    (void)state;
    for (size_t e = 0; e < WEIR_COUNT(EXAMPLES); e++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(EXAMPLES[e].yaml);
        WEIR_AUTO(detector) detector = open_detector(document);
        WEIR_AUTO_BUF fresh = {0}, used = {0};
        struct weir_error err;
        orchestrator_detector_save(detector, &fresh);
        for (size_t i = 0; i < 50; i++)
            (void)orchestrator_detector_take(detector, (double)(i % 3 == 0), NULL);
        assert_int_equal(orchestrator_detector_take(detector, NAN, NULL), DETECTOR_STABLE);
        orchestrator_detector_forget(detector);
        orchestrator_detector_save(detector, &used);
        assert_true(weir_bytes_equal(weir_buf_view(&fresh), weir_buf_view(&used)));
        struct weir_bytes cut = weir_bytes(used.at, used.size - 1);
        assert_int_equal(orchestrator_detector_restore(detector, &cut, &err), WEIR_INVALID);
    }
}

/* A change is one because of the numbers that are told with it. */
static void a_verdict_comes_with_what_was_compared(void **state)
{
    (void)state;
    for (size_t e = 0; e < WEIR_COUNT(EXAMPLES); e++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(EXAMPLES[e].yaml);
        WEIR_AUTO(detector) detector = open_detector(document);
        const struct detector_kind *kind = orchestrator_detector_kind(detector);
        size_t changes = 0;
        struct weir_rng rng;
        weir_rng_init(&rng, 8);
        for (size_t i = 0; i < VALUES; i++) {
            struct detector_seen seen = {.values = 0};
            double value = value_at(&rng, i, 0.6);
            enum detector_verdict verdict = orchestrator_detector_take(detector, value, &seen);
            if (seen.values == 0) {
                assert_int_equal(verdict, DETECTOR_STABLE);
                continue;
            }
            bool is_beyond = kind->below ? seen.found < seen.limit : seen.found > seen.limit;
            if (is_beyond != (verdict == DETECTOR_CHANGE))
                fail_msg("%s: verdict %d of %g, limit %g", kind->name, (int)verdict, seen.found,
                         seen.limit);
            assert_true(seen.values <= i + 1);
            changes += is_beyond;
        }
        assert_true(changes > 0);
    }
}

static void a_verdict_is_told_in_words(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml) document = yaml_of("{policy: ddm, least: 10}");
    WEIR_AUTO(detector) detector = open_detector(document);
    const struct detector_kind *kind = orchestrator_detector_kind(detector);
    struct detector_seen seen = {.values = 0};
    enum detector_verdict verdict = DETECTOR_STABLE;
    WEIR_AUTO_BUF before = {0}, text = {0};
    orchestrator_detector_explain(kind, verdict, &seen, &before);
    assert_string_equal(weir_buf_text(&before), "ddm: too few values to compare");
    for (size_t i = 0; i < 10 || verdict != DETECTOR_CHANGE; i++)
        verdict = orchestrator_detector_take(detector, i == 5 || i >= 10, &seen);
    orchestrator_detector_explain(kind, verdict, &seen, &text);
    /* Lowest after ten: 0.1 + sqrt(0.09 / 10). After 13: 4 / 13 + sqrt(36 / 169 / 13). */
    assert_string_equal(
        weir_buf_text(&text),
        "ddm: error rate plus deviation 0.4357 > 0.3846 (lowest rate 0.1, warning at 0.2897, 13 values)");
}

static void a_name_alone_is_a_detector_with_its_defaults(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml) document = yaml_of("kswin");
    WEIR_AUTO(detector) detector = open_detector(document);
    assert_string_equal(orchestrator_detector_kind(detector)->name, "kswin");
}

static void mistakes_name_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } ROWS[] = {
        {"{policy: adwinn}",
         "t.yaml:1:10: detector.policy: unknown detector 'adwinn' (did you mean"},
        {"adwinn", "t.yaml:1:1: detector: unknown detector 'adwinn' (did you mean"},
        {"[adwin]", "expected a detector such as adwin"},
        {"{policy: kswin, window: 50, newest: 30}", "at least twice"},
        {"{policy: ddm, warnin: 1}", "did you mean 'warning'"},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(ROWS[i].yaml);
        WEIR_AUTO(detector) detector = NULL;
        struct weir_error err;
        assert_int_equal(
            orchestrator_detector_open(weir_yaml_root(document), "detector", &detector, &err),
            WEIR_INVALID);
        if (strstr(err.text, ROWS[i].expected) == NULL)
            fail_msg("expected %s in: %s", ROWS[i].expected, err.text);
    }
}

static int print_verdicts(const char *yaml)
{
    WEIR_AUTO(weir_yaml) document = yaml_of(yaml);
    WEIR_AUTO(detector) detector = open_detector(document);
    double value = 0;
    while (scanf("%lf", &value) == 1)
        putchar('0' + (int)orchestrator_detector_take(detector, value, NULL));
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_detector_is_whole),
        cmocka_unit_test(a_jump_is_seen_soon_and_little_before_it),
        cmocka_unit_test(better_is_no_change_to_detectors_of_errors),
        cmocka_unit_test(a_saved_state_goes_on_where_it_was),
        cmocka_unit_test(a_short_saved_state_is_refused_and_forgetting_begins_anew),
        cmocka_unit_test(a_verdict_comes_with_what_was_compared),
        cmocka_unit_test(a_verdict_is_told_in_words),
        cmocka_unit_test(a_name_alone_is_a_detector_with_its_defaults),
        cmocka_unit_test(mistakes_name_their_place),
    };
    if (argc > 1)
        return print_verdicts(argv[1]);
    return cmocka_run_group_tests_name("drift detectors", tests, NULL, NULL);
}
