/* weir keys, weir tokens, weir audit. */
#include "cli/answer.h"
#include "cli/render.h"

#include <string.h>

/* ---- keys ---- */

static void show_unnoted(const json_t *answer, struct cli_page *page)
{
    const json_t *services = json_object_get(answer, "services");
    for (size_t i = 0; i < json_array_size(services); i++) {
        const json_t *service = json_array_get(services, i);
        if (!cli_flag(service, "noted"))
            cli_line(page, "%s has not noted it yet, and is told until it does",
                     cli_text(service, "service"));
    }
}

void cli_render_keys(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"name", CLI_TEXT, .key = "name"},
        {"role", CLI_TEXT, .key = "role"},
        {"tenant", CLI_TEXT, .key = "tenant", .absent = "-"},
        {"made", CLI_TIME, .key = "made"},
        {"for", CLI_TEXT, .key = "made_for", .absent = "-"},
        {"revoked", CLI_TIME, .key = "revoked", .absent = "-"},
        {"public", CLI_TEXT, .key = "public"},
    };
    const json_t *keys = json_object_get(answer, "keys");
    const char *platform = cli_text(answer, "platform");
    if (platform[0] == '\0')
        cli_line(page, "this platform listens to its own host alone: it needs no keys");
    else
        cli_pair(page, "platform", "%s", platform);
    if (json_array_size(keys) == 0)
        cli_line(page, "nobody is let in from elsewhere: weir keys new ROLE NAME");
    cli_show_table(page, keys, COLUMNS, WEIR_COUNT(COLUMNS));
    if (cli_number(answer, "number") > 1)
        show_unnoted(answer, page);
}

/* A key that was printed is alone on standard output. */
void cli_render_key_made(const json_t *answer, struct cli_page *page)
{
    const char *file = cli_text(answer, "file");
    if (strcmp(file, "-") == 0)
        return;
    cli_pair(page, "key", "%s, %s", cli_text(answer, "name"), cli_text(answer, "role"));
    cli_pair(page, "file", "%s: it holds the secret, give it to nobody else", file);
    cli_pair(page, "platform", "%s", cli_text(answer, "platform"));
    show_unnoted(answer, page);
}

void cli_render_key_allowed(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "key %s is let in", cli_text(answer, "name"));
    show_unnoted(answer, page);
}

void cli_render_key_revoked(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "key %s is revoked: its connections are closed", cli_text(answer, "name"));
    show_unnoted(answer, page);
}

/* ---- tokens ---- */

void cli_render_tokens(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"name", CLI_TEXT, .key = "name"},
        {"tenant", CLI_TEXT, .key = "tenant", .absent = "-"},
        {"made", CLI_TIME, .key = "made"},
    };
    const json_t *tokens = json_object_get(answer, "tokens");
    cli_pair_text(page, "page", cli_text(answer, "page"));
    if (json_array_size(tokens) == 0)
        cli_line(page, "nobody is let in from elsewhere: weir tokens new NAME");
    cli_show_table(page, tokens, COLUMNS, WEIR_COUNT(COLUMNS));
}

void cli_render_token_made(const json_t *answer, struct cli_page *page)
{
    cli_pair(page, "token", "%s", cli_text(answer, "token"));
    const char *tenant = cli_text(answer, "tenant");
    cli_line(page, "it is shown this once: whoever has it may look at %s%s",
             tenant[0] == '\0' ? "the whole platform" : "the pipelines of tenant ", tenant);
}

void cli_render_token_revoked(const json_t *answer, struct cli_page *page)
{
    cli_line(page, "token %s is let in no longer", cli_text(answer, "name"));
}

/* ---- the audit log ---- */

static void put_about(struct weir_buf *out, const json_t *about)
{
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)about, key, value)
    {
        if (json_is_false(value) || (json_is_string(value) && json_string_length(value) == 0))
            continue;
        weir_buf_printf(out, "%s%s", out->size == 0 ? "" : ", ", key);
        if (json_is_string(value))
            weir_buf_printf(out, " %s", json_string_value(value));
        else if (json_is_integer(value))
            weir_buf_printf(out, " %lld", (long long)json_integer_value(value));
    }
}

static json_t *find_order(json_t *rows, int64_t number)
{
    for (size_t i = json_array_size(rows); i > 0; i--)
        if (cli_number(json_array_get(rows, i - 1), "number") == number)
            return json_array_get(rows, i - 1);
    return NULL;
}

/* The end of an order stands in its row. */
static void end_order(json_t *rows, const json_t *record)
{
    json_t *row = find_order(rows, cli_number(record, "order"));
    json_t *about = json_object_get(row, "about");
    if (row == NULL)
        return; /* it began before the first record that is shown */
    json_object_set(row, "outcome", json_object_get(record, "outcome"));
    json_object_update_missing(about, json_object_get(record, "about"));
}

static void put_row_about(struct weir_buf *out, const json_t *row)
{
    put_about(out, json_object_get(row, "about"));
    if (cli_number(row, "times") > 1)
        weir_buf_printf(out, "%s%lld times", out->size == 0 ? "" : ", ",
                        (long long)cli_number(row, "times"));
}

static void show_records(const json_t *records, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"record", CLI_NUMBER, .key = "number"},
        {"at", CLI_TIME, .key = "at"},
        {"who", CLI_TEXT, .key = "who"},
        {"role", CLI_TEXT, .key = "role", .absent = "-"},
        {"what", CLI_TEXT, .key = "what"},
        {"about", CLI_TEXT, .put = put_row_about},
        {"outcome", CLI_TEXT, .key = "outcome", .absent = "(no end)"},
    };
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *record = json_array_get(records, i);
        if (json_object_get(record, "order") != NULL)
            end_order(rows, record);
        else
            json_array_append_new(rows, json_deep_copy(record));
    }
    if (json_array_size(rows) == 0)
        cli_line(page, "nobody has ordered anything, and nobody was refused");
    cli_show_table(page, rows, COLUMNS, WEIR_COUNT(COLUMNS));
    json_decref(rows);
}

static void show_chain(const json_t *answer, struct cli_page *page)
{
    static const struct cli_column COLUMNS[] = {
        {"record", CLI_NUMBER, .key = "record"},
        {"found", CLI_TEXT, .key = "found"},
    };
    WEIR_AUTO_BUF records = {0};
    cli_put_count(&records, cli_number(answer, "records"));
    cli_pair(page, "records", "%s", weir_buf_text(&records));
    cli_pair(page, "newest", "%lld %s", (long long)cli_number(answer, "newest"),
             cli_text(answer, "hash"));
    if (cli_number(answer, "mistakes") == 0)
        cli_line(page, "the chain holds: none of them was changed, put in or taken out");
    else
        cli_line(page, "%lld mistakes: the log is not as it was written",
                 (long long)cli_number(answer, "mistakes"));
    cli_show_table(page, json_object_get(answer, "wrong"), COLUMNS, WEIR_COUNT(COLUMNS));
}

void cli_render_audit(const json_t *answer, struct cli_page *page)
{
    const json_t *records = json_object_get(answer, "records");
    if (json_is_array(records))
        show_records(records, page);
    else
        show_chain(answer, page);
}

int cli_exit_of_audit(const json_t *answer)
{
    return cli_number(answer, "mistakes") == 0 ? CLI_EXIT_DONE : CLI_EXIT_FAILED;
}
