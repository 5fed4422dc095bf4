/* Stored models: files models/ID.weirmodel, or models/ID.weirdelta for the difference from another one, with a checksum
 * and their fitted state beside them, rows in Postgres. A model's file is complete and durable before its row exists;
 * rows outlive their files, for lineage. What a file holds is read through content.h. */
#ifndef ORCHESTRATOR_MODELS_STORE_H
#define ORCHESTRATOR_MODELS_STORE_H

#include "core/base/hash.h"
#include "orchestrator/config/model_settings.h"
#include "orchestrator/context/context.h"
#include "orchestrator/models/run_result.h"

#include <jansson.h>

enum { ORCHESTRATOR_MODEL_BYTES_MAX = 1 << 30 };

/* A row; texts belong to it. */
struct stored_model {
    struct weir_rows *rows;
    size_t row;
    const char *id;
    int64_t pipeline, trigger, run;
    const char *parent; /* NULL: none */
    const char *set_digest;
    int64_t clean_epoch;
    const char *checksum;
    int64_t bytes;
    const char *file;            /* below the data directory */
    const char *fitted_file;     /* "": none */
    const char *fitted_checksum; /* "": not known, of one that an older Weir has stored */
    /* stored, replacing, holdout, round; without files: replaced, retired, dropping, dropped */
    const char *state;
    const char *replaced_by; /* NULL: none */
    int64_t erasure;
    int64_t until_time;
    const char *cost; /* JSON */
    int64_t created_us;
    const char *scored_by; /* the model whose scores chose its set; "": none */
    const char *base;      /* the model its file is the difference from; "": the file is whole */
    int64_t deltas;        /* from its file to one that is whole */
    int64_t stored_bytes;  /* of its file */
    /* models of the holdout that had a say in its set, separated by spaces; "": none */
    const char *held_out_by;
    /* "": a trigger's; never measured: holdout, and round, of a part of a training */
    const char *role;
    bool is_active; /* of its pipeline */
};

/* Returns true for what a run may start from beside a model's id: the absolute path of a model's file. */
static inline bool orchestrator_model_is_path(const char *base)
{
    return base != NULL && base[0] == '/';
}

/* Returns true when its file is there, or on its way: stored, replacing, holdout or round. */
bool orchestrator_model_is_live(const struct stored_model *model);
/* The same of what a row says. */
bool orchestrator_model_state_is_live(const char *state);
/* Returns true when models.keep let it go. */
bool orchestrator_model_is_dropped(const struct stored_model *model);

/* NOT_FOUND "model X: there is none". */
enum weir_status orchestrator_model_is_missing(const char *id, struct weir_error *err);
/* The same where there is none. Release with orchestrator_model_fini(). */
enum weir_status orchestrator_model_get(struct context *context, const char *id,
                                        struct stored_model *ret_model,
                                        struct weir_error *err) WEIR_MUST_USE;
void orchestrator_model_fini(struct stored_model *model);
/* All models of a pipeline (0: of every one); read each with orchestrator_model_row(). */
enum weir_status orchestrator_model_all(struct context *context, int64_t pipeline,
                                        struct weir_rows **ret_rows,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Borrows `rows`. */
void orchestrator_model_row(struct weir_rows *rows, size_t row, struct stored_model *ret_model);
/* Appends the fitted state; nothing when there is none. NOT_FOUND when its file is gone, CORRUPT when the bytes are not
 * what was stored. */
enum weir_status orchestrator_model_fitted(const struct context *context,
                                           const struct stored_model *model, struct weir_buf *out,
                                           struct weir_error *err) WEIR_MUST_USE;

/* A model to be. */
struct model_wanted {
    const char *id;
    const struct run_result *run;
    /* "stored"; "replacing" until an erasure swaps it in; "holdout", "round": never active */
    const char *state;
    const char *role; /* as above; NULL: a trigger's */
    int64_t erasure;  /* 0: none */
    int64_t until_time;
    const struct models_settings *settings;
    json_t *timeline; /* of its trigger, borrowed: the event has it; NULL: it is no trigger's */
};
/* The files in place. */
struct model_files {
    char checksum[WEIR_DIGEST_TEXT_MAX];
    char fitted_checksum[WEIR_DIGEST_TEXT_MAX]; /* "": there is no fitted state */
    int64_t bytes, stored_bytes;
    char *file;
    char *fitted_file;
    char *base; /* "": none */
    int64_t deltas;
};
/* Moves the run's model file into models/, durably, or writes its difference from the model it started from there where
 * `settings` want that and it is smaller; and the fitted state. May be repeated. */
enum weir_status orchestrator_model_place(struct context *context,
                                          const struct model_wanted *wanted,
                                          struct model_files *ret_files,
                                          struct weir_error *err) WEIR_MUST_USE;
void orchestrator_model_files_fini(struct model_files *files);
/* Inside a transaction: the row, and the event model_stored, if it is a trigger's. */
enum weir_status orchestrator_model_add(struct context *context, const struct model_wanted *wanted,
                                        const struct model_files *files,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Unlinks a model's files, which no live model may need. Absent is fine. */
enum weir_status orchestrator_model_remove_files(const struct context *context,
                                                 const struct stored_model *model,
                                                 struct weir_error *err) WEIR_MUST_USE;

#endif
