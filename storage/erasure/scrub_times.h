/* Times of a file that is overwritten in part: its other samples have not changed, so that it keeps its mtime. */
#ifndef WEIR_STORAGE_SCRUB_TIMES_H
#define WEIR_STORAGE_SCRUB_TIMES_H

#include "storage/catalog/catalog.h"

#include <sys/stat.h>

/* Gives the file, which was `before` when overwriting it began, its mtime back. Who may write to a file that another
 * user owns may not: it is known by its new one then. False: errno says why. */
bool storage_scrub_keep_time(const struct dataset *dataset, struct stored_file *file, int fd,
                             const struct stat *before);
/* Lets scans still look at a referenced file that somebody has changed since it was overwritten before. */
void storage_scrub_note_change(const struct dataset *dataset, struct stored_file *file, int fd,
                               const struct stat *before);

#endif
