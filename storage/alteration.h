/* A dataset that is declared again, and differently. Keys that say nothing of the samples that are there take their
 * new value. Any other may change as long as there are no samples, and no other pipeline that has the dataset too: the
 * dataset then makes room for one of the same name, with a number of its own. */
#ifndef WEIR_STORAGE_ALTERATION_H
#define WEIR_STORAGE_ALTERATION_H

#include "storage/storage.h"

enum alteration {
    ALTERATION_NONE,    /* the declarations are equal */
    ALTERATION_TAKEN,   /* the new values are stored; the catalog is in doubt */
    ALTERATION_REMOVED, /* the dataset is gone, the name free; the catalog is in doubt */
};

/* Compares `declared`, a dataset that is not stored, with the one of its name, `known`, and does what the difference
 * needs. INVALID where it may not be, with what stays, why, and the way; UNAVAILABLE while an erasure is open that may
 * concern the dataset. */
enum weir_status storage_alter(struct storage *storage, const struct dataset *known,
                               const struct dataset *declared,
                               const struct msg_dataset_declare *asked,
                               enum alteration *ret_alteration,
                               struct weir_error *err) WEIR_MUST_USE;

#endif
