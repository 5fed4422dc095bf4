/* weir policies, weir config check, weir config explain. */
#include "cli/answer.h"
#include "cli/render.h"

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

void cli_render_config_check(const json_t *answer, struct cli_page *page)
{
    const json_t *complaints = json_object_get(answer, "complaints");
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
