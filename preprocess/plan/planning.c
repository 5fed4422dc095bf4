/* See planning.h. */
#include "preprocess/plan/planning.h"

#include <string.h>

void preprocess_planning_begin(struct planning *planning, const struct chain *chain, bool is_fixed)
{
    *planning = (struct planning){.state = is_fixed ? PLANNING_FIXED : PLANNING_MEASURING,
                                  .review_ns = PLANNING_REVIEW_NS};
    preprocess_chain_order(chain, planning->order);
    preprocess_chain_order(chain, planning->previous);
}

static double spent_ns(const struct ordering_cost *costs, size_t count)
{
    double ns = 0;
    for (size_t i = 0; i < count; i++)
        ns += costs[i].ns;
    return ns;
}

double preprocess_planning_row_ns(const struct ordering_cost *costs, const struct chain *chain)
{
    size_t count = preprocess_chain_operators(chain);
    double rows = 0; /* input of the first of them, in whatever order */
    for (size_t i = 0; i < count; i++)
        rows = costs[i].rows > rows ? costs[i].rows : rows;
    return rows > 0 ? spent_ns(costs, count) / rows : 0;
}

static void change(struct planning *planning, const uint8_t *order, int64_t now_ms)
{
    uint8_t former[CHAIN_OPERATORS_MAX];
    memcpy(former, planning->order, sizeof(former));
    memcpy(planning->order, order, sizeof(planning->order));
    memcpy(planning->previous, former, sizeof(former));
    memset(planning->costs, 0, sizeof(planning->costs));
    planning->placement = (struct placement){0};
    planning->changes++;
    planning->changed_ms = now_ms;
}

/* True when the operators can be planned in the order. */
static bool is_possible(const struct chain *chain, const uint8_t *order)
{
    struct weir_error err;
    WEIR_AUTO(chain) other = NULL;
    return preprocess_chain_reorder(chain, order, ALGEBRA_EXACTLY, &other, &err) == WEIR_OK;
}

static struct ordering_choice choose(const struct planning *planning, const struct chain *chain)
{
    struct ordering ordering;
    struct ordering_choice choice;
    preprocess_ordering_begin(&ordering, chain, ALGEBRA_EXACTLY);
    memcpy(ordering.order, planning->order, sizeof(ordering.order));
    preprocess_ordering_choose(&ordering, planning->costs, &choice);
    return choice;
}

/* Tries the best order if it promises enough. */
static bool try_best(struct planning *planning, const struct chain *chain,
                     const struct ordering_choice *choice, int64_t now_ms)
{
    if (choice->best_ns > choice->present_ns * (1 - PLANNING_GAIN) ||
        !is_possible(chain, choice->order))
        return false;
    planning->state = PLANNING_TRYING;
    planning->choice = *choice;
    memcpy(planning->before, planning->costs, sizeof(planning->before));
    change(planning, choice->order, now_ms);
    return true;
}

static bool decide(struct planning *planning, const struct chain *chain, int64_t now_ms)
{
    planning->choice = choose(planning, chain);
    planning->state = PLANNING_WRITTEN;
    return try_best(planning, chain, &planning->choice, now_ms);
}

static void be_patient(struct planning *planning)
{
    planning->review_ns *= 2;
    if (planning->review_ns > PLANNING_REVIEW_NS_MAX)
        planning->review_ns = PLANNING_REVIEW_NS_MAX;
}

static bool verify(struct planning *planning, const struct chain *chain, int64_t now_ms)
{
    double before = preprocess_planning_row_ns(planning->before, chain);
    double after = preprocess_planning_row_ns(planning->costs, chain);
    planning->state = PLANNING_CHANGED;
    if (after < before) {
        planning->review_ns = PLANNING_REVIEW_NS;
        return false;
    }
    change(planning, planning->previous, now_ms);
    if (preprocess_chain_has_order(chain, planning->order))
        planning->state = PLANNING_REVERTED;
    be_patient(planning);
    return true;
}

/* Halves the weight of all that was measured so far. */
static void fade(struct planning *planning, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ordering_cost *cost = &planning->costs[i];
        *cost = (struct ordering_cost){cost->ns / 2, cost->taken / 2, cost->made / 2,
                                       cost->rows / 2, cost->kept / 2};
    }
}

static bool review(struct planning *planning, const struct chain *chain, int64_t now_ms)
{
    size_t count = preprocess_chain_operators(chain);
    if (spent_ns(planning->costs, count) < planning->review_ns)
        return false;
    struct ordering_choice choice = choose(planning, chain);
    if (try_best(planning, chain, &choice, now_ms))
        return true;
    fade(planning, count);
    be_patient(planning);
    return false;
}

/* Returns the cost of an operator: where trainers run it, as of so many rows before. */
static struct ordering_cost cost_of(const struct planning *planning, size_t count, size_t place,
                                    const struct ordering_cost *costs)
{
    size_t written = planning->order[place], sunk = planning->placement.sunk;
    const struct ordering_cost *known = &planning->costs[written];
    if (place < count - sunk || costs[written].rows > 0 || known->rows <= 0)
        return costs[written];
    double part = costs[planning->order[count - sunk - 1]].kept / known->rows;
    return (struct ordering_cost){known->ns * part, known->taken * part, known->made * part,
                                  known->rows * part, known->kept * part};
}

bool preprocess_planning_add(struct planning *planning, const struct chain *chain,
                             const struct ordering_cost *costs, int64_t now_ms)
{
    size_t count = preprocess_chain_operators(chain);
    if (planning->changes > 0 && now_ms - planning->changed_ms < PLANNING_SETTLE_MS)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct ordering_cost cost = cost_of(planning, count, i, costs);
        struct ordering_cost *sum = &planning->costs[planning->order[i]];
        sum->ns += cost.ns;
        sum->taken += cost.taken;
        sum->made += cost.made;
        sum->rows += cost.rows;
        sum->kept += cost.kept;
    }
    if (planning->state == PLANNING_FIXED || spent_ns(planning->costs, count) < PLANNING_MEASURE_NS)
        return false;
    if (planning->state == PLANNING_MEASURING)
        return decide(planning, chain, now_ms);
    if (planning->state == PLANNING_TRYING)
        return verify(planning, chain, now_ms);
    return review(planning, chain, now_ms);
}

bool preprocess_planning_place(struct planning *planning, const struct chain *chain,
                               const struct placement_transport *transport, int64_t now_ms)
{
    struct placement_transport *sum = &planning->transport;
    bool is_settled = planning->state != PLANNING_MEASURING && planning->state != PLANNING_TRYING;
    *sum = (struct placement_transport){.ns = sum->ns + transport->ns,
                                        .bytes = sum->bytes + transport->bytes,
                                        .lent = sum->lent + transport->lent};
    if (!is_settled || planning->placement.is_chosen ||
        spent_ns(planning->costs, preprocess_chain_operators(chain)) < PLANNING_MEASURE_NS)
        return false;
    planning->placement = preprocess_placement_choose(chain, planning->order, planning->costs, sum);
    if (planning->placement.sunk == 0)
        return false;
    planning->changes++;
    planning->changed_ms = now_ms;
    return true;
}

const char *preprocess_planning_state_name(enum planning_state state)
{
    static const char *const NAMES[] = {"measuring",  "trying",   "changed",
                                        "as written", "reverted", "fixed"};
    return NAMES[state];
}
