/* The file beside a one-sample file: a.json beside a.jpg. Read when the sample is taken in; what tells it from
 * another one is kept in file->prefix_hash, which is 0 if nobody looked yet. */
#ifndef WEIR_STORAGE_SIDECAR_H
#define WEIR_STORAGE_SIDECAR_H

#include "storage/catalog/catalog.h"
#include "storage/formats/json_fields.h"
#include "storage/formats/manifest.h"

#include <sys/stat.h>

enum { SIDECAR_BYTES_MAX = 64 << 10, SIDECAR_NONE = 1 };

struct sidecar {
    struct manifest_row row; /* as if a manifest had said it; points into the rest */
    struct weir_buf text;
    struct json_fields members;
};

/* NOT_FOUND when there is none beside `path`, INVALID when it is too large, or no JSON where a field of it is
 * declared ("found …, expected …"). Call fini in any case. */
enum weir_status storage_sidecar_read(const struct dataset *dataset, const char *path,
                                      struct sidecar *sidecar,
                                      struct weir_error *err) WEIR_MUST_USE;
/* A sidecar's size and mtime as 32 bits that are never 0; without one SIDECAR_NONE. *ret_sidecar is zeros then. */
uint64_t storage_sidecar_identity(const struct dataset *dataset, const char *path,
                                  struct stat *ret_sidecar);
/* Unlinks the one of a file that is only referred to, as storage_place_folder() goes there. -1 and errno: ESTALE when
 * it is neither the one that was read nor lies beside the file that was indexed. */
int storage_sidecar_unlink(const struct dataset *dataset,
                           const struct stored_file *file) WEIR_MUST_USE;
void storage_sidecar_fini(struct sidecar *sidecar);
/* "dir/a.json" for "dir/a.jpg", in the caller's memory. */
char *storage_sidecar_path(const struct dataset *dataset, const char *path) WEIR_MUST_USE;

#endif
