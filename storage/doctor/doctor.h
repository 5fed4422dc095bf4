/* The examination behind `weir doctor`: everything that the store counts is counted again from what it is
 * made of. Postgres is read anew, not memory, in pieces of one chunk, run or file, so that requests are
 * answered meanwhile; scans and merges wait while the rows of a dataset are counted, and a dataset that
 * changes all the same is begun again. Nothing is ever changed. Owned by struct storage. */
#ifndef WEIR_STORAGE_DOCTOR_H
#define WEIR_STORAGE_DOCTOR_H

#include "storage/storage.h"

struct doctor;

void storage_doctor_free(struct doctor *doctor);
/* True while scans and merges must wait. */
bool storage_doctor_counts(const struct doctor *doctor);
/* One piece; false when there is nothing (more) to examine. */
bool storage_doctor_step(struct storage *storage);
/* Begins an examination unless this session's is under way, or says what it has found. */
enum weir_status storage_doctor_ask(struct storage *storage, const struct msg_doctor_ask *asked,
                                    struct weir_arena *arena, struct msg_doctor_is *answer,
                                    struct weir_error *err) WEIR_MUST_USE;

#endif
