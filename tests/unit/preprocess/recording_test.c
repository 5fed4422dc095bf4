/* A recorded run, written and read. */
#include "tests/unit/preprocess/recorded_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct recording_stamp STAMP = {.job = 7, .at_ms = 2000};

static void read_back(struct recorded_line *line, struct weir_buf *text)
{
    struct weir_error err = {0};
    assert_int_equal(text->at[text->size - 1], '\n');
    struct weir_bytes view = weir_bytes(text->at, text->size - 1);
    if (read_recorded_line(line, view, &err) != WEIR_OK)
        fail_msg("%s: %s", weir_buf_text(text), err.text);
    assert_int_equal(line->stamp.job, STAMP.job);
    assert_int_equal(line->stamp.at_ms, STAMP.at_ms);
}

static void settings_reports_costs_and_decisions_come_back_as_they_were(void **state)
{
    (void)state;
    struct recorded_line line = {0};
    WEIR_AUTO_BUF setting_text = {0}, report_text = {0}, cost_text = {0}, decision_text = {0};
    struct scale_setting setting = {
        .min = {{1, 0}}, .max = {{16, 10}}, .trainer_hour = 4.96, .worker_hour = {0.427, 0}};
    preprocess_recording_setting(STAMP, "rates", &setting, &setting_text);
    read_back(&line, &setting_text);
    assert_int_equal(line.kind, RECORDED_SETTING);
    assert_string_equal(line.policy, "rates");
    assert_memory_equal(&line.setting, &setting, sizeof(setting));

    struct scale_maker makers[] = {{SCALE_POOL, 12, 1.9300000000000002}, {SCALE_HOST, 0, 1e-300}};
    struct scale_taker takers[] = {{1.0 / 3, 0.1, 3.5}};
    struct scale_report report = {.span_s = 2.0000000000000004,
                                  .workers = {1, 2},
                                  .makers = makers,
                                  .maker_count = 2,
                                  .takers = takers,
                                  .taker_count = 1};
    preprocess_recording_report(STAMP, &report, &report_text);
    read_back(&line, &report_text);
    assert_int_equal(line.kind, RECORDED_REPORT);
    assert_memory_equal(&line.report.span_s, &report.span_s, sizeof(double));
    assert_memory_equal(line.report.workers, report.workers, sizeof(report.workers));
    assert_int_equal(line.report.maker_count, 2);
    assert_int_equal(line.report.makers[1].place, SCALE_HOST);
    assert_memory_equal(&line.report.makers[0].busy_s, &makers[0].busy_s, sizeof(double));
    assert_memory_equal(&line.report.makers[1].busy_s, &makers[1].busy_s, sizeof(double));
    assert_int_equal(line.report.taker_count, 1);
    assert_memory_equal(line.report.takers, takers, sizeof(takers));

    struct scale_counters counters = {.read_ns = 3,
                                      .read_bytes = 9,
                                      .queued_ns = 2,
                                      .sent_bytes = 5,
                                      .operators = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}},
                                      .operator_count = 2};
    preprocess_recording_cost(STAMP, &counters, &cost_text);
    read_back(&line, &cost_text);
    assert_int_equal(line.kind, RECORDED_COST);
    assert_memory_equal(&line.counters, &counters, sizeof(counters));
    assert_int_equal(line.report.maker_count, 0);

    struct scale_decision decision = {
        .size = {{5, 1}}, .need = 4.6, .why = "jump", .is_settled = true};
    preprocess_recording_decision(STAMP, &decision, &decision_text);
    read_back(&line, &decision_text);
    assert_int_equal(line.kind, RECORDED_DECISION);
    assert_memory_equal(&line.decision.size, &decision.size, sizeof(decision.size));
    assert_memory_equal(&line.decision.need, &decision.need, sizeof(double));
    assert_string_equal(line.decision.why, "jump");
    assert_true(line.decision.is_settled);
    fini_recorded_line(&line);
}

static void a_line_that_is_none_is_refused_with_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *complaint;
    } LINES[] = {
        {"", "expected setting, report, cost or decision, found ''"},
        {"repot job=7", "expected setting, report, cost or decision, found 'repot'"},
        {"report  job=7", "expected key=value, found two spaces"},
        {"report need=7", "expected a key of a report, found 'need'"},
        {"report job=x", "job: expected 1 numbers >= 0, found 'x'"},
        {"report job", "job: expected 1 numbers >= 0, found ''"},
        {"report job=1.5", "job: '1.5' is none"},
        {"report workers=1", "workers: expected 2 numbers >= 0, found '1'"},
        {"report workers=1,-2", "workers: expected 2 numbers >= 0, found '1,-2'"},
        {"report workers=1,4294967296", "workers: '1,4294967296' is none"},
        {"report span_s=nan", "span_s: expected 1 numbers >= 0, found 'nan'"},
        {"report taker=1,2,3,4,5,6", "taker: expected 3 numbers >= 0, found '1,2,3,4,5,6'"},
        {"report maker=attic,1,2", "maker: 'attic,1,2' is none"},
        {"report maker=pool,1", "maker: 'pool,1' is none"},
        {"setting policy=a_name_that_is_longer_than_any_is",
         "policy: 'a_name_that_is_longer_than_any_is' is none"},
        {"decision settled=2", "settled: '2' is none"},
    };
    struct recorded_line line = {0};
    for (size_t i = 0; i < WEIR_COUNT(LINES); i++) {
        struct weir_error err = {0};
        assert_int_equal(read_recorded_line(&line, weir_bytes_of(LINES[i].text), &err),
                         WEIR_INVALID);
        assert_string_equal(err.text, LINES[i].complaint);
    }
    fini_recorded_line(&line);
}

static void a_line_has_no_more_rows_than_a_report_may(void **state)
{
    (void)state;
    struct recorded_line line = {0};
    struct weir_error err = {0};
    WEIR_AUTO_BUF text = {0};
    weir_buf_append_text(&text, "report");
    for (size_t i = 0; i < RECORDED_ROWS_MAX; i++)
        weir_buf_append_text(&text, " taker=1,0,0");
    assert_int_equal(read_recorded_line(&line, weir_buf_view(&text), &err), WEIR_OK);
    weir_buf_append_text(&text, " taker=1,0,0");
    assert_int_equal(read_recorded_line(&line, weir_buf_view(&text), &err), WEIR_INVALID);
    fini_recorded_line(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_reports_costs_and_decisions_come_back_as_they_were),
        cmocka_unit_test(a_line_that_is_none_is_refused_with_what_was_expected),
        cmocka_unit_test(a_line_has_no_more_rows_than_a_report_may),
    };
    return cmocka_run_group_tests_name("recording", tests, NULL, NULL);
}
