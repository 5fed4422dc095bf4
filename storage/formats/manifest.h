/* The sidecar of format `files`: a CSV with the header `path,time,label,subject,key` (any order;
 * only the columns that the dataset asks for must be there). Holds clear subjects and keys: it lives in
 * memory while its dataset is scanned, and is never stored or logged. */
#ifndef WEIR_STORAGE_FORMATS_MANIFEST_H
#define WEIR_STORAGE_FORMATS_MANIFEST_H

#include "storage/formats/format.h"

enum { MANIFEST_BYTES_MAX = 256 << 20 };

struct manifest_row {
    const char *path; /* relative to the source */
    union {
        struct {
            struct weir_bytes time, label, subject, key;
        };
        struct weir_bytes each[FORMAT_ROLES];
    };
    uint64_t line;
};

struct manifest;

/* Parses `text`, which names the file in messages. Broken rows are handed to `sink->refuse` and left
 * out; of rows for one path the first counts, and others that say something else are handed there,
 * too. An error means that no row can be used. */
enum weir_status storage_manifest_read(const char *name, struct weir_bytes text,
                                       const struct format_fields *fields,
                                       const struct format_sink *sink,
                                       struct manifest **ret_manifest,
                                       struct weir_error *err) WEIR_MUST_USE;
void storage_manifest_free(struct manifest *manifest);
WEIR_DEFINE_AUTO(manifest, storage_manifest_free)

/* NULL when the manifest does not name `path`. */
const struct manifest_row *storage_manifest_find(const struct manifest *manifest, const char *path);

#endif
