/* The part of a file that was indexed, known again by the keyed hash of its ends. */
#ifndef WEIR_STORAGE_PREFIX_H
#define WEIR_STORAGE_PREFIX_H

#include "storage/catalog/catalog.h"
#include "storage/keys/secret.h"

/* True when `source` goes on where `file` was indexed up to: the same beginning, then whole records. */
bool storage_file_has_grown(const struct dataset *dataset, const struct storage_secret *secret,
                            const struct stored_file *file);
/* The keyed hash of the ends of the first `bytes` of the open file `fd`; 0 when it cannot be read. */
uint64_t storage_prefix_hash(const struct storage_secret *secret, int fd, uint64_t bytes);
/* The same of a file of the source, by its path. */
uint64_t storage_source_hash(const struct dataset *dataset, const struct storage_secret *secret,
                             const char *path, uint64_t bytes);

#endif
