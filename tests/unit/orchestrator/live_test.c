/* The live page without its sockets: headers, parts and their numbers, and what of an answer is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/attributes.h"
#include "orchestrator/live/excerpt.h"
#include "orchestrator/live/gate.h"
#include "orchestrator/live/parts.h"
#include "orchestrator/screen/lines.h"
#include "orchestrator/values/page_place.h"

#include <stdlib.h>
#include <string.h>

static void names_of_the_loopback_are_let_in_and_others_are_not(void **state)
{
    static const char *const OURS[] = {"127.0.0.1", "127.0.0.1:9470", "127.1.2.3:1",
                                       "localhost", "LocalHost:9470", "[::1]",
                                       "[::1]:9470"};
    static const char *const OTHERS[] = {"",      "evil.example",    "127.0.0.1.evil.example:9470",
                                         "[::2]", "128.0.0.1",       "localhost.evil.example",
                                         "[::1",  "127.0.0.1.:9470", "[",
                                         "1"};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(OURS); i++)
        assert_true(orchestrator_live_is_loopback_name(OURS[i]));
    for (size_t i = 0; i < WEIR_COUNT(OTHERS); i++)
        assert_false(orchestrator_live_is_loopback_name(OTHERS[i]));
    assert_false(orchestrator_live_is_loopback_name(NULL));
}

static void gzip_is_sent_to_those_who_take_it(void **state)
{
    static const char *const TAKE[] = {"gzip", "br, gzip", "GZIP;q=0.1", "a;q=0, gzip ; q=1",
                                       " gzip,"};
    static const char *const DO_NOT[] = {"",       "br", "gzip;q=0",   "gzipped",
                                         "x-gzip", ",,", "gzip; q=0.0"};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TAKE); i++)
        assert_true(orchestrator_live_takes_gzip(TAKE[i]));
    for (size_t i = 0; i < WEIR_COUNT(DO_NOT); i++)
        assert_false(orchestrator_live_takes_gzip(DO_NOT[i]));
    assert_false(orchestrator_live_takes_gzip(NULL));
}

static void a_page_that_others_reach_is_encrypted(void **state)
{
    struct weir_error err;
    const struct page_place none = {NULL, NULL, NULL}, open = {"0.0.0.0:1", NULL, NULL},
                            here = {"127.0.0.1:1", NULL, NULL}, half = {"127.0.0.1:1", "a", NULL},
                            closed = {"[::]:1", "a", "b"}, nonsense = {"page", "a", "b"};
    (void)state;
    assert_int_equal(orchestrator_page_place_check(&none, &err), WEIR_OK);
    assert_int_equal(orchestrator_page_place_check(&here, &err), WEIR_OK);
    assert_int_equal(orchestrator_page_place_check(&closed, &err), WEIR_OK);
    assert_int_equal(orchestrator_page_place_check(&open, &err), WEIR_UNSUPPORTED);
    assert_int_equal(orchestrator_page_place_check(&half, &err), WEIR_INVALID);
    assert_int_equal(orchestrator_page_place_check(&nonsense, &err), WEIR_INVALID);
}

/* The parts that a viewer of a scope is sent from `number` on, as text. */
static void read_from(const struct live_parts *parts, const struct live_scope *scope,
                      uint64_t number, struct weir_buf *out)
{
    const struct live_part *part;
    weir_buf_clear(out);
    while ((part = orchestrator_live_part_after(parts, scope, number)) != NULL) {
        weir_buf_append(out, part->text->at, part->text->size);
        number = part->number;
    }
}

static const int KIND;

static struct live_part *add(struct live_parts *parts, struct live_subject of, const char *text)
{
    struct live_part *part = orchestrator_live_part_add(parts, &KIND, of);
    assert_true(orchestrator_live_part_set(parts, part, weir_bytes_of(text)));
    return part;
}

static void a_viewer_gets_the_newest_text_of_each_part_once(void **state)
{
    const struct live_scope all = {.pipelines = {1, 2}, .pipeline_count = 2};
    const struct live_subject second = {.pipeline = 2};
    struct live_parts parts;
    WEIR_AUTO_BUF read = {0};
    (void)state;
    orchestrator_live_parts_init(&parts);
    struct live_part *a = add(&parts, (struct live_subject){.pipeline = 1}, "a1");
    struct live_part *b = add(&parts, second, "b1");
    assert_ptr_equal(orchestrator_live_part_of(&parts, &KIND, second), b);
    assert_false(orchestrator_live_part_set(&parts, b, weir_bytes_of("b1")));
    read_from(&parts, &all, 0, &read);
    assert_string_equal(weir_buf_text(&read), "a1b1");
    uint64_t seen = parts.number;
    for (int i = 0; i < 1000; i++)
        assert_true(orchestrator_live_part_set(&parts, a, weir_bytes_of(i % 2 == 0 ? "a2" : "a3")));
    read_from(&parts, &all, seen, &read);
    assert_string_equal(weir_buf_text(&read), "a3");
    struct live_text *held = orchestrator_live_text_hold(a->text);
    orchestrator_live_part_drop(&parts, a);
    assert_memory_equal(held->at, "a3", held->size);
    orchestrator_live_text_free(held);
    read_from(&parts, &all, 0, &read);
    assert_string_equal(weir_buf_text(&read), "b1");
    orchestrator_live_part_drop(&parts, b);
}

static void a_scope_has_the_parts_of_its_pipelines_and_its_own(void **state)
{
    struct live_scopes scopes = LIST_HEAD_INITIALIZER(scopes);
    struct live_parts parts;
    WEIR_AUTO_BUF read = {0};
    (void)state;
    orchestrator_live_parts_init(&parts);
    struct live_scope *all = orchestrator_live_scope_join(&scopes, "");
    struct live_scope *red = orchestrator_live_scope_join(&scopes, "red");
    assert_ptr_equal(orchestrator_live_scope_join(&scopes, "red"), red);
    all->pipelines[all->pipeline_count++] = 1;
    all->pipelines[all->pipeline_count++] = red->pipelines[red->pipeline_count++] = 2;
    struct live_part *made[] = {add(&parts, (struct live_subject){.scope = all}, "all "),
                                add(&parts, (struct live_subject){.scope = red}, "red "),
                                add(&parts, (struct live_subject){.pipeline = 1}, "1 "),
                                add(&parts, (struct live_subject){.pipeline = 2}, "2 "),
                                add(&parts, (struct live_subject){.pipeline = 3}, "3 ")};
    read_from(&parts, all, 0, &read);
    assert_string_equal(weir_buf_text(&read), "all 1 2 ");
    read_from(&parts, red, 0, &read);
    assert_string_equal(weir_buf_text(&read), "red 2 ");
    uint64_t seen = parts.number;
    red->pipelines[0] = 1; /* the other scope has shown it before */
    read_from(&parts, red, seen, &read);
    assert_string_equal(weir_buf_text(&read), "");
    assert_true(orchestrator_live_parts_renew(&parts, 1));
    read_from(&parts, red, seen, &read);
    assert_string_equal(weir_buf_text(&read), "1 ");
    assert_false(orchestrator_live_parts_renew(&parts, 4));
    for (size_t i = 0; i < WEIR_COUNT(made); i++)
        orchestrator_live_part_drop(&parts, made[i]);
    orchestrator_live_scope_leave(red);
    orchestrator_live_scope_leave(red);
    orchestrator_live_scope_leave(all);
    orchestrator_live_scope_drop(red);
    orchestrator_live_scope_drop(all);
    assert_true(LIST_EMPTY(&scopes));
}

static void the_log_keeps_the_newest_lines_and_goes_on_after_any_of_them(void **state)
{
    enum { LINES = 10000 };
    static struct live_log log;
    (void)state;
    assert_null(orchestrator_live_log_after(&log, 0));
    for (int64_t i = 1; i <= LINES; i++)
        orchestrator_live_log_add(&log, 2 * i, weir_bytes_of("line"));
    int64_t number = 0, count = 0;
    for (const struct live_line *line; (line = orchestrator_live_log_after(&log, number)) != NULL;
         number = line->number) {
        assert_true(line->number > number);
        count++;
    }
    assert_int_equal(count, LIVE_LINES_MAX);
    assert_int_equal(number, 2 * LINES);
    assert_int_equal(orchestrator_live_log_after(&log, 2 * LINES - 3)->number, 2 * LINES - 2);
    orchestrator_live_log_fini(&log);
}

static void the_line_of_an_event_quotes_no_record(void **state)
{
    (void)state;
    json_t *event =
        json_pack("{s:s,s:s,s:s,s:[s],s:{s:i,s:[s]}}", "event", "error", "pipeline", "lab", "error",
                  "Jane", "complaints", "Jane", "audit", "failed", 1, "failures", "Jane");
    json_t *shown = orchestrator_live_event(event);
    char *text = json_dumps(shown, JSON_COMPACT);
    assert_null(strstr(text, "Jane"));
    assert_non_null(strstr(text, "lab"));
    assert_non_null(strstr(text, "\"failed\":1"));
    free(text);
    json_decref(shown);
    json_decref(event);
}

static void the_line_of_a_new_file_names_no_folder(void **state)
{
    (void)state;
    WEIR_AUTO_BUF line = {0};
    json_t *event = json_pack("{s:s,s:s,s:s,s:i}", "event", "file_applied", "pipeline", "lab",
                              "file", "/home/jane/lab.yaml", "after_trigger", 7);
    json_t *shown = orchestrator_live_event(event);
    orchestrator_screen_line_of(shown, &line);
    assert_string_equal(weir_buf_text(&line), "pipeline lab has taken lab.yaml after trigger 7");
    json_decref(shown);
    json_decref(event);
}

static void the_line_of_a_spent_budget_is_whole(void **state)
{
    (void)state;
    WEIR_AUTO_BUF line = {0};
    json_t *event =
        json_pack("{s:s,s:s,s:s,s:i,s:i,s:i,s:s,s:s,s:{s:i,s:i}}", "event", "budget_spent",
                  "pipeline", "lab", "of", "all", "money", 0, "cpu_seconds", 60, "gpu_seconds", 0,
                  "per", "day", "then", "hold", "spent", "cpu_seconds", 61, "gpu_seconds", 0);
    json_t *shown = orchestrator_live_event(event);
    orchestrator_screen_line_of(shown, &line);
    assert_string_equal(weir_buf_text(&line),
                        "pipeline lab: the budget of all pipelines of today is spent: 61 of 60 CPU "
                        "s; nothing fires any more today");
    json_decref(shown);
    json_decref(event);
}

static void words_of_people_are_left_out(void **state)
{
    (void)state;
    json_t *answer =
        json_pack("{s:i,s:[{s:i,s:s,s:s,s:s,s:s}]}", "left_out", 0, "erasures", "erasure", 1,
                  "state", "FINISHED", "reference", "Jane", "error", "Jane", "trouble", "Jane");
    json_t *shown = orchestrator_live_erasures(answer);
    char *text = json_dumps(shown, JSON_COMPACT);
    assert_non_null(strstr(text, "FINISHED"));
    assert_null(strstr(text, "Jane"));
    free(text);
    json_decref(shown);
    json_decref(answer);
}

/* `count` triggers, each with `cells` evaluations. */
static json_t *report_of(int count, int cells)
{
    json_t *triggers = json_array();
    for (int i = 0; i < count; i++) {
        json_t *evaluations = json_array();
        for (int j = 0; j < cells; j++)
            json_array_append_new(evaluations, json_pack("{s:i}", "value", j));
        json_array_append_new(triggers,
                              json_pack("{s:i,s:o}", "trigger", i, "evaluations", evaluations));
    }
    return json_pack("{s:s,s:o,s:[]}", "pipeline", "p", "triggers", triggers, "checks");
}

static void evaluations_are_those_of_the_newest_triggers(void **state)
{
    enum { CELLS = LIVE_CELLS_MAX / 4 };
    json_t *answer = report_of(10, CELLS);
    (void)state;
    json_t *shown = orchestrator_live_report(answer);
    const json_t *triggers = json_object_get(shown, "triggers");
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(
            json_array_size(json_object_get(json_array_get(triggers, i), "evaluations")),
            i < 6 ? 0 : CELLS);
    assert_int_equal(json_integer_value(json_object_get(shown, "evaluations_left_out")), 6 * CELLS);
    json_t *whole =
        json_object_get(json_array_get(json_object_get(answer, "triggers"), 0), "evaluations");
    assert_int_equal(json_array_size(whole), CELLS); /* the answer is as it was */
    json_decref(shown);
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_the_loopback_are_let_in_and_others_are_not),
        cmocka_unit_test(gzip_is_sent_to_those_who_take_it),
        cmocka_unit_test(a_page_that_others_reach_is_encrypted),
        cmocka_unit_test(a_viewer_gets_the_newest_text_of_each_part_once),
        cmocka_unit_test(a_scope_has_the_parts_of_its_pipelines_and_its_own),
        cmocka_unit_test(the_log_keeps_the_newest_lines_and_goes_on_after_any_of_them),
        cmocka_unit_test(the_line_of_an_event_quotes_no_record),
        cmocka_unit_test(the_line_of_a_new_file_names_no_folder),
        cmocka_unit_test(the_line_of_a_spent_budget_is_whole),
        cmocka_unit_test(words_of_people_are_left_out),
        cmocka_unit_test(evaluations_are_those_of_the_newest_triggers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
