/* Keys that a data directory must never lose: 32 random bytes in a file of mode 0600, and a check value elsewhere, in
 * a database, that tells this key from any other. A new key is drawn into PATH.new, its check value is recorded, and
 * only then it takes its place; killed at any instruction, the next start goes on with the same key. */
#ifndef WEIR_BASE_KEY_FILE_H
#define WEIR_BASE_KEY_FILE_H

#include "core/base/error.h"

#include <stdint.h>

enum { WEIR_KEY_BYTES = 32, WEIR_KEY_CHECK_MAX = 65 /* characters, the final zero included */ };

/* Derives the text that is recorded of a key; it must not give the key away. */
typedef void weir_key_check_fn(const uint8_t key[WEIR_KEY_BYTES],
                               char ret_check[WEIR_KEY_CHECK_MAX]);

struct weir_key_file {
    const char *path;
    weir_key_check_fn *check;
    const char *remedy; /* ends the error of a lost key: "put it back …" */
};

/* Reads the key whose check value is `recorded`, and finishes putting it into its place. CORRUPT when the file is
 * missing, is no key, or holds another key. */
enum weir_status weir_key_file_read(const struct weir_key_file *file, const char *recorded,
                                    uint8_t ret_key[WEIR_KEY_BYTES],
                                    struct weir_error *err) WEIR_MUST_USE;

/* Reads a key of which nothing is recorded. NOT_FOUND when there is none; CORRUPT when the file is no key. */
enum weir_status weir_key_file_adopt(const struct weir_key_file *file,
                                     uint8_t ret_key[WEIR_KEY_BYTES],
                                     struct weir_error *err) WEIR_MUST_USE;

/* Draws a key into PATH.new, or takes the one that a killed attempt left there: its check value may be recorded. */
enum weir_status weir_key_file_draw(const struct weir_key_file *file,
                                    uint8_t ret_key[WEIR_KEY_BYTES],
                                    struct weir_error *err) WEIR_MUST_USE;

/* Returns the error of a key that is gone while what was made with it is still there. */
enum weir_status weir_key_file_lost(const struct weir_key_file *file, struct weir_error *err);

#endif
