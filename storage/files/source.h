/* Opening files of a source, without following links and without leaving it. */
#ifndef WEIR_STORAGE_SOURCE_H
#define WEIR_STORAGE_SOURCE_H

#include "storage/catalog/catalog.h"

#include <sys/stat.h>

/* True when both describe the same file in the same state. */
bool storage_source_is_same(const struct stat *a, const struct stat *b);
/* True when what was `found` has as many bytes now, or more: a file of many samples may be appended
 * to while it is read, and has its new time a moment before its new size. That what was there is
 * there still is for who has read it to compare; whether anything else has changed, the next scan
 * will see. */
bool storage_source_goes_on(const struct dataset *dataset, const char *path, const struct stat *now,
                            const struct stat *found);

/* Opens `path` for reading if it still is what `found`, its lstat, says, or goes on. STALE when it has changed or is
 * gone or a link by now; DENIED when it may not be read. The caller closes *ret_fd. */
enum weir_status storage_source_open(const struct dataset *dataset, const char *path,
                                     const struct stat *found, int *ret_fd,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
