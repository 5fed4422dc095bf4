/* Intervals of every strategy, and which models are measured on them, as tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "orchestrator/evaluations/section.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const int64_t DAY = INT64_C(86400000000);

/* Models on days 3.5, 5 and 9.25 of 1970; the newest sample on day 12. */
static struct evaluation_model MODELS[3];

static struct evaluation_stream stream_of(size_t count, bool ended)
{
    MODELS[0] = (struct evaluation_model){"a", DAY * 7 / 2, false};
    MODELS[1] = (struct evaluation_model){"b", DAY * 5, false};
    MODELS[2] = (struct evaluation_model){"c", DAY * 37 / 4, false};
    return (struct evaluation_stream){MODELS, count, DAY * 12, ended};
}

static void print_time(int64_t time_us, struct weir_buf *out)
{
    if (time_us <= INT64_MIN + 1 || time_us == INT64_MAX)
        weir_buf_append_text(out, time_us > 0 ? "inf" : "-inf");
    else if (time_us % DAY == 1)
        weir_buf_printf(out, "%" PRId64 "+", time_us / DAY);
    else if (time_us % DAY == 0)
        weir_buf_printf(out, "%" PRId64, time_us / DAY);
    else
        weir_buf_printf(out, "%.2f%s", (double)(time_us - time_us % 1000000) / (double)DAY,
                        time_us % 1000000 == 1 ? "+" : "");
}

static void note(void *owner, size_t model, struct evaluation_interval interval)
{
    struct weir_buf *out = owner;
    weir_buf_printf(out, "%s%s:", out->size == 0 ? "" : " ", MODELS[model].id);
    print_time(interval.from, out);
    weir_buf_append_text(out, "-");
    print_time(interval.to, out);
}

static const struct evaluation_scope EVERYTHING = {0, INT64_MIN, INT64_MAX};

static void plan_text(const char *yaml, const struct evaluation_stream *stream,
                      const struct evaluation_scope *scope, struct weir_buf *out)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_BUF text = {0};
    struct orchestrator_evaluation evaluation = {0};
    struct weir_error err;
    weir_buf_printf(&text, "{name: e, metrics: accuracy, %s}", yaml);
    assert_int_equal(weir_yaml_parse("t.yaml", weir_buf_view(&text), &document, &err), WEIR_OK);
    if (orchestrator_evaluation_read(weir_yaml_root(document), &evaluation, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    orchestrator_plan(&evaluation.request, stream, scope, note, out);
    orchestrator_evaluation_fini(&evaluation);
}

static const struct {
    const char *yaml;
    const char *planned; /* at the end of the stream */
} AT_THE_END[] = {
    /* Of everything: the slice that the first model ends in is the first one. */
    {"every: 2d, models: matrix",
     "a:2-4 b:2-4 c:2-4 a:4-6 b:4-6 c:4-6 a:6-8 b:6-8 c:6-8 a:8-10 b:8-10 c:8-10 a:10-12 b:10-12 c:10-12 "
     "a:12-14 b:12-14 c:12-14"},
    {"every: 2d, models: next", "a:4-6 b:6-8 c:10-12"},
    {"every: 2d, models: active", "a:4-6 b:6-8 b:8-10 c:10-12 c:12-14"},
    {"every: 2d, models: trained", "a:2-4 b:4-6 c:6-8 c:8-10"},
    {"every: 2d", "a:4-6 b:6-8 b:8-10 c:10-12 c:12-14"},
    {"every: 2d, models: [next, active, trained]",
     "a:2-4 a:4-6 b:4-6 b:6-8 c:6-8 b:8-10 c:8-10 c:10-12 c:12-14"},
    /* Two models end in one slice: both have the same next one, and the newer is active. */
    {"every: 6d, models: next", "a:6-12 b:6-12 c:12-18"},
    {"every: 6d, models: active", "b:6-12 c:12-18"},
    {"every: 2d, from: 1970-01-08, to: 1970-01-10, models: active", "b:8-10"},
    {"every: 1 month, models: [active, trained]", "a:0-31"},
    {"strategy: periodic, every: 4d, before: 1d, after: 2d, models: active", "b:7-10 c:11-14"},
    {"strategy: periodic, every: 4d, after: 1d, models: trained", "a:0-1 b:4-5 c:8-9"},
    {"strategy: static, models: matrix, intervals: [{from: 1970-01-05, to: 1970-01-06}]",
     "a:4-5 b:4-5 c:4-5"},
    {"strategy: static, models: active, intervals: [{from: 1970-01-11}, {from: 1970-01-05, to: 1970-01-06}]",
     "a:4-5 c:10-inf"},
    {"strategy: static, models: trained, intervals: {to: 1970-01-03}", "a:-inf-2"},
    {"strategy: offset, offsets: [2d, -1d, inf]",
     "a:3.50+-5.50+ a:3.50+-inf b:5+-7+ b:2.50+-3.50+ b:5+-inf c:9.25+-11.25+ c:4+-5+ c:9.25+-inf"},
    {"strategy: offset, offsets: -inf", "b:-inf-3.50+ c:-inf-5+"},
    /* The newest sample of a trigger belongs to it. */
    {"strategy: between_triggers, models: active", "a:3.50+-5+ b:5+-9.25+ c:9.25+-12+"},
    {"strategy: between_triggers, models: trained", "b:3.50+-5+ c:5+-9.25+"},
    {"strategy: between_triggers, models: next", "a:3.50+-5+ b:5+-9.25+ c:9.25+-12+"},
};

static void a_plan_at_the_end_has_every_pair(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(AT_THE_END); i++) {
        WEIR_AUTO_BUF found = {0};
        struct evaluation_stream stream = stream_of(3, true);
        plan_text(AT_THE_END[i].yaml, &stream, &EVERYTHING, &found);
        if (strcmp(weir_buf_text(&found), AT_THE_END[i].planned) != 0)
            fail_msg("%s:\nexpected %s\nfound    %s", AT_THE_END[i].yaml, AT_THE_END[i].planned,
                     weir_buf_text(&found));
    }
}

/* Nothing is measured during the stream that is not measured at its end, for however many models. */
static void what_is_planned_on_the_way_is_planned_at_the_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(AT_THE_END); i++) {
        for (size_t count = 1; count <= 3; count++) {
            WEIR_AUTO_BUF found = {0};
            struct evaluation_stream stream = stream_of(count, false);
            const struct evaluation_scope newest = {count < 2 ? 0 : count - 2, INT64_MAX,
                                                    INT64_MAX};
            plan_text(AT_THE_END[i].yaml, &stream, &newest, &found);
            char *rest = NULL;
            char *text = found.size == 0 ? NULL : (char *)found.at;
            (void)weir_buf_text(&found);
            for (char *word = text == NULL ? NULL : strtok_r(text, " ", &rest); word != NULL;
                 word = strtok_r(NULL, " ", &rest))
                if (strstr(AT_THE_END[i].planned, word) == NULL)
                    fail_msg("%s: %s with %zu models, but not at the end", AT_THE_END[i].yaml, word,
                             count);
        }
    }
}

static void on_the_way_only_what_is_decided_is_planned(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        size_t models;
        const char *planned;
    } ROWS[] = {
        {"every: 2d, models: active", 1, "a:4-6"},
        {"every: 2d, models: next", 1, "a:4-6"},
        {"every: 2d, models: next", 2, "a:4-6 b:6-8"},
        {"strategy: between_triggers, models: next", 1, ""},
        {"strategy: between_triggers, models: [active, trained]", 2, "a:3.50+-5+ b:3.50+-5+"},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        WEIR_AUTO_BUF found = {0};
        struct evaluation_stream stream = stream_of(ROWS[i].models, false);
        plan_text(ROWS[i].yaml, &stream, &EVERYTHING, &found);
        if (i == 0) /* who is active on day 4 is open while a model may still end before */
            assert_string_equal(weir_buf_text(&found), "");
        else
            assert_string_equal(weir_buf_text(&found), ROWS[i].planned);
    }
}

static void a_live_stream_measures_an_interval_when_it_is_over(void **state)
{
    (void)state;
    WEIR_AUTO_BUF before = {0}, after = {0};
    struct evaluation_stream stream = stream_of(3, false);
    const struct evaluation_scope day_eleven = {1, 9 * DAY, 11 * DAY};
    const struct evaluation_scope day_twelve = {1, 11 * DAY, 12 * DAY};
    plan_text("every: 2d, models: matrix", &stream, &day_eleven, &before);
    assert_string_equal(weir_buf_text(&before),
                        "b:2-4 c:2-4 b:4-6 c:4-6 b:6-8 c:6-8 a:8-10 b:8-10 c:8-10");
    plan_text("every: 2d, models: next", &stream, &day_twelve, &after);
    assert_string_equal(weir_buf_text(&after), "b:6-8 c:10-12");
}

/* It still was the active one: nobody else takes its place. */
static void a_model_that_is_gone_is_not_measured(void **state)
{
    (void)state;
    WEIR_AUTO_BUF found = {0};
    struct evaluation_stream stream = stream_of(3, true);
    MODELS[1].gone = true;
    plan_text("every: 2d, models: active", &stream, &EVERYTHING, &found);
    assert_string_equal(weir_buf_text(&found), "a:4-6 c:10-12 c:12-14");
}

static void mistakes_name_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } ROWS[] = {
        {"strategy: slicin, every: 1d", "did you mean slicing?"},
        {"strategy: slicing", "the key 'every' is missing"},
        {"every: 1d, models: [newest]", "expected next, active, trained or matrix, found 'newest'"},
        {"strategy: offset, offsets: 1d, models: active", "offset has intervals of each model"},
        {"strategy: offset, offsets: soon", "found 'soon'"},
        {"strategy: static, intervals: [{from: 2002-12-01, to: 2002-11-01}]",
         "evaluation.intervals.to: expected a time after from, 2002-12-01, found"},
        {"strategy: static, intervals: [{from: yesterday}]", "expected a time"},
        {"strategy: periodic, every: 1d", "expected before or after"},
        {"strategy: between_triggers, every: 1d", "every"},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        WEIR_AUTO(weir_yaml) document = NULL;
        WEIR_AUTO_BUF text = {0};
        struct orchestrator_evaluation evaluation = {0};
        struct weir_error err;
        weir_buf_printf(&text, "{name: e, metrics: accuracy, %s}", ROWS[i].yaml);
        assert_int_equal(weir_yaml_parse("t.yaml", weir_buf_view(&text), &document, &err), WEIR_OK);
        assert_int_equal(orchestrator_evaluation_read(weir_yaml_root(document), &evaluation, &err),
                         WEIR_INVALID);
        if (strstr(err.text, ROWS[i].expected) == NULL)
            fail_msg("expected %s in: %s", ROWS[i].expected, err.text);
        orchestrator_evaluation_fini(&evaluation);
    }
}

/* A live pipeline goes on for years. */
static void of_too_many_intervals_the_newest_are_planned(void **state)
{
    static const char *const GRIDS[] = {
        "every: 1m, models: trained", "strategy: periodic, every: 1m, after: 1m, models: trained"};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(GRIDS); i++) {
        WEIR_AUTO_BUF found = {0};
        struct evaluation_stream stream = stream_of(3, true);
        plan_text(GRIDS[i], &stream, &EVERYTHING, &found);
        assert_non_null(strstr(weir_buf_text(&found), " c:9.25-9.25"));
        assert_null(strstr(weir_buf_text(&found), "a:"));
    }
}

static void of_too_many_triggers_the_newest_are_planned(void **state)
{
    enum { COUNT = EVALUATION_INTERVALS_MAX + 2000 };
    const struct evaluation_strategy *strategy = orchestrator_strategy_find("between_triggers");
    struct evaluation_model *models = weir_calloc(COUNT, sizeof(*models));
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        models[i] = (struct evaluation_model){"m", (int64_t)i * 10, false};
    for (int ended = 0; ended < 2; ended++) {
        struct evaluation_intervals intervals = {0};
        const struct evaluation_stream stream = {models, COUNT, COUNT * 10, ended == 1};
        strategy->intervals(NULL, &stream, &intervals);
        assert_int_equal(strategy->count(NULL, &stream), COUNT - 1 + ended);
        assert_int_equal(intervals.count, EVALUATION_INTERVALS_MAX);
        assert_int_equal(intervals.at[intervals.count - 1].to,
                         ended == 1 ? COUNT * 10 + 1 : (COUNT - 1) * 10 + 1);
        orchestrator_intervals_fini(&intervals);
    }
    free(models);
}

static void every_strategy_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < orchestrator_strategy_count(); i++) {
        const struct evaluation_strategy *strategy = orchestrator_strategy_at(i);
        assert_ptr_equal(orchestrator_strategy_find(strategy->name), strategy);
        assert_true(strlen(strategy->summary) > 10);
        assert_non_null(strategy->init);
        assert_true((strategy->intervals != NULL) != (strategy->intervals_of != NULL));
        for (const struct cfg_key *key = strategy->options; key->name != NULL; key++)
            assert_non_null(key->doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_too_many_intervals_the_newest_are_planned),
        cmocka_unit_test(of_too_many_triggers_the_newest_are_planned),
        cmocka_unit_test(every_strategy_is_whole),
        cmocka_unit_test(a_plan_at_the_end_has_every_pair),
        cmocka_unit_test(what_is_planned_on_the_way_is_planned_at_the_end),
        cmocka_unit_test(on_the_way_only_what_is_decided_is_planned),
        cmocka_unit_test(a_live_stream_measures_an_interval_when_it_is_over),
        cmocka_unit_test(a_model_that_is_gone_is_not_measured),
        cmocka_unit_test(mistakes_name_their_place),
    };
    return cmocka_run_group_tests_name("evaluation plans", tests, NULL, NULL);
}
