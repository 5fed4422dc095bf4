/* The plan of a job's delivery, worked out the same way by dispatcher and workers. */
#include "preprocess/plan/plan.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/position.h"
#include "preprocess/order/buckets.h"
#include "preprocess/plan/ordering.h"

#include <stdlib.h>
#include <string.h>

static enum weir_status open_set(const struct preprocess_order_form *form,
                                 struct weir_sample_set *set, struct weir_error *err)
{
    enum weir_status status = weir_sample_set_open(form->set_path, set, err);
    if (status != WEIR_OK)
        return status;
    char digest[WEIR_DIGEST_TEXT_MAX];
    weir_digest_text(&set->digest, digest);
    if (!weir_str_equal(digest, form->set_digest))
        return weir_fail(err, WEIR_CORRUPT, "%s: found set %s, expected %s", form->set_path, digest,
                         form->set_digest);
    return WEIR_OK;
}

/* Batches of a group that nobody gave a size: a worker that is a group ahead has to wait once its share of what the
 * consumer grants is full, and the others for it later, so groups of more than that would be made in turns. */
static uint32_t group_at_most(const struct preprocess_plan *plan)
{
    uint64_t bytes = preprocess_chain_row_bytes(plan->chain) * plan->options.batch.samples;
    uint64_t most = bytes == 0 ? PREPROCESS_GROUP_BATCHES_MAX : PREPROCESS_GROUP_BYTES / bytes;
    return most == 0 ? 1 : (uint32_t)(most < UINT32_MAX ? most : UINT32_MAX);
}

static void plan_delivery(const struct preprocess_order_form *form, struct preprocess_plan *plan)
{
    const struct preprocess_batch *batch = &plan->options.batch;
    bool trains = weir_str_equal(form->mode, "train");
    plan->trains = trains;
    plan->in_order =
        batch->order == PREPROCESS_DETERMINISTIC || weir_str_equal(form->mode, "export");
    plan->seed = form->seed;
    enum preprocess_last last = trains ? (enum preprocess_last)batch->last : PREPROCESS_LAST_SHORT;
    enum preprocess_shuffle shuffle =
        trains ? (enum preprocess_shuffle)batch->shuffle : PREPROCESS_SHUFFLE_NONE;
    uint32_t group = form->group_batches > 0 ? form->group_batches : (uint32_t)batch->group;
    if (trains)
        plan->parts = plan->set.parts;
    uint64_t samples = plan->parts.count > 0 ? plan->parts.samples : plan->set.count;
    plan->geometry =
        preprocess_geometry_plan(samples, form->epochs, (uint32_t)batch->samples, last, group);
    if (group == 0)
        preprocess_geometry_limit_groups(&plan->geometry, group_at_most(plan));
    plan->geometry.ranks = form->ranks > 0 ? form->ranks : 1;
    plan->delivery = trains ? (enum weir_delivery)batch->delivery : WEIR_EXACTLY_ONCE;
    plan->order =
        preprocess_order_plan(shuffle, batch->window, samples, &plan->set.digest, form->seed);
}

static enum weir_status check_parts(const struct preprocess_order_form *form,
                                    const struct weir_sample_set *set, struct weir_error *err)
{
    bool trains = weir_str_equal(form->mode, "train");
    if (!trains || set->parts.count == 0 || set->parts.count == form->epochs)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "training.epochs: found %u, expected %u, as set %s has a part for each of so "
                     "many epochs",
                     form->epochs, set->parts.count, form->set_digest);
}

static enum weir_status check_ranks(const struct preprocess_order_form *form,
                                    const struct preprocess_options *options,
                                    struct weir_error *err)
{
    if (form->ranks <= options->batch.samples)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "preprocess.batch.samples: found %lu, expected at least one for each of %u "
                     "ranks",
                     options->batch.samples, form->ranks);
}

static enum weir_status check_batch(const struct preprocess_options *options,
                                    const struct chain *chain, struct weir_error *err)
{
    uint64_t bytes = preprocess_chain_row_bytes(chain);
    if (bytes == 0 || options->batch.samples <= PREPROCESS_BATCH_BYTES_MAX / bytes)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "preprocess.batch.samples: found %lu, expected at most %lu, as the operators "
                     "make %lu bytes of each and a batch may have %lu",
                     options->batch.samples, PREPROCESS_BATCH_BYTES_MAX / bytes, bytes,
                     PREPROCESS_BATCH_BYTES_MAX);
}

/* Plans the operators in the approximate order: the same one in every process. */
static enum weir_status order_nearly(struct preprocess_plan *plan, struct weir_error *err)
{
    struct chain *other = NULL;
    struct weir_error reason;
    if (preprocess_ordering_nearly(plan->chain, &other, &reason) != WEIR_OK)
        return weir_yaml_fail(plan->options.plan_node, err,
                              "preprocess.plan.order: approximate: %s", reason.text);
    if (other != NULL)
        preprocess_plan_use(plan, other);
    return WEIR_OK;
}

enum weir_status preprocess_plan_cut(const struct preprocess_planned *planned, size_t chosen,
                                     struct chain **chain, struct weir_error *err)
{
    struct chain *other = NULL;
    struct weir_error reason;
    enum weir_status status = WEIR_OK;
    if (preprocess_keeps_records(planned))
        return WEIR_OK;
    if (planned->cache_after != NULL)
        status = preprocess_chain_materialise(*chain, planned->cache_after, &other, &reason);
    else if (chosen > 0)
        status = preprocess_chain_cut_after(*chain, chosen, &other, &reason);
    if (status != WEIR_OK)
        return weir_yaml_fail(planned->cache_node, err, "preprocess.plan.cache: %s", reason.text);
    if (other != NULL) {
        preprocess_chain_free(*chain);
        *chain = other;
    }
    return WEIR_OK;
}

/* Edition of the layout of rows (operators/chain_kept.c). */
enum { KEPT_EDITION = 1 };

/* Names what makes the rows at the cut, but for fitted state. Results do not depend on the processor (decision 012), so
 * no part of that is in it. The chain is as written: in another order, operators are told other names of columns. */
static uint64_t cut_key_of(const struct chain *chain)
{
    WEIR_AUTO_BUF text = {0};
    if (preprocess_chain_cut_at(chain) == 0)
        return 0;
    weir_buf_printf(&text, "%d\n", KEPT_EDITION);
    preprocess_chain_cut_print(chain, &text);
    return weir_hash64(weir_buf_view(&text), 0) | 1;
}

/* Names what makes the batches, but for fitted state: the section as it is understood, whatever else the file says.
 * The order of the operators is not in it: every legal one makes the same (C18). What is nearly so is not shared. */
static enum weir_status made_key_of(const struct preprocess_order_form *form,
                                    const struct preprocess_plan *plan, uint64_t *ret_key,
                                    struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    *ret_key = 0;
    if (plan->options.plan.share == PREPROCESS_SHARE_NONE ||
        plan->options.plan.order == PREPROCESS_APPROXIMATE)
        return WEIR_OK;
    enum weir_status status = preprocess_options_print(weir_yaml_root(plan->document), &text, err);
    weir_buf_printf(&text, "%s %u %lu %s %u %u\n", form->set_digest, form->epochs, form->seed,
                    form->mode, plan->geometry.ranks, plan->geometry.group_batches);
    weir_buf_append(&text, form->tables.at, form->tables.size);
    *ret_key = weir_hash64(weir_buf_view(&text), 0);
    return status;
}

uint64_t preprocess_plan_production(const struct preprocess_plan *plan, struct weir_bytes fitted)
{
    return plan->made_key != 0 ? weir_hash64(fitted, plan->made_key) | 1 : 0;
}

enum weir_status preprocess_plan_open(const struct preprocess_order_form *form,
                                      struct preprocess_plan *ret_plan, struct weir_error *err)
{
    struct preprocess_plan plan = {0};
    if (form->epochs == 0 || form->group_batches > PREPROCESS_GROUP_BATCHES_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "found %u epochs and groups of %u batches, expected "
                         "at least 1, at most %d",
                         form->epochs, form->group_batches, PREPROCESS_GROUP_BATCHES_MAX);
    if (form->ranks > WEIR_RANKS_MAX)
        return weir_fail(err, WEIR_INVALID, "found %u ranks, expected at most %d", form->ranks,
                         WEIR_RANKS_MAX);
    enum weir_status status = weir_yaml_parse(form->file, form->config, &plan.document, err);
    if (status == WEIR_OK)
        status = preprocess_options_read(weir_yaml_root(plan.document), &plan.options, err);
    if (status == WEIR_OK)
        status = check_ranks(form, &plan.options, err);
    if (status == WEIR_OK)
        plan.tables = preprocess_tables_read(weir_yaml_root(plan.document), &form->tables);
    if (status == WEIR_OK)
        status = preprocess_chain_new(plan.options.operators,
                                      preprocess_tables_records(plan.tables), &plan.chain, err);
    if (status == WEIR_OK && plan.options.plan.order == PREPROCESS_APPROXIMATE)
        status = order_nearly(&plan, err);
    if (status == WEIR_OK)
        status = preprocess_plan_cut(&plan.options.plan, form->cut, &plan.chain, err);
    if (status == WEIR_OK)
        status = check_batch(&plan.options, plan.chain, err);
    if (status == WEIR_OK)
        status = open_set(form, &plan.set, err);
    if (status == WEIR_OK)
        status = check_parts(form, &plan.set, err);
    if (status == WEIR_OK) {
        plan.cut_key = cut_key_of(plan.chain);
        plan.keeps_records = preprocess_keeps_records(&plan.options.plan);
        plan_delivery(form, &plan);
        status = made_key_of(form, &plan, &plan.made_key, err);
    }
    if (status == WEIR_OK)
        *ret_plan = plan;
    else
        preprocess_plan_close(&plan);
    return status;
}

enum weir_status preprocess_plan_reorder(const struct preprocess_plan *plan, struct weir_u32s order,
                                         struct chain **ret_chain, struct weir_error *err)
{
    uint8_t places[CHAIN_OPERATORS_MAX];
    size_t count = preprocess_chain_operators(plan->chain);
    if (order.count != count)
        return weir_fail(err, WEIR_INVALID, "found an order of %zu operators, expected %zu",
                         order.count, count);
    for (size_t i = 0; i < count; i++)
        places[i] = (uint8_t)(order.at[i] < count ? order.at[i] : count);
    return preprocess_chain_reorder(plan->chain, places, ALGEBRA_EXACTLY, ret_chain, err);
}

void preprocess_plan_use(struct preprocess_plan *plan, struct chain *chain)
{
    preprocess_chain_free(plan->chain);
    plan->chain = chain;
}

void preprocess_plan_close(struct preprocess_plan *plan)
{
    preprocess_chain_free(plan->chain);
    free(plan->classes);
    preprocess_tables_free(plan->tables);
    weir_yaml_free(plan->document);
    weir_sample_set_close(&plan->set);
    memset(plan, 0, sizeof(*plan));
}

/* Returns the indices of the samples in the part of an epoch; NULL: the set has no parts. */
static const uint32_t *part_of(const struct preprocess_plan *plan, uint32_t epoch)
{
    const struct weir_epoch_parts *parts = &plan->parts;
    if (parts->count == 0)
        return NULL;
    weir_require(epoch < parts->count); /* check_parts() */
    return parts->indices + epoch * parts->samples;
}

uint64_t preprocess_plan_index(const struct preprocess_plan *plan, uint32_t epoch,
                               uint64_t position)
{
    const uint32_t *part = part_of(plan, epoch);
    uint64_t index = preprocess_order_at(&plan->order, epoch, position % plan->geometry.samples);
    return part != NULL ? part[index] : index;
}

/* As preprocess_plan_index(), of a range of positions of an epoch. */
static void indices_of(const struct preprocess_plan *plan, uint32_t epoch,
                       struct preprocess_range positions, uint64_t *ret_indices)
{
    const uint32_t *part = part_of(plan, epoch);
    uint64_t samples = plan->geometry.samples;
    for (uint32_t i = 0; i < positions.count;) {
        struct preprocess_range run = {.first = (positions.first + i) % samples};
        uint64_t left = positions.count - i, ahead = samples - run.first;
        run.count = (uint32_t)(left < ahead ? left : ahead);
        preprocess_order_run(&plan->order, epoch, run, ret_indices + i);
        i += run.count;
    }
    for (size_t i = 0; i < positions.count && part != NULL; i++)
        ret_indices[i] = part[ret_indices[i]];
}

enum weir_status preprocess_plan_fitted(struct preprocess_plan *plan, struct weir_bytes fitted,
                                        struct weir_error *err)
{
    enum weir_status status = preprocess_chain_fit_load(plan->chain, fitted, err);
    if (status == WEIR_OK)
        plan->kept_key = preprocess_chain_cut_is_fitted(plan->chain)
                             ? weir_hash64(fitted, plan->cut_key) | 1
                             : plan->cut_key;
    if (status != WEIR_OK || !plan->trains || !preprocess_chain_has_classes(plan->chain))
        return status;
    free(plan->classes);
    plan->classes = weir_calloc(plan->set.count + 1, sizeof(*plan->classes));
    preprocess_chain_classify(plan->chain, plan->set.ids, plan->set.count, plan->classes);
    return WEIR_OK;
}

/* Puts the samples of a group together by their classes. */
static void arrange(const struct preprocess_plan *plan, uint64_t group, size_t count,
                    uint64_t *indices)
{
    WEIR_AUTO_FREE uint8_t *classes = weir_calloc(count + 1, sizeof(*classes));
    WEIR_AUTO_FREE uint32_t *places = weir_calloc(count + 1, sizeof(*places));
    WEIR_AUTO_FREE uint64_t *before = weir_calloc(count + 1, sizeof(*before));
    for (size_t i = 0; i < count; i++)
        classes[i] = plan->classes[indices[i]];
    memcpy(before, indices, count * sizeof(*before));
    preprocess_buckets_arrange(
        &(struct buckets){.classes = classes,
                          .samples = count,
                          .batch_samples = plan->geometry.batch_samples,
                          .key = weir_mix64(plan->order.key ^ weir_mix64(group))},
        places);
    for (size_t i = 0; i < count; i++)
        indices[i] = before[places[i]];
}

uint64_t preprocess_plan_row_bytes(const struct preprocess_plan *plan)
{
    return sizeof(uint64_t) + sizeof(int64_t) + sizeof(float) +
           preprocess_chain_row_bytes(plan->chain);
}

void preprocess_plan_group(const struct preprocess_plan *plan, uint64_t group,
                           uint64_t *ret_indices)
{
    struct preprocess_range batches = preprocess_group(&plan->geometry, group);
    uint32_t epoch = preprocess_epoch_of(&plan->geometry, batches.first);
    size_t count = 0;
    for (uint64_t batch = batches.first; batch < batches.first + batches.count; batch++) {
        struct preprocess_range positions = preprocess_positions(&plan->geometry, batch);
        indices_of(plan, epoch, positions, ret_indices + count);
        count += positions.count;
    }
    if (plan->classes != NULL)
        arrange(plan, group, count, ret_indices);
}
