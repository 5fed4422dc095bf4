/* The inside of erasures, shared by the files of this folder. Single erasures are rows, however many there are; in
 * memory are only the batches that they are worked on in, and the queue of those that were accepted just now. */
#ifndef ORCHESTRATOR_ERASURES_ERASURE_STATE_H
#define ORCHESTRATOR_ERASURES_ERASURE_STATE_H

#include "orchestrator/erasures/erasure.h"
#include "orchestrator/erasures/machine.h"
#include "orchestrator/exports/holders.h"
#include "orchestrator/models/blocks.h"

#include <jansson.h>
#include <sys/queue.h>

struct erasure_batch;

/* Number of scores of erased samples that were dropped, or are still there. */
typedef void erasure_scores_fn(struct erasure_batch *batch, uint64_t samples);

/* Erasures that were in force when their models were traced: traced, purged and replaced as one. */
struct erasure_batch {
    struct erasures *all;
    struct context *context;
    LIST_ENTRY(erasure_batch) link;
    int64_t number; /* of its first erasure */
    enum erasure_state state;
    uint64_t timer;
    int64_t purged; /* directories of runs that were removed */
    int64_t cached; /* rows kept of samples that were overwritten */
    struct {
        struct erasure_scores_place place;
        uint64_t samples;
        erasure_scores_fn *done;
    } scores;
    char *replacing;  /* the model that is being replaced now */
    int64_t measured; /* pipelines up to this one have measured their new models, if they can */
    bool is_checked;  /* nothing of the samples is left here: receipts wait for storage alone */
    struct {
        /* of memory, wanted once storage had verified these: see wiping.h; 0: none yet */
        uint64_t wipe;
        int64_t *numbers;
        size_t count, done;
        bool is_requesting; /* storage is to report of a group of them */
    } due;                  /* erasures whose receipts come next */
    bool reported_trouble;
};

struct erasure_accepted {
    struct erasure_accepted *next;
    int64_t number;
    const char *dataset, *reference; /* the owner's */
    orchestrator_erasure_accepted_fn *done;
    void *owner;
};

/* Erasures that storage has brought into force, while their samples are fetched. */
struct erasure_arrived {
    int64_t number, erasure_epoch, samples, in_force_us, answered, expired;
    struct id_blocks ids;
};

struct erasures {
    struct context *context;
    struct runs *runs;
    struct evaluators *evaluators;
    struct pipelines *pipelines;
    struct wiping *wiping; /* of memory, for all of them */
    struct sealing *sealing;
    LIST_HEAD(, erasure_batch) batches;
    bool has_open;    /* one is not FINISHED */
    bool has_waiting; /* one is in force and in no batch yet */
    uint64_t reload_timer;
    struct {
        struct erasure_accepted *first, *last;
        uint64_t timer;
        size_t count, seen; /* waiting; and waiting when the last round ended */
        int64_t put_off_ms; /* since when their transaction is tried again; 0: it is not */
    } accepted;             /* wait for their transaction */
    struct {
        size_t count;     /* recorded since the last batch was closed */
        int64_t since_ms; /* when the first of them was */
        int64_t last_ms;  /* when the last one was */
    } crowd;
    struct {
        uint64_t timer;
        bool is_requesting; /* a page is at work */
        int64_t pause_ms;
        uint64_t first; /* numbers before are of no interest */
        uint64_t cursor,
            behind; /* how far storage was listened to; and where the next repetition begins */
        int64_t repeat_ms;    /* when that is */
        uint64_t page_cursor; /* of the page at work */
        uint64_t ids_cursor;  /* of its samples */
        struct erasure_arrived *arrived;
        size_t arrived_count;
    } progress;
};

typedef enum weir_status erasure_effect_fn(struct erasure_batch *batch, const void *what,
                                           struct weir_error *err);

/* The only writer of a batch's state: commits the edge of all its erasures with its effect, then begins the new state's
 * work. */
bool orchestrator_erasure_advance(struct erasure_batch *batch, enum erasure_event event,
                                  erasure_effect_fn *effect, const void *what);
/* Notes trouble and begins the state's work again after a pause. A batch is never given up. */
void orchestrator_erasure_trouble(struct erasure_batch *batch, const struct weir_error *err);
void orchestrator_erasure_begin_after(struct erasure_batch *batch, int64_t delay_ms);
/* Every receipt of the batch is written: frees it. */
void orchestrator_erasure_batch_finish(struct erasure_batch *batch);
/* Inside a transaction: the event erasure_step of the batch. `body` is consumed. `key` tells repeated steps apart. */
enum weir_status orchestrator_erasure_tell(struct erasure_batch *batch, const char *step,
                                           const char *key, json_t *body, struct weir_error *err);
/* The line of an event erasure_step of one erasure, for statements that write many. `body` is consumed. */
json_t *orchestrator_erasure_event_line(int64_t number, const char *step, json_t *body);
/* Takes all batches up again, as the rows have them. */
void orchestrator_erasures_reload(struct erasures *erasures);
/* Looks at the rows for has_open and has_waiting, and wakes who waits for a change of them. */
enum weir_status orchestrator_erasures_count(struct erasures *erasures,
                                             struct weir_error *err) WEIR_MUST_USE;

/* accepting.c: in the next round, all that were accepted meanwhile are recorded in one transaction. False: their table
 * is not to be had for a moment, and they wait. */
bool orchestrator_erasures_record_accepted(struct erasures *erasures);
void orchestrator_erasures_drop_accepted(struct erasures *erasures);
/* Many requests came lately, and more are to be expected: what they need is done once, when the last one has come.
 * Never true for long, nor when few came. */
bool orchestrator_erasures_still_come(const struct erasures *erasures);
/* A row for orchestrator_erasures_record(). */
json_t *orchestrator_erasure_row_json(int64_t number, const char *dataset, const char *reference);
/* `rows`: an array of objects number, reference, dataset. Those that are known stay as they are. */
enum weir_status orchestrator_erasures_record(struct erasures *erasures, json_t *rows,
                                              struct weir_error *err) WEIR_MUST_USE;
/* awaiting.c: listens to storage, for all erasures at once, as long as one is open. */
void orchestrator_erasures_listen(struct erasures *erasures);
void orchestrator_erasures_listen_soon(struct erasures *erasures);
void orchestrator_erasures_stop_listening(struct erasures *erasures);

void orchestrator_erasure_trace(struct erasure_batch *batch);
void orchestrator_erasure_purge(struct erasure_batch *batch);
void orchestrator_erasure_replace(struct erasure_batch *batch);
void orchestrator_erasure_verify(struct erasure_batch *batch);
/* *ret_started: some models are being measured; the batch's work begins again after that. */
enum weir_status orchestrator_erasure_measure(struct erasure_batch *batch, bool *ret_started,
                                              struct weir_error *err) WEIR_MUST_USE;

/* Inside a transaction: deletes what rows of the orchestrator's quote of these samples. May be repeated. */
enum weir_status orchestrator_erasure_forget_words(struct erasures *erasures,
                                                   const struct id_blocks *ids,
                                                   struct weir_error *err) WEIR_MUST_USE;

/* Asks the selector for one pipeline after the other; trouble begins the state's work again. */
void orchestrator_erasure_purge_scores(struct erasure_batch *batch, erasure_scores_fn *done);
void orchestrator_erasure_count_scores(struct erasure_batch *batch, erasure_scores_fn *done);

/* receipts.c: writes the receipts of those that storage has verified, many in one transaction. */
void orchestrator_erasure_write_receipts(struct erasure_batch *batch);

/* receipt.c: what the receipts of a batch have in common. */
struct erasure_context {
    json_t *models, *influenced, *unmeasured, *memory; /* owned */
    struct weir_rows *datasets;                        /* owned: numbers and names */
    struct export_holders exports;                     /* owned: whose sets held samples of it */
    int64_t batch, size;                               /* its number; how many erasures it is of */
};
enum weir_status orchestrator_erasure_context_load(const struct erasure_batch *batch,
                                                   struct erasure_context *ret_context,
                                                   struct weir_error *err) WEIR_MUST_USE;
void orchestrator_erasure_context_fini(struct erasure_context *context);
/* One row of Q_erasure_receipts_of and one of what storage reports of the same erasure. */
json_t *orchestrator_erasure_receipt_json(const struct erasure_context *context,
                                          const struct weir_rows *rows, size_t row,
                                          const struct msg_erase_reports *reports, size_t report,
                                          const struct id_blocks *ids);

#endif
