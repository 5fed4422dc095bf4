/* Which models of a pipeline keep their files (models.keep). A model that is dropped keeps its row:
 * lineage goes through it, and an erasure that needs it trains it again. */
#ifndef ORCHESTRATOR_MODELS_RETENTION_H
#define ORCHESTRATOR_MODELS_RETENTION_H

#include "orchestrator/config/model_settings.h"
#include "orchestrator/config/outline.h"
#include "orchestrator/context/context.h"

/* A live model, as far as the choice is concerned. */
struct retention_model {
    const char *id;
    const char *base; /* "": its file is whole */
    bool active;
    bool measured; /* by models.keep.by */
    bool defined;
    double value;
};

/* `models` (count) in the order of their triggers. Writes to `drop` which may go: never the active one, the newest one,
 * one that is not measured yet, or one that a kept one is the difference from. Pure. */
void orchestrator_models_choose_dropped(const struct models_settings *settings,
                                        const struct retention_model *models, size_t count,
                                        bool *drop);

/* Drops what may go; not while an erasure works on models. */
enum weir_status orchestrator_models_retain(struct context *context,
                                            struct pipeline_outline pipeline,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Removes the files of models that a crash left half dropped, of every pipeline. */
enum weir_status orchestrator_models_end_dropping(struct context *context,
                                                  struct weir_error *err) WEIR_MUST_USE;

#endif
