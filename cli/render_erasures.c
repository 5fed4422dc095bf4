/* weir erase request, status, list, receipt. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

/* Names that are shown; --json has all. */
enum { NAMES_SHOWN = 20 };

static void show_left_out(size_t count, struct cli_page *page)
{
    if (count > NAMES_SHOWN)
        cli_line(page, "and %zu more: --json has all", count - NAMES_SHOWN);
}

static void show_refused(const json_t *one, struct cli_page *page)
{
    const char *kind = cli_text(one, "kind"), *error = cli_text(one, "error");
    long long line = (long long)cli_number(one, "line");
    if (line > 0)
        cli_line(page, "refused: the %s on line %lld: %s", kind, line, error);
    else
        cli_line(page, "refused: %s %lld: %s", kind, (long long)cli_number(one, "place"), error);
}

/* Of --each. */
static void show_many(const json_t *answer, struct cli_page *page)
{
    const json_t *refused = json_object_get(answer, "refused");
    size_t count = json_array_size(refused);
    if (cli_number(answer, "accepted") > 0)
        cli_line(page, "%lld erasures are accepted, numbers %lld to %lld: %lld samples",
                 (long long)cli_number(answer, "accepted"), (long long)cli_number(answer, "first"),
                 (long long)cli_number(answer, "last"), (long long)cli_number(answer, "matched"));
    if (count > 0)
        cli_line(page, "%zu requests are refused", count);
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++)
        show_refused(json_array_get(refused, i), page);
    show_left_out(count, page);
    if (cli_number(answer, "accepted") > 0)
        cli_line(page, "see how they go: weir erase list");
}

/* Names of a request that was accepted for the sake of others. */
static void show_unmatched(const json_t *unmatched, struct cli_page *page)
{
    static const char *const LISTS[] = {"subjects", "keys", "ids"};
    static const char *const KINDS[] = {"subject", "key", "id"};
    size_t count = 0;
    for (size_t list = 0; list < WEIR_COUNT(LISTS); list++) {
        const json_t *names = json_object_get(unmatched, LISTS[list]);
        for (size_t i = 0; i < json_array_size(names); i++) {
            const json_t *name = json_array_get(names, i);
            if (++count > NAMES_SHOWN)
                continue;
            if (json_is_string(name))
                cli_line(page, "no sample has the %s %s", KINDS[list], json_string_value(name));
            else
                cli_line(page, "no sample has the %s %lld", KINDS[list],
                         (long long)json_integer_value(name));
        }
    }
    show_left_out(count, page);
}

void cli_render_erase_accepted(const json_t *answer, struct cli_page *page)
{
    if (json_is_array(json_object_get(answer, "refused"))) {
        show_many(answer, page);
        return;
    }
    if (cli_text(answer, "doing")[0] != '\0' || json_is_array(json_object_get(answer, "models"))) {
        cli_render_erasure(answer, page); /* it was waited for */
        return;
    }
    long long number = (long long)cli_number(answer, "erasure");
    cli_line(page, "erasure %lld is accepted: %lld samples", number,
             (long long)cli_number(answer, "matched"));
    show_unmatched(json_object_get(answer, "unmatched"), page);
    cli_line(page, "see how it goes: weir erase status %lld", number);
}

/* Models of a receipt are done. */
static void put_done(struct weir_buf *out, const json_t *done)
{
    weir_buf_append_text(out, done == NULL || json_is_true(done) ? "yes" : "not yet");
}

static void show_models(const json_t *models, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"model", CLI_TEXT, .key = "model"},
        {"trigger", CLI_NUMBER, .key = "trigger"},
        {"action", CLI_TEXT, .key = "action"},
        {"replacement", CLI_TEXT, .key = "replacement", .absent = "-"},
        {"done", CLI_TEXT, .key = "done", .put = put_done},
    };
    if (json_array_size(models) > 0)
        weir_buf_append_text(page->out, "\n");
    cli_show_table(page, models, COLUMNS, WEIR_COUNT(COLUMNS));
}

void cli_render_erasure(const json_t *answer, struct cli_page *page)
{
    cli_pair(page, "erasure", "%lld", (long long)cli_number(answer, "erasure"));
    cli_pair_text(page, "reference", cli_text(answer, "reference"));
    cli_pair_text(page, "dataset", cli_text(answer, "dataset"));
    cli_pair(page, "state", "%s: %s", cli_text(answer, "state"), cli_text(answer, "doing"));
    cli_pair_text(page, "trouble", cli_text(answer, "error"));
    cli_pair_text(page, "trouble", cli_text(answer, "trouble"));
    cli_pair(page, "samples", "%lld", (long long)cli_number(answer, "samples"));
    cli_pair_time(page, "accepted", cli_text(answer, "accepted"));
    cli_pair_time(page, "in force", cli_text(answer, "in_force"));
    cli_pair_time(page, "models replaced", cli_text(answer, "models_replaced"));
    cli_pair_time(page, "finished", cli_text(answer, "finished"));
    if (cli_text(answer, "finished")[0] == '\0') {
        cli_pair_time(page, cli_flag(answer, "overdue") ? "OVERDUE since" : "due",
                      cli_text(answer, "due"));
    }
    cli_pair_text(page, "receipt", cli_text(answer, "receipt_hash"));
    show_unmatched(json_object_get(answer, "unmatched"), page);
    show_models(json_object_get(answer, "models"), page);
}

/* Below the list: what is late, and what stands in its way. */
static void show_waiting(const json_t *one, struct cli_page *page)
{
    long long number = (long long)cli_number(one, "erasure");
    const char *error = cli_text(one, "error"), *trouble = cli_text(one, "trouble");
    bool is_finished = cli_text(one, "finished")[0] != '\0';
    if (cli_flag(one, "overdue"))
        cli_line(page, "erasure %lld was due on %s", number, cli_text(one, "due"));
    if (trouble[0] != '\0' || (error[0] != '\0' && !is_finished))
        cli_line(page, "erasure %lld %s: %s", number,
                 is_finished ? "has its receipt, but" : "waits",
                 trouble[0] != '\0' ? trouble : error);
}

static void put_state(struct weir_buf *out, const json_t *erasure)
{
    weir_buf_printf(out, "%s%s", cli_text(erasure, "state"),
                    cli_flag(erasure, "overdue") ? " (overdue)" : "");
}

void cli_render_erasures(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"erasure", CLI_NUMBER, .key = "erasure"},   {"state", CLI_TEXT, .put = put_state},
        {"samples", CLI_COUNT, .key = "samples"},    {"accepted", CLI_TIME, .key = "accepted"},
        {"in force", CLI_TIME, .key = "in_force"},   {"finished", CLI_TIME, .key = "finished"},
        {"reference", CLI_TEXT, .key = "reference"},
    };
    const json_t *erasures = json_object_get(answer, "erasures");
    if (cli_number(answer, "left_out") > 0)
        cli_line(page, "the newest %zu; %lld older ones are left out", json_array_size(erasures),
                 (long long)cli_number(answer, "left_out"));
    if (json_array_size(erasures) == 0)
        cli_line(page, "nobody has asked for an erasure");
    cli_show_table(page, erasures, COLUMNS, WEIR_COUNT(COLUMNS));
    for (size_t i = 0; i < json_array_size(erasures); i++)
        show_waiting(json_array_get(erasures, i), page);
}

/* ---- the receipt ---- */

static void show_memory(const json_t *memory, struct cli_page *page)
{
    const json_t *others = json_object_get(memory, "not_wiped");
    cli_pair(page, "memory", "wiped in %zu processes",
             json_array_size(json_object_get(memory, "wiped")));
    for (size_t i = 0; i < json_array_size(others); i++) {
        const json_t *other = json_array_get(others, i);
        cli_pair(page, "not wiped", "%s: %s", cli_text(other, "process"), cli_text(other, "why"));
    }
}

/* Receipts before version 3 call the records files, and do not count files. */
static void show_scrubbed(const json_t *storage, struct cli_page *page)
{
    WEIR_AUTO_BUF bytes = {0};
    long long records = (long long)cli_number(storage, "records_scrubbed");
    long long files = (long long)cli_number(storage, "files_scrubbed");
    cli_put_bytes(&bytes, cli_real(storage, "bytes_scrubbed"));
    if (json_object_get(storage, "records_scrubbed") == NULL)
        cli_pair(page, "scrubbed", "%lld record%s, %s", files, files == 1 ? "" : "s",
                 weir_buf_text(&bytes));
    else
        cli_pair(page, "scrubbed", "%lld record%s in %lld file%s, %s", records,
                 records == 1 ? "" : "s", files, files == 1 ? "" : "s", weir_buf_text(&bytes));
}

/* "28 records, 1 files", as the receipt has it. */
static void put_held(struct weir_buf *out, const json_t *place)
{
    const char *kind;
    json_t *count;
    json_object_foreach(json_object_get(place, "held"), kind, count)
    {
        weir_buf_append_text(out, out->size > 0 ? ", " : "");
        cli_put_count(out, cli_number_of(count));
        weir_buf_printf(out, " %s", kind);
    }
    if (out->size == 0)
        weir_buf_append_text(out, "-");
}

static void put_gone(struct weir_buf *out, const json_t *place)
{
    bool held_any = json_object_size(json_object_get(place, "held")) > 0;
    weir_buf_append_text(out, !cli_flag(place, "gone") ? "NOT gone"
                              : held_any               ? "gone"
                                                       : "nothing found");
}

static void show_places(const json_t *places, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"place", CLI_TEXT, .key = "place"},     {"files", CLI_COUNT, .key = "files"},
        {"searched", CLI_BYTES, .key = "bytes"}, {"held of them", CLI_TEXT, .put = put_held},
        {"now", CLI_TEXT, .put = put_gone},
    };
    if (json_array_size(places) > 0)
        weir_buf_append_text(page->out, "\n");
    cli_show_table(page, places, COLUMNS, WEIR_COUNT(COLUMNS));
}

static void show_storage(const json_t *storage, struct cli_page *page)
{
    WEIR_AUTO_BUF searched = {0};
    const json_t *dropped = json_object_get(storage, "dropped");
    const json_t *outside = json_object_get(storage, "outside_reach");
    cli_put_bytes(&searched, cli_real(storage, "bytes_searched"));
    show_scrubbed(storage, page);
    if (cli_number(storage, "objects_cleaned") > 0)
        cli_pair(page, "in buckets", "%lld objects deleted or rewritten, with all versions",
                 (long long)cli_number(storage, "objects_cleaned"));
    cli_pair(page, "searched", "%s for what was erased: found in %lld places",
             weir_buf_text(&searched), (long long)cli_number(storage, "found"));
    cli_pair(page, "holders", "%lld answered, %lld leases ran out",
             (long long)cli_number(storage, "holders_answered"),
             (long long)cli_number(storage, "holders_expired"));
    for (size_t i = 0; i < json_array_size(dropped); i++)
        cli_pair(page, "dropped", "%s", json_string_value(json_array_get(dropped, i)));
    for (size_t i = 0; i < json_array_size(outside); i++)
        cli_pair(page, "outside reach", "%s", json_string_value(json_array_get(outside, i)));
}

void cli_render_receipt(const json_t *answer, struct cli_page *page)
{
    const json_t *timeline = json_object_get(answer, "timeline");
    const json_t *datasets = json_object_get(answer, "datasets");
    const char *previous = cli_text(answer, "previous");
    cli_pair(page, "receipt of", "erasure %lld, %lld samples",
             (long long)cli_number(answer, "erasure"), (long long)cli_number(answer, "samples"));
    cli_pair_text(page, "reference", cli_text(answer, "reference"));
    for (size_t i = 0; i < json_array_size(datasets); i++) {
        const json_t *one = json_array_get(datasets, i);
        cli_pair(page, "found in", "dataset '%s': %lld samples", cli_text(one, "dataset"),
                 (long long)cli_number(one, "samples"));
    }
    cli_pair_time(page, "accepted", cli_text(timeline, "accepted"));
    cli_pair_time(page, "in force", cli_text(timeline, "in_force"));
    cli_pair_time(page, "scrubbed", cli_text(timeline, "scrubbed"));
    cli_pair_time(page, "models replaced", cli_text(timeline, "models_replaced"));
    cli_pair_time(page, "verified", cli_text(timeline, "verified"));
    show_storage(json_object_get(answer, "storage"), page);
    if (json_object_get(answer, "memory") != NULL)
        show_memory(json_object_get(answer, "memory"), page);
    cli_pair(page, "previous", "%s",
             previous[0] == '\0' ? "none: the first of its chain" : previous);
    cli_pair(page, "hash", "%s", cli_text(answer, "hash"));
    cli_pair_text(page, "signed by", cli_text(answer, "public_key"));
    show_places(json_object_get(answer, "places"), page);
    show_models(json_object_get(answer, "models"), page);
    cli_show_export_copies(json_object_get(answer, "exports"), page);
}

void cli_render_erase_key(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "%s", cli_text(answer, "public_key"));
}

/* ---- exit codes ---- */

int cli_exit_of_erasure(const json_t *answer)
{
    if (json_array_size(json_object_get(answer, "refused")) > 0)
        return CLI_EXIT_FAILED;
    return cli_flag(answer, "overdue") || cli_flag(answer, "unverified") ? CLI_EXIT_OVERDUE
                                                                         : CLI_EXIT_DONE;
}

int cli_exit_of_erasures(const json_t *answer)
{
    const json_t *erasures = json_object_get(answer, "erasures");
    for (size_t i = 0; i < json_array_size(erasures); i++)
        if (cli_exit_of_erasure(json_array_get(erasures, i)) != CLI_EXIT_DONE)
            return CLI_EXIT_OVERDUE;
    return CLI_EXIT_DONE;
}
