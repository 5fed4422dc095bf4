/* The scores that models gave samples: kept per pipeline, model and mode as files (packed.h), one for each
 * set that was scored, described by a row in Postgres. Written once; scores that
 * must be forgotten are left out of a file that takes the place of the old one. */
#ifndef SELECTOR_SCORES_SCORES_H
#define SELECTOR_SCORES_SCORES_H

#include "core/db/db.h"
#include "core/wire/wire.h"
#include "selector/sets/set.h"

enum { SELECTOR_SCORES_FLOATS_MAX = 1 << 30 }; /* of one choice: 4 GiB */

struct selector_scores_store {
    struct weir_db *db;
    const char *data_dir;
};

/* Scores that a choice looks for. */
struct selector_scores_query {
    const char *pipeline;
    const char *from; /* another pipeline whose scores will do as well; NULL: none */
    const char *mode;
    const char *model;
    size_t column;       /* of several numbers per sample, the wanted one; SIZE_MAX: all */
    const uint64_t *ids; /* ascending */
    size_t count;
};

enum selector_score_state { SELECTOR_UNSCORED, SELECTOR_SCORED, SELECTOR_UNSCORABLE };

struct selector_scores {
    uint8_t *states; /* selector_score_state of each id */
    float *values;   /* (count, width); undefined for an id without a score */
    size_t width;    /* 0: no id has a score */
};

/* Takes over a model's scores of a set; the same request is answered the same, even when the file has gone. INVALID
 * when the outputs are not of that set, NOT_FOUND when set or outputs are gone. */
enum weir_status selector_scores_take(const struct selector_scores_store *store,
                                      const struct msg_scores_take *take,
                                      struct msg_scores_noted *ret_noted,
                                      struct weir_error *err) WEIR_MUST_USE;
/* LIMIT beyond SELECTOR_SCORES_FLOATS_MAX. Freed by selector_scores_fini(), whatever the outcome. */
enum weir_status selector_scores_find(const struct selector_scores_store *store,
                                      const struct selector_scores_query *query,
                                      struct selector_scores *ret_scores,
                                      struct weir_error *err) WEIR_MUST_USE;
void selector_scores_fini(struct selector_scores *scores);
/* The model of pipeline `from` that has scored most of the ids, of equal ones the newest; the caller frees it.
 * NULL: none has scored any. */
enum weir_status selector_scores_best_model(const struct selector_scores_store *store,
                                            const struct selector_scores_query *query,
                                            char **ret_model, struct weir_error *err) WEIR_MUST_USE;
/* Takes one sample of a training that reported its loss; NaN and infinite ones too. */
typedef void selector_reported_fn(void *owner, uint64_t id, int64_t label, float loss);
/* Passes on the losses that the training of `model` reported of the set of its trigger, in order of id; none when it
 * reported none. */
enum weir_status selector_scores_reported(const struct selector_scores_store *store,
                                          const char *pipeline, const char *model,
                                          selector_reported_fn *tell, void *owner,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Drops the scores that a pipeline keeps of samples outside `live`. */
enum weir_status selector_scores_purge(const struct selector_scores_store *store,
                                       const char *pipeline, const struct selector_set *live,
                                       uint64_t *ret_samples, struct weir_error *err) WEIR_MUST_USE;
/* Counts the entries for any of `ids` (ascending), scored or unscorable, in all files of the pipeline. */
enum weir_status selector_scores_count(const struct selector_scores_store *store,
                                       const char *pipeline, const uint64_t *ids, size_t count,
                                       uint64_t *ret_samples, struct weir_error *err) WEIR_MUST_USE;

#endif
