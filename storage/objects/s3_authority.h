/* Certificates (PEM) of the authorities that vouch for a store, as their file has them now, for readers elsewhere that
 * do not see the file. These know them by their hash, so that they are handed out once. */
#ifndef WEIR_STORAGE_S3_AUTHORITY_H
#define WEIR_STORAGE_S3_AUTHORITY_H

#include "core/base/bytes.h"

#include <sys/stat.h>

enum { S3_AUTHORITY_TEXT = 65, S3_AUTHORITY_BYTES_MAX = 256 << 10 };

/* Zeroed has not been read. */
struct s3_authority {
    struct weir_buf pem;
    char hash[S3_AUTHORITY_TEXT]; /* SHA-256, in hexadecimal digits; "": there is none */
    struct stat read;             /* the file as it was then */
};

/* Reads the file again if it is another one. False when it cannot be read, or is too long to be handed out. */
bool storage_s3_authority_read(struct s3_authority *authority, const char *path);
void storage_s3_authority_fini(struct s3_authority *authority);

#endif
