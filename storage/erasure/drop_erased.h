/* Files of Weir's own that hold refused records or duplicates of people who were erased, by the names that were noted
 * as they were refused (intake/refused_names.h), and what receipts say of their objects. */
#ifndef WEIR_STORAGE_DROP_ERASED_H
#define WEIR_STORAGE_DROP_ERASED_H

#include "storage/erasure/erasure_record.h"

/* True when a request was given ids: duplicates of these samples may have any name. */
enum weir_status storage_drop_erased_by_id(struct store *store,
                                           const struct erasure_record *erasure, bool *ret_by_id,
                                           struct weir_error *err) WEIR_MUST_USE;
/* A bounded piece of work: `path` moves on, *ret_found: to a file that has erased names, or (is_any) any names.
 * NOT_FOUND: there is none after it. */
enum weir_status storage_drop_erased_next(struct store *store, const struct dataset *dataset,
                                          bool is_any, struct weir_buf *path, bool *ret_found,
                                          struct weir_error *err) WEIR_MUST_USE;
/* True when a file that is one record is of somebody who was erased; `names` gets its own otherwise. */
bool storage_drop_erased_has(struct eraser *eraser, struct erasure_record *erasure,
                             struct dataset *dataset, struct stored_file *file,
                             struct id_list *names);
/* Inside the caller's transaction: remarks that the object of a mirrored file still holds what was overwritten there,
 * unless the erasure writes that object again. */
enum weir_status storage_drop_erased_remark(struct eraser *eraser,
                                            const struct erasure_record *erasure,
                                            const struct dataset *dataset, const char *path,
                                            struct weir_error *err) WEIR_MUST_USE;

#endif
