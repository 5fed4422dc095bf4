/* Rows of costs, found by session. */
#include "preprocess/dispatcher/costs.h"

#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/rng.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 2 * POOL_CREW /* not worth folding */ };

/* ---- sums ---- */

static void add_kept(struct dispatcher_kept *total, const struct dispatcher_kept *before,
                     const struct dispatcher_kept *now)
{
    total->key = now->key != 0 ? now->key : total->key;
    total->hits += now->hits - before->hits;
    total->misses += now->misses - before->misses;
    total->damaged += now->damaged - before->damaged;
    total->made_ns = weir_plus(total->made_ns, now->made_ns - before->made_ns);
    total->read_ns = weir_plus(total->read_ns, now->read_ns - before->read_ns);
}

/* Adds what was spent between the two. */
static void add(struct dispatcher_cost *total, const struct dispatcher_cost *before,
                const struct dispatcher_cost *now)
{
    add_kept(&total->kept, &before->kept, &now->kept);
    total->cpu_ns = weir_plus(total->cpu_ns, now->cpu_ns - before->cpu_ns);
    total->bytes_read += now->bytes_read - before->bytes_read;
    total->bytes_sent += now->bytes_sent - before->bytes_sent;
    total->read_ns = weir_plus(total->read_ns, now->read_ns - before->read_ns);
    total->queued_ns = weir_plus(total->queued_ns, now->queued_ns - before->queued_ns);
    total->shared += now->shared - before->shared;
    for (size_t i = 0; i < CHAIN_OPERATORS_MAX; i++) {
        struct dispatcher_operator_cost *sum = &total->of[i];
        sum->ns = weir_plus(sum->ns, now->of[i].ns - before->of[i].ns);
        sum->bytes += now->of[i].bytes - before->of[i].bytes;
        sum->taken += now->of[i].taken - before->of[i].taken;
        sum->rows += now->of[i].rows - before->of[i].rows;
        sum->kept += now->of[i].kept - before->of[i].kept;
    }
}

/* ---- rows ---- */

static size_t row_bytes(const struct dispatcher_costs *costs)
{
    return offsetof(struct dispatcher_cost, of) +
           costs->operators * sizeof(struct dispatcher_operator_cost);
}

static uint64_t session_at(const struct dispatcher_costs *costs, size_t index)
{
    uint64_t session;
    memcpy(&session, costs->rows + index * row_bytes(costs), sizeof(session));
    return session;
}

size_t preprocess_costs_find(const struct dispatcher_costs *costs, uint64_t session)
{
    uint32_t row;
    struct weir_index_search search =
        weir_index_search(&costs->sessions, weir_mix64(session ^ costs->sessions.seed));
    while (weir_index_next(&search, &row))
        if (session_at(costs, row) == session)
            return row;
    return costs->count;
}

void preprocess_costs_fini(struct dispatcher_costs *costs)
{
    free(costs->rows);
    weir_index_fini(&costs->sessions);
    *costs = (struct dispatcher_costs){.rows = NULL};
}

void preprocess_costs_have(struct dispatcher_costs *costs, size_t operators)
{
    if (costs->count == 0)
        costs->operators = operators < CHAIN_OPERATORS_MAX ? operators : CHAIN_OPERATORS_MAX;
}

struct dispatcher_cost preprocess_costs_at(const struct dispatcher_costs *costs, size_t index)
{
    struct dispatcher_cost cost = {0};
    memcpy(&cost, costs->rows + index * row_bytes(costs), row_bytes(costs));
    return cost;
}

struct dispatcher_cost preprocess_costs_of(const struct dispatcher_costs *costs, uint64_t session)
{
    size_t index = preprocess_costs_find(costs, session);
    return index < costs->count ? preprocess_costs_at(costs, index)
                                : (struct dispatcher_cost){.session = session};
}

void preprocess_costs_put(struct dispatcher_costs *costs, const struct dispatcher_cost *cost)
{
    size_t index = preprocess_costs_find(costs, cost->session);
    struct dispatcher_cost before = {0};
    if (index < costs->count) {
        before = preprocess_costs_at(costs, index);
    } else {
        costs->rows = weir_grow(costs->rows, costs->count, &costs->capacity, row_bytes(costs));
        weir_index_draw_seed(&costs->sessions);
        weir_index_add(&costs->sessions, weir_mix64(cost->session ^ costs->sessions.seed),
                       (uint32_t)index);
        costs->count++;
    }
    memcpy(costs->rows + index * row_bytes(costs), cost, row_bytes(costs));
    add(&costs->total, &before, cost);
}

static bool is_unsaved(const struct dispatcher_costs *costs, size_t index)
{
    bool unsaved;
    memcpy(&unsaved,
           costs->rows + index * row_bytes(costs) + offsetof(struct dispatcher_cost, unsaved),
           sizeof(unsaved));
    return unsaved;
}

static void mark(struct dispatcher_costs *costs, size_t index, bool unsaved)
{
    memcpy(costs->rows + index * row_bytes(costs) + offsetof(struct dispatcher_cost, unsaved),
           &unsaved, sizeof(unsaved));
}

bool preprocess_costs_are_unsaved(const struct dispatcher_costs *costs)
{
    size_t i = 0;
    while (i < costs->count && !is_unsaved(costs, i))
        i++;
    return i < costs->count;
}

void preprocess_costs_take_unsaved(struct dispatcher_costs *costs,
                                   struct dispatcher_costs *ret_rows)
{
    size_t bytes = row_bytes(costs);
    *ret_rows = (struct dispatcher_costs){.operators = costs->operators};
    for (size_t i = 0; i < costs->count; i++) {
        if (!costs->is_folded && !is_unsaved(costs, i))
            continue;
        ret_rows->rows = weir_grow(ret_rows->rows, ret_rows->count, &ret_rows->capacity, bytes);
        memcpy(ret_rows->rows + ret_rows->count++ * bytes, costs->rows + i * bytes, bytes);
        mark(costs, i, false);
    }
    costs->is_folded = false;
}

void preprocess_costs_put_back(struct dispatcher_costs *costs, const struct dispatcher_costs *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        size_t index = preprocess_costs_find(costs, session_at(rows, i));
        if (index < costs->count)
            mark(costs, index, true);
    }
}

void preprocess_costs_fold(struct dispatcher_costs *costs, const struct pool *pool)
{
    static const struct dispatcher_cost NONE;
    struct dispatcher_costs folded = {.operators = costs->operators, .is_folded = true};
    struct dispatcher_cost over = {.session = 0};
    if (costs->count <= ROWS_MAX || costs->count <= 2 * costs->kept)
        return;
    for (size_t i = 0; i < costs->count; i++) {
        const struct dispatcher_cost cost = preprocess_costs_at(costs, i);
        if (preprocess_pool_has_session(pool, cost.session))
            preprocess_costs_put(&folded, &cost);
        else
            add(&over, &NONE, &cost);
    }
    preprocess_costs_put(&folded, &over);
    folded.total.kept.key =
        costs->total.kept.key; /* the newest, which is not that of what is over */
    folded.kept = folded.count;
    preprocess_costs_fini(costs);
    *costs = folded;
}
