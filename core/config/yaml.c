/* The YAML tree: built from libfyaml's events into nodes of our own, which know their place and
 * live in one arena. Depth is bounded, duplicate keys, aliases and tags are refused. */
#include "core/config/yaml_tree.h"

#include "core/base/file.h"

#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

/* State of one parse. */
struct reader {
    struct weir_yaml *document;
    struct fy_parser *parser;
    struct fy_diag *diag;
    struct weir_error *err;
    int depth;
};

/* ---- errors ---- */

/* libfyaml's first complaint; it keeps several. */
static enum weir_status fail_syntax(struct reader *reader)
{
    void *position = NULL;
    const struct fy_diag_error *found = fy_diag_errors_iterate(reader->diag, &position);
    if (found == NULL || found->msg == NULL)
        return weir_fail(reader->err, WEIR_INVALID, "%s: this is not YAML", reader->document->name);
    return weir_fail(reader->err, WEIR_INVALID, "%s:%d:%d: %.*s", reader->document->name,
                     found->line, found->column, (int)strcspn(found->msg, "\n"), found->msg);
}

/* ---- building the tree ---- */

/* Children while their number is still unknown. */
struct children {
    const struct weir_yaml_node **at;
    size_t count;
    size_t capacity;
};

static void add_child(struct children *children, const struct weir_yaml_node *node)
{
    children->at = weir_grow(children->at, children->count, &children->capacity, sizeof(void *));
    children->at[children->count++] = node;
}

static const struct weir_yaml_node **settle(struct weir_arena *arena, struct children *children)
{
    const struct weir_yaml_node **kept = NULL;
    if (children->count > 0)
        kept = weir_arena_copy(arena, children->at, children->count * sizeof(void *));
    free(children->at);
    *children = (struct children){0};
    return kept;
}

static struct weir_yaml_node *new_node(struct reader *reader, struct fy_event *event,
                                       enum node_kind kind)
{
    struct weir_yaml_node *node = weir_arena_alloc(reader->document->arena, sizeof(*node));
    const struct fy_mark *mark = fy_event_start_mark(event);
    node->document = reader->document;
    node->kind = kind;
    node->line = mark != NULL ? mark->line + 1 : 1;
    node->column = mark != NULL ? mark->column + 1 : 1;
    return node;
}

static bool is_null_word(const char *text, size_t size)
{
    static const char *const WORDS[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < WEIR_COUNT(WORDS); i++) {
        if (strlen(WORDS[i]) == size && memcmp(WORDS[i], text, size) == 0)
            return true;
    }
    return false;
}

static enum weir_status read_scalar(struct reader *reader, struct fy_event *event,
                                    struct weir_yaml_node **ret_node)
{
    struct fy_token *token = event->scalar.value;
    size_t size = 0;
    const char *text = token != NULL ? fy_token_get_text(token, &size) : "";
    struct weir_yaml_node *node = new_node(reader, event, NODE_SCALAR);
    if (text == NULL)
        text = "";
    if (memchr(text, 0, size) != NULL)
        return weir_yaml_fail(node, reader->err, "a zero byte is not possible in a text");
    bool is_plain = token == NULL || fy_token_scalar_style(token) == FYSS_PLAIN;
    if (is_plain && is_null_word(text, size))
        node->kind = NODE_NULL;
    else
        node->text = weir_arena_strndup(reader->document->arena, text, size);
    node->is_plain = is_plain;
    *ret_node = node;
    return WEIR_OK;
}

static enum weir_status read_node(struct reader *reader, struct fy_event *event,
                                  struct weir_yaml_node **ret_node);

/* Reads the nodes up to the event `end` into `children`. */
static enum weir_status read_children(struct reader *reader, enum fy_event_type end,
                                      struct children *children)
{
    for (;;) {
        struct fy_event *event = fy_parser_parse(reader->parser);
        if (event == NULL)
            return fail_syntax(reader);
        struct weir_yaml_node *child = NULL;
        bool is_end = event->type == end;
        enum weir_status status = is_end ? WEIR_OK : read_node(reader, event, &child);
        fy_parser_event_free(reader->parser, event);
        if (is_end || status != WEIR_OK)
            return status;
        add_child(children, child);
    }
}

static int compare_keys(const void *a, const void *b)
{
    const struct weir_yaml_node *const *left = a, *const *right = b;
    int order = strcmp((*left)->text, (*right)->text);
    if (order == 0)
        order = (*left)->line != (*right)->line ? (*left)->line - (*right)->line
                                                : (*left)->column - (*right)->column;
    return order;
}

static enum weir_status check_keys(struct reader *reader, const struct weir_yaml_node *mapping)
{
    for (size_t i = 0; i < mapping->count; i++) {
        if (mapping->keys[i]->kind != NODE_SCALAR)
            return weir_yaml_fail(mapping->keys[i], reader->err, "expected a word as key");
    }
    if (mapping->count < 2)
        return WEIR_OK;
    size_t bytes = mapping->count * sizeof(void *);
    WEIR_AUTO_FREE const struct weir_yaml_node **sorted =
        weir_realloc(NULL, mapping->count, sizeof(void *));
    memcpy(sorted, mapping->keys, bytes);
    qsort(sorted, mapping->count, sizeof(void *), compare_keys);
    for (size_t i = 1; i < mapping->count; i++) {
        if (strcmp(sorted[i - 1]->text, sorted[i]->text) == 0)
            return weir_yaml_fail(sorted[i], reader->err, "key '%.100s' stands in line %d already",
                                  sorted[i]->text, sorted[i - 1]->line);
    }
    return WEIR_OK;
}

static enum weir_status read_sequence(struct reader *reader, struct weir_yaml_node *node)
{
    struct children children = {0};
    enum weir_status status = read_children(reader, FYET_SEQUENCE_END, &children);
    node->count = children.count;
    node->values = settle(reader->document->arena, &children);
    return status;
}

static enum weir_status read_mapping(struct reader *reader, struct weir_yaml_node *node)
{
    struct children children = {0};
    enum weir_status status = read_children(reader, FYET_MAPPING_END, &children);
    size_t count = children.count / 2;
    const struct weir_yaml_node **both = settle(reader->document->arena, &children);
    node->count = count;
    node->keys = weir_arena_alloc(reader->document->arena, count * sizeof(void *));
    node->values = weir_arena_alloc(reader->document->arena, count * sizeof(void *));
    for (size_t i = 0; i < count; i++) {
        node->keys[i] = both[2 * i];
        node->values[i] = both[2 * i + 1];
    }
    return status == WEIR_OK ? check_keys(reader, node) : status;
}

static enum weir_status read_collection(struct reader *reader, struct fy_event *event,
                                        struct weir_yaml_node **ret_node)
{
    bool is_mapping = event->type == FYET_MAPPING_START;
    struct weir_yaml_node *node =
        new_node(reader, event, is_mapping ? NODE_MAPPING : NODE_SEQUENCE);
    if ((is_mapping ? event->mapping_start.tag : event->sequence_start.tag) != NULL)
        return weir_yaml_fail(node, reader->err, "tags (!…) are not supported");
    if (reader->depth == DEPTH_MAX)
        return weir_yaml_fail(node, reader->err, "nested deeper than %d levels", DEPTH_MAX);
    reader->depth++;
    enum weir_status status = is_mapping ? read_mapping(reader, node) : read_sequence(reader, node);
    reader->depth--;
    *ret_node = node;
    return status;
}

static enum weir_status read_node(struct reader *reader, struct fy_event *event,
                                  struct weir_yaml_node **ret_node)
{
    switch (event->type) {
    case FYET_SCALAR:
        if (event->scalar.tag != NULL)
            return weir_yaml_fail(new_node(reader, event, NODE_SCALAR), reader->err,
                                  "tags (!…) are not supported");
        return read_scalar(reader, event, ret_node);
    case FYET_MAPPING_START:
    case FYET_SEQUENCE_START:
        return read_collection(reader, event, ret_node);
    case FYET_ALIAS:
        return weir_yaml_fail(new_node(reader, event, NODE_SCALAR), reader->err,
                              "aliases (*name) are not supported: write the value out");
    default:
        return fail_syntax(reader);
    }
}

/* Reads the one document of the stream. */
static enum weir_status read_stream(struct reader *reader)
{
    struct weir_yaml_node *root = NULL;
    for (;;) {
        struct fy_event *event = fy_parser_parse(reader->parser);
        if (event == NULL)
            break;
        enum weir_status status = WEIR_OK;
        if (event->type == FYET_DOCUMENT_START && root != NULL)
            status = weir_yaml_fail(new_node(reader, event, NODE_NULL), reader->err,
                                    "expected one document, found a second");
        else if (event->type == FYET_SCALAR || event->type == FYET_ALIAS ||
                 event->type == FYET_MAPPING_START || event->type == FYET_SEQUENCE_START)
            status = read_node(reader, event, &root);
        fy_parser_event_free(reader->parser, event);
        if (status != WEIR_OK)
            return status;
    }
    if (fy_parser_get_stream_error(reader->parser))
        return fail_syntax(reader);
    if (root == NULL) {
        root = weir_arena_alloc(reader->document->arena, sizeof(*root));
        *root = (struct weir_yaml_node){.document = reader->document, .line = 1, .column = 1};
    }
    reader->document->root = root;
    return WEIR_OK;
}

static enum weir_status read_document(struct weir_yaml *document, struct weir_bytes text,
                                      struct weir_error *err)
{
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    weir_require(diag != NULL);
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg cfg = {.search_path = "", .flags = FYPCF_QUIET, .diag = diag};
    struct fy_parser *parser = fy_parser_create(&cfg);
    weir_require(parser != NULL);
    struct reader reader = {.document = document, .parser = parser, .diag = diag, .err = err};
    enum weir_status status = WEIR_OK;
    if (fy_parser_set_string(parser, (const char *)text.at, text.size) != 0)
        status = fail_syntax(&reader);
    if (status == WEIR_OK)
        status = read_stream(&reader);
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return status;
}

enum weir_status weir_yaml_parse(const char *name, struct weir_bytes text,
                                 struct weir_yaml **ret_document, struct weir_error *err)
{
    if (text.size > WEIR_YAML_BYTES_MAX)
        return weir_fail(err, WEIR_INVALID, "%s: %zu bytes, at most %d are read", name, text.size,
                         WEIR_YAML_BYTES_MAX);
    enum weir_status status = weir_yaml_guard(name, text, err);
    if (status != WEIR_OK)
        return status;
    struct weir_yaml *document = weir_calloc(1, sizeof(*document));
    document->arena = weir_arena_new();
    document->name = weir_arena_strndup(document->arena, name, strlen(name));
    status = read_document(document, text, err);
    if (status != WEIR_OK) {
        weir_yaml_free(document);
        return status;
    }
    *ret_document = document;
    return WEIR_OK;
}

enum weir_status weir_yaml_load(const char *path, struct weir_yaml **ret_document,
                                struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(path, WEIR_YAML_BYTES_MAX, &text, err);
    if (status != WEIR_OK)
        return status;
    return weir_yaml_parse(path, weir_buf_view(&text), ret_document, err);
}

void weir_yaml_free(struct weir_yaml *document)
{
    if (document == NULL)
        return;
    weir_arena_free(document->arena);
    free(document);
}
