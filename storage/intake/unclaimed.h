/* Bytes of a file that belong to no sample: from the beginning of a record that became none to the next sample. Told
 * in the order of the file. Pure. */
#ifndef WEIR_STORAGE_UNCLAIMED_H
#define WEIR_STORAGE_UNCLAIMED_H

#include "storage/formats/format.h"

/* Zeroed is none. */
struct unclaimed {
    bool is_open; /* bytes from `from` on are nobody's until a sample follows */
    /* each record is a range of its own; otherwise records that follow each other share one */
    bool is_by_record;
    uint64_t from;
    struct format_range *at; /* owned */
    size_t count, capacity;
};

void storage_unclaimed_fini(struct unclaimed *unclaimed);
/* The record that begins at `offset` becomes no sample. */
void storage_unclaimed_record(struct unclaimed *unclaimed, uint64_t offset);
/* Keeps the record that begins at `offset`: a sample, as a rule. */
void storage_unclaimed_end(struct unclaimed *unclaimed, uint64_t offset);
/* Everything before `offset` was reported; what follows belongs to the record before it, up to the next. */
void storage_unclaimed_pause(struct unclaimed *unclaimed, uint64_t offset);

#endif
