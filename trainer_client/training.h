/* The section `training` of a pipeline file: which model learns how. Owned by the trainer; orchestrator and selector
 * read the keys of struct cfg_training from the same text. */
#ifndef WEIR_TRAINER_CLIENT_TRAINING_H
#define WEIR_TRAINER_CLIENT_TRAINING_H

#include "core/config/complaints.h"
#include "core/config/sections.h"
#include "trainer_client/groups.h"
#include "trainer_client/learning.h"
#include "trainer_client/models/loss.h"
#include "trainer_client/models/model.h"

enum { MODEL_OPTIONS_MAX = 256 }; /* bytes of any model's options */

struct training {
    /* As written. */
    struct training_keys {
        const struct weir_yaml_node *model;
        const struct weir_yaml_node *options;
        const char *program;
        int loss;
        struct cfg_training shared;
        struct cfg_texts carry, slices;
        struct learning_keys learning;
        const struct weir_yaml_node *checkpoint;
        int device;
        uint64_t threads;
        const char *group;
    } keys;
    /* As understood. */
    const struct model *model; /* NULL: training.program trains */
    _Alignas(16) uint8_t model_options[MODEL_OPTIONS_MAX];
    const struct loss *loss;
    struct learning learning;
    struct cfg_batch_then_sample choice; /* selection.batch_then_sample; ratio 0: none */
    int64_t checkpoint_us;      /* from the end of one to the beginning of the next, at least */
    struct groups_wanted tells; /* tensors that no model sees */
    bool carries_optimizer;     /* a warm start takes over the optimizer's state too */
};

/* Reads the section from the root of a pipeline file. Texts are borrowed from the document. A
 * missing section is an error: a pipeline trains. */
enum weir_status trainer_training_read(const struct weir_yaml_node *root,
                                       struct training *ret_training,
                                       struct weir_error *err) WEIR_MUST_USE;
/* The same for people: with all that is wrong. */
void trainer_training_check(const struct weir_yaml_node *root, struct cfg_complaints *complaints);
void trainer_training_print(const struct training *training, struct weir_buf *out);
void trainer_training_describe(struct weir_buf *out);

/* Returns when the next checkpoint begins at the earliest, after one that took from `began_ms` to `done_ms`: a large
 * model may take longer to write than the time between two, and at least half of the time is for training. */
int64_t trainer_training_next_checkpoint_ms(const struct training *training, int64_t began_ms,
                                            int64_t done_ms);

/* Reads the options of `model` from a mapping (NULL: all defaults) into `options`
 * (MODEL_OPTIONS_MAX bytes). */
enum weir_status trainer_training_read_model(const struct model *model,
                                             const struct weir_yaml_node *node, void *options,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
