/* See orders.h. */
#include "preprocess/preview/orders.h"
#include "preprocess/plan/ordering.h"

#include "core/base/clock.h"
#include "core/base/hash.h"

#include <string.h>

#define ORDERS_CPU_NS INT64_C(2000000000)

struct check {
    const struct trial *trial;
    const struct records *datasets;
    size_t count;
    struct weir_digest written;
    size_t tried;
    int64_t until_ns;
};

static void add_tensors(struct chain *chain, const uint8_t *flags, size_t rows,
                        struct weir_hasher *hasher)
{
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++) {
        struct column *column = preprocess_chain_output(chain, i);
        preprocess_column_drop_rows(column, rows, flags);
        weir_hasher_add(hasher, column->about.name, strlen(column->about.name));
        weir_hasher_add(hasher, column->offsets.at, column->offsets.size);
        weir_hasher_add(hasher, column->values.at, column->values.size);
    }
}

static void add_rows(struct trial *trial, const struct records *records, size_t first,
                     struct weir_hasher *hasher)
{
    size_t rows = preprocess_trial_rows_from(records, first);
    const uint8_t *flags = preprocess_trial_run_rows(trial, records, first, rows);
    const struct operator_failures *failures = preprocess_chain_failures(trial->chain);
    weir_hasher_add(hasher, flags, rows);
    for (size_t i = 0; i < failures->count; i++) {
        weir_hasher_add(hasher, &failures->of[i].step, sizeof(failures->of[i].step));
        weir_hasher_add(hasher, failures->of[i].reason, strlen(failures->of[i].reason));
    }
    add_tensors(trial->chain, flags, rows, hasher);
}

/* Returns the digest of everything that the chain makes of the records. */
static struct weir_digest digest_of(const struct check *check, struct chain *chain)
{
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    struct trial trial = *check->trial;
    trial.chain = chain;
    trial.trains = true; /* chance is a part of it */
    for (size_t i = 0; i < check->count; i++) {
        for (size_t first = 0; first < check->datasets[i].count; first += TRIAL_ROWS_MAX)
            add_rows(&trial, &check->datasets[i], first, hasher);
    }
    return weir_hasher_digest(hasher);
}

static void complain(const struct check *check, const uint8_t *order)
{
    WEIR_AUTO_BUF names = {0};
    preprocess_chain_print_order(check->trial->chain, order, ", ", &names);
    cfg_note_at(
        check->trial->complaints, WEIR_INVALID, check->trial->operators,
        "preprocess.operators: in the order %s they make other batches, which is a mistake of "
        "Weir's: say plan: {order: as_written}",
        weir_buf_text(&names));
}

static bool try_order(void *owner, const uint8_t *order)
{
    struct check *check = owner;
    struct weir_error err;
    WEIR_AUTO(chain) chain = NULL;
    struct trial trial = *check->trial;
    if (check->tried++ == 0) /* the order as it is */
        return true;
    if (preprocess_chain_reorder(trial.chain, order, ALGEBRA_EXACTLY, &chain, &err) != WEIR_OK)
        return true;
    trial.chain = chain;
    preprocess_trial_fit(&trial, check->datasets, check->count);
    struct weir_digest digest = digest_of(check, chain);
    if (memcmp(&digest, &check->written, sizeof(digest)) != 0) {
        complain(check, order);
        return false;
    }
    return weir_cpu_thread_ns() < check->until_ns;
}

size_t preprocess_orders_check(const struct trial *trial, const struct records *datasets,
                               size_t count)
{
    struct ordering ordering;
    struct check check = {.trial = trial,
                          .datasets = datasets,
                          .count = count,
                          .until_ns = weir_cpu_thread_ns() + ORDERS_CPU_NS};
    if (trial->is_cut)
        return 0;
    check.written = digest_of(&check, trial->chain);
    preprocess_ordering_begin(&ordering, trial->chain, ALGEBRA_EXACTLY);
    preprocess_ordering_visit(&ordering, try_order, &check);
    return check.tried - 1;
}
