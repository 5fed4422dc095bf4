/* Shells: files of the size and time of objects, with nothing in them. Of objects that stay where they are
 * (`import: reference`) they stand where a mirror would have the file, so that scans, ids and accounts know no
 * difference; whoever wants bytes asks s3_ranges.h. What tells of samples, a manifest or a sidecar, is fetched. */
#ifndef WEIR_STORAGE_S3_SHELL_H
#define WEIR_STORAGE_S3_SHELL_H

#include "storage/catalog/catalog.h"
#include "storage/objects/s3_list.h"

/* True when the object of this path gets a shell. */
bool storage_s3_shell_is_for(const struct dataset *dataset, const char *path);
/* Makes one at `incoming` and puts it at `path`, in place of what is there. IO. */
enum weir_status storage_s3_shell_put(const char *incoming, const char *path,
                                      const struct s3_object *object,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Turns a file that an older Weir has mirrored there into a shell: it keeps its identity and loses its bytes. IO. */
enum weir_status storage_s3_shell_empty(const char *path, struct weir_error *err) WEIR_MUST_USE;

#endif
