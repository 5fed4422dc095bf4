/* Descriptors of files that samples are read from, kept from one request to the next: a bounded cache.
 * Whether the bytes that were read are those that were indexed is asked after reading, once for all
 * ranges of a file: a file that is still what it was then was so before, too. Owned by struct
 * storage. */
#ifndef WEIR_STORAGE_OPEN_FILES_H
#define WEIR_STORAGE_OPEN_FILES_H

#include "storage/catalog/catalog.h"
#include "storage/keys/secret.h"

enum { OPEN_FILES_MAX = 256 };

struct open_files;

struct open_files *storage_open_files_new(void);
void storage_open_files_free(struct open_files *files);
/* Closes everything: what is unlinked gives its space back, what took its place is opened. */
void storage_open_files_clear(struct open_files *files);

/* The file of readers, open for reading; -1 when it cannot be opened, or another has its place. Borrowed
 * until the next get or clear. */
int storage_open_files_get(struct open_files *files, const struct dataset *dataset,
                           const struct stored_file *file);
/* Returns true when the bytes read from `fd` since get() are those that were indexed: the file is as it was, or it only
 * grew, as a scan would see it too. Closes it when not. */
bool storage_open_files_check(struct open_files *files, int fd, const struct stored_file *file,
                              const struct storage_secret *secret);

/* For threads of their own, without a cache: opens the file at an absolute path; -1 as above. The caller's. */
int storage_file_open(const char *path, const struct stored_file *file);
/* The same question as storage_open_files_check(). */
bool storage_file_is_as_indexed(int fd, const struct stored_file *file,
                                const struct storage_secret *secret);

#endif
