/* See orders.h. */
#include "benchmarks/plan/orders.h"
#include "preprocess/plan/planning.h"
#include "tests/support/jpeg_picture.h"

#include "core/base/clock.h"

#include <string.h>

enum { FIELDS = 64, WORDS = 250, TRIES = 5, MEASURED_NS = 100000000 };

static const char *const CHAINS[ORDERS_CASES] = {
    "[{op: normalize_text, lower: false}, {op: lower_case}, {op: truncate, length: 128},"
    " {op: tokenize_words}, {op: tokenize_hash, buckets: 1000}]",
    "[{op: record_fields, dense: [0, 64, f32]}, {op: cast, to: f64}, {op: filter, element: 0, max: 0.2},"
    " {op: math, function: sqrt}, {op: cast, to: f32}]",
    "[{op: decode_jpeg}, {op: color_jitter, brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1},"
    " {op: resize, size: [96, 96]}, {op: normalize}, {op: to_chw}]",
};

/* ---- rows ---- */

static void draw_text(struct weir_rng *rng, struct weir_buf *row)
{
    for (size_t i = 0; i < WORDS; i++) {
        for (size_t left = 2 + weir_rng_below(rng, 7); left > 0; left--)
            weir_buf_append(row, &(char){(char)('A' + weir_rng_below(rng, 26))}, 1);
        weir_buf_append(row, " ", 1);
    }
}

static void draw_numbers(struct weir_rng *rng, struct weir_buf *row)
{
    for (size_t i = 0; i < FIELDS; i++) {
        float number = (float)weir_rng_unit(rng);
        weir_buf_append(row, &number, sizeof(number));
    }
}

static void draw_picture(struct weir_rng *rng, struct weir_buf *row)
{
    const struct jpeg_picture picture = {.height = 375,
                                         .width = 500,
                                         .seed = weir_rng_next(rng),
                                         .quality = 85,
                                         .components = 3,
                                         .noise = 12};
    jpeg_picture_write(&picture, row);
}

static void draw_rows(struct orders_of *of,
                      void (*draw)(struct weir_rng *rng, struct weir_buf *row), size_t different)
{
    struct weir_rng rng;
    weir_rng_init(&rng, 5);
    for (size_t i = 0; i < ORDERS_ROWS; i++) {
        if (i < different)
            draw(&rng, &of->bytes[i]);
        else
            weir_buf_append(&of->bytes[i], of->bytes[i % different].at,
                            of->bytes[i % different].size);
    }
}

/* ---- runs ---- */

/* Brings `count` rows through the chain. */
static void run(struct orders_of *of, struct chain *chain, size_t count)
{
    uint64_t ids[ORDERS_ROWS];
    struct column *payload = preprocess_chain_begin(chain);
    for (size_t i = 0; i < count; i++) {
        ids[i] = i;
        weir_buf_append(&payload->values, of->bytes[i].at, of->bytes[i].size);
        preprocess_column_end_row(payload);
    }
    preprocess_chain_run(chain,
                         &(struct operator_batch){
                             .rows = count, .ids = ids, .seed = 1, .trains = true, .drops = true});
}

static double rate_of(struct orders_of *of, struct chain *chain, int64_t at_least_ns)
{
    const size_t count = of->bytes[0].size > 10000 ? ORDERS_ROWS / 8 : ORDERS_ROWS;
    int64_t begun_ns = weir_cpu_thread_ns(), spent_ns = 0;
    size_t rows = 0;
    for (; spent_ns < at_least_ns; spent_ns = weir_cpu_thread_ns() - begun_ns, rows += count)
        run(of, chain, count);
    return (double)rows * 1e9 / (double)spent_ns;
}

double orders_rate(struct orders_of *of, enum orders_side side)
{
    return rate_of(of, of->chain[side], MEASURED_NS);
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
        double rate = rate_of(trial->of, chain, MEASURED_NS / 20);
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
    rate_of(of, chain, 2 * (int64_t)PLANNING_MEASURE_NS);
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
    enum { PICTURES = 16 };
    enum weir_status status = WEIR_OK;
    draw_rows(&orders->of[ORDERS_TEXT], draw_text, ORDERS_ROWS);
    draw_rows(&orders->of[ORDERS_TABLE], draw_numbers, ORDERS_ROWS);
    draw_rows(&orders->of[ORDERS_PICTURES], draw_picture, PICTURES);
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
        for (size_t k = 0; k < ORDERS_ROWS; k++)
            weir_buf_fini(&of->bytes[k]);
        weir_yaml_free(of->document);
    }
}
