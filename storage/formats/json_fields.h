/* Members of one JSON object (core/base/json.h) as values of a format. A name is that of a member, or the
 * way to one inside objects: user.id. */
#ifndef WEIR_STORAGE_FORMATS_JSON_FIELDS_H
#define WEIR_STORAGE_FORMATS_JSON_FIELDS_H

#include "storage/formats/format.h"

struct json_fields {
    const char *names[FORMAT_ROLES];       /* NULL: not asked for; borrowed */
    struct weir_bytes found[FORMAT_ROLES]; /* as written; `at` is NULL where there is none */
    struct weir_buf unescaped[FORMAT_ROLES];
    double *lists[FORMAT_ROLES]; /* of FORMAT_LIST_MAX, taken when first needed */
    const char *complaint;
    size_t column;          /* of the complaint, from 1 */
    struct weir_json *json; /* private: looks for the names, from the first read on */
};

/* All fields that are FORMAT_NAMED, by their names; a caller may set others before the first read. */
struct json_fields storage_json_fields_new(const struct format_fields *fields);
void storage_json_fields_fini(struct json_fields *fields);

/* False when the text is no object, malformed, or holds one of the names twice: see complaint. */
bool storage_json_fields_read(struct json_fields *fields, struct weir_bytes text) WEIR_MUST_USE;
/* After that; valid until the next read. Integers beyond 64 bits are text, as written. ABSENT for null and
 * objects. */
struct format_value storage_json_fields_value(struct json_fields *fields, enum format_role role);

#endif
