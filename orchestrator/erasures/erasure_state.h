/* The inside of an erasure, shared by the files of this folder: one file per state does that state's work. */
#ifndef ORCHESTRATOR_ERASURES_ERASURE_STATE_H
#define ORCHESTRATOR_ERASURES_ERASURE_STATE_H

#include "orchestrator/erasures/erasure.h"
#include "orchestrator/erasures/machine.h"
#include "orchestrator/models/blocks.h"

#include <jansson.h>

struct erasure;

/* How many scores of erased samples were dropped, or are still there. */
typedef void erasure_scores_fn(struct erasure *erasure, uint64_t samples);

struct erasure {
    struct orchestrator *orch;
    struct erasure *next;
    int64_t number;
    enum erasure_state state;
    uint64_t timer;
    uint64_t page;        /* of its ids, being asked for; 0: none yet */
    struct id_blocks ids; /* of the pages so far; empty once they are noted */
    int64_t purged;       /* directories of runs that were removed */
    struct {
        struct erasure_scores_place place;
        uint64_t samples;
        erasure_scores_fn *done;
    } scores;
    char *replacing;  /* the model that is being replaced now */
    int64_t measured; /* pipelines up to this one have measured their new models, if they can */
    uint64_t wipe;    /* after storage had verified: see wiping.h; 0: none yet */
    bool told_trouble;
};

typedef enum weir_status erasure_effect_fn(struct erasure *erasure, const void *what,
                                           struct weir_error *err);

/* The only writer of the state: commits the edge with its effect, then begins the new state's work. */
bool erasure_advance(struct erasure *erasure, enum erasure_event event, erasure_effect_fn *effect,
                     const void *what);
/* Notes trouble and begins the state's work again after a pause. An erasure is never given up. */
void erasure_trouble(struct erasure *erasure, const struct weir_error *err);
void erasure_begin_after(struct erasure *erasure, int64_t delay_ms);
/* Inside a transaction: the event erasure_step. `body` is consumed. `key` tells repeated steps apart. */
enum weir_status erasure_tell(struct erasure *erasure, const char *step, const char *key,
                              json_t *body, struct weir_error *err);
/* No erasure with a smaller number works on models. */
bool erasure_is_first(const struct erasure *erasure);

void erasure_await(struct erasure *erasure);
void erasure_trace(struct erasure *erasure);
void erasure_purge(struct erasure *erasure);
void erasure_replace(struct erasure *erasure);
void erasure_verify(struct erasure *erasure);
/* *ret_started: some models are being measured; the erasure's work begins again behind that. */
enum weir_status erasure_measure(struct erasure *erasure, bool *ret_started,
                                 struct weir_error *err) WEIR_MUST_USE;

/* Inside a transaction: deletes what rows of the orchestrator's quote of these samples. May be repeated. */
enum weir_status erasure_forget_words(struct orchestrator *orch, const struct id_blocks *ids,
                                      struct weir_error *err) WEIR_MUST_USE;

/* Asks the selector for one pipeline after the other; trouble begins the state's work again. */
void erasure_purge_scores(struct erasure *erasure, erasure_scores_fn *done);
void erasure_count_scores(struct erasure *erasure, erasure_scores_fn *done);

/* What storage says at the end, and the receipt made of everything. */
struct erasure_receipt {
    char *text; /* the file's content */
    char hash[65];
};
enum weir_status erasure_receipt_make(struct erasure *erasure, const struct msg_erase_is *storage,
                                      struct erasure_receipt *ret_receipt,
                                      struct weir_error *err) WEIR_MUST_USE;

#endif
