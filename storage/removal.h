/* Datasets that are removed for good. First the folder of its own files is set aside, as storage/.removed-NUMBER;
 * then one transaction drops all that the database has of it; then a thread unlinks the folder. A death in between is
 * settled when the catalog is loaded next: a folder whose dataset is still there goes back to its place, any other is
 * unlinked. Sources that were only read are left alone. Owned by struct storage. */
#ifndef WEIR_STORAGE_REMOVAL_H
#define WEIR_STORAGE_REMOVAL_H

#include "storage/store/store.h"

struct removal;

struct removal *storage_removal_new(struct store *store);
/* Waits for the thread; what is left is unlinked after the next start. */
void storage_removal_free(struct removal *removal);
/* To be called once the catalog is loaded: see above. IO when a folder cannot be put back. */
enum weir_status storage_removal_settle(struct removal *removal,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Takes the dataset out of the database and its folder out of the way. The catalog is in doubt then, and has to be
 * loaded before anything else. UNSUPPORTED, with what stands in the way, when something depends on it. */
enum weir_status storage_removal_begin(struct removal *removal, const struct dataset *dataset,
                                       struct weir_error *err) WEIR_MUST_USE;
/* UNSUPPORTED while an erasure is open that may concern the dataset. */
enum weir_status storage_removal_check_erasures(const struct removal *removal,
                                                const struct dataset *dataset,
                                                struct weir_error *err) WEIR_MUST_USE;
/* True when files of the dataset of this number, which is removed, are still there. */
bool storage_removal_is_under_way(const struct removal *removal, uint32_t number);

#endif
