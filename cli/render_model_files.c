/* weir models export, diff. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_exported(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "%s is written to %s", cli_text(answer, "model"), cli_text(answer, "file"));
    cli_line(page, "no erasure finds that file: what has seen somebody's data goes on there");
}

static void put_shape(struct weir_buf *out, const json_t *tensor, size_t of)
{
    const json_t *shape = json_array_get(json_object_get(tensor, "shapes"), of);
    weir_buf_printf(out, "%lld x %lld", (long long)json_integer_value(json_array_get(shape, 0)),
                    (long long)json_integer_value(json_array_get(shape, 1)));
}

static void put_first_shape(struct weir_buf *out, const json_t *tensor)
{
    put_shape(out, tensor, 0);
}

static void put_second_shape(struct weir_buf *out, const json_t *tensor)
{
    put_shape(out, tensor, 1);
}

static void put_percent(struct weir_buf *out, const json_t *share)
{
    weir_buf_printf(out, "%.2f %%", 100 * json_number_value(share));
}

static void show_tensors(const json_t *tensors, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"tensor", CLI_TEXT, .key = "name"},
        {"of the first", CLI_NUMBER, .put = put_first_shape},
        {"of the second", CLI_NUMBER, .put = put_second_shape},
        {"compared", CLI_COUNT, .key = "compared"},
        {"changed", CLI_NUMBER, .key = "changed_share", .put = put_percent},
        {"largest", CLI_REAL, .key = "max_abs"},
        {"rms", CLI_REAL, .key = "rms"},
        {"not finite", CLI_COUNT, .key = "not_finite"},
    };
    cli_show_table(page, tensors, COLUMNS, WEIR_COUNT(COLUMNS));
}

void cli_render_diff(const json_t *answer, struct cli_page *page)
{
    const json_t *samples = json_object_get(answer, "samples");
    const json_t *lineage = json_object_get(answer, "lineage");
    const char *a = cli_text(answer, "a"), *b = cli_text(answer, "b");
    if (cli_flag(answer, "same"))
        cli_line(page, "%s and %s are the same, byte for byte", a, b);
    cli_pair_text(page, "not compared", cli_text(answer, "not_compared"));
    cli_pair(page, "samples", "%lld in both sets, %lld in that of %s alone, %lld in that of %s",
             (long long)cli_number(samples, "both"), (long long)cli_number(samples, "only_a"), a,
             (long long)cli_number(samples, "only_b"), b);
    if (cli_text(lineage, "ancestor")[0] == '\0')
        cli_pair(page, "lineage", "they have nothing in common");
    else
        cli_pair(page, "lineage", "%s is %lld trainings, %s %lld trainings behind %s", a,
                 (long long)cli_number(lineage, "steps_a"), b,
                 (long long)cli_number(lineage, "steps_b"), cli_text(lineage, "ancestor"));
    show_tensors(json_object_get(answer, "tensors"), page);
}
