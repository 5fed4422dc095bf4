/* weir policies, weir config check, weir config explain. */
#include "cli/answer.h"
#include "cli/render.h"

void cli_render_policies(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"kind", false}, {"name", false}, {"what it does", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *policies = json_object_get(answer, "policies");
    for (size_t i = 0; i < json_array_size(policies); i++) {
        const json_t *policy = json_array_get(policies, i);
        cli_cell(&table, "%s", cli_text(policy, "kind"));
        cli_cell(&table, "%s", cli_text(policy, "name"));
        cli_cell(&table, "%s", cli_text(policy, "summary"));
    }
    cli_table_show(&table, page);
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
        {"key", false}, {"type", false}, {"default", false}, {"bounds", false}, {"meaning", false}};
    CLI_AUTO_TABLE table = {.columns = COLUMNS, .column_count = WEIR_COUNT(COLUMNS)};
    const json_t *keys = json_object_get(entry, "keys");
    const char *summary = cli_text(entry, "summary");
    for (size_t i = 0; i < json_array_size(keys); i++)
        for (size_t j = 0; j < WEIR_COUNT(COLUMNS); j++)
            cli_cell(&table, "%s", cli_text(json_array_get(keys, i), COLUMNS[j].title));
    cli_line(page, "%s%s%s", cli_text(entry, "title"), summary[0] == '\0' ? "" : ": ", summary);
    cli_table_show(&table, page);
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
