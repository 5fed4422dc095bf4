/* cfg_read(): a mapping against its table, all complaints at once. */
#include "core/config/schema.h"
#include "core/config/value.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { COMPLAINTS_MAX = 10, FOUND_MAX = 60, MORE_MAX = 24 };

/* One cfg_read() in progress. */
struct reading {
    const struct cfg_key *keys;
    const struct weir_yaml_node *node;
    const char *path; /* "training", or "" at the top */
    struct weir_error *err;
    char text[WEIR_ERROR_TEXT_MAX];
    size_t text_size;
    size_t complaint_count;
    size_t hidden_count; /* complaints that found no room */
};

/* ---- complaints ---- */

/* Adds a whole line or none; the buffer keeps room for "and 9 more". */
static void add_line(struct reading *reading, const char *line)
{
    size_t size = strlen(line);
    size_t gap = reading->text_size > 0 ? 1 : 0;
    reading->complaint_count++;
    bool is_first = reading->text_size == 0;
    bool fits = reading->text_size + gap + size + MORE_MAX < sizeof(reading->text);
    if (reading->complaint_count > COMPLAINTS_MAX || (!fits && !is_first)) {
        reading->hidden_count++;
        return;
    }
    if (!fits)
        size = sizeof(reading->text) - MORE_MAX - 1;
    if (gap > 0)
        reading->text[reading->text_size++] = '\n';
    memcpy(reading->text + reading->text_size, line, size);
    reading->text_size += size;
    reading->text[reading->text_size] = '\0';
}

/* "file:1:2: training.epochs: " */
static void place(const struct reading *reading, const struct weir_yaml_node *node, const char *key,
                  struct weir_buf *out)
{
    weir_yaml_place(node, out);
    if (reading->path[0] != '\0')
        weir_buf_append_text(out, reading->path);
    if (key != NULL)
        weir_buf_printf(out, "%s%.*s", reading->path[0] != '\0' ? "." : "", FOUND_MAX, key);
    if (reading->path[0] != '\0' || key != NULL)
        weir_buf_append_text(out, ": ");
}

static void append_found(const struct weir_yaml_node *node, struct weir_buf *out)
{
    const char *text = weir_yaml_text(node);
    if (text != NULL)
        weir_buf_printf(out, ", found '%.*s%s'", FOUND_MAX, text,
                        strlen(text) > FOUND_MAX ? "…" : "");
    else if (weir_yaml_is_mapping(node))
        weir_buf_append_text(out, ", found a mapping");
    else
        weir_buf_append_text(out, weir_yaml_is_null(node) ? ", found nothing" : ", found a list");
}

static void complain(struct reading *reading, const struct weir_yaml_node *value,
                     const struct cfg_key *key)
{
    WEIR_AUTO_BUF line = {0};
    place(reading, value, key->name, &line);
    weir_buf_append_text(&line, "expected ");
    cfg_value_expected(key, &line);
    append_found(value, &line);
    const char *text = weir_yaml_text(value);
    const char *meant =
        key->kind == CFG_KIND_CHOICE && text != NULL ? cfg_nearest(text, key->choices) : NULL;
    if (meant != NULL)
        weir_buf_printf(&line, " (did you mean '%s'?)", meant);
    add_line(reading, weir_buf_text(&line));
}

static void complain_missing(struct reading *reading, const struct cfg_key *key)
{
    WEIR_AUTO_BUF line = {0};
    place(reading, reading->node, NULL, &line);
    weir_buf_printf(&line, "the key '%s' is missing", key->name);
    if (key->doc != NULL)
        weir_buf_printf(&line, ": %s", key->doc);
    add_line(reading, weir_buf_text(&line));
}

/* ---- unknown keys ---- */

bool cfg_has_key(const struct cfg_key *keys, const char *name)
{
    for (; keys->name != NULL; keys++) {
        if (strcmp(keys->name, name) == 0)
            return true;
    }
    return false;
}

/* The names of the table, NULL-terminated; the caller frees the array. */
static const char **list_names(const struct cfg_key *keys)
{
    size_t count = 0;
    while (keys[count].name != NULL)
        count++;
    const char **names = weir_calloc(count + 1, sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = keys[i].name;
    return names;
}

static void complain_unknown(struct reading *reading, size_t index)
{
    WEIR_AUTO_BUF line = {0};
    WEIR_AUTO_FREE const char **names = list_names(reading->keys);
    const char *name = weir_yaml_key(reading->node, index);
    place(reading, weir_yaml_key_node(reading->node, index), name, &line);
    const char *meant = cfg_nearest(name, names);
    if (meant != NULL) {
        weir_buf_printf(&line, "unknown key (did you mean '%s'?)", meant);
    } else {
        weir_buf_append_text(&line, "unknown key");
        for (size_t i = 0; names[i] != NULL; i++)
            weir_buf_printf(&line, "%s%s", i == 0 ? ", expected one of: " : ", ", names[i]);
    }
    add_line(reading, weir_buf_text(&line));
}

static void check_unknown(struct reading *reading, const char *also)
{
    for (size_t i = 0; i < weir_yaml_pairs(reading->node); i++) {
        const char *name = weir_yaml_key(reading->node, i);
        if (!cfg_has_key(reading->keys, name) && (also == NULL || strcmp(also, name) != 0))
            complain_unknown(reading, i);
    }
}

/* ---- values ---- */

static void read_texts(struct reading *reading, const struct cfg_key *key,
                       const struct weir_yaml_node *value, struct cfg_texts *member)
{
    size_t count = weir_yaml_length(value);
    for (size_t i = 0; i < count; i++) {
        if (weir_yaml_text(weir_yaml_at(value, i)) == NULL) {
            complain(reading, weir_yaml_at(value, i), key);
            return;
        }
    }
    *member = (struct cfg_texts){.count = count, .node = value};
}

static void read_value(struct reading *reading, const struct cfg_key *key,
                       const struct weir_yaml_node *value, void *member)
{
    if (key->kind == CFG_KIND_NODE) {
        *(const struct weir_yaml_node **)member = value;
    } else if (key->kind == CFG_KIND_TEXTS) {
        read_texts(reading, key, value, member);
    } else {
        const char *text = weir_yaml_text(value);
        if (text == NULL || !cfg_value_store(key, text, member))
            complain(reading, value, key);
    }
}

static void read_key(struct reading *reading, const struct cfg_key *key, void *section)
{
    const struct weir_yaml_node *value = weir_yaml_get(reading->node, key->name);
    void *member = (char *)section + key->offset;
    if (value != NULL && !weir_yaml_is_null(value)) {
        read_value(reading, key, value, member);
    } else if (key->required) {
        complain_missing(reading, key);
    } else if (key->fallback != NULL) {
        bool is_stored = cfg_value_store(key, key->fallback, member);
        weir_require(is_stored); /* the table's own default must pass its own rules */
    }
}

static enum weir_status report(struct reading *reading)
{
    if (reading->hidden_count > 0)
        return weir_fail(reading->err, WEIR_INVALID, "%s\n… and %zu more", reading->text,
                         reading->hidden_count);
    return weir_fail(reading->err, WEIR_INVALID, "%s", reading->text);
}

static enum weir_status fail_shape(const struct reading *reading)
{
    WEIR_AUTO_BUF line = {0};
    place(reading, reading->node, NULL, &line);
    weir_buf_append_text(&line, "expected a mapping (key: value)");
    append_found(reading->node, &line);
    return weir_fail(reading->err, WEIR_INVALID, "%s", weir_buf_text(&line));
}

enum weir_status cfg_read_section(const struct cfg_reading *asked)
{
    struct reading reading = {
        .keys = asked->keys,
        .node = asked->node,
        .path = asked->path != NULL ? asked->path : "",
        .err = asked->err,
    };
    if (asked->strictness != CFG_ALONE && asked->node != NULL &&
        !weir_yaml_is_mapping(asked->node) && !weir_yaml_is_null(asked->node))
        return fail_shape(&reading);
    if (asked->strictness == CFG_CLOSED)
        check_unknown(&reading, asked->also);
    for (const struct cfg_key *key = asked->keys; key->name != NULL; key++)
        read_key(&reading, key, asked->section);
    return reading.complaint_count > 0 ? report(&reading) : WEIR_OK;
}

struct cfg_key *cfg_join(const struct cfg_key *shared, const struct cfg_key *own, size_t own_at)
{
    size_t shared_count = 0, own_count = 0;
    while (shared[shared_count].name != NULL)
        shared_count++;
    while (own[own_count].name != NULL)
        own_count++;
    struct cfg_key *keys = weir_calloc(shared_count + own_count + 1, sizeof(*keys));
    memcpy(keys, shared, shared_count * sizeof(*keys));
    memcpy(keys + shared_count, own, own_count * sizeof(*keys));
    for (size_t i = 0; i < own_count; i++)
        keys[shared_count + i].offset += own_at;
    return keys;
}
