/* The checks of a training's first batch, on a batch without samples. */
#include "trainer_client/fit.h"

#include "core/wire/tensor.h"
#include "trainer_client/models/tensors.h"
#include "trainer_client/training.h"

#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 64 };

static const double LARGE = 100; /* with hundreds the loss of a step is in tens of thousands */

struct described {
    struct weir_tensor at[TENSORS_MAX];
    uint64_t below[TENSORS_MAX]; /* bound of a tensor's integers; 0: not known */
    double size[TENSORS_MAX];    /* of the largest of a tensor's numbers; 0: not known */
    struct weir_batch batch;     /* of these, without samples */
};

static uint64_t number_of(const struct weir_yaml_node *node)
{
    const char *text = weir_yaml_text(node);

    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static double size_of(const struct weir_yaml_node *node)
{
    const char *text = weir_yaml_text(node);

    return text != NULL ? strtod(text, NULL) : 0;
}

static enum weir_tensor_type type_of(const struct weir_yaml_node *node)
{
    const char *name = weir_yaml_text(node);
    int type = WEIR_TENSOR_U8;

    while (type < WEIR_TENSOR_U32 && !weir_str_equal(name, weir_dtype_name((enum weir_dtype)type)))
        type++;
    return (enum weir_tensor_type)type;
}

static void describe_one(const struct weir_yaml_node *node, struct weir_tensor *ret_tensor)
{
    static const uint32_t NO_OFFSETS[1] = {0};
    const char *name = weir_yaml_text(weir_yaml_get(node, "name"));
    const struct weir_yaml_node *shape = weir_yaml_get(node, "shape");
    bool is_ragged = weir_yaml_get(node, "ragged") != NULL;

    *ret_tensor = (struct weir_tensor){
        .name = name != NULL ? name : "",
        .type = type_of(weir_yaml_get(node, "type")),
        .rank = 1,
        .offsets = is_ragged ? NO_OFFSETS : NULL,
        .data = "",
    };
    for (size_t i = 0; i < weir_yaml_length(shape) && ret_tensor->rank < WEIR_TENSOR_RANK_MAX; i++)
        ret_tensor->shape[ret_tensor->rank++] = number_of(weir_yaml_at(shape, i));
}

static void describe(const struct weir_yaml_node *tensors, struct described *ret_described)
{
    size_t count = weir_yaml_length(tensors);

    memset(ret_described, 0, sizeof(*ret_described));
    for (size_t i = 0; i < count && i < TENSORS_MAX; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(tensors, i);
        describe_one(node, &ret_described->at[i]);
        ret_described->below[i] = number_of(weir_yaml_get(node, "below"));
        ret_described->size[i] = size_of(weir_yaml_get(node, "size"));
    }
    ret_described->batch.tensors = ret_described->at;
    ret_described->batch.tensor_count = count < TENSORS_MAX ? count : TENSORS_MAX;
}

/* Bound of the tokens that a model of text reads; 0: none, or not known. */
static uint64_t tokens_below(const struct described *described, const struct weir_batch *seen)
{
    const struct weir_tensor *bag = trainer_tensors_bag(seen);

    for (size_t i = 0; bag != NULL && i < described->batch.tensor_count; i++)
        if (strcmp(described->at[i].name, bag->name) == 0)
            return described->below[i];
    return 0;
}

static enum weir_status check_model(const struct training *training,
                                    const struct described *described,
                                    const struct weir_batch *seen,
                                    const struct weir_yaml_node *node, struct weir_error *err)
{
    struct weir_error why;
    const struct model *model = training->model;
    struct model_plan plan = {.model = model, .options = training->model_options, .width = 1};

    if (model->plan(&plan, seen, &why) != WEIR_OK)
        return weir_yaml_fail(node, err, "training.model: %s", why.text);
    uint64_t below = tokens_below(described, seen);
    if (plan.tokens_below == 0 || below <= plan.tokens_below)
        return WEIR_OK;
    return weir_yaml_fail(node, err,
                          "training.model: %s has buckets for %llu tokens, and preprocess makes "
                          "tokens up to %llu: expected as many buckets in both",
                          model->name, (unsigned long long)plan.tokens_below,
                          (unsigned long long)below - 1);
}

/* Adds a complaint at `node` where it names tensors that there are not. */
static bool check_names(const struct groups_wanted *wanted, const struct weir_batch *batch,
                        const struct weir_yaml_node *node, struct cfg_complaints *complaints)
{
    struct weir_error err, why;
    struct groups groups = {0};
    enum weir_status status = trainer_groups_take(&groups, wanted, batch, &why);

    trainer_groups_fini(&groups);
    return status == WEIR_OK ||
           cfg_note(complaints, weir_yaml_fail(node, &err, "%s", why.text), &err);
}

/* A tensor that the model does not read costs work, and may have been meant to teach it something. */
static void remark_unread(const struct model *model, const struct weir_batch *seen,
                          const struct weir_yaml_node *node, struct cfg_complaints *complaints)
{
    char unread[200];

    for (size_t i = 0; i < seen->tensor_count; i++) {
        if (model->reads(seen, &seen->tensors[i]))
            continue;
        trainer_tensors_describe_one(&seen->tensors[i], unread, sizeof(unread));
        cfg_note_at(complaints, WEIR_OK, node,
                    "training.model: %s learns nothing from %s, which preprocess makes: fm reads "
                    "all dense f32 and all i32 tensors, concat makes one of several",
                    model->name, unread);
    }
}

/* One rate of learning does for all numbers only where they are of a size. */
static void remark_sizes(const struct model *model, const struct described *described,
                         const struct weir_batch *seen, const struct weir_yaml_node *node,
                         struct cfg_complaints *complaints)
{
    for (size_t i = 0; i < described->batch.tensor_count; i++)
        for (size_t s = 0; s < seen->tensor_count; s++)
            if (described->size[i] > LARGE &&
                strcmp(described->at[i].name, seen->tensors[s].name) == 0 &&
                model->reads(seen, &seen->tensors[s]))
                cfg_note_at(complaints, WEIR_OK, node,
                            "training.model: tensor '%s' holds numbers as large as %.4g, from "
                            "which %s hardly learns: standardize brings them near 1 (normalize "
                            "those of pictures)",
                            described->at[i].name, described->size[i], model->name);
}

/* The model sees all tensors but those of groups and slices, which are there. */
static enum weir_status check_seen(const struct training *training,
                                   const struct described *described,
                                   const struct weir_yaml_node *node,
                                   struct cfg_complaints *complaints, struct weir_error *err)
{
    struct groups groups = {0};
    enum weir_status status =
        trainer_groups_take(&groups, &training->tells, &described->batch, err);

    if (status == WEIR_OK)
        status = check_model(training, described, &groups.rest, node, err);
    if (status == WEIR_OK)
        remark_unread(training->model, &groups.rest, node, complaints);
    if (status == WEIR_OK)
        remark_sizes(training->model, described, &groups.rest, node, complaints);
    trainer_groups_fini(&groups);
    return status;
}

static void check_tensors(const struct weir_yaml_node *root, const struct weir_yaml_node *tensors,
                          struct cfg_complaints *complaints)
{
    struct weir_error err;
    struct training training;
    struct described described;
    const struct weir_yaml_node *section = weir_yaml_get(root, "training");

    describe(tensors, &described);
    if (trainer_training_read(root, &training, &err) != WEIR_OK)
        return; /* it has been said */
    const struct groups_wanted group = {.group = training.tells.group};
    struct groups_wanted slices = training.tells;
    slices.group = "";
    bool has_group =
        check_names(&group, &described.batch, weir_yaml_get(section, "group"), complaints);
    bool has_slices =
        check_names(&slices, &described.batch, weir_yaml_get(section, "slices"), complaints);
    if (has_group && has_slices && training.model != NULL)
        cfg_note(
            complaints,
            check_seen(&training, &described, weir_yaml_get(section, "model"), complaints, &err),
            &err);
}

/* ---- labels ---- */

static const char *text_of(const struct weir_yaml_node *node, const char *key)
{
    const char *text = weir_yaml_text(weir_yaml_get(node, key));

    return text != NULL ? text : "";
}

/* Adds the first label of a dataset that the loss does not take. */
static void check_seen_labels(const struct training *training, const struct weir_yaml_node *labels,
                              uint32_t width, const struct weir_yaml_node *place,
                              struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *seen = weir_yaml_get(labels, "seen");

    for (size_t i = 0; i < weir_yaml_length(seen); i++) {
        const struct weir_yaml_node *one = weir_yaml_at(seen, i);
        const char *label = weir_yaml_text(weir_yaml_at(one, 0));

        if (label == NULL || training->loss->accepts(strtod(label, NULL), width))
            continue;
        cfg_note_at(
            complaints, WEIR_INVALID, place,
            "training.loss: %s: found label %s of dataset '%s', expected %s, as %s takes "
            "it: label.classes names classes, label.at_least makes two of a number, squared "
            "learns numbers",
            weir_yaml_text(weir_yaml_at(one, 2)), label, text_of(labels, "dataset"),
            training->loss->expected, training->loss->name);
        return;
    }
}

/* True when every label of the dataset was looked at. */
static bool are_all_seen(const struct weir_yaml_node *labels)
{
    return weir_str_equal(text_of(labels, "is_whole"), "true");
}

/* One class alone teaches nothing; but folders of classes are looked at one after the other, and not to the end. */
static void check_is_varied(const struct weir_yaml_node *labels, const struct weir_yaml_node *place,
                            struct cfg_complaints *complaints)
{
    const struct weir_yaml_node *seen = weir_yaml_get(labels, "seen");
    const struct weir_yaml_node *only = weir_yaml_at(seen, 0);

    if (are_all_seen(labels) && weir_yaml_length(seen) == 1)
        cfg_note_at(
            complaints, WEIR_OK, place,
            "training.loss: all labels of dataset '%s' are the same, as in %s: is that the label?",
            text_of(labels, "dataset"), weir_yaml_text(weir_yaml_at(only, 2)));
}

/* Classes that the file lists: how many it takes is said without data. */
static bool are_listed(const struct weir_yaml_node *root, const char *dataset)
{
    const struct weir_yaml_node *datasets = cfg_datasets(root);

    for (size_t i = 0; i < weir_yaml_length(datasets); i++) {
        const struct weir_yaml_node *one = weir_yaml_at(datasets, i);
        if (weir_str_equal(weir_yaml_text(weir_yaml_get(one, "name")), dataset))
            return weir_yaml_length(weir_yaml_get(weir_yaml_get(one, "label"), "classes")) > 1;
    }
    return false;
}

static void check_labels(const struct training *training, const struct weir_yaml_node *root,
                         const struct weir_yaml_node *labels, const struct weir_yaml_node *place,
                         struct cfg_complaints *complaints)
{
    struct weir_error err;
    uint32_t width = 0;
    uint64_t classes = number_of(weir_yaml_get(labels, "classes"));
    bool were_seen = weir_yaml_length(weir_yaml_get(labels, "seen")) > 0;

    if (weir_str_equal(text_of(labels, "kind"), "none")) {
        cfg_note_at(complaints, WEIR_INVALID, place,
                    "training.loss: found no label in dataset '%s', expected datasets[].label: a "
                    "built-in model learns from labels",
                    text_of(labels, "dataset"));
    } else if (!were_seen && !weir_str_equal(text_of(labels, "kind"), "values")) {
        return;
    } else if (training->loss->width((size_t)classes,
                                     (uint32_t)number_of(weir_yaml_get(labels, "width")), &width,
                                     &err) == WEIR_OK) {
        check_seen_labels(training, labels, width, place, complaints);
        check_is_varied(labels, place, complaints);
    } else if (!are_listed(root, text_of(labels, "dataset"))) {
        cfg_note_at(complaints, are_all_seen(labels) || classes > 2 ? WEIR_INVALID : WEIR_OK, place,
                    "training.loss: %s (labels of dataset '%s')", err.text,
                    text_of(labels, "dataset"));
    }
}

static void check_all_labels(const struct weir_yaml_node *root, const struct weir_yaml_node *labels,
                             struct cfg_complaints *complaints)
{
    struct weir_error err;
    struct training training;
    const struct weir_yaml_node *section = weir_yaml_get(root, "training");
    const struct weir_yaml_node *loss = weir_yaml_get(section, "loss");

    if (trainer_training_read(root, &training, &err) != WEIR_OK || training.model == NULL)
        return;
    for (size_t i = 0; i < weir_yaml_length(labels); i++)
        check_labels(&training, root, weir_yaml_at(labels, i), loss != NULL ? loss : section,
                     complaints);
}

/* JSON is YAML. */
void trainer_fit_look(const struct weir_look *look)
{
    struct weir_error err;
    WEIR_AUTO(weir_yaml) found = NULL;
    if (look->found.size == 0)
        return;
    if (!cfg_note(look->complaints, weir_yaml_parse("--found", look->found, &found, &err), &err))
        return;
    const struct weir_yaml_node *tensors = weir_yaml_get(weir_yaml_root(found), "tensors");
    if (tensors != NULL)
        check_tensors(look->root, tensors, look->complaints);
    check_all_labels(look->root, weir_yaml_get(weir_yaml_root(found), "labels"), look->complaints);
}
