/* The storage service: its rooms, one above the other, and the work they do between requests. One thread, one loop,
 * which goes on with what needs no statement while one is waited for. */
#ifndef WEIR_STORAGE_STORAGE_H
#define WEIR_STORAGE_STORAGE_H

#include "core/service/service.h"
#include "storage/doctor/doctor.h"
#include "storage/erasure/eraser.h"
#include "storage/keys/id_list.h"
#include "storage/push/lent_rows.h"
#include "storage/push/push.h"
#include "storage/reading/late_reads.h"
#include "storage/reading/read_queue.h"
#include "storage/removal.h"

struct storage {
    struct store store;
    struct mirrors *mirrors;
    struct gather_from from;
    struct scanner *scanner;
    struct sums *sums;
    struct use_leases *leases;
    struct serving serving;
    struct late_reads *late_reads;
    struct read_queue *read_queue;
    struct replays *replays;
    struct pushes *pushes;
    struct lent_rows *lent;
    struct eraser eraser;
    struct removal *removal;
    struct id_list unswept; /* datasets with copies that may be nobody's, by number */
    struct doctor *doctor;  /* the newest examination; NULL: none yet */
    size_t next_step;       /* index of the next piece of work */
    bool is_scanning;
    uint64_t forget_timer, wake_timer;
};

/* Handlers of the messages that storage answers; their owner is a struct storage. */
extern const struct weir_rpc_handler STORAGE_HANDLERS[];

enum weir_status storage_open(const struct weir_service_options *options, struct weir_loop *loop,
                              struct weir_rpc_server *server, void **ret_state,
                              struct weir_error *err);
void storage_close(void *state);
/* Answers what needs no statement while one is waited for: holds, and where samples are that memory knows. A
 * transaction that is under way may have marked samples as dead, which counts; live ones that it adds have ids that
 * nobody knows yet. False: the request has to wait. */
bool storage_meanwhile(void *state, struct weir_request *request);
/* Overwrites and releases everything that it keeps for readers. */
void storage_wipe(void *state, const struct weir_request *request, struct msg_wiped *answer);

/* datasets.c: each fills the answer from the arena of the request. */
enum weir_status storage_declare(struct storage *storage, const struct msg_dataset_declare *asked,
                                 struct weir_arena *arena, struct msg_dataset_declared *answer,
                                 struct weir_error *err) WEIR_MUST_USE;
/* Takes a dataset and everything of it out of the store. UNAVAILABLE, to be asked again, until the last of its files is
 * gone; UNSUPPORTED when something depends on it. A number that is not known, or no longer, is fine. */
enum weir_status storage_dataset_remove(struct storage *storage,
                                        const struct msg_dataset_remove *asked,
                                        struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_describe(struct storage *storage, const struct msg_dataset_request *asked,
                                  struct weir_arena *arena, struct msg_dataset_is *answer,
                                  struct weir_error *err) WEIR_MUST_USE;

#endif
