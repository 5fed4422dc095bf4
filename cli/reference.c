/* Reading the reference page, and finding words in it. */
#include "cli/reference.h"

#include "cli/answer.h"
#include "cli/program.h"
#include "core/base/memory.h"
#include "core/config/schema.h"

#include <stdlib.h>
#include <string.h>

/* ---- the page ---- */

static const char *const CELLS[] = {"key", "type", "default", "bounds", "meaning"};

/* One cell of a markdown table: `\|` is a bar inside it, blanks and code marks around words go. */
static const char *read_cell(const char *at, struct weir_buf *cell)
{
    weir_buf_clear(cell);
    for (; *at != '\0' && *at != '|'; at++) {
        at += at[0] == '\\' && at[1] == '|';
        if (*at != '`' && (*at != ' ' || cell->size > 0))
            weir_buf_append(cell, at, 1);
    }
    while (cell->size > 0 && cell->at[cell->size - 1] == ' ')
        cell->size--;
    return *at == '|' ? at + 1 : at;
}

/* "| `epochs` | integer | `1` | >= 1 | passes over the set |" */
static void read_row(const char *line, json_t *keys)
{
    WEIR_AUTO_BUF cell = {0};
    json_t *key = json_object();
    const char *at = line + 1;
    for (size_t i = 0; i < WEIR_COUNT(CELLS); i++) {
        at = read_cell(at, &cell);
        json_object_set_new(key, CELLS[i], json_string(weir_buf_text(&cell)));
    }
    json_array_append_new(keys, key);
}

static json_t *begin_section(const char *heading)
{
    WEIR_AUTO_BUF words = {0};
    (void)read_cell(heading, &words);
    char *list = strstr(weir_buf_text(&words), "[]"); /* nobody types "datasets[].source" */
    if (list != NULL) {
        memmove(list, list + 2, strlen(list + 2) + 1);
        words.size -= 2;
    }
    const char *title = weir_buf_text(&words);
    json_t *section = json_pack("{ss,ss,s[]}", "title", title, "summary", "", "keys");
    const char *colon = strstr(title, ": ");
    if (colon != NULL) {
        json_object_set_new(section, "kind", json_stringn(title, (size_t)(colon - title)));
        json_object_set_new(section, "name", json_string(colon + 2));
    }
    return section;
}

static void read_line(const char *line, json_t *reference)
{
    size_t hashes = strspn(line, "#");
    json_t *section = json_array_get(reference, json_array_size(reference) - 1);
    if (hashes >= 1 && line[hashes] == ' ') {
        json_array_append_new(reference, begin_section(line + hashes + 1));
    } else if (section == NULL || line[0] == '\0') {
        return;
    } else if (line[0] == '|' && line[1] == ' ' && line[2] == '`') {
        read_row(line, json_object_get(section, "keys"));
    } else if (line[0] != '|' && cli_text(section, "summary")[0] == '\0') {
        size_t size = strlen(line);
        json_object_set_new(section, "summary",
                            json_stringn(line, size - (line[size - 1] == '.' ? 1 : 0)));
    }
}

json_t *cli_reference_parse(const char *page)
{
    json_t *reference = json_array();
    while (*page != '\0') {
        size_t size = strcspn(page, "\n");
        WEIR_AUTO_FREE char *line = weir_strndup(page, size);
        read_line(line, reference);
        page += size + (page[size] == '\n' ? 1 : 0);
    }
    return reference;
}

enum weir_status cli_reference_load(json_t **ret_reference, struct weir_error *err)
{
    struct cli_program_end end;
    static const char *const ARGUMENTS[] = {"--describe-config", NULL};
    enum weir_status status = cli_program_run("orchestrator", ARGUMENTS, &end, err);
    if (status != WEIR_OK)
        return status;
    if (end.exit_code == 0) {
        *ret_reference = cli_reference_parse(weir_buf_text(&end.out));
    } else {
        status = weir_fail(err, WEIR_IO, "orchestrator --describe-config failed: %.200s",
                           weir_buf_text(&end.complaints));
    }
    cli_program_end_fini(&end);
    return status;
}

/* ---- finding ---- */

/* True when `path` (not ended by a zero) stands in `title` as whole parts: "batch" in "preprocess.batch". */
static bool has_parts(const char *title, const char *path, size_t size)
{
    for (const char *at = title; at != NULL; at = strchr(at, '.')) {
        at += *at == '.' ? 1 : 0;
        if (strncmp(at, path, size) == 0 && strchr(".:", at[size]) != NULL)
            return true;
    }
    return false;
}

/* True when `words` names the key of this section: "epochs", "training.epochs", "trigger.every" (of
 * trigger.policy: …). */
static bool means_key(const char *title, const char *key, const char *words)
{
    const char *dot = strrchr(words, '.');
    if (strcmp(dot == NULL ? words : dot + 1, key) != 0)
        return false;
    return dot == NULL || has_parts(title, words, (size_t)(dot - words));
}

/* True when `words` is the section's title, or the name of what plugs in: "drift", "trigger.drift", "op.vocab". */
static bool means_section(const json_t *section, const char *words)
{
    const char *name = cli_text(section, "name"), *dot = strrchr(words, '.');
    if (strcmp(cli_text(section, "title"), words) == 0 || strcmp(name, words) == 0)
        return true;
    return dot != NULL && strcmp(dot + 1, name) == 0 &&
           has_parts(cli_text(section, "kind"), words, (size_t)(dot - words));
}

static json_t *meant_keys(const json_t *section, const char *words)
{
    json_t *meant = json_array();
    const json_t *keys = json_object_get(section, "keys");
    bool whole = means_section(section, words);
    for (size_t i = 0; i < json_array_size(keys); i++) {
        json_t *key = json_array_get(keys, i);
        if (whole || means_key(cli_text(section, "title"), cli_text(key, "key"), words))
            json_array_append(meant, key);
    }
    if (!whole && json_array_size(meant) == 0) {
        json_decref(meant);
        return NULL;
    }
    return meant;
}

static enum weir_status fail_unknown(const json_t *reference, const char *words,
                                     struct weir_error *err)
{
    const char *dot = strrchr(words, '.');
    size_t count = 0;
    const char **names = NULL;
    for (size_t i = 0; i < json_array_size(reference); i++) {
        const json_t *section = json_array_get(reference, i);
        const json_t *keys = json_object_get(section, "keys");
        names = weir_realloc(names, count + json_array_size(keys) + 3, sizeof(*names));
        names[count++] = cli_text(section, "title");
        names[count++] = cli_text(section, "name");
        for (size_t j = 0; j < json_array_size(keys); j++)
            names[count++] = cli_text(json_array_get(keys, j), "key");
        names[count] = NULL;
    }
    const char *near = names == NULL ? NULL : cfg_nearest(dot == NULL ? words : dot + 1, names);
    enum weir_status status =
        near == NULL || near[0] == '\0'
            ? weir_fail(err, WEIR_INVALID,
                        "config explain: no key, section or policy is called '%.60s'; weir "
                        "policies lists what there is",
                        words)
            : weir_fail(err, WEIR_INVALID,
                        "config explain: no key, section or policy is called '%.60s' (did you "
                        "mean %s?)",
                        words, near);
    free(names);
    return status;
}

static void find_in(const json_t *reference, bool of_plugins, const char *words, json_t *entries)
{
    for (size_t i = 0; i < json_array_size(reference); i++) {
        const json_t *section = json_array_get(reference, i);
        bool is_plugin = json_object_get(section, "kind") != NULL;
        json_t *keys = is_plugin == of_plugins ? meant_keys(section, words) : NULL;
        if (keys != NULL)
            json_array_append_new(entries,
                                  json_pack("{ss,ss,so}", "title", cli_text(section, "title"),
                                            "summary", cli_text(section, "summary"), "keys", keys));
    }
}

enum weir_status cli_reference_find(const json_t *reference, const char *words,
                                    json_t **ret_entries, struct weir_error *err)
{
    json_t *entries = json_array();
    /* First the sections that every file has, then what plugs in. */
    for (int of_plugins = 0; of_plugins <= 1; of_plugins++)
        find_in(reference, of_plugins, words, entries);
    if (json_array_size(entries) > 0) {
        *ret_entries = entries;
        return WEIR_OK;
    }
    json_decref(entries);
    return fail_unknown(reference, words, err);
}
