/* One file of a group (file_group.h), and as bytes. What a scan registers together is alike: an entry says only what
 * differs from what the file before it lets expect, in 16 bytes or less beyond the path for most one-sample
 * files: a byte or two of mask, then for each field that it names the distance as a zigzag varint, and the path as
 * what it shares with the one before and what follows. */
#ifndef WEIR_STORAGE_FILE_ENTRY_H
#define WEIR_STORAGE_FILE_ENTRY_H

#include "core/base/bytes.h"

/* Stored as numbers: append only. */
enum file_state { FILE_LIVE, FILE_REMOVED, FILE_REPLACED, FILE_ERASED };

struct stored_file {
    char *path;       /* relative to the source; NULL once erased */
    uint64_t size;    /* at the last look, of the source and of its copy */
    int64_t mtime_ns; /* of both, too; 0: not compared, as storage appends to it (segment.h) */
    uint64_t device;  /* of what readers open: the copy if there is one */
    uint64_t inode;
    uint64_t source_inode;
    uint64_t layout;      /* positions never change meaning under one layout version */
    uint64_t first_id;    /* of its samples, which lie among those of others up to */
    uint64_t last_id;     /* this one; both 0 while it gave none */
    uint64_t samples;     /* samples found in it */
    uint64_t indexed;     /* bytes that are indexed */
    uint64_t records;     /* number of the record that follows */
    uint64_t prefix_hash; /* keyed hash of the ends of the indexed bytes */
    /* ctime behind the newest scrub of a file that is only referred to; 0: there was none. With another one it may be a
     * copy from before the scrub, whose size and mtime are the same (scrubbed.h). */
    int64_t scrubbed_ns;
    enum file_state state;
    bool is_complete; /* what is there is indexed, except a refused tail */
    bool is_unlisted; /* refused because the manifest does not name it: ask again when it changes */

    /* Not stored: where it is. */
    struct file_group *group;
};

/* `before` is the file before it in the group, or NULL. Both leave the file's place in memory alone. */
void storage_file_pack(const struct stored_file *before, const struct stored_file *file,
                       struct weir_buf *out);
/* Bytes of the entry at the beginning of `packed`; 0 when it is none. The path is the caller's. */
size_t storage_file_unpack(const struct stored_file *before, struct weir_bytes packed,
                           struct stored_file *ret_file);

#endif
