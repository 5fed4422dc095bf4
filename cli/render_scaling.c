/* weir workers, the part on scaling: the workers each run needs, by what was measured, and what its policy does. */
#include "cli/answer.h"
#include "cli/render.h"

enum { PERCENT = 100 };

static void put_share(struct weir_buf *out, const json_t *share)
{
    weir_buf_printf(out, "%.0f %%", PERCENT * json_number_value(share));
}

/* "jump", or "probe …" while something is being tried */
static json_t *row_of(const json_t *run)
{
    const json_t *scaling = json_object_get(run, "scaling");
    json_t *row = json_deep_copy(scaling);
    WEIR_AUTO_BUF why = {0};
    weir_buf_printf(&why, "%s%s", cli_text(scaling, "why"),
                    json_is_true(json_object_get(scaling, "settled")) ? "" : " …");
    json_object_set(row, "run", json_object_get(run, "run"));
    json_object_set_new(row, "why", json_string(weir_buf_text(&why)));
    return row;
}

void cli_show_scaling(const json_t *runs, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"run", CLI_COUNT, .key = "run"},
        {"policy", CLI_TEXT, .key = "policy"},
        {"needs", CLI_HUNDREDTHS, .key = "need"},
        {"asks for", CLI_COUNT, .key = "workers"},
        {"has", CLI_HUNDREDTHS, .key = "given"},
        {"takes / s", CLI_HUNDREDTHS, .key = "wanted_batches_a_second"},
        {"a worker makes / s", CLI_HUNDREDTHS, .key = "made_batches_a_second"},
        {"waits", CLI_NUMBER, .key = "stall_fraction", .put = put_share},
        {"why", CLI_TEXT, .key = "why"},
    };
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        if (cli_number(json_object_get(run, "scaling"), "reports") > 0)
            json_array_append_new(rows, row_of(run));
    }
    if (json_array_size(rows) > 0) {
        cli_line(page, "%s", "");
        cli_show_table(page, rows, COLUMNS, WEIR_COUNT(COLUMNS));
    }
    json_decref(rows);
}
