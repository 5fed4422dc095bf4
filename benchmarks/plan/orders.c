/* See orders.h. */
#include "benchmarks/plan/orders.h"
#include "preprocess/plan/planning.h"

enum { TRIES = 5, MEASURED_NS = 100000000 };

static const char *const CHAINS[ORDERS_CASES] = {
    "[{op: normalize_text, lower: false}, {op: lower_case}, {op: truncate, length: 128},"
    " {op: tokenize_words}, {op: tokenize_hash, buckets: 1000}]",
    "[{op: record_fields, dense: [0, 64, f32]}, {op: cast, to: f64}, {op: filter, element: 0, max: 0.2},"
    " {op: math, function: sqrt}, {op: cast, to: f32}]",
    "[{op: decode_jpeg}, {op: color_jitter, brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1},"
    " {op: resize, size: [96, 96]}, {op: normalize}, {op: to_chw}]",
};

/* ---- runs ---- */

double orders_rate(struct orders_of *of, enum orders_side side)
{
    return rows_rate(&of->rows, of->chain[side], MEASURED_NS);
}

/* ---- the best that there is ---- */

struct trial {
    struct orders_of *of;
    enum algebra_law law;
    double best;
};

static bool try_order(void *owner, const uint8_t *order)
{
    struct trial *trial = owner;
    struct weir_error err;
    WEIR_AUTO(chain) chain = NULL;
    double best = 0;
    if (preprocess_chain_reorder(trial->of->chain[ORDERS_WRITTEN], order, trial->law, &chain,
                                 &err) != WEIR_OK)
        return true; /* of pictures that have no size yet, say: it is no order */
    for (size_t i = 0; i < TRIES; i++) {
        double rate = rows_rate(&trial->of->rows, chain, MEASURED_NS / 20);
        best = rate > best ? rate : best;
    }
    if (best > trial->best) {
        trial->best = best;
        preprocess_chain_free(trial->of->chain[ORDERS_BEST]);
        trial->of->chain[ORDERS_BEST] = WEIR_TAKE(chain);
    }
    return true;
}

static void find_best(struct orders_of *of, enum algebra_law law)
{
    struct ordering ordering;
    struct trial trial = {.of = of, .law = law};
    preprocess_ordering_begin(&ordering, of->chain[ORDERS_WRITTEN], law);
    preprocess_ordering_visit(&ordering, try_order, &trial);
}

/* ---- what Weir chooses ---- */

/* By what the operators have cost as they are written, as the dispatcher does. */
static enum weir_status choose(struct orders_of *of, struct weir_error *err)
{
    struct chain *chain = of->chain[ORDERS_WRITTEN];
    struct planning planning;
    struct ordering_cost costs[CHAIN_OPERATORS_MAX] = {0};
    preprocess_planning_begin(&planning, chain, false);
    rows_rate(&of->rows, chain, 2 * (int64_t)PLANNING_MEASURE_NS);
    for (size_t i = 0; i < preprocess_chain_operators(chain); i++) {
        struct chain_cost cost = preprocess_chain_cost(chain, i);
        costs[i] = (struct ordering_cost){
            .ns = (double)cost.spent_ns,
            .taken = (double)cost.taken,
            .made = (double)cost.bytes,
            .rows = (double)cost.rows,
            .kept = (double)(cost.rows - cost.failed - cost.filtered),
        };
    }
    preprocess_planning_add(&planning, chain, costs, 0);
    return preprocess_chain_reorder(chain, planning.order, ALGEBRA_EXACTLY,
                                    &of->chain[ORDERS_CHOSEN], err);
}

static enum weir_status open_case(struct orders_of *of, enum orders_case which,
                                  struct weir_error *err)
{
    enum algebra_law law = which == ORDERS_PICTURES ? ALGEBRA_NEARLY : ALGEBRA_EXACTLY;
    enum weir_status status =
        weir_yaml_parse("orders", weir_bytes_of(CHAINS[which]), &of->document, err);
    if (status == WEIR_OK)
        status = preprocess_chain_new(weir_yaml_root(of->document), NULL,
                                      &of->chain[ORDERS_WRITTEN], err);
    if (status == WEIR_OK)
        status = law == ALGEBRA_NEARLY ? preprocess_ordering_nearly(of->chain[ORDERS_WRITTEN],
                                                                    &of->chain[ORDERS_CHOSEN], err)
                                       : choose(of, err);
    if (status == WEIR_OK)
        find_best(of, law);
    return status;
}

enum weir_status orders_open(struct orders *orders, struct weir_error *err)
{
    enum { FIELDS = 64 };
    enum weir_status status = WEIR_OK;
    rows_draw_text(&orders->of[ORDERS_TEXT].rows);
    rows_draw_numbers(&orders->of[ORDERS_TABLE].rows, FIELDS);
    rows_draw_pictures(&orders->of[ORDERS_PICTURES].rows);
    for (enum orders_case i = ORDERS_TEXT; i < ORDERS_CASES && status == WEIR_OK; i++)
        status = open_case(&orders->of[i], i, err);
    return status;
}

void orders_close(struct orders *orders)
{
    for (size_t i = 0; i < ORDERS_CASES; i++) {
        struct orders_of *of = &orders->of[i];
        for (size_t k = 0; k < ORDERS_SIDES; k++)
            preprocess_chain_free(of->chain[k]);
        rows_fini(&of->rows);
        weir_yaml_free(of->document);
    }
}
