/* Reading, printing and describing the section `training`. */
#include "trainer_client/training.h"

#include <stdlib.h>
#include <string.h>

static const char *const DEVICES[] = {"auto", "cpu", NULL};
static const char *const CARRIED[] = {"weights", "optimizer", NULL};

enum {
    NESTED_KEYS = 5 + TRAINER_LEARNING_KEYS
}; /* at the front of the table: mappings and lists, printed as understood */
static const struct cfg_key TRAINING[] = {
    CFG_NODE(struct training_keys, model,
             .doc = "name of a built-in model, or {name: NAME, its options}"),
    CFG_NODE(struct training_keys, options,
             .doc = "anything, for `program` alone, which finds it as JSON in its task"),
    TRAINER_LEARNING_ROWS(struct training_keys, learning.),
    CFG_NODE(struct training_keys, checkpoint,
             .doc = "{every: 60s}: how much work a crash may cost"),
    CFG_TEXTS(struct training_keys, carry,
              .doc = "parts that a start from a model takes over: weights (always), optimizer"),
    CFG_TEXTS(
        struct training_keys, slices,
        .doc =
            "tensors, at most 7, that metrics may be told apart by (evaluation.metrics, by: NAME), the "
            "country of a click for example; models do not see them"),
    CFG_TEXT(
        struct training_keys, program, .fallback = "",
        .doc =
            "one of `programs` of the system file, which trains in place of a built-in model; its loss, "
            "optimizer and so on are its `options`"),
    CFG_CHOICE(struct training_keys, loss, .fallback = "logistic", .choices = TRAINER_LOSS_NAMES,
               .doc = "logistic (two classes), softmax (several), squared (a number)"),
    CFG_TRAINING_ROWS(struct training_keys, shared.),
    CFG_U64(struct training_keys, threads, .fallback = "1", .min = 1, .max = GRADIENT_STRIPES,
            .doc = "of a built-in model; the model is the same to the last bit for any number"),
    CFG_CHOICE(
        struct training_keys, device, .fallback = "auto", .choices = DEVICES,
        .doc =
            "without effect: built-in models compute on the CPU, a program on what it finds (`gpus`)"),
    CFG_TEXT(
        struct training_keys, group, .fallback = "",
        .doc =
            "tensor that says which samples belong together, the user of a click for example: models do not "
            "see it, metrics of a ranking are measured group by group; empty: there is none"),
    CFG_END,
};

struct checkpoint_options {
    int64_t every;
};
static const struct cfg_key CHECKPOINT[] = {
    CFG_DURATION(
        struct checkpoint_options, every, .fallback = "60s", .min = 1000,
        .doc = "from the end of one checkpoint to the next; at least as long as writing it took"),
    CFG_END,
};

enum weir_status trainer_training_read_model(const struct model *model,
                                             const struct weir_yaml_node *node, void *options,
                                             struct weir_error *err)
{
    weir_require(model->options_size <= MODEL_OPTIONS_MAX);
    memset(options, 0, MODEL_OPTIONS_MAX);
    return cfg_read(model->options, CFG_CLOSED, node, "training.model", "name", options, err);
}

/* Keys of a built-in model. */
static const char *const BUILT_IN[] = {"model", "loss",          "optimizer",  "schedule",
                                       "clip",  "class_weights", "checkpoint", "threads"};

static enum weir_status check_program(const struct training *training,
                                      const struct weir_yaml_node *section, struct weir_error *err)
{
    for (size_t i = 0; i < WEIR_COUNT(BUILT_IN); i++) {
        const struct weir_yaml_node *node = weir_yaml_get(section, BUILT_IN[i]);
        if (node != NULL)
            return weir_yaml_fail(
                node, err,
                "training.%s: expected none beside training.program: what '%s' is "
                "to do otherwise stands in training.options",
                BUILT_IN[i], training->keys.program);
    }
    return WEIR_OK;
}

static enum weir_status read_model(struct training *training, const struct weir_yaml_node *section,
                                   struct weir_error *err)
{
    struct cfg_opened opened = {0};
    if (training->keys.program[0] != '\0')
        return check_program(training, section, err);
    if (training->keys.model == NULL)
        return weir_yaml_fail(section, err,
                              "training: expected model: a built-in model, or program: one of "
                              "`programs` of the system file");
    if (training->keys.options != NULL)
        return weir_yaml_fail(weir_yaml_get(section, "options"), err,
                              "training.options: expected none without training.program");
    enum weir_status status = cfg_plugin_open(&TRAINER_MODELS, NULL, training->keys.model,
                                              "training.model", &opened, err);
    if (status != WEIR_OK)
        return status;
    training->model = (const struct model *)opened.plugin;
    weir_require(training->model->options_size <= MODEL_OPTIONS_MAX);
    memcpy(training->model_options, opened.options, training->model->options_size);
    free(opened.memory);
    return WEIR_OK;
}

static enum weir_status read_carry(struct training *training, struct weir_error *err)
{
    for (size_t i = 0; i < training->keys.carry.count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(training->keys.carry.node, i);
        const char *word = weir_yaml_text(node);
        if (!weir_str_equal(word, CARRIED[0]) && !weir_str_equal(word, CARRIED[1]))
            return weir_yaml_fail(node, err,
                                  "training.carry: expected weights or optimizer, found '%s'",
                                  word != NULL ? word : "");
        training->carries_optimizer |= weir_str_equal(word, CARRIED[1]);
    }
    return WEIR_OK;
}

static enum weir_status read_tells(struct training *training, struct weir_error *err)
{
    const struct cfg_texts *slices = &training->keys.slices;
    training->tells = (struct groups_wanted){.group = training->keys.group};
    for (size_t i = 0; i < slices->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(slices->node, i);
        if (i == WEIR_OUTPUTS_SLICES_MAX || weir_yaml_text(node) == NULL)
            return weir_yaml_fail(node, err,
                                  "training.slices: expected at most %d names of tensors",
                                  WEIR_OUTPUTS_SLICES_MAX);
        training->tells.slices[training->tells.slice_count++] = weir_yaml_text(node);
    }
    return WEIR_OK;
}

/* The choice inside a batch stands with the selection, and is the trainer's to make. */
static enum weir_status read_choice(const struct weir_yaml_node *root, struct training *training,
                                    struct weir_error *err)
{
    const struct weir_yaml_node *node = cfg_batch_then_sample_node(root);
    const struct loss *loss = trainer_loss_at((size_t)training->keys.loss);
    enum weir_status status = cfg_batch_then_sample_read(node, &training->choice, err);
    bool doubts = training->choice.ratio > 0 && training->choice.score == CFG_IN_BATCH_UNCERTAINTY;
    if (status == WEIR_OK && doubts && training->model != NULL && !loss->takes_classes)
        return weir_yaml_fail(
            weir_yaml_get(node, "score"), err,
            "selection.batch_then_sample.score: uncertainty is about classes, and training.loss is "
            "%s: expected loss or grad_norm",
            loss->name);
    return status;
}

static enum weir_status check(const struct training *training, const struct weir_yaml_node *section,
                              struct weir_error *err)
{
    if (training->model != NULL && training->keys.shared.ranks > 1)
        return weir_yaml_fail(
            weir_yaml_get(section, "ranks"), err,
            "training.ranks: expected 1 with a built-in model, found %llu: these are small enough "
            "for one process; several ranks are for training.program",
            (unsigned long long)training->keys.shared.ranks);
    return WEIR_OK;
}

/* True when the operator is among those of the pipeline. */
static bool has_operator(const struct weir_yaml_node *root, const char *name)
{
    const struct weir_yaml_node *operators =
        weir_yaml_get(weir_yaml_get(root, "preprocess"), "operators");
    size_t count = operators != NULL ? weir_yaml_length(operators) : 0;
    for (size_t i = 0; i < count; i++) {
        if (weir_str_equal(weir_yaml_text(weir_yaml_get(weir_yaml_at(operators, i), "op")), name))
            return true;
    }
    return false;
}

static enum weir_status check_scale(const struct training *training,
                                    const struct weir_yaml_node *root, struct weir_error *err)
{
    const struct weir_yaml_node *section = weir_yaml_get(root, "training");
    const struct weir_yaml_node *loss = weir_yaml_get(section, "loss");
    if (training->model == NULL || training->loss == NULL || !training->loss->takes_classes ||
        !has_operator(root, WEIR_FITTED_LABEL))
        return WEIR_OK;
    return weir_yaml_fail(loss != NULL ? loss : section, err,
                          "training.loss: found %s, whose labels are classes, expected squared: "
                          "preprocess.operators scale the label (" WEIR_FITTED_LABEL ")",
                          training->loss->name);
}

static void read_section(const struct weir_yaml_node *root, struct training *training,
                         struct cfg_complaints *all)
{
    struct weir_error err;
    struct checkpoint_options checkpoint = {0};
    const struct weir_yaml_node *section = weir_yaml_get(root, "training");
    struct training_keys *keys = &training->keys;

    if (section == NULL) {
        cfg_note(all, weir_yaml_fail(root, &err, "training: missing: expected {model: NAME, …}"),
                 &err);
        return;
    }
    bool is_read =
        cfg_note(all, cfg_read(TRAINING, CFG_CLOSED, section, "training", NULL, keys, &err), &err);
    if (keys->program != NULL)
        cfg_note(all, read_model(training, section, &err), &err);
    training->loss = trainer_loss_at((size_t)keys->loss);
    if (is_read)
        cfg_note(
            all,
            trainer_learning_read(&keys->learning, root, training->loss, &training->learning, &err),
            &err);
    cfg_note(all,
             cfg_read(CHECKPOINT, CFG_CLOSED, keys->checkpoint, "training.checkpoint", NULL,
                      &checkpoint, &err),
             &err);
    cfg_note(all, read_carry(training, &err), &err);
    cfg_note(all, read_tells(training, &err), &err);
    cfg_note(all, read_choice(root, training, &err), &err);
    cfg_note(all, check(training, section, &err), &err);
    cfg_note(all, check_scale(training, root, &err), &err);
    training->checkpoint_us = checkpoint.every;
}

void trainer_training_check(const struct weir_yaml_node *root, struct cfg_complaints *complaints)
{
    struct training training = {0};

    if (weir_yaml_get(root, "training") != NULL) /* if not, the orchestrator misses it */
        read_section(root, &training, complaints);
}

enum weir_status trainer_training_read(const struct weir_yaml_node *root,
                                       struct training *ret_training, struct weir_error *err)
{
    struct training training = {0};
    CFG_AUTO_COMPLAINTS complaints = {0};

    read_section(root, &training, &complaints);
    if (complaints.status == WEIR_OK)
        *ret_training = training;
    return cfg_complaints_end(&complaints, err);
}

static void print_options(const struct training *training, struct weir_buf *out)
{
    if (training->keys.options == NULL)
        return;
    weir_buf_append_text(out, "  options: ");
    weir_yaml_print(training->keys.options, out);
    weir_buf_append_text(out, "\n");
}

static void print_model(const struct training *training, struct weir_buf *out)
{
    if (training->model == NULL)
        return;
    weir_buf_printf(out, "  model:\n    name: %s\n", training->model->name);
    cfg_print(training->model->options, training->model_options, 4, out);
}

void trainer_training_print(const struct training *training, struct weir_buf *out)
{
    struct checkpoint_options checkpoint = {.every = training->checkpoint_us};
    weir_buf_append_text(out, "training:\n");
    print_model(training, out);
    print_options(training, out);
    cfg_print(TRAINING + NESTED_KEYS, &training->keys, 2, out);
    weir_buf_append_text(out, "  slices: [");
    for (size_t i = 0; i < training->tells.slice_count; i++)
        weir_buf_printf(out, "%s%s", i > 0 ? ", " : "", training->tells.slices[i]);
    weir_buf_printf(out, "]\n  carry: [weights%s]\n",
                    training->carries_optimizer ? ", optimizer" : "");
    trainer_learning_print(&training->learning, out);
    weir_buf_append_text(out, "  checkpoint:\n");
    cfg_print(CHECKPOINT, &checkpoint, 4, out);
}

void trainer_training_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "## training\n\nWhich model learns how.\n\n");
    cfg_document(TRAINING, out);
    trainer_learning_describe(out);
    weir_buf_append_text(out, "\n### training.checkpoint\n\n");
    cfg_document(CHECKPOINT, out);
    cfg_registry_document(&TRAINER_MODELS, "### training.model", out);
}

int64_t trainer_training_next_checkpoint_ms(const struct training *training, int64_t began_ms,
                                            int64_t done_ms)
{
    int64_t every_ms = training->checkpoint_us / 1000, took_ms = done_ms - began_ms;

    return done_ms + (took_ms > every_ms ? took_ms : every_ms);
}
