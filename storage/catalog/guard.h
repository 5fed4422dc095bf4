/* The guard that keeps erased samples out. An erasure leaves keyed hashes of what it erased, without a word of it;
 * whatever comes in later is compared with them, however it comes: under another name, written with other blanks,
 * pushed, or copied back over a file that was scrubbed. No clock of a file has a say in it. */
#ifndef WEIR_STORAGE_GUARD_H
#define WEIR_STORAGE_GUARD_H

#include "storage/catalog/catalog.h"
#include "storage/keys/erased_names.h"
#include "storage/keys/secret.h"

#include <sys/stat.h>

/* The hash that a record, or a one-sample file, is blocked under: of what it holds, wherever it is. `head` is the
 * beginning of the file. */
uint64_t storage_guard_content(const struct storage_secret *secret,
                               const struct declaration *declaration, struct weir_bytes head,
                               struct weir_bytes content);
/* …: of its file and its bytes. Stores of an older Weir have such hashes; objects of buckets are written again by
 * them. Of a one-sample file, of the file's name alone. */
uint64_t storage_guard_place(const struct storage_secret *secret, const struct dataset *dataset,
                             const char *path, struct weir_bytes content);
/* …: of what it is and whose, NULL where that is not known. By their proofs: two keys may have one hash. */
uint64_t storage_guard_key(const struct storage_secret *secret, const struct key_name *key,
                           const struct key_name *subject);
/* …, of a one-sample file whose content is known to be blocked, for as long as nothing has changed it: of its source,
 * as the catalog has it, and the ctime that is found there. */
uint64_t storage_guard_file(const struct storage_secret *secret, const struct stored_file *file,
                            const char *path, int64_t ctime_ns);
/* A known hash of the record is blocked; NULL: none is. */
struct blocked_hash *storage_guard_blocked(const struct storage_secret *secret,
                                           const struct dataset *dataset, const char *path,
                                           struct weir_bytes head, struct weir_bytes content);

#endif
