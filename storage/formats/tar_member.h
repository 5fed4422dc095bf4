/* Members of a tar archive: ustar, pax records (path, size) and GNU long names. Pure; what follows the
 * headers is not read. */
#ifndef WEIR_STORAGE_FORMATS_TAR_MEMBER_H
#define WEIR_STORAGE_FORMATS_TAR_MEMBER_H

#include "core/base/bytes.h"

enum { TAR_BLOCK = 512, TAR_NAME_MAX = 4096, TAR_EXTENSION_MAX = 64 << 10 };

enum tar_kind {
    TAR_FILE,    /* a regular file */
    TAR_NOTHING, /* a folder or a volume label: nobody's sample */
    TAR_OTHER,   /* a link, a device, a sparse file …: see complaint; its size is known */
    TAR_END,     /* a block of zeros */
    TAR_MORE,    /* the text ends inside the headers */
    TAR_BROKEN,  /* no header, or one that cannot be trusted: what follows cannot be found */
};

struct tar_member {
    enum tar_kind kind;
    uint64_t data;          /* where its bytes begin, from the beginning of its headers */
    uint64_t size;          /* of them */
    uint64_t end;           /* of the member, padding included; never overflows */
    struct weir_bytes name; /* in `text`, or in `joined` */
    char joined[260];       /* prefix/name of ustar */
    const char *complaint;
};

/* Reads the headers that `text` begins with. */
void storage_tar_member_read(struct weir_bytes text, struct tar_member *member);

/* A header for a file of `size` bytes (at most 8 GiB), into `block`. */
void storage_tar_header_write(uint8_t block[TAR_BLOCK], const char *name, uint64_t size);

#endif
