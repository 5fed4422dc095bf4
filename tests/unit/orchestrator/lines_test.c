/* Events as people read them. */
#include "orchestrator/screen/lines.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_line(const char *json, const char *line)
{
    WEIR_AUTO_BUF out = {0};
    json_t *event = json_loads(json, 0, NULL);
    assert_non_null(event);
    orchestrator_screen_line_of(event, &out);
    json_decref(event);
    assert_string_equal(weir_buf_text(&out), line);
}

static void a_spent_budget_says_what_it_was_and_what_follows(void **state)
{
    (void)state;
    assert_line("{\"event\": \"budget_spent\", \"pipeline\": \"mails\", \"of\": \"pipeline\", "
                "\"money\": 2, \"cpu_seconds\": 0, \"gpu_seconds\": 0, \"per\": \"total\", "
                "\"then\": \"hold\", \"spent\": {\"money\": 2.25, \"currency\": \"EUR\"}}",
                "pipeline mails: the budget is spent: 2.25 of 2 EUR; nothing fires any more");
    assert_line("{\"event\": \"budget_spent\", \"pipeline\": \"mails\", \"of\": \"all\", "
                "\"money\": 0, \"cpu_seconds\": 60, \"gpu_seconds\": 5, \"per\": \"day\", "
                "\"then\": \"hold\", \"spent\": {\"cpu_seconds\": 61.5, \"gpu_seconds\": 0}}",
                "pipeline mails: the budget of all pipelines of today is spent: 61.5 of 60 CPU s, "
                "0 of 5 GPU s; nothing fires any more today");
    assert_line("{\"event\": \"budget_spent\", \"pipeline\": \"mails\", \"of\": \"system\", "
                "\"cpu_seconds\": 60, \"per\": \"day\", \"then\": \"warn\", "
                "\"spent\": {\"cpu_seconds\": 61.5}}",
                "pipeline mails: the budget of today is spent: 61.5 of 60 CPU s");
}

static void an_operator_that_another_does_as_well_has_no_figures_of_its_own(void **state)
{
    (void)state;
    assert_line(
        "{\"event\": \"plan\", \"run\": 3, \"why\": \"as written\", \"tried\": 0, "
        "\"place\": {\"why\": \"here\"}, \"share\": {\"why\": \"alone\"}, \"operators\": ["
        "{\"operator\": \"normalize\", \"fused\": null, \"rows\": 9, \"cpu_seconds\": 0.5, "
        "\"ns_per_byte\": 2, \"share_kept\": 1, \"moved\": false}, "
        "{\"operator\": \"to_chw\", \"fused\": \"absorbed\", \"rows\": 0, \"cpu_seconds\": 0, "
        "\"ns_per_byte\": null, \"share_kept\": null, \"moved\": false}]}",
        "  plan of run 3: as written; here; alone\n"
        "    normalize                   0.500 s, 2.0 ns a byte, 100.0 % kept\n"
        "    to_chw                   in one with that above");
}

static void a_pipeline_that_has_trained_nothing_says_so(void **state)
{
    (void)state;
    assert_line("{\"event\": \"pipeline_finished\", \"pipeline\": \"mails\", \"triggers\": 0, "
                "\"active_model\": \"\", \"cost\": {\"cpu_seconds\": 0, \"bytes_read\": 0}}",
                "pipeline mails finished: 0 triggers, active model none, 0.0 s of CPU, 0.0 MB "
                "read: its trigger policy never fired, nothing was trained");
    assert_line("{\"event\": \"pipeline_finished\", \"pipeline\": \"mails\", \"triggers\": 1, "
                "\"active_model\": \"mails-1\", \"cost\": {\"cpu_seconds\": 0, \"bytes_read\": 0}}",
                "pipeline mails finished: 1 triggers, active model mails-1, 0.0 s of CPU, 0.0 MB "
                "read");
}

static void an_evaluation_that_measured_nothing_says_so(void **state)
{
    (void)state;
    assert_line("{\"event\": \"evaluation\", \"metric\": \"accuracy\", \"model\": \"mails-1\", "
                "\"interval\": {\"from\": \"2002-12-01T00:00:00Z\", \"to\": "
                "\"2003-01-01T00:00:00Z\"}, \"value\": \"undefined\", \"samples\": 0, "
                "\"failed\": 9, \"filtered\": 0}",
                "  accuracy of mails-1 on 2002-12-01 to 2003-01-01: nothing was measured over 0 "
                "samples; 9 could not be read (100.0 %)");
    assert_line(
        "{\"event\": \"evaluation_empty\", \"name\": \"month\", \"dataset\": \"mails\", "
        "\"interval\": {\"from\": \"2002-12-01T00:00:00Z\", \"to\": "
        "\"2003-01-01T00:00:00Z\"}}",
        "  evaluation month on 2002-12-01 to 2003-01-01: nothing was measured, dataset mails "
        "has no samples there");
    assert_line("{\"event\": \"pipeline_finished\", \"pipeline\": \"mails\", \"triggers\": 1, "
                "\"active_model\": \"mails-1\", \"cost\": {\"cpu_seconds\": 0, \"bytes_read\": 0}, "
                "\"unmeasured\": [\"month\"]}",
                "pipeline mails finished: 1 triggers, active model mails-1, 0.0 s of CPU, 0.0 MB "
                "read\n  evaluation month has measured nothing: none of its intervals had both a "
                "model and samples that could be read");
}

static void an_event_that_people_need_not_see_has_no_line(void **state)
{
    (void)state;
    assert_line("{\"event\": \"nothing_known\"}", "");
    assert_line("{}", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spent_budget_says_what_it_was_and_what_follows),
        cmocka_unit_test(an_operator_that_another_does_as_well_has_no_figures_of_its_own),
        cmocka_unit_test(a_pipeline_that_has_trained_nothing_says_so),
        cmocka_unit_test(an_evaluation_that_measured_nothing_says_so),
        cmocka_unit_test(an_event_that_people_need_not_see_has_no_line),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
