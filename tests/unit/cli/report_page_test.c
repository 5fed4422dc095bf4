/* The report as a page: nothing that a name holds gets out of the numbers, and every value has its window. */
#include "cli/report_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/answer.h"

#include <cmocka.h>

/* The numbers of a page, as a browser would find them. */
static json_t *numbers_of(struct weir_buf *page)
{
    static const char BEGIN[] = "<script type=\"application/json\" id=\"numbers\">";
    const char *at = strstr(weir_buf_text(page), BEGIN);
    assert_non_null(at);
    at += strlen(BEGIN);
    const char *end = strstr(at, "</script");
    assert_non_null(end);
    json_t *numbers = json_loadb(at, (size_t)(end - at), 0, NULL);
    assert_non_null(numbers);
    return numbers;
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

static void hostile_names_stay_in_the_numbers(void **state)
{
    (void)state;
    WEIR_AUTO_BUF plain = {0};
    WEIR_AUTO_BUF page = {0};
    json_t *nothing = json_object();
    json_t *hostile = json_pack("{ss}", "name",
                                "</script><script>alert(1)</script><!--<script> \xE2\x80\xA8 ]]>");
    cli_report_page(nothing, &plain);
    cli_report_page(hostile, &page);
    json_t *found = numbers_of(&page);
    assert_true(json_equal(found, hostile));
    assert_int_equal(count_of(weir_buf_text(&page), "<script"),
                     count_of(weir_buf_text(&plain), "<script"));
    assert_int_equal(count_of(weir_buf_text(&page), "<!--"), 0);
    assert_null(strstr(weir_buf_text(&page), "\xE2\x80\xA8"));
    json_decref(found);
    json_decref(hostile);
    json_decref(nothing);
}

static void the_page_forbids_all_network(void **state)
{
    (void)state;
    WEIR_AUTO_BUF page = {0};
    json_t *nothing = json_object();
    cli_report_page(nothing, &page);
    assert_non_null(strstr(weir_buf_text(&page), "default-src 'none'; style-src 'sha256-"));
    assert_non_null(strstr(weir_buf_text(&page), "script-src 'sha256-"));
    assert_null(strstr(weir_buf_text(&page), "unsafe-inline"));
    assert_null(strstr(weir_buf_text(&page), "@STYLE"));
    assert_int_equal(count_of(weir_buf_text(&page), "innerHTML"), 0);
    json_decref(nothing);
}

static void values_are_listed_by_model_window_and_slice(void **state)
{
    (void)state;
    json_t *report = json_pack(
        "{ss,ss,s[{si,ss,s[{ss,ss,ss,ss,sf,si},{ss,ss,ss,ss,ss,si}]},{si}]}", "pipeline", "p",
        "state", "FINISHED", "triggers", "trigger", 1, "model", "m1", "evaluations", "name",
        "monthly", "from", "2002-02-01T00:00:00Z", "to", "2002-03-01T00:00:00Z", "metric",
        "accuracy", "value", 0.75, "samples", 8, "name", "monthly", "from", "2002-02-01T00:00:00Z",
        "to", "2002-03-01T00:00:00Z", "metric", "accuracy(by=label)[label=[cat]]", "value",
        "undefined", "samples", 0, "trigger", 2);
    json_t *models = json_pack("{s[{ss,sb,si}]}", "models", "model", "m1", "active", 1, "bytes", 9);
    json_t *pipeline = cli_report_pipeline(report, models);
    const json_t *matrix = json_object_get(pipeline, "matrix");
    assert_int_equal(json_array_size(matrix), 2);
    const json_t *whole = json_array_get(matrix, 0), *slice = json_array_get(matrix, 1);
    assert_string_equal(cli_text(whole, "model"), "m1");
    assert_string_equal(cli_text(whole, "until"), "2002-03-01T00:00:00Z");
    assert_true(json_is_null(json_object_get(whole, "slice")));
    assert_true(cli_real(whole, "value") == 0.75);
    assert_string_equal(cli_text(slice, "metric"), "accuracy(by=label)");
    assert_string_equal(cli_text(slice, "slice"), "label=[cat]");
    assert_true(json_is_null(json_object_get(slice, "value")));
    assert_string_equal(cli_text(pipeline, "active"), "m1");
    assert_true(json_equal(json_object_get(pipeline, "report"), report));
    json_decref(pipeline);
    json_decref(models);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_names_stay_in_the_numbers),
        cmocka_unit_test(the_page_forbids_all_network),
        cmocka_unit_test(values_are_listed_by_model_window_and_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
