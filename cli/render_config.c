/* weir policies, weir config check, weir config explain. */
#include "cli/answer.h"
#include "cli/render.h"

#include <inttypes.h>

void cli_render_policies(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"kind", CLI_TEXT, .key = "kind"},
        {"name", CLI_TEXT, .key = "name"},
        {"what it does", CLI_TEXT, .key = "summary"},
    };
    cli_show_table(page, json_object_get(answer, "policies"), COLUMNS, WEIR_COUNT(COLUMNS));
    weir_buf_append_text(page->out, "\noptions of one: weir config explain NAME\n");
}

static void show_sample(const json_t *sample, struct cli_page *page)
{
    const json_t *steps = json_object_get(sample, "steps");
    cli_line(page, "  %s  %s", cli_text(sample, "place"), cli_text(sample, "about"));
    cli_line(page, "    %-20s %s", "payload", cli_text(sample, "record"));
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);
        cli_line(page, "    %-20s %s", json_string_value(json_array_get(step, 0)),
                 json_string_value(json_array_get(step, 1)));
    }
}

static void show_samples(const json_t *dataset, struct cli_page *page)
{
    const json_t *samples = json_object_get(dataset, "samples");
    cli_line(page, "%s: %" PRId64 " records of %s were tried; what each operator makes of %zu",
             cli_text(dataset, "dataset"), cli_number(dataset, "records"),
             cli_text(dataset, "path"), json_array_size(samples));
    for (size_t i = 0; i < json_array_size(samples); i++)
        show_sample(json_array_get(samples, i), page);
    cli_line(page, "%s", "");
}

void cli_render_config_check(const json_t *answer, struct cli_page *page)
{
    const json_t *complaints = json_object_get(answer, "complaints");
    const json_t *shown = json_object_get(answer, "shown");
    for (size_t i = 0; i < json_array_size(shown); i++)
        show_samples(json_array_get(shown, i), page);
    for (size_t i = 0; i < json_array_size(complaints); i++)
        cli_line(page, "%s", json_string_value(json_array_get(complaints, i)));
    if (cli_flag(answer, "valid"))
        cli_line(page, "%s: good", cli_text(answer, "file"));
}

static void show_entry(const json_t *entry, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"key", CLI_TEXT, .key = "key"},         {"type", CLI_TEXT, .key = "type"},
        {"default", CLI_TEXT, .key = "default"}, {"bounds", CLI_TEXT, .key = "bounds"},
        {"meaning", CLI_TEXT, .key = "meaning"},
    };
    const char *summary = cli_text(entry, "summary");
    cli_line(page, "%s%s%s", cli_text(entry, "title"), summary[0] == '\0' ? "" : ": ", summary);
    cli_show_table(page, json_object_get(entry, "keys"), COLUMNS, WEIR_COUNT(COLUMNS));
}

void cli_render_config_explain(const json_t *answer, struct cli_page *page)
{
    const json_t *entries = json_object_get(answer, "entries");
    weir_buf_append_text(page->out, cli_text(answer, "yaml"));
    for (size_t i = 0; i < json_array_size(entries); i++) {
        weir_buf_append_text(page->out, i > 0 ? "\n" : "");
        show_entry(json_array_get(entries, i), page);
    }
}
