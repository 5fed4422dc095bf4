/* See ordering.h. */
#include "preprocess/plan/ordering.h"

#include <string.h>

enum { SLOTS = 64, TRIES_MAX = 200000 /* beginnings of orders: some 10 ms */ };

/* Operators that work together stay together, but in an approximate order. */
static void bind(struct ordering *ordering, enum algebra_law law)
{
    memset(ordering->next, -1, sizeof(ordering->next));
    memset(ordering->last, -1, sizeof(ordering->last));
    for (size_t i = 1; i < ordering->count && law == ALGEBRA_EXACTLY; i++) {
        uint8_t op = ordering->order[i], last = ordering->order[i - 1];
        if ((ordering->facts[op].kinds & ALGEBRA_BOUND) == 0)
            continue;
        ordering->next[last] = (int8_t)op;
        ordering->last[op] = (int8_t)last;
    }
}

void preprocess_ordering_begin(struct ordering *ordering, const struct chain *chain,
                               enum algebra_law law)
{
    size_t cut = preprocess_chain_cut_at(chain); /* nothing passes it */
    *ordering = (struct ordering){.count = preprocess_chain_operators(chain)};
    preprocess_chain_order(chain, ordering->order);
    for (size_t i = 0; i < ordering->count; i++)
        ordering->facts[i] = preprocess_chain_facts(chain, i);
    for (size_t i = 0; i < ordering->count; i++) {
        for (size_t k = 0; k < i; k++) {
            size_t late = ordering->order[i], early = ordering->order[k];
            ordering->after[late][early] =
                (k < cut && i >= cut) ||
                preprocess_algebra_commute(&ordering->facts[early], &ordering->facts[late]) < law;
        }
    }
    bind(ordering, law);
}

/* ---- all of them ---- */

/* An order under way. */
struct walk {
    const struct ordering *ordering;
    ordering_visit_fn *visit;
    void *owner;
    uint8_t order[CHAIN_OPERATORS_MAX];
    bool is_in[CHAIN_OPERATORS_MAX];
};

/* True when the operator may come next, behind those that are in, of which `last` is the last; NULL: there is none. */
static bool is_ready(const struct ordering *ordering, const bool *is_in, const uint8_t *last,
                     size_t op)
{
    if (last != NULL && ordering->next[*last] >= 0 && ordering->next[*last] != (int8_t)op)
        return false;
    if (ordering->last[op] >= 0 && (last == NULL || ordering->last[op] != (int8_t)*last))
        return false;
    for (size_t i = 0; i < ordering->count; i++) {
        if (ordering->after[op][i] && !is_in[i])
            return false;
    }
    return !is_in[op];
}

static bool walk_on(struct walk *walk, size_t at)
{
    const struct ordering *ordering = walk->ordering;
    if (at == ordering->count)
        return walk->visit(walk->owner, walk->order);
    for (size_t i = 0; i < ordering->count; i++) {
        uint8_t op = ordering->order[i];
        if (!is_ready(ordering, walk->is_in, at > 0 ? &walk->order[at - 1] : NULL, op))
            continue;
        walk->order[at] = op;
        walk->is_in[op] = true;
        bool goes_on = walk_on(walk, at + 1);
        walk->is_in[op] = false;
        if (!goes_on)
            return false;
    }
    return true;
}

void preprocess_ordering_visit(const struct ordering *ordering, ordering_visit_fn *visit,
                               void *owner)
{
    struct walk walk = {.ordering = ordering, .visit = visit, .owner = owner};
    walk_on(&walk, 0);
}

/* ---- what one costs ---- */

/* A batch on its way through operators, as far as is known of it: per row that began. */
struct flow {
    double size[SLOTS]; /* of each column, in bytes a row */
    double rows;
    double ns;
};

static double ratio(double part, double whole, double otherwise)
{
    return whole > 0 ? part / whole : otherwise;
}

static double size_of(const struct flow *flow, uint64_t slots)
{
    double size = 0;
    for (; slots != 0; slots &= slots - 1)
        size += flow->size[__builtin_ctzll(slots)];
    return size;
}

/* Sets what is not known yet of the columns that it reads: nothing has made them. */
static void flow_in(struct flow *flow, const struct algebra_facts *facts,
                    const struct ordering_cost *cost)
{
    double each = ratio(cost->taken, cost->rows, 0) / __builtin_popcountll(facts->reads);
    for (uint64_t slots = facts->reads; slots != 0; slots &= slots - 1) {
        double *size = &flow->size[__builtin_ctzll(slots)];
        *size = *size < 0 ? each : *size;
    }
}

static void flow_through(struct flow *flow, const struct algebra_facts *facts,
                         const struct ordering_cost *cost)
{
    if (facts->reads != 0)
        flow_in(flow, facts, cost);
    double in = size_of(flow, facts->reads);
    double ns = cost->taken > 0 ? in * cost->ns / cost->taken : ratio(cost->ns, cost->rows, 0);
    double made =
        cost->taken > 0 ? in * cost->made / cost->taken : ratio(cost->made, cost->rows, 0);
    flow->ns += flow->rows * ns;
    flow->rows *= ratio(cost->kept, cost->rows, 1);
    for (uint64_t slots = facts->makes; slots != 0; slots &= slots - 1)
        flow->size[__builtin_ctzll(slots)] = made / __builtin_popcountll(facts->makes);
}

static struct flow flow_begin(void)
{
    struct flow flow = {.rows = 1};
    for (size_t i = 0; i < SLOTS; i++)
        flow.size[i] = -1;
    return flow;
}

/* Returns the rows that came to the first operator. */
static double rows_of(const struct ordering *ordering, const struct ordering_cost *costs)
{
    return costs[ordering->order[0]].rows;
}

double preprocess_ordering_estimate(const struct ordering *ordering,
                                    const struct ordering_cost *costs, const uint8_t *order)
{
    struct flow flow = flow_begin();
    for (size_t i = 0; i < ordering->count; i++)
        flow_through(&flow, &ordering->facts[order[i]], &costs[order[i]]);
    return flow.ns * rows_of(ordering, costs);
}

/* ---- the cheapest ---- */

struct search {
    const struct ordering *ordering;
    const struct ordering_cost *costs;
    uint8_t order[CHAIN_OPERATORS_MAX];
    bool is_in[CHAIN_OPERATORS_MAX];
    double best; /* ns per row that began */
    struct ordering_choice *choice;
};

/* True when the difference is more than the error of a sum. */
static bool is_less(double ns, double than)
{
    return ns < than * (1 - 1e-9);
}

static void search_on(struct search *search, size_t at, const struct flow *flow)
{
    const struct ordering *ordering = search->ordering;
    if (at == ordering->count) {
        search->best = flow->ns;
        memcpy(search->choice->order, search->order, ordering->count);
        return;
    }
    for (size_t i = 0; i < ordering->count && search->choice->tried < TRIES_MAX; i++) {
        uint8_t op = ordering->order[i];
        if (!is_ready(ordering, search->is_in, at > 0 ? &search->order[at - 1] : NULL, op))
            continue;
        struct flow next = *flow;
        flow_through(&next, &ordering->facts[op], &search->costs[op]);
        search->choice->tried++;
        if (!is_less(next.ns, search->best))
            continue;
        search->order[at] = op;
        search->is_in[op] = true;
        search_on(search, at + 1, &next);
        search->is_in[op] = false;
    }
}

/* Swaps neighbours as long as that makes the order cheaper. */
static void bubble(const struct ordering *ordering, const struct ordering_cost *costs,
                   uint8_t *order, double *best_ns)
{
    bool is_better = true;
    while (is_better) {
        is_better = false;
        for (size_t i = 1; i < ordering->count; i++) {
            uint8_t early = order[i - 1], late = order[i];
            bool are_bound = ordering->last[early] >= 0 || ordering->next[early] >= 0 ||
                             ordering->next[late] >= 0;
            if (ordering->after[late][early] || are_bound)
                continue;
            order[i - 1] = late;
            order[i] = early;
            double ns = preprocess_ordering_estimate(ordering, costs, order);
            if (is_less(ns, *best_ns)) {
                *best_ns = ns;
                is_better = true;
            } else {
                order[i - 1] = early;
                order[i] = late;
            }
        }
    }
}

void preprocess_ordering_choose(const struct ordering *ordering, const struct ordering_cost *costs,
                                struct ordering_choice *ret_choice)
{
    double rows = rows_of(ordering, costs);
    *ret_choice = (struct ordering_choice){
        .present_ns = preprocess_ordering_estimate(ordering, costs, ordering->order)};
    memcpy(ret_choice->order, ordering->order, ordering->count);
    ret_choice->best_ns = ret_choice->present_ns;
    if (rows <= 0)
        return;
    struct search search = {.ordering = ordering,
                            .costs = costs,
                            .best = ret_choice->present_ns / rows,
                            .choice = ret_choice};
    struct flow flow = flow_begin();
    search_on(&search, 0, &flow);
    ret_choice->best_ns = search.best * rows;
    ret_choice->is_best = ret_choice->tried < TRIES_MAX;
    if (!ret_choice->is_best)
        bubble(ordering, costs, ret_choice->order, &ret_choice->best_ns);
}

static void shrink_first(const struct ordering *ordering, uint8_t ret_order[CHAIN_OPERATORS_MAX])
{
    const unsigned shrinks = OPERATOR_SELECTS | OPERATOR_RESAMPLES | OPERATOR_DROPS;
    memcpy(ret_order, ordering->order, ordering->count);
    for (size_t i = 1; i < ordering->count; i++) {
        uint8_t op = ret_order[i];
        size_t to = i;
        while ((ordering->facts[op].traits & shrinks) != 0 && to > 0 &&
               !ordering->after[op][ret_order[to - 1]]) {
            ret_order[to] = ret_order[to - 1];
            to--;
        }
        ret_order[to] = op;
    }
}

enum weir_status preprocess_ordering_nearly(const struct chain *chain, struct chain **ret_chain,
                                            struct weir_error *err)
{
    struct ordering ordering;
    uint8_t order[CHAIN_OPERATORS_MAX];
    preprocess_ordering_begin(&ordering, chain, ALGEBRA_NEARLY);
    shrink_first(&ordering, order);
    *ret_chain = NULL;
    if (memcmp(order, ordering.order, ordering.count) == 0)
        return WEIR_OK;
    return preprocess_chain_reorder(chain, order, ALGEBRA_NEARLY, ret_chain, err);
}
