/* The pipeline file as the orchestrator reads it: its own sections (pipeline, trigger, evaluation, deletion) and the
 * few keys of others' sections that driving a run needs. The other services check theirs from the same text. */
#ifndef ORCHESTRATOR_CONFIG_CONFIG_H
#define ORCHESTRATOR_CONFIG_CONFIG_H

#include "core/config/complaints.h"
#include "core/config/sections.h"
#include "orchestrator/config/budget.h"
#include "orchestrator/config/model_settings.h"
#include "orchestrator/config/site.h"
#include "orchestrator/evaluations/section.h"

enum {
    ORCHESTRATOR_EVALUATIONS_MAX = 8,
    ORCHESTRATOR_DATASETS_MAX = 64,
    ORCHESTRATOR_NAME_MAX = 64,
};

enum orchestrator_mode { MODE_REPLAY, MODE_LIVE };

/* The fate of models that have seen erased samples. */
enum orchestrator_deletion { DELETION_RETRAIN_NOW, DELETION_RETIRE, DELETION_KEEP };

/* Texts are borrowed from the document. */
struct orchestrator_config {
    struct weir_yaml *document;
    const char *name;
    int mode; /* enum orchestrator_mode */
    const char *datasets[ORCHESTRATOR_DATASETS_MAX];
    unsigned uses[ORCHESTRATOR_DATASETS_MAX]; /* of each: enum cfg_use */
    size_t dataset_count;
    const struct weir_yaml_node *trigger;
    struct orchestrator_evaluation evaluations[ORCHESTRATOR_EVALUATIONS_MAX];
    size_t evaluation_count;
    struct models_settings models;
    struct promote_settings promote;
    struct budget budget;
    int deletion;               /* enum orchestrator_deletion */
    int64_t deletion_within_us; /* an erasure that takes longer is overdue */
    uint64_t epochs;
    uint64_t seed;
    uint64_t retries;
    int64_t patience_ms;    /* with a trainer that says nothing */
    int64_t keep_warm_ms;   /* time that a trainer waits for the next run; 0: it leaves */
    uint64_t gpus;          /* held by each of its trainers */
    uint64_t ranks;         /* processes of a training */
    const char *start_from; /* "previous", "scratch", or a model's id */
    const char *loss;
    const char *program;                          /* training.program; "": a built-in model */
    const struct weir_yaml_node *program_options; /* NULL: none */
    bool reports;                                 /* training.report_losses */
    bool digests;                                 /* training.digests */
    struct cfg_batch_then_sample in_batch;        /* selection.batch_then_sample */
    struct cfg_on_error on_error;                 /* preprocess.on_error */
    const char *group;                            /* training.group */
    struct cfg_texts slices;                      /* training.slices */
};

/* Reads the sections of the zeroed config's document, each by itself: see parse.h. */
void orchestrator_config_read(struct orchestrator_config *config,
                              struct cfg_complaints *complaints);
/* INVALID with file:line:column where training.program is not allowed, or does not do what a section needs, or where
 * money is limited that nothing costs, or more GPU slots are wanted than there are (`site`; NULL: not known). Not part
 * of parsing: a recorded pipeline is loaded whatever the system file says today. */
enum weir_status orchestrator_config_check_system(const struct orchestrator_config *config,
                                                  const struct orchestrator_site *site,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* True when one of its datasets, be it one of labels, is called `dataset`. */
bool orchestrator_config_names(const struct orchestrator_config *config, const char *dataset);
/* Appends the names of them all, a line each. */
void orchestrator_config_list_datasets(const struct orchestrator_config *config,
                                       struct weir_buf *out);
/* The evaluation of that name, borrowed; NULL: there is none. */
const struct orchestrator_evaluation *orchestrator_config_evaluation(
    const struct orchestrator_config *config, const char *name);
/* The first of its datasets that the other one has, too; NULL: none. Borrowed. */
const char *orchestrator_config_shared(const struct orchestrator_config *config,
                                       const struct orchestrator_config *other);
/* True when an evaluation measures on samples of the dataset of that index; NULL for `named`: one that names none. */
bool orchestrator_config_measures(const struct orchestrator_config *config, size_t index,
                                  const char *named);
/* True when the set of a trigger depends on samples, sets and seed alone, on no model. */
bool orchestrator_config_selects_alone(const struct orchestrator_config *config);
void orchestrator_config_free(struct orchestrator_config *config);
WEIR_DEFINE_AUTO(orchestrator_config, orchestrator_config_free)

/* Appends the effective values of the orchestrator's own sections as YAML. */
enum weir_status orchestrator_config_print(const struct orchestrator_config *config,
                                           struct weir_buf *out,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Appends their reference page. */
void orchestrator_config_describe(struct weir_buf *out);

#endif
