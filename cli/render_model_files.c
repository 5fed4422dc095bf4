/* weir models export, diff. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_exported(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "%s is written to %s", cli_text(answer, "model"), cli_text(answer, "file"));
    cli_line(page, "no erasure finds that file: what has seen somebody's data goes on there");
}

static void cell_shape(struct cli_table *table, const json_t *shape)
{
    cli_cell(table, "%lld x %lld", (long long)json_integer_value(json_array_get(shape, 0)),
             (long long)json_integer_value(json_array_get(shape, 1)));
}

static void show_tensors(const json_t *tensors, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"tensor", false}, {"of the first", true}, {"of the second", true}, {"compared", true},
        {"changed", true}, {"largest", true},      {"rms", true},           {"not finite", true},
    };
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        const json_t *one = json_array_get(tensors, i);
        const json_t *shapes = json_object_get(one, "shapes");
        cli_cell(&table, "%s", cli_text(one, "name"));
        cell_shape(&table, json_array_get(shapes, 0));
        cell_shape(&table, json_array_get(shapes, 1));
        cli_cell_count(&table, cli_number(one, "compared"));
        cli_cell(&table, "%.2f %%", 100 * cli_real(one, "changed_share"));
        cli_cell(&table, "%.6g", cli_real(one, "max_abs"));
        cli_cell(&table, "%.6g", cli_real(one, "rms"));
        cli_cell_count(&table, cli_number(one, "not_finite"));
    }
    cli_table_show(&table, page);
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
