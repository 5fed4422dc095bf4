/* See absent.h. */
#include "preprocess/preview/absent.h"

#include "core/base/json.h"
#include "core/base/memory.h"

#include <stdlib.h>

enum { TOLD_MAX = 5 };

/* The names of one operator. */
struct names {
    const char **of;
    bool *are_met;
    size_t count, absent;
};

static const struct weir_yaml_node *names_of(const struct weir_yaml_node *written)
{
    const char *name = weir_yaml_text(weir_yaml_get(written, "op"));

    if (weir_str_equal(name, "json_fields") || weir_str_equal(name, "json_words"))
        return weir_yaml_get(written, "fields");
    return weir_str_equal(name, "json_text") ? weir_yaml_get(written, "field") : NULL;
}

/* True for an operator that reads the record and makes something of a field that is not there. */
static bool bears_absence(const struct weir_yaml_node *written)
{
    const char *on = weir_yaml_text(weir_yaml_get(written, "on"));
    const char *optional = weir_yaml_text(weir_yaml_get(written, "optional"));

    return names_of(written) != NULL && (on == NULL || weir_str_equal(on, "payload")) &&
           (weir_yaml_get(written, "fill") != NULL || weir_str_equal(optional, "true") ||
            weir_str_equal(weir_yaml_text(weir_yaml_get(written, "op")), "json_words"));
}

/* A list, or a single one. */
static struct names read_names(const struct weir_yaml_node *list)
{
    const char *only = weir_yaml_text(list);
    struct names names = {.count = only != NULL ? 1 : weir_yaml_length(list)};

    names.of = weir_calloc(names.count + 1, sizeof(*names.of));
    names.are_met = weir_calloc(names.count + 1, sizeof(*names.are_met));
    for (size_t i = 0; i < names.count; i++)
        names.of[i] = only != NULL ? only : weir_yaml_text(weir_yaml_at(list, i));
    return names;
}

/* As operators take it: null is as if it were absent. */
static void meet(struct names *names, const struct records *records)
{
    WEIR_AUTO(weir_json) json = weir_json_new(names->of, names->count);

    names->absent = names->count;
    for (size_t r = 0; r < records->count && names->absent > 0; r++) {
        if (!weir_json_read(json, preprocess_records_bytes(records, r)))
            continue;
        for (size_t i = 0; i < names->count; i++) {
            struct weir_bytes found = weir_json_found(json, i);

            if (names->are_met[i] || found.at == NULL || found.at[0] == 'n')
                continue;
            names->are_met[i] = true;
            names->absent--;
        }
    }
}

static void list_absent(const struct names *names, struct weir_buf *out)
{
    size_t told = 0;

    for (size_t i = 0; i < names->count && told < TOLD_MAX; i++)
        if (!names->are_met[i])
            weir_buf_printf(out, "%s'%s'", told++ > 0 ? ", " : "", names->of[i]);
    if (told < names->absent)
        weir_buf_printf(out, " and %zu more", names->absent - told);
}

/* Names alone: they are no values of anybody. */
static void list_present(const struct records *records, struct weir_buf *out)
{
    struct weir_bytes record = preprocess_records_bytes(records, 0);
    json_t *object = json_loadb((const char *)record.at, record.size, 0, NULL), *value;
    const char *name, *before = "";

    json_object_foreach(object, name, value)
    {
        weir_buf_printf(out, "%s%s", before, name);
        before = ", ";
    }
    json_decref(object);
}

static void remark(const struct trial *trial, const struct records *records,
                   const struct weir_yaml_node *written, const struct names *names)
{
    const char *fill = weir_yaml_text(weir_yaml_get(written, "fill"));
    const char *name = weir_yaml_text(weir_yaml_get(written, "op"));
    const char *empty = weir_str_equal(name, "json_words") ? "no word" : "an empty text";
    WEIR_AUTO_FREE char *place = preprocess_records_place(records, 0);
    WEIR_AUTO_BUF absent = {0};
    WEIR_AUTO_BUF present = {0};

    list_absent(names, &absent);
    list_present(records, &present);
    cfg_note_at(trial->complaints, WEIR_OK, written,
                "preprocess.operators: %s: none of %zu records has %s, which is %s in each then: "
                "expected a field of theirs; those of %s are %s",
                name, records->count, weir_buf_text(&absent), fill != NULL ? fill : empty, place,
                weir_buf_text(&present));
}

void preprocess_absent_check(const struct trial *trial, const struct records *records)
{
    for (size_t i = 0; i < weir_yaml_length(trial->operators) && records->count > 0; i++) {
        const struct weir_yaml_node *written = weir_yaml_at(trial->operators, i);

        if (!bears_absence(written))
            continue;
        struct names names = read_names(names_of(written));
        meet(&names, records);
        if (names.absent > 0)
            remark(trial, records, written, &names);
        free((void *)names.of);
        free(names.are_met);
    }
}
