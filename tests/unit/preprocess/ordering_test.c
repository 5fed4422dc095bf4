/* Every legal order of a chain makes the same batches, holes, failures and fits as the one that was written; and the
 * cheapest of them is found. */
#include "preprocess/plan/ordering.h"
#include "tests/support/chain.h"
#include "tests/support/jpeg_picture.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ORDERS_MAX = 24, ROWS = 40, TEXT_MAX = 160, STEPS_MAX = 12, BRANCHES = 3 };

/* ---- random chains ---- */

static const char *const ON_TEXT[] = {
    "{op: lower_case, on: t}",
    "{op: truncate, on: t, length: 9}",
    "{op: truncate, on: t, length: 14, keep: last}",
    "{op: filter, on: t, min: 3}",
};
static const char *const ON_RAGGED[] = {
    "{op: truncate, on: t, length: 2}",    "{op: first_x, on: t, count: 3}",
    "{op: filter, on: t, min: 1, max: 3}", "{op: clamp, on: t, min: 5, max: 60}",
    "{op: modulo, on: t, by: 50}",         "{op: map_ids, on: t, from: [5], to: [7]}",
    "{op: cast, on: t, to: i64}",
};
static const char *const ON_DENSE[] = {
    "op: cast, to: f64",          "op: clamp, min: -1, max: 9", "op: filter, max: 8",
    "op: fill_missing, value: 3", "op: math, function: square",
};

/* A column from the record to a tensor: operators that keep their order among each other. */
struct branch {
    char step[STEPS_MAX][TEXT_MAX];
    size_t count, taken;
};

static void add(struct branch *branch, const char *format, ...) WEIR_PRINTF(2, 3);
static void add(struct branch *branch, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(branch->step[branch->count++], TEXT_MAX, format, args);
    va_end(args);
}

static void draw_text(struct weir_rng *rng, struct branch *branch)
{
    add(branch, "{op: csv_text, field: 1, as: t}");
    add(branch, "{op: normalize_text, on: t, lower: false, as: t}");
    for (size_t left = weir_rng_below(rng, 4); left > 0; left--)
        add(branch, "%s", ON_TEXT[weir_rng_below(rng, WEIR_COUNT(ON_TEXT))]);
    add(branch, "{op: tokenize_words, on: t, as: t}");
    if (weir_rng_below(rng, 3) == 0)
        add(branch, "{op: vocab, on: t, size: 20, as: t}");
    else
        add(branch, "{op: tokenize_hash, on: t, buckets: 100, as: t}");
    for (size_t left = weir_rng_below(rng, 4); left > 0; left--)
        add(branch, "%s", ON_RAGGED[weir_rng_below(rng, WEIR_COUNT(ON_RAGGED))]);
}

static void draw_dense(struct weir_rng *rng, struct branch *branch, const char *name)
{
    const char *fields = weir_rng_below(rng, 2) == 0 ? "[0]" : "[2, 3]";
    add(branch, "{op: csv_fields, fields: %s, as: %s%s}", fields, name,
        weir_rng_below(rng, 2) == 0 ? ", fill: nan" : "");
    if (weir_rng_below(rng, 3) == 0)
        add(branch, "{op: standardize, on: %s}", name);
    for (size_t left = weir_rng_below(rng, 4); left > 0; left--)
        add(branch, "{%s, on: %s}", ON_DENSE[weir_rng_below(rng, WEIR_COUNT(ON_DENSE))], name);
}

/* Three columns whose operators are shuffled together. */
static void draw_chain(struct weir_rng *rng, struct weir_buf *yaml)
{
    struct branch branches[BRANCHES] = {0};
    size_t left = 0;
    draw_text(rng, &branches[0]);
    draw_dense(rng, &branches[1], "a");
    draw_dense(rng, &branches[2], "b");
    for (size_t i = 0; i < BRANCHES; i++)
        left += branches[i].count;
    weir_buf_append_text(yaml, "[");
    while (left > 0) {
        struct branch *branch = &branches[weir_rng_below(rng, BRANCHES)];
        if (branch->taken == branch->count)
            continue;
        weir_buf_printf(yaml, "%s%s", branch->step[branch->taken++], --left > 0 ? ",\n " : "]");
    }
}

/* ---- rows ---- */

struct rows {
    char text[ROWS][TEXT_MAX];
    struct weir_bytes bytes[ROWS];
    uint64_t ids[ROWS];
};

static void draw_rows(struct weir_rng *rng, struct rows *rows)
{
    static const char *const WORDS[] = {"Weir", "ÄRGER", "of", "x", "rIVers", "déjà"};
    static const char *const NUMBERS[] = {"1", "7.5", "-3", "", "100", "word"};
    for (size_t i = 0; i < ROWS; i++) {
        char text[TEXT_MAX] = "";
        for (size_t words = weir_rng_below(rng, 6); words > 0; words--)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
                     WORDS[weir_rng_below(rng, WEIR_COUNT(WORDS))]);
        const char *number[3];
        for (size_t k = 0; k < WEIR_COUNT(number); k++)
            number[k] =
                NUMBERS[weir_rng_below(rng, WEIR_COUNT(NUMBERS) + 20) % WEIR_COUNT(NUMBERS)];
        snprintf(rows->text[i], TEXT_MAX, weir_rng_below(rng, 15) > 0 ? "%s,%s,%s,%s" : "%s,%s",
                 number[0], text, number[1], number[2]);
        rows->bytes[i] = weir_bytes_of(rows->text[i]);
        rows->ids[i] = 1000 + i;
    }
}

/* ---- the judge ---- */

/* Everything that a chain makes of a batch. */
struct made {
    struct weir_buf flags, tensors, failures, fitted;
};

static void made_fini(struct made *made)
{
    weir_buf_fini(&made->flags);
    weir_buf_fini(&made->tensors);
    weir_buf_fini(&made->failures);
    weir_buf_fini(&made->fitted);
}

static void fill(struct chain *chain, const struct rows *rows)
{
    struct column *payload = preprocess_chain_begin(chain);
    for (size_t i = 0; i < ROWS; i++) {
        weir_buf_append(&payload->values, rows->bytes[i].at, rows->bytes[i].size);
        preprocess_column_end_row(payload);
    }
}

/* False when there is nothing to fit on, as `fitted` says then. */
static bool fit(struct chain *chain, const struct rows *rows, const struct operator_batch *batch,
                struct weir_buf *fitted)
{
    struct weir_error err;
    struct chain_partial partial = {0};
    WEIR_AUTO_BUF packed = {0};
    fill(chain, rows);
    if (preprocess_chain_wants_samples(chain)) {
        preprocess_chain_fold(chain, batch, &partial);
        preprocess_chain_partial_pack(&partial, &packed);
        assert_int_equal(preprocess_chain_fit_merge(chain, weir_buf_view(&packed), &err), WEIR_OK);
    }
    preprocess_chain_partial_fini(&partial);
    if (preprocess_chain_fit_finish(chain, fitted, &err) != WEIR_OK) {
        weir_buf_clear(fitted);
        weir_buf_append_text(fitted, err.text);
        return false;
    }
    assert_int_equal(preprocess_chain_fit_load(chain, weir_buf_view(fitted), &err), WEIR_OK);
    return true;
}

/* Takes the steps that the chain has left to the consumer. */
static void take_steps(const struct chain *chain, uint32_t tensor, size_t rows,
                       struct column *column)
{
    const struct weir_tensor_steps *left = preprocess_chain_left(chain);
    const struct column_about *about = preprocess_chain_output_about(chain, tensor);
    struct weir_tensor_form made = preprocess_column_form(about);
    const struct weir_tensor_rows taken = {
        .count = rows, .values = column->values.at, .offsets = column_offsets(column)};
    const uint64_t elements =
        column->about.kind == COLUMN_RAGGED ? weir_tensor_rows_elements(&taken) : 0;
    struct weir_buf values = {0};
    if (weir_tensor_steps_of(left, tensor) == 0)
        return;
    weir_buf_reserve(&values, weir_tensor_form_bytes(&made, rows, elements) + 1);
    weir_tensor_steps_take(left, tensor, preprocess_column_form(&column->about), taken, values.at);
    values.size = weir_tensor_form_bytes(&made, rows, elements);
    weir_buf_fini(&column->values);
    column->values = values;
    column->offsets.size = made.is_ragged ? column->offsets.size : 0;
    column->about = *about;
}

static void keep_tensors(struct chain *chain, const uint8_t *flags, bool drops,
                         struct weir_buf *out)
{
    size_t rows = 0;
    for (size_t i = 0; i < ROWS; i++)
        rows += flags[i] == OPERATOR_ROW_OK;
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++) {
        struct column *column = preprocess_chain_output(chain, i);
        if (!drops)
            preprocess_column_drop_rows(column, ROWS, flags);
        take_steps(chain, (uint32_t)i, rows, column);
        preprocess_column_about_print(&column->about, out);
        weir_buf_append_u64(out, column->about.below);
        for (size_t k = 0; column->about.elements != NULL && k < column->about.width; k++)
            weir_buf_printf(out, "%s,",
                            column->about.elements[k] != NULL ? column->about.elements[k] : "");
        weir_buf_append(out, column->values.at, column->values.size);
        weir_buf_append(out, column->offsets.at, column->offsets.size);
    }
}

/* A piece of one row at least, or of the whole batch. */
static const size_t PIECES[] = {1, 60, 400, SIZE_MAX};

static void make(struct chain *chain, const struct rows *rows, bool drops, struct made *made)
{
    const struct operator_batch batch = {.rows = ROWS,
                                         .ids = rows->ids,
                                         .times = (const int64_t *)(const void *)rows->ids,
                                         .seed = 3,
                                         .trains = true,
                                         .drops = drops};
    if (!fit(chain, rows, &batch, &made->fitted))
        return;
    fill(chain, rows);
    const uint8_t *flags = preprocess_chain_run(chain, &batch);
    weir_buf_append(&made->flags, flags, ROWS);
    keep_tensors(chain, flags, drops, &made->tensors);
    const struct operator_failures *failures = preprocess_chain_failures(chain);
    for (size_t i = 0; i < failures->count; i++)
        weir_buf_printf(&made->failures, "%zu %u %s\n", failures->of[i].row, failures->of[i].step,
                        failures->of[i].reason);
}

static bool are_equal(const struct made *one, const struct made *other)
{
    return weir_bytes_equal(weir_buf_view(&one->flags), weir_buf_view(&other->flags)) &&
           weir_bytes_equal(weir_buf_view(&one->tensors), weir_buf_view(&other->tensors)) &&
           weir_bytes_equal(weir_buf_view(&one->failures), weir_buf_view(&other->failures)) &&
           weir_bytes_equal(weir_buf_view(&one->fitted), weir_buf_view(&other->fitted));
}

/* ---- tests ---- */

static uint64_t chains = 500;

struct trial {
    struct test_chain test;
    const struct rows *rows;
    struct made written;
    const char *yaml;
    size_t orders, planned, sunk;
};

static void compare(struct trial *trial, struct chain *chain, const uint8_t *order)
{
    struct made made = {0};
    make(chain, trial->rows, true, &made);
    if (!are_equal(&made, &trial->written)) {
        for (size_t i = 0; i < preprocess_chain_operators(chain); i++)
            print_error("%u ", order[i]);
        fail_msg("another batch by this order of %s, %zu steps left\n%s---\n%s", trial->yaml,
                 preprocess_chain_left(chain)->count, weir_buf_text(&trial->written.failures),
                 weir_buf_text(&made.failures));
    }
    made_fini(&made);
}

/* The same chain, its neighbours fused in pieces of another size. */
static void try_pieces(struct trial *trial)
{
    for (size_t i = 0; i < WEIR_COUNT(PIECES); i++) {
        for (int drops = 0; drops < 2; drops++) {
            struct test_chain again;
            struct made made = {0};
            test_chain_open(&again, trial->yaml);
            preprocess_chain_set_piece(again.chain, PIECES[i]);
            make(again.chain, trial->rows, drops, &made);
            if (!are_equal(&made, &trial->written))
                fail_msg("another batch in pieces of %zu bytes of %s\n%s---\n%s", PIECES[i],
                         trial->yaml, weir_buf_text(&trial->written.failures),
                         weir_buf_text(&made.failures));
            made_fini(&made);
            test_chain_close(&again);
        }
    }
}

static bool try_order(void *owner, const uint8_t *order)
{
    struct trial *trial = owner;
    struct weir_error err;
    WEIR_AUTO(chain) other = NULL;
    trial->orders++;
    if (preprocess_chain_reorder(trial->test.chain, order, ALGEBRA_EXACTLY, &other, &err) !=
        WEIR_OK)
        fail_msg("%s: %s", trial->yaml, err.text);
    preprocess_chain_set_piece(other, PIECES[trial->orders % WEIR_COUNT(PIECES)]);
    compare(trial, other, order);
    size_t sunk = trial->orders % (preprocess_chain_sinkable(trial->test.chain, order) + 1);
    if (sunk > 0) {
        WEIR_AUTO(chain) cut = NULL;
        assert_int_equal(preprocess_chain_sink(other, sunk, &cut, &err), WEIR_OK);
        compare(trial, cut, order);
        trial->sunk++;
    }
    return trial->orders < ORDERS_MAX;
}

/* Draws a chain and rows, and makes the batch as written, one operator after the other. */
static void begin_trial(struct trial *trial, uint64_t seed, struct weir_buf *yaml,
                        struct rows *rows)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    draw_chain(&rng, yaml);
    draw_rows(&rng, rows);
    *trial = (struct trial){.rows = rows, .yaml = weir_buf_text(yaml)};
    test_chain_open(&trial->test, trial->yaml);
    preprocess_chain_set_piece(trial->test.chain, SIZE_MAX);
    make(trial->test.chain, rows, false, &trial->written);
}

static void end_trial(struct trial *trial)
{
    made_fini(&trial->written);
    test_chain_close(&trial->test);
}

static void fused_neighbours_make_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < chains; seed++) {
        WEIR_AUTO_BUF yaml = {0};
        struct rows rows;
        struct trial trial;
        begin_trial(&trial, seed, &yaml, &rows);
        try_pieces(&trial);
        end_trial(&trial);
    }
}

static void every_legal_order_makes_the_same_whoever_takes_the_last_steps(void **state)
{
    (void)state;
    size_t orders = 0, sunk = 0;
    for (uint64_t seed = 0; seed < chains; seed++) {
        WEIR_AUTO_BUF yaml = {0};
        struct rows rows;
        struct trial trial;
        struct ordering ordering;
        begin_trial(&trial, seed, &yaml, &rows);
        preprocess_ordering_begin(&ordering, trial.test.chain, ALGEBRA_EXACTLY);
        preprocess_ordering_visit(&ordering, try_order, &trial);
        orders += trial.orders;
        sunk += trial.sunk;
        end_trial(&trial);
    }
    assert_true(orders > 5 * chains && sunk > chains); /* there was something to try */
}

/* ---- pictures ---- */

static void draw_pictures(struct rows *rows, struct weir_buf files[ROWS])
{
    for (size_t i = 0; i < ROWS; i++) {
        const struct jpeg_picture picture = {.height = 40 + (uint32_t)i,
                                             .width = 70 - (uint32_t)i,
                                             .seed = i,
                                             .quality = 80,
                                             .components = i % 5 == 0 ? 1 : 3};
        jpeg_picture_write(&picture, &files[i]);
        if (i % 7 == 3)
            files[i].size /= 2;
        rows->bytes[i] = weir_buf_view(&files[i]);
        rows->ids[i] = 1000 + i;
    }
}

static const char *const OF_PICTURES[] = {
    "[{op: decode_jpeg}, {op: grayscale}, {op: resize, size: 12}, {op: center_crop, size: 12},"
    " {op: event_time}, {op: cast, on: time, to: f64}, {op: filter, on: time, max: 1020.5}]",
    "[{op: decode_jpeg}, {op: event_time}, {op: random_resized_crop, size: 9}, {op: flip},"
    " {op: filter, on: time, max: 1020}, {op: normalize}, {op: to_chw}]",
    "[{op: event_time}, {op: decode_jpeg}, {op: cast, on: time, to: f64},"
    " {op: resize, size: [8, 8]}, {op: color_jitter, contrast: 1}, {op: normalize}]",
};

/* A decoder that makes no more than the crop behind it reads makes other pixels than each of them alone. So what
 * neighbours do for each other is neither lost nor won by a move. */
static void pictures_keep_their_pixels_in_every_legal_order(void **state)
{
    (void)state;
    struct rows rows;
    struct weir_buf files[ROWS] = {0};
    size_t orders = 0;
    draw_pictures(&rows, files);
    for (size_t i = 0; i < WEIR_COUNT(OF_PICTURES); i++) {
        struct ordering ordering;
        struct trial trial = {.rows = &rows, .yaml = OF_PICTURES[i]};
        test_chain_open(&trial.test, trial.yaml);
        preprocess_chain_set_piece(trial.test.chain, SIZE_MAX);
        make(trial.test.chain, &rows, false, &trial.written);
        try_pieces(&trial);
        preprocess_ordering_begin(&ordering, trial.test.chain, ALGEBRA_EXACTLY);
        preprocess_ordering_visit(&ordering, try_order, &trial);
        orders += trial.orders;
        made_fini(&trial.written);
        test_chain_close(&trial.test);
    }
    for (size_t i = 0; i < ROWS; i++)
        weir_buf_fini(&files[i]);
    assert_true(orders > 2 * WEIR_COUNT(OF_PICTURES));
}

static void resizing_comes_first_in_an_approximate_order(void **state)
{
    (void)state;
    struct test_chain test;
    struct weir_error err;
    uint8_t order[CHAIN_OPERATORS_MAX];
    WEIR_AUTO(chain) other = NULL;
    test_chain_open(&test, "[{op: decode_jpeg}, {op: color_jitter, contrast: 1}, {op: flip},"
                           " {op: resize, size: [8, 8]}, {op: normalize}]");
    assert_int_equal(preprocess_ordering_nearly(test.chain, &other, &err), WEIR_OK);
    preprocess_chain_order(other, order);
    assert_memory_equal(order, ((const uint8_t[]){0, 3, 1, 2, 4}), 5);
    test_chain_close(&test);
}

static void operators_that_do_not_commute_make_another_batch(void **state)
{
    (void)state;
    static const char YAML[] = "[{op: csv_fields, fields: [0], as: a, fill: nan},"
                               " {op: clamp, on: a, min: 0, max: 5}, {op: filter, on: a, max: 6}]";
    static const uint8_t OTHER[] = {0, 2, 1};
    struct weir_rng rng;
    struct rows rows;
    struct ordering ordering;
    struct trial trial = {.rows = &rows};
    struct made made = {0};
    struct weir_error err;
    WEIR_AUTO(chain) other = NULL;
    weir_rng_init(&rng, 1);
    draw_rows(&rng, &rows);
    test_chain_open(&trial.test, YAML);
    make(trial.test.chain, &rows, true, &trial.written);
    preprocess_ordering_begin(&ordering, trial.test.chain, ALGEBRA_EXACTLY);
    assert_true(ordering.after[2][1]);
    assert_int_equal(
        preprocess_chain_reorder(trial.test.chain, OTHER, ALGEBRA_EXACTLY, &other, &err), WEIR_OK);
    make(other, &rows, true, &made);
    assert_false(are_equal(&made, &trial.written));
    made_fini(&made);
    made_fini(&trial.written);
    test_chain_close(&trial.test);
}

/* ---- the cheapest ---- */

struct cheapest {
    const struct ordering *ordering;
    const struct ordering_cost *costs;
    double ns;
    size_t seen;
};

static bool note_cheaper(void *owner, const uint8_t *order)
{
    struct cheapest *cheapest = owner;
    double ns = preprocess_ordering_estimate(cheapest->ordering, cheapest->costs, order);
    cheapest->ns = ns < cheapest->ns ? ns : cheapest->ns;
    return ++cheapest->seen < 100000;
}

static void draw_costs(struct weir_rng *rng, size_t count, struct ordering_cost *costs)
{
    for (size_t i = 0; i < count; i++) {
        double taken = 1 + 1e5 * weir_rng_unit(rng);
        costs[i] = (struct ordering_cost){.ns = 1e6 * weir_rng_unit(rng),
                                          .taken = taken,
                                          .made = taken * 2 * weir_rng_unit(rng),
                                          .rows = 1000,
                                          .kept = 1000};
        costs[i].kept -= weir_rng_below(rng, 2) == 0 ? 900 * weir_rng_unit(rng) : 0;
    }
}

static void the_cheapest_of_all_orders_is_found(void **state)
{
    (void)state;
    size_t moved = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct weir_rng rng;
        WEIR_AUTO_BUF yaml = {0};
        struct test_chain test;
        struct ordering ordering;
        struct ordering_cost costs[CHAIN_OPERATORS_MAX] = {0};
        struct ordering_choice choice;
        weir_rng_init(&rng, seed);
        draw_chain(&rng, &yaml);
        test_chain_open(&test, weir_buf_text(&yaml));
        preprocess_ordering_begin(&ordering, test.chain, ALGEBRA_EXACTLY);
        draw_costs(&rng, ordering.count, costs);
        preprocess_ordering_choose(&ordering, costs, &choice);
        struct cheapest cheapest = {&ordering, costs, choice.present_ns, 0};
        preprocess_ordering_visit(&ordering, note_cheaper, &cheapest);
        double found = preprocess_ordering_estimate(&ordering, costs, choice.order);
        assert_true(found <= choice.present_ns * (1 + 1e-9));
        if (choice.is_best)
            assert_true(found <= cheapest.ns * (1 + 1e-6));
        moved += memcmp(choice.order, ordering.order, ordering.count) != 0;
        test_chain_close(&test);
    }
    assert_true(moved > 100);
}

static void expect_order(const char *yaml, const struct ordering_cost *costs,
                         const uint8_t *expected)
{
    struct test_chain test;
    struct ordering ordering;
    struct ordering_choice choice;
    test_chain_open(&test, yaml);
    preprocess_ordering_begin(&ordering, test.chain, ALGEBRA_EXACTLY);
    preprocess_ordering_choose(&ordering, costs, &choice);
    assert_memory_equal(choice.order, expected, ordering.count);
    test_chain_close(&test);
}

static void what_makes_less_comes_first_where_it_may(void **state)
{
    (void)state;
    /* ns, bytes in, bytes out, rows in, rows out */
    static const struct ordering_cost TEXT[] = {{100, 1000, 1000, 10, 10},
                                                {900, 1000, 1000, 10, 10},
                                                {10, 1000, 100, 10, 10},
                                                {50, 100, 100, 10, 10},
                                                {50, 100, 100, 10, 10}};
    expect_order(
        "[{op: normalize_text, lower: false}, {op: lower_case}, {op: truncate, length: 10},"
        " {op: tokenize_words}, {op: tokenize_hash, buckets: 9}]",
        TEXT, (const uint8_t[]){0, 2, 1, 3, 4});
    static const struct ordering_cost FILTERED[] = {
        {100, 1000, 400, 10, 10}, {900, 400, 800, 10, 10}, {10, 800, 0, 10, 2}};
    expect_order("[{op: csv_fields, fields: [0]}, {op: cast, to: f64}, {op: filter, max: 3}]",
                 FILTERED, (const uint8_t[]){0, 2, 1});
    static const struct ordering_cost ROUNDED[] = {{100, 1000, 400, 10, 10},
                                                   {50, 400, 400, 10, 10},
                                                   {900, 400, 400, 10, 10},
                                                   {10, 400, 0, 10, 2}};
    expect_order("[{op: csv_fields, fields: [0]}, {op: cast, to: i64}, {op: cast, to: f32},"
                 " {op: filter, max: 3}]",
                 ROUNDED, (const uint8_t[]){0, 1, 2, 3}); /* f32 does not hold all of i64 */
}

/* --chains N: so many random chains. */
int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--chains") == 0)
        chains = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_legal_order_makes_the_same_whoever_takes_the_last_steps),
        cmocka_unit_test(fused_neighbours_make_the_same),
        cmocka_unit_test(pictures_keep_their_pixels_in_every_legal_order),
        cmocka_unit_test(resizing_comes_first_in_an_approximate_order),
        cmocka_unit_test(operators_that_do_not_commute_make_another_batch),
        cmocka_unit_test(the_cheapest_of_all_orders_is_found),
        cmocka_unit_test(what_makes_less_comes_first_where_it_may),
    };
    return cmocka_run_group_tests_name("ordering", tests, NULL, NULL);
}
