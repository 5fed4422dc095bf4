/* A store that was copied, restored or moved, as home.h tells. */
#ifndef WEIR_STORAGE_RESTORED_H
#define WEIR_STORAGE_RESTORED_H

#include "storage/home.h"
#include "storage/store/store.h"

/* To be called once the catalog is loaded, before anybody is served: recognises the files that storage owns (owned.h)
 * and tells in one line what it found. */
enum weir_status storage_restored_check(struct store *store, struct homes *homes,
                                        struct weir_error *err) WEIR_MUST_USE;

#endif
