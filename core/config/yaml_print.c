/* Writing YAML that reads back as the same tree. */
#include "core/config/yaml_tree.h"

#include <string.h>

/* Plain is safe for words, numbers, paths, durations; everything else is quoted. */
static bool is_plain(const char *text)
{
    static const char SAFE[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
    static const char *const RESERVED[] = {"null", "Null", "NULL"};
    if (text[0] == '\0' || text[strspn(text, SAFE)] != '\0')
        return false;
    if (strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0 || strcmp(text, "-") == 0)
        return false;
    for (size_t i = 0; i < WEIR_COUNT(RESERVED); i++) {
        if (strcmp(text, RESERVED[i]) == 0)
            return false;
    }
    return true;
}

void weir_yaml_print_quoted(const char *text, struct weir_buf *out)
{
    weir_buf_append_text(out, "\"");
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\')
            weir_buf_printf(out, "\\%c", byte);
        else if (byte < ' ' || byte == 0x7f)
            weir_buf_printf(out, "\\x%02x", byte);
        else
            weir_buf_append(out, at, 1);
    }
    weir_buf_append_text(out, "\"");
}

void weir_yaml_print_text(const char *text, struct weir_buf *out)
{
    if (text == NULL)
        weir_buf_append_text(out, "null");
    else if (is_plain(text))
        weir_buf_append_text(out, text);
    else
        weir_yaml_print_quoted(text, out);
}

typedef void print_scalar_fn(const struct weir_yaml_node *node, struct weir_buf *out);

static void print_short(const struct weir_yaml_node *node, struct weir_buf *out)
{
    weir_yaml_print_text(weir_yaml_text(node), out);
}

static void print_as_written(const struct weir_yaml_node *node, struct weir_buf *out)
{
    if (weir_yaml_is_scalar(node) && !node->is_plain)
        weir_yaml_print_quoted(node->text, out);
    else
        print_short(node, out);
}

static void print_node(const struct weir_yaml_node *node, print_scalar_fn *print_scalar,
                       struct weir_buf *out);

static void print_list(const struct weir_yaml_node *node, print_scalar_fn *print_scalar,
                       struct weir_buf *out)
{
    weir_buf_append_text(out, "[");
    for (size_t i = 0; i < weir_yaml_length(node); i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        print_node(weir_yaml_at(node, i), print_scalar, out);
    }
    weir_buf_append_text(out, "]");
}

static void print_mapping(const struct weir_yaml_node *node, print_scalar_fn *print_scalar,
                          struct weir_buf *out)
{
    weir_buf_append_text(out, "{");
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        weir_yaml_print_text(weir_yaml_key(node, i), out);
        weir_buf_append_text(out, ": ");
        print_node(weir_yaml_value(node, i), print_scalar, out);
    }
    weir_buf_append_text(out, "}");
}

/* The tree is at most as deep as the parser let it become. */
static void print_node(const struct weir_yaml_node *node, print_scalar_fn *print_scalar,
                       struct weir_buf *out)
{
    if (weir_yaml_is_mapping(node))
        print_mapping(node, print_scalar, out);
    else if (node == NULL || weir_yaml_is_null(node) || weir_yaml_is_scalar(node))
        print_scalar(node, out);
    else
        print_list(node, print_scalar, out);
}

void weir_yaml_print(const struct weir_yaml_node *node, struct weir_buf *out)
{
    print_node(node, print_short, out);
}

void weir_yaml_print_as_written(const struct weir_yaml_node *node, struct weir_buf *out)
{
    print_node(node, print_as_written, out);
}
