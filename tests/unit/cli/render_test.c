/* Answers as pages: the whole page where its shape is the promise, else the words that must be there. */
#include "cli/render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/commands.h"
#include "core/base/memory.h"

#include <cmocka.h>

static void render(cli_render_fn *fn, const char *json, struct weir_buf *out)
{
    json_error_t problem;
    struct cli_page page = {.out = out};
    json_t *answer = json_loads(json, 0, &problem);
    assert_non_null(answer);
    fn(answer, &page);
    json_decref(answer);
}

static void assert_page(cli_render_fn *fn, const char *json, const char *expected)
{
    WEIR_AUTO_BUF out = {0};
    render(fn, json, &out);
    assert_string_equal(weir_buf_text(&out), expected);
}

static void a_report_is_the_table_people_compare_triggers_by(void **state)
{
    (void)state;
    assert_page(
        cli_render_report,
        "{\"pipeline\":\"quickstart\",\"triggers\":["
        "{\"trigger\":1,\"until\":\"2002-07-09T12:30:00Z\",\"reason\":\"500 new samples\","
        "\"selected\":400,\"seconds\":1.5,"
        "\"samples_per_second\":800.4,\"stall_fraction\":0.125,\"cost\":{\"cpu_seconds\":2.5,"
        "\"money\":0},\"timeline\":{\"seconds\":1.75,\"hidden_seconds\":0.5},\"evaluations\":["
        "{\"name\":\"next_month\",\"from\":\"2002-07-01T00:00:00Z\",\"to\":\"2002-08-01T00:00:00Z\","
        "\"metric\":\"accuracy\",\"value\":0.99},"
        "{\"name\":\"next_month\",\"from\":\"2002-09-01T00:00:00Z\",\"to\":\"2002-10-01T00:00:00Z\","
        "\"metric\":\"accuracy\",\"value\":0.9},"
        "{\"name\":\"next_month\",\"from\":\"2002-08-01T00:00:00Z\",\"to\":\"2002-09-01T00:00:00Z\","
        "\"metric\":\"accuracy\",\"value\":0.95},"
        "{\"name\":\"next_month\",\"from\":\"2002-08-01T00:00:00Z\",\"to\":\"2002-09-01T00:00:00Z\","
        "\"metric\":\"roc_auc\",\"value\":\"undefined\"}]},"
        "{\"trigger\":2,\"reason\":\"1 month\",\"selected\":0,\"skipped\":\"no candidates\"},"
        "{\"trigger\":3,\"reason\":\"1 month; and more\",\"selected\":1200,\"seconds\":2,"
        "\"samples_per_second\":1800,\"stall_fraction\":0,\"evaluations_of\":\"quickstart-3\","
        "\"cost\":{\"cpu_seconds\":1,\"money\":0.25,\"currency\":\"EUR\"},\"evaluations\":[]}]}",
        "pipeline quickstart, 3 triggers\n"
        "trigger  why                              selected  seconds  samples/s  stall %  to model  hidden    ROC-AUC"
        "  accuracy  measured on                     cost\n"
        "      1  500 new samples                       400     1.50        800       12      1.75    0.50  undefined"
        "    0.9500  2002-08-01 to 2002-09-01  2.50 CPU s\n"
        "      2  1 month; skipped: no candidates         0        -          -        -         -       -          -"
        "         -  -                                  -\n"
        "     3*  1 month                             1,200     2.00       1800        0         -       -          -"
        "         -  -                         0.2500 EUR\n"
        "next_month: each model on the first interval after its newest sample\n"
        "* retrained after an erasure; measured is the model it replaces\n"
        "trigger 3: 1 month; and more\n"
        "the model in use, over data time:\n"
        "accuracy          0.9 to 0.95, newest 0.9\n");
}

/* A model that is measured on nothing newer shows what there is, and says so. */
static void a_report_says_that_an_interval_is_not_news_to_the_model(void **state)
{
    (void)state;
    WEIR_AUTO_BUF out = {0};
    render(
        cli_render_report,
        "{\"pipeline\":\"p\",\"triggers\":[{\"trigger\":1,\"until\":\"2002-07-09T12:30:00Z\",\"evaluations\":["
        "{\"name\":\"day\",\"from\":\"2002-07-09T06:00:00Z\",\"to\":\"2002-07-10T00:00:00Z\","
        "\"metric\":\"rmse\",\"value\":2}]}]}",
        &out);
    assert_non_null(strstr(weir_buf_text(&out),
                           "  2002-07-09T06:00 to 2002-07-10, begins before its newest sample  "));
}

static void a_report_lists_samples_that_failed_and_says_how_many_more(void **state)
{
    (void)state;
    WEIR_AUTO_BUF out = {0};
    render(cli_render_report,
           "{\"pipeline\":\"p\",\"triggers\":["
           "{\"trigger\":1,\"audit\":{\"failed\":10,\"failures\":["
           "{\"sample\":17592186044423,\"reason\":\"decode_jpeg: cut off\"},"
           "{\"sample\":17592186044424,\"reason\":\"reading: a sample of 9 bytes\"}]}},"
           "{\"trigger\":2,\"audit\":{\"failed\":0,\"failures\":[]}},"
           "{\"trigger\":3,\"audit\":{\"failed\":1,\"failures\":["
           "{\"sample\":7,\"reason\":\"json_text: byte 3\"}]}}]}",
           &out);
    const char *lines = strstr(weir_buf_text(&out), "trigger 1: sample");
    assert_non_null(lines);
    assert_string_equal(lines, "trigger 1: sample 17592186044423: decode_jpeg: cut off\n"
                               "trigger 1: sample 17592186044424: reading: a sample of 9 bytes\n"
                               "trigger 1: 10 could not be read in all, every epoch counted\n"
                               "trigger 3: sample 7: json_text: byte 3\n");
}

static void a_status_shows_a_loss_that_is_no_number(void **state)
{
    (void)state;
    WEIR_AUTO_BUF out = {0};
    render(
        cli_render_status,
        "{\"data_dir\":\"d\",\"pipelines\":[{\"pipeline\":\"clicks\",\"progress\":{\"mode\":\"train\","
        "\"trigger\":1,\"samples\":5,\"samples_total\":10,\"loss\":null,\"stall_fraction\":0.5}}]}",
        &out);
    assert_non_null(strstr(weir_buf_text(&out), "50 % of 10 samples, loss nan; its trainer"));
}

static void a_status_says_how_long_the_newest_model_took(void **state)
{
    (void)state;
    assert_page(
        cli_render_status,
        "{\"data_dir\":\"d\",\"pipelines\":[{\"pipeline\":\"clicks\",\"mode\":\"live\",\"state\":\"READING\","
        "\"timeline\":{\"trigger\":3,\"arrived\":\"2024-01-01T00:00:00Z\",\"fired\":\"2024-01-01T00:00:00.5Z\","
        "\"sealed\":\"2024-01-01T00:00:00.6Z\",\"first_batch\":null,\"stored\":\"2024-01-01T00:00:01.25Z\","
        "\"seconds\":1.25,\"hidden_seconds\":0.04}}]}",
        "data directory    d\n"
        "platform          up for 0.0 s\n"
        "open erasures     0\n"
        "\n"
        "pipeline  mode  state    triggers  skipped  models  CPU s  read  cost  active model\n"
        "clicks    live  reading         0        0       0    0.0   0 B     -  -\n"
        "clicks: trigger 3 had its model 1.250 s after its first sample came "
        "(fired 0.500, sealed 0.100, stored 0.650; 0.040 of it while the one before was trained)\n");
}

static void workers_show_what_a_run_goes_through_and_waits_for(void **state)
{
    (void)state;
    assert_page(
        cli_render_workers,
        "{\"workers\":[{\"worker\":\"worker-1\",\"leases\":4,\"queued\":2,\"cpu_seconds\":1.5,"
        "\"bytes_read\":2000000,\"bytes_sent\":500000,\"inflation\":0.25,\"operators\":[]}],"
        "\"runs\":[{\"run\":7,\"stall_fraction\":0.25,\"stage\":\"operators\",\"read_seconds\":0.5,"
        "\"bytes_read\":2000000,\"failed\":3,\"reason\":\"sample 9 (byte 0 of a.jpg) cannot be read: no\","
        "\"operators\":["
        "{\"operator\":\"decode_jpeg\",\"cpu_seconds\":1.5,\"bytes_in\":2000000,\"bytes_out\":9000000,"
        "\"inflation\":4.5},"
        "{\"operator\":\"flip\",\"cpu_seconds\":0,\"bytes_in\":0,\"bytes_out\":0,\"inflation\":null}]},"
        "{\"run\":8,\"stall_fraction\":0.01,\"stage\":\"trainer\",\"read_seconds\":0,\"bytes_read\":0,"
        "\"operators\":[]},"
        "{\"run\":9,\"stall_fraction\":0,\"stage\":null,\"read_seconds\":0,\"bytes_read\":0,"
        "\"operators\":[]}]}",
        "worker    leases  queued  CPU s    read      sent  out / in\n"
        "worker-1       4       2   1.50  2.0 MB  500.0 kB      0.25\n"
        "\n"
        "run 7: its trainer waits 25 % of its time, for operators\n"
        "3 samples could not be read so far; the first: sample 9 (byte 0 of a.jpg) cannot be read: no\n"
        "stage        seconds  share      in     out  out / in\n"
        "read            0.50   25 %       -  2.0 MB         -\n"
        "decode_jpeg     1.50   75 %  2.0 MB  9.0 MB      4.50\n"
        "flip            0.00    0 %     0 B     0 B         -\n"
        "\n"
        "run 8: its trainer waits 1 % of its time: workers keep up\n"
        "stage  seconds  share  in  out  out / in\n"
        "read      0.00    0 %   -  0 B         -\n"
        "\n"
        "run 9: nothing is heard of a trainer\n"
        "stage  seconds  share  in  out  out / in\n"
        "read      0.00    0 %   -  0 B         -\n");
}

static void datasets_show_their_accounting_and_what_was_refused(void **state)
{
    (void)state;
    assert_page(cli_render_datasets,
                "{\"datasets\":[{\"dataset\":\"mails\",\"format\":\"files\",\"scanned\":true,"
                "\"ingested\":5567,\"live\":5560,\"erased\":7,\"bytes\":20000000,"
                "\"quarantined\":1,\"columns\":[\"ts\",\"\",\"text\"],"
                "\"classes\":[\"ham\",\"spam\"],"
                "\"complaints\":[\"a.txt: byte 7: half a record\"]}]}",
                "dataset  format  ingested   live  erased  removed  replaced  quarantined  "
                "duplicate  blocked  returned    bytes  classes\n"
                "mails    files      5,567  5,560       7        0         0            1          "
                "0        0         0  20.0 MB  2\n"
                "mails: columns: ts, (no name), text\n"
                "mails: refused: a.txt: byte 7: half a record\n");
}

static void a_plan_of_a_name_that_nobody_has_says_so(void **state)
{
    (void)state;
    assert_page(cli_render_erase_plan, "{\"samples\":0,\"models\":[],\"bytes\":0,\"cached\":0}",
                "no sample that is there has any of these names: is one misspelt? Nothing was "
                "changed\n");
}

static void models_show_which_one_is_active(void **state)
{
    (void)state;
    assert_page(
        cli_render_models,
        "{\"models\":[{\"model\":\"q-1\",\"trigger\":1,\"state\":\"replaced\",\"parent\":"
        "null,\"active\":false,\"until\":\"2002-08-01T00:00:00Z\",\"bytes\":2000,"
        "\"checksum\":\"0123456789abcdef\",\"cost\":{\"cpu_seconds\":1}},"
        "{\"model\":\"q-2\",\"trigger\":2,\"state\":\"stored\",\"parent\":\"q-1\","
        "\"active\":true,\"until\":\"2002-09-01T12:30:00Z\",\"bytes\":2000,"
        "\"checksum\":\"fedcba9876543210\",\"cost\":null}]}",
        "model  trigger  state     parent  until              bytes  checksum            "
        "cost\n"
        "q-1          1  replaced  -       2002-08-01        2.0 kB  0123456789ab  1.00 CPU "
        "s\n"
        "q-2          2  active    q-1     2002-09-01 12:30  2.0 kB  fedcba987654           "
        "-\n");
}

static void an_erasure_tells_its_times_and_models(void **state)
{
    (void)state;
    assert_page(
        cli_render_erasure,
        "{\"erasure\":3,\"state\":\"REPLACING\",\"doing\":\"models are trained again\","
        "\"reference\":\"F-1\",\"samples\":4,\"accepted\":\"2026-01-01T10:00:01.5Z\","
        "\"in_force\":\"2026-01-01T10:00:03Z\",\"models_replaced\":null,\"finished\":null,"
        "\"due\":\"2026-01-08T10:00:01.5Z\",\"overdue\":true,\"models\":[{\"model\":\"q-1\","
        "\"trigger\":1,\"action\":\"retrain\",\"replacement\":null,\"done\":false}]}",
        "erasure           3\n"
        "reference         F-1\n"
        "state             REPLACING: models are trained again\n"
        "samples           4\n"
        "accepted          2026-01-01 10:00:01\n"
        "in force          2026-01-01 10:00:03\n"
        "OVERDUE since     2026-01-08 10:00:01\n"
        "\n"
        "model  trigger  action   replacement  done\n"
        "q-1          1  retrain  -            not yet\n");
}

static void an_accepted_erasure_says_how_to_follow_it(void **state)
{
    (void)state;
    assert_page(cli_render_erase_accepted, "{\"erasure\":3,\"matched\":4,\"state\":\"ACCEPTED\"}",
                "erasure 3 is accepted: 4 samples\nsee how it goes: weir erase status 3\n");
}

static void a_file_that_a_finished_pipeline_takes_is_said_to_need_a_rerun(void **state)
{
    (void)state;
#define TAKEN(state)                                                                                  \
    "{\"pipeline\":\"q\",\"done\":\"applied\",\"wish\":\"run\",\"differences\":[],\"state\":\"" state \
    "\"}"
    assert_page(cli_render_apply, TAKEN("FOLLOWING"),
                "pipeline q: 0 differences that mean anything\nthe file is taken\n");
    assert_page(cli_render_apply, TAKEN("FINISHED"),
                "pipeline q: 0 differences that mean anything\nthe file is taken\n"
                "next              weir rerun q: it is finished, and trains no more by itself\n");
#undef TAKEN
}

static void names_that_nobody_has_are_shown_beside_an_accepted_erasure(void **state)
{
    WEIR_AUTO_BUF answer = {0}, expected = {0};
    (void)state;
    assert_page(cli_render_erase_accepted,
                "{\"erasure\":3,\"matched\":4,\"unmatched\":{\"subjects\":[\"ana\"],\"keys\":[],"
                "\"ids\":[17]}}",
                "erasure 3 is accepted: 4 samples\n"
                "no sample has the subject ana\n"
                "no sample has the id 17\n"
                "see how it goes: weir erase status 3\n");
    weir_buf_append_text(&answer, "{\"erasure\":3,\"matched\":4,\"unmatched\":{\"keys\":[\"k0\"");
    weir_buf_append_text(&expected, "erasure 3 is accepted: 4 samples\nno sample has the key k0\n");
    for (int i = 1; i < 22; i++) {
        weir_buf_printf(&answer, ",\"k%d\"", i);
        if (i < 20)
            weir_buf_printf(&expected, "no sample has the key k%d\n", i);
    }
    weir_buf_append_text(&answer, "]}}");
    weir_buf_append_text(&expected,
                         "and 2 more: --json has all\nsee how it goes: weir erase status 3\n");
    assert_page(cli_render_erase_accepted, weir_buf_text(&answer), weir_buf_text(&expected));
}

static void refused_requests_are_told_by_their_place(void **state)
{
    json_t *answer =
        json_loads("{\"accepted\":0,\"refused\":[{\"kind\":\"subject\",\"place\":2,\"line\":7,"
                   "\"error\":\"no such\"},{\"kind\":\"id\",\"place\":1,\"error\":\"none\"}]}",
                   0, NULL);
    (void)state;
    WEIR_AUTO_FREE char *text = json_dumps(answer, JSON_COMPACT);
    assert_page(cli_render_erase_accepted, text,
                "2 requests are refused\n"
                "refused: the subject on line 7: no such\n"
                "refused: id 1: none\n");
    assert_int_equal(cli_exit_of_erasure(answer), 1);
    json_decref(answer);
}

static void predictions_are_one_line_a_sample(void **state)
{
    (void)state;
    assert_page(cli_render_predict,
                "{\"model\":\"q-2\",\"samples\":9,\"predictions\":[{\"id\":17592186044416,"
                "\"label\":1,\"values\":[0.25,0.75]}]}",
                "model q-2, 1 of 9 samples\n"
                "        sample  label  predicted  values\n"
                "17592186044416  1                 0.2500 0.7500\n");
}

static void predictions_name_classes(void **state)
{
    (void)state;
    assert_page(
        cli_render_predict,
        "{\"model\":\"q-2\",\"samples\":2,\"classes\":[\"ham\",\"spam\"],\"predictions\":["
        "{\"id\":1,\"label\":1,\"values\":[0.25]},{\"id\":2,\"label\":7,\"values\":[0.5]}]}",
        "model q-2, 2 of 2 samples\n"
        "sample  label  predicted  values\n"
        "     1  spam   ham        0.2500\n"
        "     2  7      spam       0.5000\n");
    assert_page(cli_render_predict,
                "{\"model\":\"q-2\",\"samples\":1,\"classes\":[\"a\",\"b\",\"c\"],\"predictions\":["
                "{\"id\":1,\"label\":-1,\"values\":[0.25,0.5,0.25]}]}",
                "model q-2, 1 of 1 samples\n"
                "sample  label  predicted  values\n"
                "     1  -1     b          0.2500 0.5000 0.2500\n");
}

static void lineage_answers_both_questions(void **state)
{
    (void)state;
    assert_page(cli_render_lineage,
                "{\"model\":\"q-2\",\"ancestors\":[{\"model\":\"q-2\",\"trigger\":2,\"state\":"
                "\"stored\",\"set_digest\":\"ab\",\"scored_by\":\"q-1\","
                "\"until\":\"2002-09-01T00:00:00Z\"}]}",
                "q-2 learnt from, newest first:\n"
                "model  trigger  state   sample set  scored by  until\n"
                "q-2          2  stored  ab          q-1        2002-09-01\n");
    assert_page(cli_render_lineage,
                "{\"samples\":2,\"milliseconds\":1.25,\"models\":[{\"model\":\"q-2\",\"trigger\":2,"
                "\"live\":true,\"samples\":1,\"how\":\"its set\"},{\"model\":\"q-3\","
                "\"trigger\":3,\"live\":true,\"samples\":0,\"how\":\"influenced\","
                "\"through\":\"q-2\"}]}",
                "2 models have seen one of 2 samples or more, or are influenced (1.2 ms)\n"
                "model  trigger  live  samples in its set  by way of\n"
                "q-2          2  yes                    1  its set\n"
                "q-3          3  yes                    0  influenced through q-2\n");
}

/* An orchestrator of another version may leave fields out or send others. */
static void a_model_costs_money_only_where_there_are_prices(void **state)
{
    static const struct {
        const char *answer, *cost;
    } CASES[] = {
        {"{\"model\":\"q-1\",\"cost\":{\"cpu_seconds\":1,\"money\":0,\"currency\":\"EUR\"}}",
         "cost              1.00 CPU s\n"},
        {"{\"model\":\"q-1\",\"cost\":{\"cpu_seconds\":1,\"money\":0.5,\"currency\":\"EUR\"}}",
         "cost              1.00 CPU s, 0.500000 EUR\n"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF out = {0};
        render(cli_render_model, CASES[i].answer, &out);
        if (strstr(weir_buf_text(&out), CASES[i].cost) == NULL)
            fail_msg("found: %s", weir_buf_text(&out));
    }
}

static void a_comparison_says_which_intervals_do_not_count(void **state)
{
    WEIR_AUTO_BUF out = {0};
    (void)state;
    render(cli_render_comparison,
           "{\"comparison\":\"grid\",\"state\":\"done\",\"policies\":[],\"cells\":[],\"judge\":{"
           "\"evaluation\":\"next\",\"metric\":\"accuracy\",\"better\":\"higher\","
           "\"judged_on\":{\"windows\":12,\"left_out\":0,\"fewest\":null},"
           "\"chosen_on\":{\"windows\":9,\"left_out\":3,\"fewest\":\"yearly\"}}}",
           &out);
    assert_non_null(strstr(weir_buf_text(&out),
                           "chosen by the 9 intervals that every policy has; up to 3 more are left "
                           "out: yearly has the fewest\n"));
    assert_null(strstr(weir_buf_text(&out), "judged by"));
}

static void no_page_relies_on_what_an_answer_holds(void **state)
{
    static const char *const ANSWERS[] = {
        "{}",
        "[]",
        "{\"models\":[{}],\"datasets\":[{}],\"pipelines\":[{}],\"triggers\":[{}],\"erasures\":[{}],"
        "\"predictions\":[{}],\"policies\":[{}],\"entries\":[{}],\"complaints\":[\"x\"]}",
        "{\"models\":[1,null,\"x\"],\"datasets\":7,\"pipelines\":[[]],\"triggers\":[{\"evaluations\":"
        "[{\"metric\":3}]}],\"erasures\":{},\"predictions\":[{\"values\":[\"x\"]}],\"timeline\":3,"
        "\"storage\":[],\"cost\":\"much\",\"model\":5,\"ancestors\":[null]}",
    };
    (void)state;
    for (size_t i = 0; i < cli_command_count(); i++) {
        for (size_t j = 0; j < WEIR_COUNT(ANSWERS); j++) {
            WEIR_AUTO_BUF out = {0};
            render(cli_command_at(i)->render, ANSWERS[j], &out);
        }
    }
}

static void what_is_overdue_has_its_own_exit_code(void **state)
{
    static const struct {
        cli_exit_fn *fn;
        const char *json;
        int code;
    } CASES[] = {
        {cli_exit_of_erasure, "{\"overdue\":false}", CLI_EXIT_DONE},
        {cli_exit_of_erasure, "{}", CLI_EXIT_DONE},
        {cli_exit_of_erasure, "{\"overdue\":true}", CLI_EXIT_OVERDUE},
        {cli_exit_of_erasure, "{\"overdue\":false,\"unverified\":true}", CLI_EXIT_OVERDUE},
        {cli_exit_of_erasures, "{\"erasures\":[]}", CLI_EXIT_DONE},
        {cli_exit_of_erasures, "{\"erasures\":[{\"overdue\":false},{\"overdue\":true}]}",
         CLI_EXIT_OVERDUE},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        json_t *answer = json_loads(CASES[i].json, 0, NULL);
        assert_int_equal(CASES[i].fn(answer), CASES[i].code);
        json_decref(answer);
    }
}

static void a_receipt_says_records_and_files_apart_and_where_they_were(void **state)
{
    WEIR_AUTO_BUF out = {0};
    (void)state;
    render(
        cli_render_receipt,
        "{\"version\":3,\"erasure\":7,\"samples\":28,"
        "\"datasets\":[{\"dataset\":\"clicks\",\"samples\":28}],\"storage\":{\"records_scrubbed\":28,"
        "\"files_scrubbed\":1,\"bytes_scrubbed\":4704},\"places\":["
        "{\"place\":\"files of samples\",\"files\":12,\"bytes\":1200000,"
        "\"held\":{\"records\":28,\"files\":1},\"gone\":true},"
        "{\"place\":\"logs\",\"files\":3,\"bytes\":10,\"held\":{},\"gone\":true},"
        "{\"place\":\"models\",\"files\":3,\"bytes\":10,\"held\":{\"models\":2},\"gone\":false}]}",
        &out);
    const char *text = weir_buf_text(&out);
    assert_non_null(strstr(text, "found in          dataset 'clicks': 28 samples\n"));
    assert_non_null(strstr(text, "scrubbed          28 records in 1 file, 4.7 kB\n"));
    assert_non_null(strstr(text, "files of samples     12    1.2 MB  28 records, 1 files  gone\n"));
    assert_non_null(
        strstr(text, "logs                  3      10 B  -                    nothing found\n"));
    assert_non_null(
        strstr(text, "models                3      10 B  2 models             NOT gone\n"));
}

static void a_receipt_from_before_says_its_records(void **state)
{
    WEIR_AUTO_BUF out = {0};
    (void)state;
    render(cli_render_receipt,
           "{\"version\":2,\"erasure\":7,\"samples\":28,\"storage\":{\"files_scrubbed\":28,"
           "\"bytes_scrubbed\":4704}}",
           &out);
    assert_non_null(strstr(weir_buf_text(&out), "scrubbed          28 records, 4.7 kB\n"));
    assert_null(strstr(weir_buf_text(&out), "\nplace"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_the_table_people_compare_triggers_by),
        cmocka_unit_test(a_report_says_that_an_interval_is_not_news_to_the_model),
        cmocka_unit_test(a_report_lists_samples_that_failed_and_says_how_many_more),
        cmocka_unit_test(a_status_shows_a_loss_that_is_no_number),
        cmocka_unit_test(a_status_says_how_long_the_newest_model_took),
        cmocka_unit_test(workers_show_what_a_run_goes_through_and_waits_for),
        cmocka_unit_test(datasets_show_their_accounting_and_what_was_refused),
        cmocka_unit_test(a_plan_of_a_name_that_nobody_has_says_so),
        cmocka_unit_test(models_show_which_one_is_active),
        cmocka_unit_test(a_model_costs_money_only_where_there_are_prices),
        cmocka_unit_test(an_erasure_tells_its_times_and_models),
        cmocka_unit_test(an_accepted_erasure_says_how_to_follow_it),
        cmocka_unit_test(a_file_that_a_finished_pipeline_takes_is_said_to_need_a_rerun),
        cmocka_unit_test(names_that_nobody_has_are_shown_beside_an_accepted_erasure),
        cmocka_unit_test(refused_requests_are_told_by_their_place),
        cmocka_unit_test(predictions_are_one_line_a_sample),
        cmocka_unit_test(predictions_name_classes),
        cmocka_unit_test(lineage_answers_both_questions),
        cmocka_unit_test(a_comparison_says_which_intervals_do_not_count),
        cmocka_unit_test(no_page_relies_on_what_an_answer_holds),
        cmocka_unit_test(what_is_overdue_has_its_own_exit_code),
        cmocka_unit_test(a_receipt_says_records_and_files_apart_and_where_they_were),
        cmocka_unit_test(a_receipt_from_before_says_its_records),
    };
    return cmocka_run_group_tests_name("cli render", tests, NULL, NULL);
}
