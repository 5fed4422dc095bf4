/* A pushed batch on its way to disk, and the group it is committed with; between push.c, push_stage.c,
 * push_log.c and lent_rows.c alone. */
#ifndef WEIR_STORAGE_PUSH_BATCH_H
#define WEIR_STORAGE_PUSH_BATCH_H

#include "storage/push/push.h"
#include "storage/push/segment.h"

/* The answer to a batch, the same each time it is asked for. */
struct push_answer {
    uint64_t number;
    uint64_t digest; /* of the payload */
    uint8_t mark[PUSH_MARK_MAX];
    size_t mark_size;
    uint64_t first, samples, refused, left_out;
    struct weir_buf reasons; /* "record what was found, …", one a line */
    size_t reason_count;
};

struct push_batch {
    struct push_batch *next; /* of those that wait, or of its group */
    struct weir_rpc_server *server;
    struct weir_route route;
    uint64_t key; /* of its sender */
    uint32_t dataset;
    char client[PUSH_CLIENT_MAX + 1];
    struct weir_frames frames;
    struct push_answer answer;
};

/* In the order of arrival. */
struct push_queue {
    struct push_batch *first, *last;
    size_t count;
};

/* The segment of a dataset that takes the next samples. */
struct push_target {
    uint32_t dataset;
    struct segment segment;
    uint64_t used;        /* bytes committed, as far as is known here */
    struct weir_buf head; /* what its file begins with: a header line, or nothing */
};

struct push_group {
    const struct scan_tools *tools;
    struct dataset *dataset;
    struct push_target *target;
    struct batch *batch;
    struct stored_file *file;
    struct weir_buf bytes;    /* to be written at target->used */
    struct push_queue staged; /* answered once it is committed */
};

/* push.c: what a sender has to know of the format. */
void storage_push_describe(const struct dataset *dataset, struct msg_pushed *message);

/* push_stage.c: what every file of the dataset begins with, as `beginning` of a file or batch shows it.
 * INVALID when it cannot be read at all, or has other columns. */
enum weir_status storage_push_head(const struct dataset *dataset, struct weir_bytes beginning,
                                   struct weir_bytes *ret_head,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Stages the good records of a batch; group->file is set. INVALID when there can be none: nothing is
 * staged then. */
enum weir_status storage_push_stage(struct push_group *group, struct push_batch *batch,
                                    struct weir_error *err) WEIR_MUST_USE;

/* push_log.c: `ret_answer->number` 0 when the client is not known; it then has its mark, too. */
enum weir_status storage_push_log_newest(struct weir_db *db, uint32_t dataset, const char *client,
                                         struct push_answer *ret_answer,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Fills the rest of `answer`, whose number is given. STALE when it is no longer kept. */
enum weir_status storage_push_log_find(struct weir_db *db, uint32_t dataset, const char *client,
                                       struct push_answer *answer,
                                       struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_push_log_add(struct weir_db *db, const struct push_batch *batch,
                                      struct weir_error *err) WEIR_MUST_USE;

#endif
