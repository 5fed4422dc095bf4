/* What stands beside a one-sample file: a.json beside a.jpg. Read when the sample is taken in. */
#ifndef WEIR_STORAGE_SIDECAR_H
#define WEIR_STORAGE_SIDECAR_H

#include "storage/catalog.h"
#include "storage/formats/json_fields.h"
#include "storage/formats/manifest.h"

enum { SIDECAR_BYTES_MAX = 64 << 10 };

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
void storage_sidecar_fini(struct sidecar *sidecar);
/* "dir/a.json" for "dir/a.jpg", in the caller's memory. */
char *storage_sidecar_path(const struct dataset *dataset, const char *path) WEIR_MUST_USE;

#endif
