/* weir plan: the order in which the operators of a pipeline run, and the costs it was chosen by. */
#include "cli/answer.h"
#include "cli/render.h"

#include "core/base/memory.h"

#include <string.h>

enum { PERCENT = 100 };

static void put_fused(struct weir_buf *out, const json_t *word)
{
    const char *fused = json_string_value(word);
    if (fused != NULL)
        weir_buf_append_text(out, strcmp(fused, "loop") == 0 ? "in its loop" : "in one");
}

/* One that others run within theirs counts no rows of its own. */
static void put_percent(struct weir_buf *out, const json_t *share)
{
    if (!json_is_number(share))
        weir_buf_append_text(out, "-");
    else
        weir_buf_printf(out, "%.1f %%", PERCENT * json_number_value(share));
}

void cli_render_plan_verify(const json_t *answer, struct cli_page *page)
{
    const json_t *complaints = json_object_get(answer, "complaints");
    for (size_t i = 0; i < json_array_size(complaints); i++)
        cli_line(page, "%s", json_string_value(json_array_get(complaints, i)));
    const json_t *shown = json_array_get(json_object_get(answer, "shown"), 0);
    const char *file = cli_text(answer, "file");
    long long tried = (long long)cli_number(shown, "orders");
    if (!cli_flag(answer, "valid"))
        return;
    if (shown == NULL)
        cli_line(page, "%s: nothing was compared: there are no records yet", file);
    else if (tried > 0)
        cli_line(page,
                 "%s: the operators may run in other orders too: %lld of them were tried on the "
                 "records, and made the same batches",
                 file, tried);
    else
        cli_line(page,
                 "%s: the operators run as they are written: no other order is legal, or "
                 "plan.order says so",
                 file);
}

static void put_place(const json_t *place, struct cli_page *page)
{
    cli_line(page, "%s", cli_text(place, "why"));
    if (!json_is_null(json_object_get(place, "saved_bytes")))
        cli_line(page,
                 "a row is %.0f bytes shorter on the way then, which saves %.0f ns; a trainer "
                 "spends %.0f ns on it instead",
                 cli_real(place, "saved_bytes"), cli_real(place, "saved_ns"),
                 cli_real(place, "trainer_ns"));
    if (cli_real(place, "trainer_cpu_seconds") > 0)
        cli_line(page, "trainers have spent %.2f s of CPU time on operators",
                 cli_real(place, "trainer_cpu_seconds"));
}

static void put_share(const json_t *share, struct cli_page *page)
{
    cli_line(page, "%s", cli_text(share, "why"));
    if (cli_number(share, "runs") > 0)
        cli_line(page, "%lld runs have shared; %lld batches of this one were found made",
                 (long long)cli_number(share, "runs"), (long long)cli_number(share, "batches"));
}

/* Batches that trainers let be on their way to them, and waiting. */
static void show_in_flight(const json_t *in_flight, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"in flight", CLI_BYTES, .key = "bytes"},
        {"batches", CLI_TENTHS, .key = "batches", .absent = "-"},
        {"loop / s", CLI_HUNDREDTHS, .key = "loop_batches_per_second"},
        {"workers / s", CLI_HUNDREDTHS, .key = "worker_batches_per_second"},
        {"variance", CLI_HUNDREDTHS, .key = "variance"},
        {"needed for", CLI_TEXT, .key = "why"},
    };
    const json_t *trainers = json_object_get(in_flight, "trainers");
    if (json_array_size(trainers) > 0)
        cli_show_table(page, trainers, COLUMNS, WEIR_COUNT(COLUMNS));
}

/* A change of something, and what the run would have then; left out where that brings next to nothing. */
static void put_otherwise(const json_t *limits, const char *key, const char *change,
                          struct cli_page *page)
{
    double optimum = cli_real(limits, "optimum"), rate = cli_real(limits, key);
    double gain = optimum > 0 ? rate / optimum - 1 : 0;
    if (gain >= 1.0 / PERCENT)
        cli_line(page, "  %s: %.2f, %.0f %% more", change, rate, PERCENT * gain);
}

static void show_limits(const json_t *limits, struct cli_page *page)
{
    double optimum = cli_real(limits, "optimum"), delivered = cli_real(limits, "delivered");
    if (!json_is_object(limits) || optimum <= 0)
        return;
    bool is_met = strcmp(cli_text(limits, "limit"), "consumers") == 0;
    cli_line(
        page, "this host (%lld cores) can make %.2f batches a second of it, %.2f came: %.0f %%",
        (long long)cli_number(limits, "cores"), optimum, delivered, PERCENT * delivered / optimum);
    cli_line(page, "  limited by %s%s%s", cli_text(limits, "why"), is_met ? "" : ", most by ",
             is_met ? "" : cli_text(limits, "stage"));
    put_otherwise(limits, "with_one_more_core", "with one more core", page);
    put_otherwise(limits, "with_reads_twice_as_fast", "with reads twice as fast", page);
    WEIR_AUTO_FREE char *kept =
        weir_format("with rows kept after %s", cli_text(limits, "kept_after"));
    put_otherwise(limits, "with_rows_kept", kept, page);
}

static void show_choice(const json_t *keeping, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"rows kept after", CLI_TEXT, .key = "after", .absent = "(none)"},
        {"expected s", CLI_HUNDREDTHS, .key = "seconds"},
        {"bytes", CLI_BYTES, .key = "bytes"},
        {"chosen", CLI_FLAG, .key = "chosen"},
    };
    if (strcmp(cli_text(keeping, "state"), "auto") == 0) {
        cli_show_table(page, json_object_get(keeping, "alternatives"), COLUMNS,
                       WEIR_COUNT(COLUMNS));
        cli_line(page,
                 "of %.0f rows, %.1f uses each from then on, %.0f %% there already; a byte takes "
                 "%.2f ns to write, %.2f ns to read, %.2f ns past the page cache",
                 cli_real(keeping, "rows"), cli_real(keeping, "uses"),
                 PERCENT * cli_real(keeping, "present"), cli_real(keeping, "write_ns_per_byte"),
                 cli_real(keeping, "warm_ns_per_byte"), cli_real(keeping, "cold_ns_per_byte"));
    } else if (strcmp(cli_text(keeping, "state"), "measuring") == 0) {
        cli_line(page, "%s", cli_text(keeping, "why"));
    }
    if (cli_text(keeping, "scale_never")[0] != '\0')
        cli_line(page,
                 "with `scale: never`, what %s makes could be kept: %.0f %% of the operators' time "
                 "is spent up to there",
                 cli_text(keeping, "scale_never"),
                 PERCENT * cli_real(keeping, "scale_never_share"));
}

static void show_kept(const json_t *kept, struct cli_page *page)
{
    if (!json_is_object(kept))
        return;
    cli_line(page, "%lld rows were read from the cache, %lld were made: %.2f s of CPU time saved",
             (long long)cli_number(kept, "hits"), (long long)cli_number(kept, "misses"),
             cli_real(kept, "saved_seconds"));
    if (cli_number(kept, "damaged") > 0)
        cli_line(page, "%lld segments of the cache were damaged: their rows are made again",
                 (long long)cli_number(kept, "damaged"));
}

void cli_render_plan(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"operator", CLI_TEXT, .key = "operator"},
        {"moved up", CLI_FLAG, .key = "moved"},
        {"where", CLI_TEXT, .key = "place"},
        {"with the one above", CLI_TEXT, .key = "fused", .put = put_fused},
        {"CPU s", CLI_HUNDREDTHS, .key = "cpu_seconds"},
        {"rows", CLI_COUNT, .key = "rows"},
        {"in", CLI_BYTES, .key = "bytes_in"},
        {"out", CLI_BYTES, .key = "bytes_out"},
        {"ns / byte", CLI_HUNDREDTHS, .key = "ns_per_byte", .absent = "-"},
        {"kept", CLI_NUMBER, .key = "share_kept", .put = put_percent},
    };
    cli_line(page, "pipeline %s, run %lld: %s", cli_text(answer, "pipeline"),
             (long long)cli_number(answer, "run"), cli_text(answer, "why"));
    cli_show_table(page, json_object_get(answer, "operators"), COLUMNS, WEIR_COUNT(COLUMNS));
    if (cli_text(answer, "kept_after")[0] != '\0')
        cli_line(page, "rows are kept after %s, which nothing passes: see weir cache",
                 cli_text(answer, "kept_after"));
    show_choice(json_object_get(answer, "keeping"), page);
    show_kept(json_object_get(answer, "kept"), page);
    if (cli_number(answer, "tried") > 0)
        cli_line(page, "%lld beginnings of orders were looked at%s: the best promises %.1f %% less",
                 (long long)cli_number(answer, "tried"),
                 json_is_true(json_object_get(answer, "all_orders")) ? ", all there are" : "",
                 PERCENT * cli_real(answer, "promised"));
    if (cli_real(answer, "saved") != 0)
        cli_line(page, "measured since: %.1f %% less", PERCENT * cli_real(answer, "saved"));
    put_place(json_object_get(answer, "place"), page);
    put_share(json_object_get(answer, "share"), page);
    show_in_flight(json_object_get(answer, "in_flight"), page);
    show_limits(json_object_get(answer, "limits"), page);
}
