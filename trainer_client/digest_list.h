/* The digests of a rank, in a file of its task's directory: a line "EPOCH NUMBER DIGEST" for each batch that was handed
 * out and that no state has undone since, in the order in which they were. Owned by: the loop's thread. */
#ifndef WEIR_TRAINER_CLIENT_DIGEST_LIST_H
#define WEIR_TRAINER_CLIENT_DIGEST_LIST_H

#include "core/wire/position.h"

#include <stdio.h>
#include <weir/client.h>

/* Zeroed is a list that nobody keeps: nothing is written. */
struct digest_list {
    FILE *file;
};

/* Takes up the list of an earlier session, as far as `position` contains its batches, or begins one. IO, LIMIT. */
enum weir_status trainer_digest_list_open(struct digest_list *list, const char *path,
                                          const struct weir_position *position,
                                          struct weir_error *err) WEIR_MUST_USE;
/* The batch has a digest. */
void trainer_digest_list_add(struct digest_list *list, const struct weir_batch *batch);
/* Hands what was added to the system, so that it outlives this process. LIMIT. */
enum weir_status trainer_digest_list_flush(struct digest_list *list,
                                           struct weir_error *err) WEIR_MUST_USE;
void trainer_digest_list_close(struct digest_list *list);

#endif
