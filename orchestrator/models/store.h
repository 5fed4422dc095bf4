/* Stored models: files models/ID.weirmodel with a checksum and their fitted state beside them, rows in Postgres. A
 * model's file is complete and durable before its row exists; rows outlive their files, for lineage. */
#ifndef ORCHESTRATOR_MODELS_STORE_H
#define ORCHESTRATOR_MODELS_STORE_H

#include "core/base/hash.h"
#include "orchestrator/runs/run.h"

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
    const char *file;        /* below the data directory */
    const char *fitted_file; /* "": none */
    const char *state;       /* stored, replacing, replaced, retired */
    const char *replaced_by; /* NULL: none */
    int64_t erasure;
    int64_t until_time;
    const char *cost; /* JSON */
    int64_t created_us;
    const char *scored_by; /* the model whose scores chose its set; "": none */
};

/* NOT_FOUND "model X: there is none". Release with orchestrator_model_fini(). */
enum weir_status orchestrator_model_get(struct orchestrator *orch, const char *id,
                                        struct stored_model *ret_model,
                                        struct weir_error *err) WEIR_MUST_USE;
void orchestrator_model_fini(struct stored_model *model);
/* All models of a pipeline (0: of every one); read each with orchestrator_model_row(). */
enum weir_status orchestrator_model_all(struct orchestrator *orch, int64_t pipeline,
                                        struct weir_rows **ret_rows,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Borrows `rows`. */
void orchestrator_model_row(struct weir_rows *rows, size_t row, struct stored_model *ret_model);
/* Appends the fitted state; nothing when there is none. */
enum weir_status orchestrator_model_fitted(const struct orchestrator *orch,
                                           const struct stored_model *model, struct weir_buf *out,
                                           struct weir_error *err) WEIR_MUST_USE;

/* What is to become a model. */
struct model_wanted {
    const char *id;
    const struct run_result *run;
    const char *state; /* "stored", or "replacing" until an erasure swaps it in */
    int64_t erasure;   /* 0: none */
    int64_t until_time;
};
/* The files in place. */
struct model_files {
    char checksum[WEIR_DIGEST_TEXT_MAX];
    int64_t bytes;
    char *file;
    char *fitted_file;
};
/* Moves the run's model file into models/, durably, and writes the fitted state. May be repeated. */
enum weir_status orchestrator_model_place(const struct orchestrator *orch,
                                          const struct model_wanted *wanted,
                                          struct model_files *ret_files,
                                          struct weir_error *err) WEIR_MUST_USE;
void orchestrator_model_files_fini(struct model_files *files);
/* Inside a transaction: the row, and the event model_stored. */
enum weir_status orchestrator_model_add(struct orchestrator *orch,
                                        const struct model_wanted *wanted,
                                        const struct model_files *files,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Unlinks a model's files. Absent is fine. */
enum weir_status orchestrator_model_remove_files(const struct orchestrator *orch,
                                                 const struct stored_model *model,
                                                 struct weir_error *err) WEIR_MUST_USE;

#endif
