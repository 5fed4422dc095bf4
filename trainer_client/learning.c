/* Reading, printing and describing how a built-in model learns. */
#include "trainer_client/learning.h"

#include "core/base/memory.h"
#include "core/config/sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- optimizer and schedule ---- */

struct optimizer_section {
    const char *name;
};
static const struct cfg_key OPTIMIZER[] = {
    CFG_TEXT(struct optimizer_section, name, .fallback = "adagrad", .doc = "name of the optimizer"),
    CFG_END,
};

static enum weir_status read_optimizer(const struct weir_yaml_node *node, struct learning *learning,
                                       struct weir_error *err)
{
    const struct cfg_shared shared = {OPTIMIZER, sizeof(struct optimizer_section)};
    struct cfg_opened opened = {0};
    learning->optimizer = trainer_optimizer_find(OPTIMIZER[0].fallback);
    if (node == NULL)
        return cfg_read(learning->optimizer->options, CFG_CLOSED, NULL, "training.optimizer", NULL,
                        &learning->optimizer_options, err);
    enum weir_status status =
        cfg_plugin_open(&TRAINER_OPTIMIZERS, &shared, node, "training.optimizer", &opened, err);
    if (status != WEIR_OK)
        return status;
    learning->optimizer = (const struct optimizer *)opened.plugin;
    memcpy(&learning->optimizer_options, opened.options, sizeof(learning->optimizer_options));
    free(opened.memory);
    return WEIR_OK;
}

static enum weir_status read_schedule(const struct weir_yaml_node *node, struct learning *learning,
                                      struct weir_error *err)
{
    const struct cfg_shared shared = {TRAINER_SCHEDULE_KEYS, sizeof(struct schedule_shared)};
    struct cfg_opened opened = {0};
    learning->schedule = trainer_schedule_at(0);
    if (node == NULL)
        return cfg_read(TRAINER_SCHEDULE_KEYS, CFG_CLOSED, NULL, "training.schedule", NULL,
                        &learning->schedule_shared, err);
    enum weir_status status =
        cfg_plugin_open(&TRAINER_SCHEDULES, &shared, node, "training.schedule", &opened, err);
    if (status != WEIR_OK)
        return status;
    learning->schedule = (const struct schedule *)opened.plugin;
    memcpy(&learning->schedule_shared, opened.memory, sizeof(learning->schedule_shared));
    memcpy(&learning->schedule_options, opened.options, sizeof(learning->schedule_options));
    learning->schedule_shared.name = learning->schedule->name;
    free(opened.memory);
    return WEIR_OK;
}

/* ---- clip ---- */

static enum weir_status read_clip(const struct weir_yaml_node *node, struct clip_options *clip,
                                  struct weir_error *err)
{
    if (node == NULL)
        return WEIR_OK;
    enum weir_status status =
        cfg_read(TRAINER_CLIP_KEYS, CFG_CLOSED, node, "training.clip", NULL, clip, err);
    if (status == WEIR_OK && (clip->norm > 0.0) == (clip->value > 0.0))
        return weir_yaml_fail(node, err, "training.clip: expected {norm: 1} or {value: 0.5}");
    return status;
}

/* ---- class_weights ---- */

static const double CLASS_WEIGHT_MAX = 1e6;

/* Reads `node` by a table that has a key for each name. `names` NULL: numbers. */
static enum weir_status read_weights(const struct weir_yaml_node *node, const char *const *names,
                                     size_t count, enum cfg_strictness strictness, double *weights,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE struct cfg_key *keys = weir_calloc(count + 1, sizeof(*keys));
    enum { NUMBER_BYTES = 24 };
    WEIR_AUTO_FREE char *numbers = weir_calloc(count + 1, NUMBER_BYTES);
    for (size_t i = 0; i < count; i++) {
        char *number = numbers + i * NUMBER_BYTES;
        snprintf(number, NUMBER_BYTES, "%zu", i);
        keys[i] = (struct cfg_key){.name = names != NULL ? names[i] : number,
                                   .kind = CFG_KIND_F64,
                                   .offset = i * sizeof(*weights),
                                   .fallback = "1",
                                   .max = CLASS_WEIGHT_MAX};
    }
    return cfg_read(keys, strictness, node, "training.class_weights", NULL, weights, err);
}

enum weir_status trainer_learning_class_weights(const struct weir_yaml_node *node,
                                                const char *const *names, size_t count,
                                                double **ret_weights, struct weir_error *err)
{
    /* Names were checked with the file; a class that grows with the stream may come later. */
    enum cfg_strictness strictness = names != NULL ? CFG_OPEN : CFG_CLOSED;
    WEIR_AUTO_FREE double *weights = weir_calloc(count + 1, sizeof(*weights));
    enum weir_status status = read_weights(node, names, count, strictness, weights, err);
    if (status == WEIR_OK)
        *ret_weights = WEIR_TAKE(weights);
    return status;
}

/* Appends the classes that the pipeline's datasets declare. False where they are not all known from the file. */
static bool list_declared(const struct weir_yaml_node *root, const char **names, size_t max,
                          size_t *count)
{
    const struct weir_yaml_node *datasets = cfg_datasets(root);
    for (size_t d = 0; d < weir_yaml_length(datasets); d++) {
        const struct weir_yaml_node *label = weir_yaml_get(weir_yaml_at(datasets, d), "label");
        const struct weir_yaml_node *classes = weir_yaml_get(label, "classes");
        size_t length = weir_yaml_length(classes);
        if (weir_yaml_text(classes) != NULL || length == 0 || *count + length > max)
            return false;
        for (size_t i = 0; i < length; i++) {
            const char *name = weir_yaml_text(weir_yaml_at(classes, i));
            if (name == NULL)
                return false;
            names[(*count)++] = name;
        }
    }
    return *count > 0;
}

/* Names that come with samples may be people's: storage alone knows them, trainers know numbers. */
static enum weir_status check_numbers(const struct weir_yaml_node *node, struct weir_error *err)
{
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        const char *key = weir_yaml_key(node, i);
        if (key[0] == '\0' || strspn(key, "0123456789") != strlen(key))
            return weir_yaml_fail(weir_yaml_value(node, i), err,
                                  "training.class_weights.%s: expected the number of a class: only "
                                  "classes that datasets[].label.classes lists have names here",
                                  key);
    }
    return WEIR_OK;
}

enum { DECLARED_MAX = 4096 };

static enum weir_status check_class_weights(const struct weir_yaml_node *node,
                                            const struct weir_yaml_node *root,
                                            const struct loss *loss, struct weir_error *err)
{
    if (node == NULL)
        return WEIR_OK;
    if (!loss->takes_classes)
        return weir_yaml_fail(
            node, err,
            "training.class_weights: expected none with loss: %s, whose labels are "
            "no classes",
            loss->name);
    if (!weir_yaml_is_mapping(node) || weir_yaml_pairs(node) == 0)
        return weir_yaml_fail(node, err,
                              "training.class_weights: expected {CLASS: WEIGHT, …} such as "
                              "{spam: 5, ham: 1}");
    size_t pairs = weir_yaml_pairs(node), count = 0;
    size_t room = pairs > DECLARED_MAX ? pairs : DECLARED_MAX;
    WEIR_AUTO_FREE const char **names = weir_calloc(room + 1, sizeof(*names));
    WEIR_AUTO_FREE double *weights = weir_calloc(room + 1, sizeof(*weights));
    if (!list_declared(root, names, room, &count)) {
        for (count = 0; count < pairs; count++)
            names[count] = weir_yaml_key(node, count);
        enum weir_status status = check_numbers(node, err);
        if (status != WEIR_OK)
            return status;
    }
    return read_weights(node, names, count, CFG_CLOSED, weights, err);
}

/* ---- all of them ---- */

enum weir_status trainer_learning_read(const struct learning_keys *keys,
                                       const struct weir_yaml_node *root, const struct loss *loss,
                                       struct learning *ret_learning, struct weir_error *err)
{
    struct learning learning = {.class_weights = keys->class_weights};
    enum weir_status status = read_optimizer(keys->optimizer, &learning, err);
    if (status == WEIR_OK)
        status = read_schedule(keys->schedule, &learning, err);
    if (status == WEIR_OK)
        status = read_clip(keys->clip, &learning.clip, err);
    if (status == WEIR_OK)
        status = check_class_weights(keys->class_weights, root, loss, err);
    if (status == WEIR_OK)
        *ret_learning = learning;
    return status;
}

static void print_clip(const struct clip_options *clip, struct weir_buf *out)
{
    if (clip->norm > 0.0)
        weir_buf_printf(out, "  clip: {norm: %.17g}\n", clip->norm);
    if (clip->value > 0.0)
        weir_buf_printf(out, "  clip: {value: %.17g}\n", clip->value);
}

void trainer_learning_print(const struct learning *learning, struct weir_buf *out)
{
    weir_buf_printf(out, "  optimizer:\n    name: %s\n", learning->optimizer->name);
    cfg_print(learning->optimizer->options, &learning->optimizer_options, 4, out);
    weir_buf_append_text(out, "  schedule:\n");
    cfg_print(TRAINER_SCHEDULE_KEYS, &learning->schedule_shared, 4, out);
    cfg_print(learning->schedule->options, &learning->schedule_options, 4, out);
    print_clip(&learning->clip, out);
    if (learning->class_weights == NULL)
        return;
    weir_buf_append_text(out, "  class_weights: ");
    weir_yaml_print(learning->class_weights, out);
    weir_buf_append_text(out, "\n");
}

void trainer_learning_describe(struct weir_buf *out)
{
    cfg_registry_document(&TRAINER_OPTIMIZERS, "### training.optimizer", out);
    weir_buf_append_text(out, "\n### training.schedule\n\n");
    cfg_document(TRAINER_SCHEDULE_KEYS, out);
    cfg_registry_document(&TRAINER_SCHEDULES, "### training.schedule", out);
    weir_buf_append_text(out, "\n### training.clip\n\nOne of both.\n\n");
    cfg_document(TRAINER_CLIP_KEYS, out);
}
