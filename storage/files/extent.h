/* The bytes of a file that belong to a sample, which may be more than its payload, and what an erasure makes
 * of them. */
#ifndef WEIR_STORAGE_EXTENT_H
#define WEIR_STORAGE_EXTENT_H

#include "storage/catalog/declaration.h"
#include "storage/files/file_window.h"

struct extent {
    struct format_range at;
    struct weir_buf erased; /* what an erasure writes there */
    bool is_scrubbed;       /* an erasure has begun to */
};

void storage_extent_fini(struct extent *extent);

/* The place to look for it. */
struct extent_place {
    struct file_window *window; /* on the file; it may read more of it */
    uint64_t size;              /* of the file */
    uint64_t from;              /* 0, or the end of the payload of a sample before it */
    struct format_range payload;
};

/* Finds the extent of the sample with this payload. STALE when the format does not find it there. */
enum weir_status storage_extent_read(const struct declaration *declaration,
                                     const struct extent_place *place, struct extent *ret_extent,
                                     struct weir_error *err) WEIR_MUST_USE;

/* The same of an extent that is known to be `at`, and to be overwritten in part: formats keep what tells an
 * extent's own parts, so that overwriting goes on from any page. */
enum weir_status storage_extent_resume(const struct declaration *declaration,
                                       const struct extent_place *place, struct format_range at,
                                       struct extent *ret_extent,
                                       struct weir_error *err) WEIR_MUST_USE;

/* Overwrites in memory what belongs to a sample. */
void storage_extent_erase(const struct declaration *declaration, struct weir_bytes head,
                          uint8_t *bytes, size_t size);

#endif
