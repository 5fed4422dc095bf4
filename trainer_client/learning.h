/* Keys of `training` about how a built-in model learns: optimizer, schedule, clip, class_weights. */
#ifndef WEIR_TRAINER_CLIENT_LEARNING_H
#define WEIR_TRAINER_CLIENT_LEARNING_H

#include "trainer_client/models/clip.h"
#include "trainer_client/models/loss.h"
#include "trainer_client/models/optimizer.h"
#include "trainer_client/models/schedule.h"

/* As written. */
struct learning_keys {
    const struct weir_yaml_node *optimizer, *schedule, *clip, *class_weights;
};
// clang-format off
#define TRAINER_LEARNING_ROWS(owner, in)                                                                            \
    CFG_KEY_AS("optimizer", CFG_KIND_NODE, const struct weir_yaml_node *, owner, in optimizer,                      \
               .doc = "name of an optimizer, or {name: NAME, its options}; adagrad otherwise"),                     \
    CFG_KEY_AS("schedule", CFG_KIND_NODE, const struct weir_yaml_node *, owner, in schedule,                        \
               .doc = "name of a schedule of the learning rate, or {name: NAME, its options}; constant otherwise"), \
    CFG_KEY_AS("clip", CFG_KIND_NODE, const struct weir_yaml_node *, owner, in clip,                                \
               .doc = "{norm: 1} or {value: 0.5}: bound of a step's gradient; none otherwise"),                     \
    CFG_KEY_AS("class_weights", CFG_KIND_NODE, const struct weir_yaml_node *, owner, in class_weights,              \
               .doc = "{CLASS: WEIGHT, …}: factor of the weight of a class's samples while the model learns, 1 "    \
                      "for a class that is not named; classes that label.classes does not list go by number")
// clang-format on
enum { TRAINER_LEARNING_KEYS = 4 };

/* As understood. */
struct learning {
    const struct optimizer *optimizer;
    struct optimizer_options optimizer_options;
    const struct schedule *schedule;
    struct schedule_shared schedule_shared;
    struct schedule_options schedule_options;
    struct clip_options clip;
    const struct weir_yaml_node *class_weights; /* NULL: all alike */
};

/* Reads them; `root` is the pipeline file's, in which the classes may be declared. INVALID with the place. */
enum weir_status trainer_learning_read(const struct learning_keys *keys,
                                       const struct weir_yaml_node *root, const struct loss *loss,
                                       struct learning *ret_learning,
                                       struct weir_error *err) WEIR_MUST_USE;
/* The weights of classes 0 to `count` - 1, which are called `names`, or by their numbers where that is NULL. The caller
 * frees them. */
enum weir_status trainer_learning_class_weights(const struct weir_yaml_node *node,
                                                const char *const *names, size_t count,
                                                double **ret_weights,
                                                struct weir_error *err) WEIR_MUST_USE;
void trainer_learning_print(const struct learning *learning, struct weir_buf *out);
void trainer_learning_describe(struct weir_buf *out);

#endif
