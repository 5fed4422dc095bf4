/* Rows that leave a batch on its way through a chain, so that operators behind a filter have less to do. */
#include "preprocess/operators/chain_steps.h"

#include <string.h>

enum { PAYS_FROM = 16 /* one row in so many is marked: then it costs less to move the others */ };

void preprocess_chain_rows_begin(struct chain *chain, const struct operator_batch *batch)
{
    struct chain_rows *rows = &chain->rows;
    weir_buf_clear(&rows->flags);
    weir_buf_clear(&rows->origins);
    weir_buf_reserve(&rows->flags, batch->rows + 1);
    memset(rows->flags.at, OPERATOR_ROW_OK, batch->rows);
    rows->flags.size = batch->rows;
    rows->batch = *batch;
    rows->marked = 0;
    rows->are_fewer = false;
}

/* Returns the numbers of the rows that stay, of `size` bytes each, in `to`, which may hold `from`; NULL: there are
 * none. */
static const void *keep(const struct chain_rows *rows, const void *from, size_t size,
                        struct weir_buf *to)
{
    if (from == NULL)
        return NULL;
    if (to->at != from) {
        weir_buf_clear(to);
        weir_buf_reserve(to, rows->flags.size * size + 1);
    }
    uint8_t *end = to->at;
    for (size_t i = 0; i < rows->flags.size; i++) {
        if (rows->flags.at[i] != OPERATOR_ROW_OK)
            continue;
        memmove(end, (const uint8_t *)from + i * size, size);
        end += size;
    }
    to->size = (size_t)(end - to->at);
    return to->at;
}

static void begin_origins(struct chain_rows *rows)
{
    for (uint32_t i = 0; i < rows->flags.size; i++)
        weir_buf_append(&rows->origins, &i, sizeof(i));
    rows->are_fewer = true;
}

void preprocess_chain_rows_let_go(struct chain *chain, const struct chain_step *step)
{
    struct chain_rows *rows = &chain->rows;
    struct operator_batch *batch = &rows->batch;
    if (step == NULL)
        preprocess_column_drop_rows(&chain->payload, batch->rows, rows->flags.at);
    for (size_t i = 0; step != NULL && i < step->columns; i++) {
        if (step->is_wanted[i])
            preprocess_column_drop_rows(chain->column[i], batch->rows, rows->flags.at);
    }
    preprocess_chain_rows_end(chain);
    if (!rows->are_fewer)
        begin_origins(rows);
    keep(rows, rows->origins.at, sizeof(uint32_t), &rows->origins);
    batch->ids = keep(rows, batch->ids, sizeof(*batch->ids), &rows->ids);
    batch->times = keep(rows, batch->times, sizeof(*batch->times), &rows->times);
    batch->labels = keep(rows, batch->labels, sizeof(*batch->labels), &rows->labels);
    batch->rows -= rows->marked;
    memset(rows->flags.at, OPERATOR_ROW_OK, batch->rows);
    rows->flags.size = batch->rows;
    rows->marked = 0;
}

void preprocess_chain_rows_drop(struct chain *chain, const struct chain_step *step, bool is_last)
{
    const struct chain_rows *rows = &chain->rows;
    bool pays = rows->marked * PAYS_FROM >= rows->batch.rows || is_last;
    if (rows->batch.drops && rows->marked > 0 && pays)
        preprocess_chain_rows_let_go(chain, step);
}

void preprocess_chain_rows_end(struct chain *chain)
{
    const struct chain_rows *rows = &chain->rows;
    const uint32_t *origins = (const uint32_t *)(const void *)rows->origins.at;
    if (!rows->are_fewer) {
        weir_buf_clear(&chain->flags);
        weir_buf_append(&chain->flags, rows->flags.at, rows->flags.size);
    }
    for (size_t i = 0; i < rows->flags.size && rows->are_fewer; i++)
        chain->flags.at[origins[i]] = rows->flags.at[i];
}

/* Returns the numbers of the rows at `origins`, of `size` bytes each, in `to`; NULL: there are none. */
static const void *pick(const struct chain_rows *rows, const void *from, size_t size,
                        struct weir_buf *to)
{
    const uint32_t *origins = (const uint32_t *)(const void *)rows->origins.at;
    if (from == NULL || !rows->are_fewer)
        return from;
    weir_buf_clear(to);
    weir_buf_reserve(to, rows->batch.rows * size + 1);
    for (size_t i = 0; i < rows->batch.rows; i++)
        weir_buf_append(to, (const uint8_t *)from + origins[i] * size, size);
    return to->at;
}

void preprocess_chain_rows_gather(struct chain *chain, const struct operator_batch *batch)
{
    struct chain_rows *rows = &chain->rows;
    rows->batch.ids = pick(rows, batch->ids, sizeof(*batch->ids), &rows->ids);
    rows->batch.times = pick(rows, batch->times, sizeof(*batch->times), &rows->times);
    rows->batch.labels = pick(rows, batch->labels, sizeof(*batch->labels), &rows->labels);
}

void preprocess_chain_rows_fini(struct chain_rows *rows)
{
    weir_buf_fini(&rows->flags);
    weir_buf_fini(&rows->origins);
    weir_buf_fini(&rows->ids);
    weir_buf_fini(&rows->times);
    weir_buf_fini(&rows->labels);
}
