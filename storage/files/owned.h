/* Files that storage owns, below the data directory: copies, segments of pushed samples, files of mirrors. They are
 * known by their place and length, and are given the time that was recorded: a store that was copied or restored has
 * other inodes. Their records may have changed places: erasures look at those (erasure/scrub_proof.c). */
#ifndef WEIR_STORAGE_OWNED_H
#define WEIR_STORAGE_OWNED_H

#include "storage/catalog/catalog.h"
#include "storage/keys/secret.h"

enum owned_state {
    OWNED_SAME,
    OWNED_RECOGNISED, /* it has another identity, which `file` has now */
    OWNED_GONE,
    OWNED_OTHER, /* what stands there cannot be it */
};

bool storage_owns(const struct dataset *dataset);
/* Returns true when its files are mirrors of objects, with all their bytes. */
bool storage_mirrors(const struct dataset *dataset);
/* Compares a live file of such a dataset with what stands in its place, which is given the recorded time. */
enum owned_state storage_owned_recognise(const struct dataset *dataset, struct stored_file *file);
/* The same of a file that is only referred to, when it was restored along with the store: of the recorded length and
 * time, and with the recorded ends. Scans see to whatever else stands there. */
enum owned_state storage_referred_recognise(const struct dataset *dataset,
                                            const struct storage_secret *secret,
                                            struct stored_file *file);

#endif
