/* See planning.h. */
#include "preprocess/plan/planning.h"

#include <string.h>

void preprocess_planning_begin(struct planning *planning, const struct chain *chain, bool is_fixed)
{
    *planning = (struct planning){.state = is_fixed ? PLANNING_FIXED : PLANNING_MEASURING};
    preprocess_chain_order(chain, planning->order);
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
    uint8_t order[CHAIN_OPERATORS_MAX];
    preprocess_chain_order(chain, order);
    double rows = costs[order[0]].rows;
    return rows > 0 ? spent_ns(costs, preprocess_chain_operators(chain)) / rows : 0;
}

static void change(struct planning *planning, const struct chain *chain, const uint8_t *order,
                   int64_t now_ms)
{
    memcpy(planning->order, order, preprocess_chain_operators(chain));
    memcpy(planning->before, planning->costs, sizeof(planning->before));
    memset(planning->costs, 0, sizeof(planning->costs));
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

static bool decide(struct planning *planning, const struct chain *chain, int64_t now_ms)
{
    struct ordering ordering;
    const struct ordering_choice *choice = &planning->choice;
    preprocess_ordering_begin(&ordering, chain, ALGEBRA_EXACTLY);
    preprocess_ordering_choose(&ordering, planning->costs, &planning->choice);
    planning->state = PLANNING_WRITTEN;
    if (choice->best_ns > choice->present_ns * (1 - PLANNING_GAIN) ||
        !is_possible(chain, choice->order))
        return false;
    planning->state = PLANNING_TRYING;
    change(planning, chain, choice->order, now_ms);
    return true;
}

static bool verify(struct planning *planning, const struct chain *chain, int64_t now_ms)
{
    double before = preprocess_planning_row_ns(planning->before, chain);
    double after = preprocess_planning_row_ns(planning->costs, chain);
    uint8_t written[CHAIN_OPERATORS_MAX];
    planning->state = after < before ? PLANNING_CHANGED : PLANNING_REVERTED;
    if (after < before)
        return false;
    preprocess_chain_order(chain, written);
    change(planning, chain, written, now_ms);
    return true;
}

bool preprocess_planning_add(struct planning *planning, const struct chain *chain,
                             const struct ordering_cost *costs, int64_t now_ms)
{
    size_t count = preprocess_chain_operators(chain);
    if (planning->changes > 0 && now_ms - planning->changed_ms < PLANNING_SETTLE_MS)
        return false;
    for (size_t i = 0; i < count; i++) {
        planning->costs[i].ns += costs[i].ns;
        planning->costs[i].taken += costs[i].taken;
        planning->costs[i].made += costs[i].made;
        planning->costs[i].rows += costs[i].rows;
        planning->costs[i].kept += costs[i].kept;
    }
    if (spent_ns(planning->costs, count) < PLANNING_MEASURE_NS)
        return false;
    if (planning->state == PLANNING_MEASURING)
        return decide(planning, chain, now_ms);
    if (planning->state == PLANNING_TRYING)
        return verify(planning, chain, now_ms);
    return false;
}

const char *preprocess_planning_state_name(enum planning_state state)
{
    static const char *const NAMES[] = {"measuring",  "trying",   "changed",
                                        "as written", "reverted", "fixed"};
    return NAMES[state];
}
