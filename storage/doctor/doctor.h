/* The examination behind `weir doctor`: everything that the store counts is counted again from what it is
 * made of. Postgres is read again, not memory, in pieces of one chunk or file, so that requests are
 * answered meanwhile; scans and merges wait while the rows of a dataset are counted, and a dataset that
 * changes all the same is begun again. Nothing is ever changed. Owned by struct storage. */
#ifndef WEIR_STORAGE_DOCTOR_H
#define WEIR_STORAGE_DOCTOR_H

#include "core/wire/wire.h"
#include "storage/reading/use_leases.h"
#include "storage/store/store.h"
#include "storage/sums/sums.h"

struct doctor;

/* Borrowed; outlive the examination. */
struct examined {
    struct store *store;
    struct sums *sums;
    const struct use_leases *leases;
};

void storage_doctor_free(struct doctor *doctor);
/* Drops all that it holds of people. It goes on where it stands; a dataset that is being counted is begun again if it
 * has changed. */
void storage_doctor_forget(struct doctor *doctor);
/* True while scans and merges must wait. */
bool storage_doctor_counts(const struct doctor *doctor);
/* Examines one piece; false when there is nothing (more) to examine. */
bool storage_doctor_step(struct doctor *doctor);
/* Begins an examination in place of *newest (NULL: none), unless that is of the same session; fills the answer with
 * what it has found. */
enum weir_status storage_doctor_report(struct doctor **newest, const struct examined *examined,
                                       const struct msg_doctor_request *asked,
                                       struct weir_arena *arena, struct msg_doctor_is *answer,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
