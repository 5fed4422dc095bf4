/* Members of one JSON object (RFC 8259), found without building it: the whole text is checked, and nothing
 * is allocated once the buffers have grown. A name is that of a member, or the way to one inside
 * objects: user.id. Names cost nothing to speak of, however many there are. */
#ifndef WEIR_BASE_JSON_H
#define WEIR_BASE_JSON_H

#include "core/base/bytes.h"

struct weir_json;

/* To look for `count` names, copied. NULL and "" are never found; a name may be there twice. */
struct weir_json *weir_json_new(const char *const *names, size_t count);
void weir_json_free(struct weir_json *json);
WEIR_DEFINE_AUTO(weir_json, weir_json_free)

/* False when the text is no object, malformed, nested deeper than 256 levels, or holds one of the names
 * twice: the complaint says which, and at which byte, from 1. */
bool weir_json_read(struct weir_json *json, struct weir_bytes text) WEIR_MUST_USE;
const char *weir_json_complaint(const struct weir_json *json, size_t *ret_column);
/* After that: the value of a name (its index) as it is written, quotes and all; `at` is NULL where there
 * is none. Borrowed from the text. */
struct weir_bytes weir_json_found(const struct weir_json *json, size_t name);
/* Kind of such a value, for people: "a text", "an object", "nothing" where there is none. */
const char *weir_json_kind(struct weir_bytes raw);
/* The text between the quotes of such a value, without its escapes; in `out`, or in the text itself
 * when it has none. */
struct weir_bytes weir_json_unescape(struct weir_bytes raw, struct weir_buf *out);

#endif
