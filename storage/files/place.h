/* The way to a file of a dataset: from the dataset's folder down, through no symbolic link, so that a folder which was
 * swapped for a link leads an erasure nowhere else. */
#ifndef WEIR_STORAGE_PLACE_H
#define WEIR_STORAGE_PLACE_H

#include "storage/catalog/catalog.h"

/* Opens the file that readers read: the copy where there is one, else the source's. -1 and errno: ELOOP where a link
 * stands, EXDEV where a source's folder leads out of `roots` of the system file. */
int storage_place_open(const struct dataset *dataset, const struct stored_file *file,
                       int flags) WEIR_MUST_USE;
/* The same of the folder that the file lies in, to look at and unlink *ret_name there. */
int storage_place_folder(const struct dataset *dataset, const struct stored_file *file,
                         const char **ret_name) WEIR_MUST_USE;

#endif
