/* The operators of a chain in another order than they were written in, and without the last of them. */
#include "preprocess/operators/chain_steps.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

static_assert((int)CHAIN_OPERATORS_MAX <= (int)WEIR_TENSOR_STEPS_MAX, "each may be a step");

/* A chain with more columns than there are bits is left as it is. */
static uint64_t bits_of(const uint8_t *slots, size_t count, unsigned *kinds)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        if (slots[i] < CHAR_BIT * sizeof(bits))
            bits |= UINT64_C(1) << slots[i];
        else
            *kinds |= ALGEBRA_BARRIER;
    }
    return bits;
}

struct algebra_facts preprocess_chain_facts(const struct chain *chain, size_t written)
{
    const struct chain_step *step = &chain->step[chain->running[written]];
    const struct preprocess_operator *op = step->op;
    const struct operator_plan *plan = &step->plan;
    struct algebra_facts facts = {.traits = op->traits | plan->traits};
    if (op->by_batch || op->may_wait)
        facts.kinds |= ALGEBRA_BARRIER;
    if (op->fit != NULL)
        facts.kinds |= ALGEBRA_FITTED;
    if (step->told != 0)
        facts.kinds |= ALGEBRA_BOUND;
    if (operator_folds(op))
        facts.kinds |= ALGEBRA_FOLDS;
    facts.makes = bits_of(step->makes, plan->outputs, &facts.kinds);
    if (op->reads_no_column)
        return facts;
    facts.reads = bits_of(step->reads, plan->more_count + 1, &facts.kinds);
    if (!plan->keeps)
        facts.ends = bits_of(step->reads + 1, plan->more_count, &facts.kinds);
    facts.is_simple = plan->more_count == 0 && (facts.makes | facts.reads) == facts.reads;
    return facts;
}

void preprocess_chain_order(const struct chain *chain, uint8_t ret_order[CHAIN_OPERATORS_MAX])
{
    for (size_t i = 0; i < chain->steps; i++)
        ret_order[i] = (uint8_t)chain->step[i].written;
}

bool preprocess_chain_has_order(const struct chain *chain, const uint8_t *order)
{
    uint8_t own[CHAIN_OPERATORS_MAX];
    preprocess_chain_order(chain, own);
    return memcmp(own, order, chain->steps) == 0;
}

void preprocess_chain_print_order(const struct chain *chain, const uint8_t *order,
                                  const char *between, struct weir_buf *out)
{
    for (size_t i = 0; i < chain->steps; i++)
        weir_buf_printf(out, "%s%s", i > 0 ? between : "",
                        chain->step[chain->running[order[i]]].op->name);
}

static bool is_permutation(const struct chain *chain, const uint8_t *order)
{
    bool is_there[CHAIN_OPERATORS_MAX] = {false};
    for (size_t i = 0; i < chain->steps; i++) {
        if (order[i] >= chain->steps || is_there[order[i]])
            return false;
        is_there[order[i]] = true;
    }
    return true;
}

static bool is_same(const struct column_about *one, const struct column_about *other)
{
    return weir_str_equal(one->name, other->name) && one->kind == other->kind &&
           one->type == other->type && one->width == other->width && one->below == other->below &&
           one->bounded_by == other->bounded_by &&
           memcmp(one->shape, other->shape, sizeof(one->shape)) == 0;
}

/* The columns that leave, in the order in which they leave the source. */
static enum weir_status plan_end(struct chain *chain, const struct chain_draft *draft,
                                 struct weir_error *err)
{
    const struct chain *source = draft->source;
    const struct chain_step *last = &source->step[source->steps - 1];
    for (size_t i = 0; i < source->columns; i++) {
        size_t leaving = source->leaving[i];
        int place = chain_find_slot(draft->slot, draft->schema.count, last->slots[leaving]);
        if (place < 0 || !is_same(&draft->schema.column[place], &source->about[i]))
            return weir_fail(err, WEIR_INVALID, "tensor %s would be another one",
                             source->about[i].name);
        chain->leaving[chain->columns++] = (size_t)place;
    }
    return WEIR_OK;
}

/* True when the operators before the cut stay there. */
static bool keeps_cut(const struct chain *chain, const uint8_t *order)
{
    for (size_t i = 0; i < chain->cut.end; i++) {
        if (chain->running[order[i]] >= chain->cut.end)
            return false;
    }
    return true;
}

/* How many operators run before the cut, and how many are left to the consumer. */
struct division {
    size_t cut, sunk;
};

/* Plans the operators once more, as `draft` says. */
static enum weir_status plan_again(struct chain_draft draft, const uint8_t *order,
                                   struct division division, struct chain **ret_chain,
                                   struct weir_error *err)
{
    const struct chain *source = draft.source;
    WEIR_AUTO(chain) other = preprocess_chain_make(source->operators, source->records);
    enum weir_status status = WEIR_OK;
    draft.schema.arena = other->arena;
    other->sunk = division.sunk;
    other->cut.end = division.cut;
    for (size_t i = 0; i < source->steps && status == WEIR_OK; i++)
        status = preprocess_chain_plan_step(other, order[i], &draft, err);
    if (status == WEIR_OK)
        status = plan_end(other, &draft, err);
    if (status == WEIR_OK) {
        preprocess_chain_end(other, &draft);
        *ret_chain = WEIR_TAKE(other);
    }
    return status;
}

static struct chain_draft draft_from(const struct chain *source, enum algebra_law law)
{
    struct chain_draft draft = preprocess_chain_draft_of(source);
    draft.source = source;
    draft.law = law;
    return draft;
}

enum weir_status preprocess_chain_reorder(const struct chain *chain, const uint8_t *order,
                                          enum algebra_law law, struct chain **ret_chain,
                                          struct weir_error *err)
{
    if (!is_permutation(chain, order))
        return weir_fail(err, WEIR_INVALID, "expected each of %zu operators once in the order",
                         chain->steps);
    if (!keeps_cut(chain, order))
        return weir_fail(err, WEIR_INVALID, "an operator would pass the cut");
    struct division division = {.cut = chain->cut.end};
    return plan_again(draft_from(chain, law), order, division, ret_chain, err);
}

enum weir_status preprocess_chain_divide(const struct chain *chain, const uint8_t *order,
                                         size_t cut, struct chain **ret_chain,
                                         struct weir_error *err)
{
    struct division division = {.cut = cut};
    return plan_again(draft_from(chain, ALGEBRA_EXACTLY), order, division, ret_chain, err);
}

/* ---- place ---- */

/* True for an operator that makes one tensor of one other, by a step. */
static bool can_sink(const struct chain *chain, size_t written)
{
    const struct chain_step *step = &chain->step[chain->running[written]];
    struct algebra_facts facts = preprocess_chain_facts(chain, written);
    return facts.is_simple && (facts.traits & OPERATOR_TOTAL) != 0 && step->op->step != NULL &&
           step->op->step(step->state) != NULL;
}

size_t preprocess_chain_sinkable(const struct chain *chain, const uint8_t *order)
{
    size_t count = 0;
    while (count < chain->steps - chain->cut.end &&
           can_sink(chain, order[chain->steps - count - 1]))
        count++;
    return count;
}

enum weir_status preprocess_chain_sink(const struct chain *chain, size_t count,
                                       struct chain **ret_chain, struct weir_error *err)
{
    uint8_t order[CHAIN_OPERATORS_MAX];
    preprocess_chain_order(chain, order);
    size_t most = preprocess_chain_sinkable(chain, order);
    if (count > most)
        return weir_fail(err, WEIR_INVALID,
                         "%zu operators are left to the consumer, at most %zu can be", count, most);
    struct division division = {.cut = chain->cut.end, .sunk = count};
    return plan_again(draft_from(chain, ALGEBRA_EXACTLY), order, division, ret_chain, err);
}

const struct weir_tensor_steps *preprocess_chain_left(const struct chain *chain)
{
    return &chain->left;
}
