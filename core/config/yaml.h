/* A YAML document as a tree of nodes that know their place. Nodes are borrowed from the document
 * and live as long as it does. Everything outside core/config sees YAML only through this file and
 * schema.h. */
#ifndef WEIR_CONFIG_YAML_H
#define WEIR_CONFIG_YAML_H

#include "core/base/bytes.h"
#include "core/base/error.h"

enum { WEIR_YAML_BYTES_MAX = 1 << 20 };

struct weir_yaml;      /* the document */
struct weir_yaml_node; /* a mapping, sequence or scalar in it */

/* INVALID with "file:line:column: …" for broken YAML or a duplicate key. `name` is what messages
 * call the text. */
enum weir_status weir_yaml_parse(const char *name, struct weir_bytes text,
                                 struct weir_yaml **ret_document,
                                 struct weir_error *err) WEIR_MUST_USE;
enum weir_status weir_yaml_load(const char *path, struct weir_yaml **ret_document,
                                struct weir_error *err) WEIR_MUST_USE;
void weir_yaml_free(struct weir_yaml *document);
WEIR_DEFINE_AUTO(weir_yaml, weir_yaml_free)

const struct weir_yaml_node *weir_yaml_root(const struct weir_yaml *document);
/* The value under `key`, or NULL; a node that is no mapping, or NULL, has none. */
const struct weir_yaml_node *weir_yaml_get(const struct weir_yaml_node *node, const char *key);
bool weir_yaml_is_mapping(const struct weir_yaml_node *node);
bool weir_yaml_is_scalar(const struct weir_yaml_node *node);
bool weir_yaml_is_null(const struct weir_yaml_node *node); /* `key:` with nothing, ~ or null */
/* A mapping, or left out: not there (NULL), or null. */
bool weir_yaml_is_mapping_if_any(const struct weir_yaml_node *node);
/* Elements of a sequence; a node that is no sequence counts as a list of one ("a list of one may be
 * written without the dash"). NULL has none. */
size_t weir_yaml_length(const struct weir_yaml_node *node);
const struct weir_yaml_node *weir_yaml_at(const struct weir_yaml_node *node, size_t index);
/* Entries of a mapping, in the order written. */
size_t weir_yaml_pairs(const struct weir_yaml_node *node);
const char *weir_yaml_key(const struct weir_yaml_node *node, size_t index);
const struct weir_yaml_node *weir_yaml_key_node(const struct weir_yaml_node *node, size_t index);
const struct weir_yaml_node *weir_yaml_value(const struct weir_yaml_node *node, size_t index);
/* Text of a scalar, terminated; NULL for other nodes and for null. */
const char *weir_yaml_text(const struct weir_yaml_node *node);

/* Appends the node on one line, as YAML that reads the same ({a: 1, b: [x, y]}). NULL prints as
 * null. */
void weir_yaml_print(const struct weir_yaml_node *node, struct weir_buf *out);
/* The same, and what is written in quotes stays in quotes: it reads the same as JSON, too. */
void weir_yaml_print_as_written(const struct weir_yaml_node *node, struct weir_buf *out);
/* Appends the node on one line, as JSON: what is written without quotes is a number, true, false or null where it reads
 * like one (YAML 1.2, core schema, decimal numbers), anything else a text. NULL is null. */
void weir_yaml_print_json(const struct weir_yaml_node *node, struct weir_buf *out);
/* Appends `text` as a YAML scalar, quoted only when it must be. NULL prints as null. */
void weir_yaml_print_text(const char *text, struct weir_buf *out);
/* The same, in quotes in any case. */
void weir_yaml_print_quoted(const char *text, struct weir_buf *out);
/* "file:line:column: " of the node, or nothing for NULL. */
void weir_yaml_place(const struct weir_yaml_node *node, struct weir_buf *out);

/* Raises INVALID "file:line:column: …" at the node (node, err, format, …) and returns it. */
#define weir_yaml_fail(...) weir_error_passes(weir_yaml_raise(__VA_ARGS__), WEIR_INVALID)

enum weir_status weir_yaml_raise(const struct weir_yaml_node *node, struct weir_error *err,
                                 const char *format, ...) WEIR_PRINTF(3, 4);

#endif
