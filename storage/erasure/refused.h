/* Records that became no sample and whose bytes still stand in a file: nobody can tell whose they are, so receipts name
 * the files. */
#ifndef WEIR_STORAGE_REFUSED_H
#define WEIR_STORAGE_REFUSED_H

#include "storage/erasure/erasure_record.h"

/* Fills `lines` with a sentence for each dataset of the request that has such records; empty: none has. */
enum weir_status storage_refused_tell(struct store *store, const struct erase_request *request,
                                      struct weir_buf *lines, struct weir_error *err) WEIR_MUST_USE;
/* True when a part of the path, with or without its extension, is a subject or key that was erased. */
bool storage_refused_is_named(const struct store *store, const struct dataset *dataset,
                              const char *path);

#endif
