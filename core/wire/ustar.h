/* Headers of tar archives (ustar, POSIX.1-1988), with numbers in octal. Pure. */
#ifndef WEIR_WIRE_USTAR_H
#define WEIR_WIRE_USTAR_H

#include <stdbool.h>
#include <stdint.h>

enum { WEIR_TAR_BLOCK = 512, WEIR_TAR_NAME_BYTES = 100, WEIR_TAR_PREFIX_BYTES = 155 };

struct weir_ustar {
    char name[WEIR_TAR_NAME_BYTES];
    char mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char type;
    char link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8];
    char prefix[WEIR_TAR_PREFIX_BYTES];
    char rest[12];
};

/* Fills the header of a file: rights 0644, no time, owned by number 0 and by `user`, a short name. False when the name
 * does not fit: its last 100 bytes at most in one part, and 155 before a slash. */
bool weir_ustar_header(const char *name, uint64_t size, const char *user,
                       uint8_t ret_header[WEIR_TAR_BLOCK]);

#endif
