/* Writing a node as JSON. */
#include "core/config/yaml_tree.h"

#include <string.h>

static bool skip_digits(const char **at)
{
    size_t digits = strspn(*at, "0123456789");

    *at += digits;
    return digits > 0;
}

/* A number of JSON (RFC 8259, section 6), which YAML reads as one, too. */
static bool is_number(const char *text)
{
    const char *at = text + (text[0] == '-');
    bool has_leading_zero = at[0] == '0' && at[1] >= '0' && at[1] <= '9';

    if (has_leading_zero || !skip_digits(&at))
        return false;
    if (*at == '.') {
        at++;
        if (!skip_digits(&at))
            return false;
    }
    if (*at == 'e' || *at == 'E') {
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        if (!skip_digits(&at))
            return false;
    }
    return *at == '\0';
}

static bool is_literal(const char *text)
{
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 || is_number(text);
}

static void print_text(const char *text, struct weir_buf *out)
{
    weir_buf_append_text(out, "\"");
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\')
            weir_buf_printf(out, "\\%c", byte);
        else if (byte < ' ')
            weir_buf_printf(out, "\\u%04x", byte);
        else
            weir_buf_append(out, at, 1);
    }
    weir_buf_append_text(out, "\"");
}

static void print_scalar(const struct weir_yaml_node *node, struct weir_buf *out)
{
    if (node->is_plain && is_literal(node->text))
        weir_buf_append_text(out, node->text);
    else
        print_text(node->text, out);
}

static void print_children(const struct weir_yaml_node *node, struct weir_buf *out)
{
    bool is_mapping = node->kind == NODE_MAPPING;

    weir_buf_append_text(out, is_mapping ? "{" : "[");
    for (size_t i = 0; i < node->count; i++) {
        weir_buf_append_text(out, i > 0 ? ", " : "");
        if (is_mapping) {
            print_text(weir_yaml_key(node, i), out);
            weir_buf_append_text(out, ": ");
        }
        weir_yaml_print_json(node->values[i], out);
    }
    weir_buf_append_text(out, is_mapping ? "}" : "]");
}

/* The tree is at most as deep as the parser let it become. */
void weir_yaml_print_json(const struct weir_yaml_node *node, struct weir_buf *out)
{
    if (node == NULL || node->kind == NODE_NULL)
        weir_buf_append_text(out, "null");
    else if (node->kind == NODE_SCALAR)
        print_scalar(node, out);
    else
        print_children(node, out);
}
