/* Sources that are compressed with zstd (names that end in .zst or .zstd) and hold many samples. Samples are read at
 * positions, so a copy (`import: copy`) holds what was compressed; a reference is refused. The copy has the
 * source's path and mtime, but its own size: what tells the source from another one is kept apart.
 *
 * Expanding is bounded: what frames announce is checked before anything is made, what they hold while it is. */
#ifndef WEIR_STORAGE_EXPAND_H
#define WEIR_STORAGE_EXPAND_H

#include "storage/catalog/catalog.h"

#include <sys/stat.h>

enum {
    EXPAND_WINDOW_LOG_MAX = 27,   /* 128 MiB of memory, as much as zstd -d takes by itself */
    EXPAND_RATIO_MAX = 1000,      /* bytes out of one, beyond */
    EXPAND_FREE_BYTES = 16 << 20, /* what any file may become */
};
#define EXPAND_BYTES_MAX (UINT64_C(64) << 30)

bool storage_is_compressed(const struct dataset *dataset, const char *path);
/* True when the copy of `path` holds it expanded. */
bool storage_is_expanded(const struct dataset *dataset, const char *path);
/* The compression that the name of a file of many samples tells, if nothing here expands
 * that and its bytes do not tell; or NULL. */
const char *storage_compressor_of(const struct dataset *dataset, const char *path);
/* Value of stored_file.source_inode: the inode; of an expanded file its size is in it, too. */
uint64_t storage_source_identity(const struct dataset *dataset, const char *path,
                                 const struct stat *source);

struct expansion;

/* `size` is that of the open compressed file `from`, which is read from its beginning. INVALID when its first frame
 * announces more than it may hold. */
enum weir_status storage_expansion_begin(int from, uint64_t size, struct expansion **ret_expansion,
                                         struct weir_error *err) WEIR_MUST_USE;
/* The next bytes, which are the expansion's until the next call; none at the end. INVALID "found …, expected …"
 * with the byte of the compressed file where it is damaged, cut off or too much; STALE when it has changed. */
enum weir_status storage_expansion_next(struct expansion *expansion, struct weir_bytes *ret_piece,
                                        struct weir_error *err) WEIR_MUST_USE;
void storage_expansion_free(struct expansion *expansion);

#endif
