/* One file of a group as bytes (file_group.h). What a scan registers together is alike: an entry says only what
 * differs from what the file before it lets expect, in 16 bytes or less beyond the path for most one-sample
 * files: a byte or two of mask, then for each field that it names the distance as a zigzag varint, and the path as
 * what it shares with the one before and what follows. */
#ifndef WEIR_STORAGE_FILE_ENTRY_H
#define WEIR_STORAGE_FILE_ENTRY_H

#include "storage/catalog/file_group.h"

/* `before` is the file before it in the group, or NULL. Both leave the file's place in memory alone. */
void storage_file_pack(const struct stored_file *before, const struct stored_file *file,
                       struct weir_buf *out);
/* Bytes of the entry at the beginning of `packed`; 0 when it is none. The path is the caller's. */
size_t storage_file_unpack(const struct stored_file *before, struct weir_bytes packed,
                           struct stored_file *ret_file);

#endif
