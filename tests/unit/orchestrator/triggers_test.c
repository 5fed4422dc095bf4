/* Trigger policies on small streams: where they fire, and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "orchestrator/triggers/trigger.h"

#include <stdio.h>
#include <string.h>

enum { FIRED_MAX = 64 };

struct fixture {
    struct weir_yaml *document;
    struct trigger *trigger;
};

static struct fixture a_trigger(const char *yaml)
{
    struct fixture fixture = {0};
    struct weir_error err = {0};
    assert_int_equal(weir_yaml_parse("t.yaml", weir_bytes_of(yaml), &fixture.document, &err),
                     WEIR_OK);
    if (orchestrator_trigger_open(weir_yaml_root(fixture.document), "trigger", &fixture.trigger,
                                  &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return fixture;
}

static void done(struct fixture *fixture)
{
    orchestrator_trigger_close(fixture->trigger);
    weir_yaml_free(fixture->document);
}

/* One letter a sample: 'a' is 2002-01-10, 'b' 2002-02-10, … Appends "N:reason;" per trigger after N samples. */
static void walk(struct trigger *trigger, const char *months, struct weir_buf *out)
{
    size_t taken = 0;
    for (const char *at = months; *at != '\0'; at++) {
        char text[WEIR_TIME_TEXT_MAX];
        struct trigger_sample sample = {.id = (uint64_t)(at - months)};
        (void)snprintf(text, sizeof(text), "2002-%02d-10", *at - 'a' + 1);
        assert_true(weir_time_parse(text, strlen(text), &sample.time_us));
        bool before = orchestrator_trigger_before(trigger, &sample);
        for (int pass = 0; pass < 2; pass++) {
            if (pass == 0 ? before : orchestrator_trigger_observe(trigger, &sample)) {
                weir_buf_printf(out, "%zu:", taken + (size_t)pass);
                orchestrator_trigger_explain(trigger, out);
                weir_buf_append_text(out, ";");
                orchestrator_trigger_fired(trigger);
                assert_false(pass == 0 && orchestrator_trigger_before(trigger, &sample));
            }
        }
        taken++;
    }
}

static int64_t at_time(const char *text)
{
    int64_t time_us = 0;
    assert_true(weir_time_parse(text, strlen(text), &time_us));
    return time_us;
}

static bool ticks(struct fixture *fixture, const char *now)
{
    bool fired = orchestrator_trigger_tick(fixture->trigger, at_time(now));
    if (fired)
        orchestrator_trigger_fired(fixture->trigger);
    return fired;
}

static void a_clock_that_jumps_by_years_is_one_trigger_and_the_next_boundary_counts_again(
    void **state)
{
    (void)state;
    WEIR_AUTO_BUF none = {0};
    struct fixture fixture = a_trigger("{policy: time, every: 1 month}");
    walk(fixture.trigger, "ab", &none);
    assert_false(ticks(&fixture, "2002-02-20"));
    assert_true(ticks(&fixture, "2002-03-02"));
    assert_true(ticks(&fixture, "2040-01-15")); /* forwards */
    assert_false(ticks(&fixture, "2040-01-20"));
    assert_false(ticks(&fixture, "2002-04-05")); /* set right */
    assert_true(ticks(&fixture, "2002-05-01T00:00:01Z"));
    assert_false(ticks(&fixture, "2002-04-30T23:59:59Z")); /* a correction */
    assert_false(ticks(&fixture, "2002-05-01T00:00:02Z"));
    assert_false(ticks(&fixture, "1970-01-02")); /* backwards */
    assert_true(ticks(&fixture, "2002-05-03"));
    assert_false(ticks(&fixture, "2002-05-04"));
    done(&fixture);
}

static void samples_of_the_future_are_no_jump_of_the_clock(void **state)
{
    (void)state;
    WEIR_AUTO_BUF none = {0};
    struct fixture fixture = a_trigger("{policy: time, every: 1 month}");
    walk(fixture.trigger, "abl", &none);
    assert_false(ticks(&fixture, "2002-03-02"));
    assert_false(ticks(&fixture, "2002-06-02"));
    assert_true(ticks(&fixture, "2003-01-02"));
    done(&fixture);
}

static void policies_fire_where_they_should(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *months, *expected;
    } CASES[] = {
        {"{policy: amount, samples: 3}", "aaaaaaa", "3:3 new samples;6:3 new samples;"},
        {"{policy: time, every: 1 month}", "aabbc",
         "2:2002-02-01 has passed (every 1 month);"
         "4:2002-03-01 has passed (every 1 month);"},
        {"{policy: time, every: 1 month}", "aad", /* a gap of two months is one trigger */
         "2:2002-02-01 has passed (every 1 month);"},
        {"{policy: time, every: 1 month, from: 2002-03-01}", "abbcd",
         "3:2002-03-01 has passed (every 1 month);4:2002-04-01 has passed (every 1 month);"},
        {"{policy: time, every: 1 month, from: 2002-03-01, to: 2002-03-02}", "aabcd",
         "3:2002-03-01 has passed (every 1 month);"},
        {"{policy: time, every: 1 month, to: 2002-03-01}", "abcd",
         "1:2002-02-01 has passed (every 1 month);"},
        {"{policy: ensemble, any: [{policy: time, every: 1 month}, {policy: amount, samples: 2}]}",
         "aaab", "2:2 new samples;3:2002-02-01 has passed (every 1 month);"},
        {"{policy: ensemble, all: [{policy: time, every: 1 month}, {policy: amount, samples: 3}]}",
         "aabbb", "3:2002-02-01 has passed (every 1 month) and 3 new samples;"},
        {"{policy: ensemble, at_least: 2, of: [{policy: amount, samples: 1}, {policy: amount, samples: "
         "2}, {policy: amount, samples: 9}]}",
         "aaa", "2:2 new samples and 2 new samples;"},
        {"{policy: ensemble, any: [{policy: ensemble, all: [{policy: amount, samples: 2}]}]}", "aa",
         "2:2 new samples;"},
        {"{policy: deletion, samples: 2}", "aaaa", ""},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct fixture fixture = a_trigger(CASES[i].yaml);
        WEIR_AUTO_BUF out = {0};
        walk(fixture.trigger, CASES[i].months, &out);
        assert_string_equal(weir_buf_text(&out), CASES[i].expected);
        done(&fixture);
    }
}

static void deletion_fires_when_enough_samples_were_erased(void **state)
{
    (void)state;
    struct fixture fixture = a_trigger(
        "{policy: ensemble, any: [{policy: deletion, samples: 3}, {policy: amount, samples: 9}]}");
    assert_false(orchestrator_trigger_erased(fixture.trigger, 2));
    assert_true(orchestrator_trigger_erased(fixture.trigger, 1));
    WEIR_AUTO_BUF out = {0};
    orchestrator_trigger_explain(fixture.trigger, &out);
    assert_string_equal(weir_buf_text(&out), "3 samples erased");
    orchestrator_trigger_fired(fixture.trigger);
    assert_false(orchestrator_trigger_erased(fixture.trigger, 1));
    done(&fixture);
}

/* Samples of one month, all of one label; the check at its beginning, if one is due, goes to `out`. */
static void pass_month(struct trigger *trigger, int month, int samples, int64_t label,
                       struct weir_buf *out)
{
    for (int i = 0; i < samples; i++) {
        char text[WEIR_TIME_TEXT_MAX];
        struct trigger_sample sample = {.id = (uint64_t)(month * 1000 + i), .label = label};
        (void)snprintf(text, sizeof(text), "2002-%02d-10", month);
        assert_true(weir_time_parse(text, strlen(text), &sample.time_us));
        assert_false(orchestrator_trigger_before(trigger, &sample));
        if (orchestrator_trigger_is_due(trigger)) {
            json_t *decision = json_object();
            struct trigger_measured nothing = {0};
            struct trigger_request request;
            orchestrator_trigger_request(trigger, &request);
            bool fires = orchestrator_trigger_measured(trigger, &nothing, decision);
            weir_buf_printf(out, "%d:%s %s;", month, fires ? "fires" : "waits",
                            json_string_value(json_object_get(decision, "because")));
            json_decref(decision);
            if (fires)
                orchestrator_trigger_fired(trigger);
        }
        assert_false(orchestrator_trigger_observe(trigger, &sample));
    }
}

static void a_handful_of_samples_is_not_compared(void **state)
{
    (void)state;
    struct fixture fixture =
        a_trigger("{policy: drift, on: labels, every: 1 month, reference: 40, current: 40, "
                  "statistics: [{name: hellinger, criterion: {policy: threshold, value: 0.5}}]}");
    WEIR_AUTO_BUF out = {0};
    static const int SAMPLES[] = {1, 3, 20, 15, 30, 5, 1};
    for (int i = 0; i < (int)WEIR_COUNT(SAMPLES); i++)
        pass_month(fixture.trigger, i + 1, SAMPLES[i], i < 4 ? 0 : 1, &out);
    assert_string_equal(weir_buf_text(&out),
                        "2:fires drift: nothing to compare with yet;"
                        "3:waits drift: nothing to compare with until a quarter of the reference "
                        "window has come;"
                        "4:fires drift: nothing to compare with yet;"
                        "5:waits drift of labels: hellinger 0 (limit 0.5);"
                        "6:fires drift of labels: hellinger 0.7071 >= 0.5; "
                        "farthest by share: class 0 100 % -> 25 %, class 1 0 % -> 75 %;"
                        "7:waits drift: nothing to compare with until a quarter of the current "
                        "window has come;");
    done(&fixture);
}

/* As it was saved before a reference had to be long enough: 1 behind the count of samples, and no time of the first. */
static void save_as_before(const struct trigger *trigger, uint64_t taken, struct weir_buf *out)
{
    WEIR_AUTO_BUF saved = {0};
    uint8_t words[16];
    orchestrator_trigger_save(trigger, &saved);
    weir_put_u64(words, taken);
    weir_put_u64(words + 8, 4);
    uint8_t *at = memmem(saved.at, saved.size, words, sizeof(words));
    assert_non_null(at);
    weir_put_u64(at + 8, 1);
    size_t kept = (size_t)(at - saved.at) + 16;
    weir_buf_append(out, saved.at, kept);
    weir_buf_append(out, saved.at + kept + 8, saved.size - kept - 8);
}

static void a_drift_that_an_older_weir_saved_goes_on(void **state)
{
    (void)state;
    static const char DRIFT[] =
        "{policy: drift, on: labels, every: 1 month, reference: 40, current: 40, "
        "statistics: [{name: hellinger, criterion: {policy: threshold, value: 0.5}}]}";
    struct fixture older = a_trigger(DRIFT), newer = a_trigger(DRIFT);
    WEIR_AUTO_BUF saved = {0};
    WEIR_AUTO_BUF out = {0};
    struct weir_error err;
    pass_month(older.trigger, 1, 50, 0, &out);
    pass_month(older.trigger, 2, 17, 0, &out);
    save_as_before(older.trigger, 67, &saved);
    struct weir_bytes bytes = weir_buf_view(&saved);
    assert_int_equal(orchestrator_trigger_restore(newer.trigger, &bytes, &err), WEIR_OK);
    assert_int_equal(bytes.size, 0);
    pass_month(newer.trigger, 3, 40, 1, &out);
    pass_month(newer.trigger, 4, 1, 1, &out);
    assert_string_equal(weir_buf_text(&out),
                        "2:fires drift: nothing to compare with yet;"
                        "3:waits drift of labels: hellinger 0 (limit 0.5);"
                        "4:fires drift of labels: hellinger 1 >= 0.5; farthest by "
                        "share: class 0 100 % -> 0 %, class 1 0 % -> 100 %;");
    done(&older);
    done(&newer);
}

static void mistakes_name_the_place_and_the_cure(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } CASES[] = {
        {"{policy: amont, samples: 3}", "did you mean amount"},
        {"{policy: amount}", "samples"},
        {"{policy: amount, samples: 0}", "samples"},
        {"{policy: time, every: 1 moon}", "1 month"},
        {"{policy: time, every: 1w, from: soon}", "from: expected a time such as 2002-12-01"},
        {"{policy: time, every: 1 year, from: 2002-01-02, to: 2003-01-01}", "found no boundary"},
        {"{samples: 3}", "expected a mapping such as {policy: "},
        {"amount", "expected a mapping"},
        {"{policy: ensemble}", "exactly one of"},
        {"{policy: ensemble, at_least: 2, of: [{policy: amount, samples: 3}]}", "never agree"},
        {"{policy: ensemble, any: [{policy: amount, sample: 3}]}", "samples"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO(weir_yaml) document = NULL;
        WEIR_AUTO(trigger) trigger = NULL;
        struct weir_error err = {0};
        assert_int_equal(weir_yaml_parse("t.yaml", weir_bytes_of(CASES[i].yaml), &document, &err),
                         WEIR_OK);
        assert_int_equal(
            orchestrator_trigger_open(weir_yaml_root(document), "trigger", &trigger, &err),
            WEIR_INVALID);
        assert_non_null(strstr(err.text, "t.yaml:1:"));
        assert_non_null(strstr(err.text, CASES[i].expected));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_clock_that_jumps_by_years_is_one_trigger_and_the_next_boundary_counts_again),
        cmocka_unit_test(samples_of_the_future_are_no_jump_of_the_clock),
        cmocka_unit_test(policies_fire_where_they_should),
        cmocka_unit_test(deletion_fires_when_enough_samples_were_erased),
        cmocka_unit_test(a_handful_of_samples_is_not_compared),
        cmocka_unit_test(a_drift_that_an_older_weir_saved_goes_on),
        cmocka_unit_test(mistakes_name_the_place_and_the_cure),
    };
    return cmocka_run_group_tests_name("triggers", tests, NULL, NULL);
}
