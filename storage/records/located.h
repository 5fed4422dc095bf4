/* The place of one sample, as far as it is known. */
#ifndef WEIR_STORAGE_LOCATED_H
#define WEIR_STORAGE_LOCATED_H

#include "core/wire/sample.h"
#include "storage/catalog/catalog.h"

struct located {
    enum weir_sample_state state;
    struct dataset *dataset;
    struct stored_file *file; /* set also for dead samples, if it is known; until the next search */
    uint64_t number;          /* of the file, in its dataset */
    uint64_t offset, length;
    int64_t time, label;
    struct weir_bytes values; /* of a label that is a vector; borrowed from the chunk */
};

#endif
