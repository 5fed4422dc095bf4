/* The description of a table by itself: effective values as YAML, and the reference page as markdown. */
#include "core/config/schema.h"
#include "core/config/value.h"

#include <inttypes.h>
#include <string.h>

/* Members are reached by offset; memcpy keeps the compiler's view of types intact. */
#define MEMBER(type, member)                   \
    (__extension__({                           \
        type value_;                           \
        memcpy(&value_, member, sizeof(type)); \
        value_;                                \
    }))

static void print_texts(struct cfg_texts texts, struct weir_buf *out)
{
    weir_buf_append_text(out, "[");
    for (size_t i = 0; i < texts.count; i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        weir_yaml_print(weir_yaml_at(texts.node, i), out);
    }
    weir_buf_append_text(out, "]");
}

static void print_value(const struct cfg_key *key, const void *member, struct weir_buf *out)
{
    switch (key->kind) {
    case CFG_KIND_BOOL:
        weir_buf_append_text(out, MEMBER(bool, member) ? "true" : "false");
        break;
    case CFG_KIND_I64:
        weir_buf_printf(out, "%" PRId64, MEMBER(int64_t, member));
        break;
    case CFG_KIND_U64:
        weir_buf_printf(out, "%" PRIu64, MEMBER(uint64_t, member));
        break;
    case CFG_KIND_F64:
        weir_buf_printf(out, "%.15g", MEMBER(double, member));
        break;
    case CFG_KIND_TEXT:
        weir_yaml_print_text(MEMBER(const char *, member), out);
        break;
    case CFG_KIND_DURATION:
        cfg_value_print_duration(MEMBER(int64_t, member), out);
        break;
    case CFG_KIND_SIZE:
        cfg_value_print_size(MEMBER(uint64_t, member), out);
        break;
    case CFG_KIND_CHOICE:
        weir_buf_append_text(out, key->choices[MEMBER(int, member)]);
        break;
    case CFG_KIND_TEXTS:
        print_texts(MEMBER(struct cfg_texts, member), out);
        break;
    case CFG_KIND_NODE:
        weir_yaml_print(MEMBER(const struct weir_yaml_node *, member), out);
        break;
    }
}

void cfg_print(const struct cfg_key *keys, const void *section, int indent, struct weir_buf *out)
{
    for (const struct cfg_key *key = keys; key->name != NULL; key++) {
        weir_buf_printf(out, "%*s%s: ", indent, "", key->name);
        print_value(key, (const char *)section + key->offset, out);
        weir_buf_append_text(out, "\n");
    }
}

static const char *kind_name(enum cfg_kind kind)
{
    static const char *const NAMES[] = {
        [CFG_KIND_BOOL] = "bool",         [CFG_KIND_I64] = "integer", [CFG_KIND_U64] = "integer",
        [CFG_KIND_F64] = "number",        [CFG_KIND_TEXT] = "text",   [CFG_KIND_SIZE] = "size",
        [CFG_KIND_DURATION] = "duration", [CFG_KIND_CHOICE] = "",     [CFG_KIND_TEXTS] = "texts",
        [CFG_KIND_NODE] = "any",
    };
    return NAMES[kind];
}

static void document_key(const struct cfg_key *key, struct weir_buf *out)
{
    weir_buf_printf(out, "| `%s` | %s", key->name, kind_name(key->kind));
    for (size_t i = 0; key->kind == CFG_KIND_CHOICE && key->choices[i] != NULL; i++)
        weir_buf_printf(out, "%s`%s`", i > 0 ? " \\| " : "", key->choices[i]);
    if (key->required)
        weir_buf_append_text(out, " | required | ");
    else if (key->fallback != NULL)
        weir_buf_printf(out, " | `%s` | ", key->fallback);
    else
        weir_buf_append_text(out, " | | ");
    cfg_value_bounds(key, out);
    weir_buf_printf(out, " | %s |\n", key->doc != NULL ? key->doc : "");
}

void cfg_document(const struct cfg_key *keys, struct weir_buf *out)
{
    weir_buf_append_text(out, "| key | type | default | bounds | meaning |\n"
                              "|---|---|---|---|---|\n");
    for (const struct cfg_key *key = keys; key->name != NULL; key++)
        document_key(key, out);
}
