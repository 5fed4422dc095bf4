/* Files that hold a secret: lines of `key: "value"`, YAML. Nobody but their owner may be able to read them. For
 * core/rpc alone. */
#ifndef WEIR_RPC_SECRET_FILE_H
#define WEIR_RPC_SECRET_FILE_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <stddef.h>

struct weir_secret_field {
    const char *key;
    char *value; /* the caller's, NULL when it is missing; free with weir_secret_fields_fini() */
};
/* Wipes and frees the values. */
void weir_secret_fields_fini(struct weir_secret_field *fields, size_t count);

/* Fills the values. NOT_FOUND; DENIED for what is no file, or one that others may read; INVALID with file:line:column
 * for a key that is none of them, or twice there. */
enum weir_status weir_secret_file_read(const char *path, struct weir_secret_field *fields,
                                       size_t count, struct weir_error *err) WEIR_MUST_USE;
/* Appends a line of the file. The value has no quotes. */
void weir_secret_field_print(const char *key, const char *value, struct weir_buf *out);
/* Makes the file, whole or not at all. EXISTS when there is one, which stays as it is. */
enum weir_status weir_secret_file_make(const char *path, struct weir_bytes text,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
