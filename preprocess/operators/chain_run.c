/* Batches on their way through a chain: operator by operator, or, where those say so, row by row. */
#include "preprocess/operators/chain_steps.h"

#include "core/base/clock.h"

#include <string.h>

bool preprocess_chain_reads_in_place(const struct chain *chain)
{
    return !chain->copies_payload;
}

/* The columns after a step. */
static void advance(struct chain *chain, struct chain_step *step)
{
    const struct operator_plan *plan = &step->plan;
    for (size_t i = 0; i < plan->outputs; i++)
        chain->column[step->places[i]] = &step->own[i];
    for (size_t i = 0; i < plan->more_count && !plan->keeps; i++)
        chain->column[plan->more[i]] = NULL;
    for (size_t i = 0, kept = 0; kept < step->columns; i++) {
        if (chain->column[i] != NULL)
            chain->column[kept++] = chain->column[i];
    }
}

/* Finds the columns that will leave the chain; values that the last batch left in lent memory are no longer theirs. */
static void find_outputs(struct chain *chain)
{
    chain->column[0] = &chain->payload;
    for (size_t i = 0; i < chain->steps - chain->sunk; i++) {
        if (!chain->step[i].joined)
            advance(chain, &chain->step[i]);
    }
    for (size_t i = 0; i < chain->columns; i++) {
        struct weir_buf *values = &preprocess_chain_output(chain, i)->values;
        if (values->is_lent)
            weir_buf_fini(values);
    }
}

struct column *preprocess_chain_begin(struct chain *chain)
{
    find_outputs(chain);
    preprocess_column_begin(&chain->payload);
    return &chain->payload;
}

/* Counts the rows that a step has given up, and keeps the newest reason. */
static void tally(struct chain *chain, struct chain_step *step, const struct operator_call *call)
{
    chain->rows.marked += call->failures + call->filtered;
    step->rows += call->rows;
    if (call->failures > 0)
        memcpy(step->reason, call->reason, sizeof(step->reason));
    step->failed += call->failures;
    step->filtered += call->filtered;
    step->warnings += call->warnings;
}

static struct operator_call call_of(struct chain *chain, struct chain_step *step)
{
    struct chain_rows *rows = &chain->rows;
    return (struct operator_call){
        .rows = rows->batch.rows,
        .in = chain->column[step->plan.in],
        .out = step->own,
        .failed = rows->flags.at,
        .batch = &rows->batch,
        .ids = rows->batch.ids,
        .origins = rows->are_fewer ? (const uint32_t *)(const void *)rows->origins.at : NULL,
        .step = (uint32_t)step->written,
        .list = &chain->failures,
    };
}

/* Reads the clock that a step is charged by: CPU time, but wall time for a step that waits for others. */
static int64_t spent_ns(const struct chain_step *step)
{
    return step->op->may_wait ? weir_now_ns() : weir_cpu_thread_ns();
}

/* Runs a step, or folds the rows into `partial` instead. */
static void run_step(struct chain *chain, struct chain_step *step, struct weir_buf *partial)
{
    int64_t before_ns = spent_ns(step);
    const struct column *more[COLUMNS_MAX];
    struct operator_call call = call_of(chain, step);
    call.more = more;
    call.more_count = step->plan.more_count;
    for (size_t i = 0; i < step->plan.outputs; i++)
        preprocess_column_begin(&step->own[i]);
    size_t taken = preprocess_column_bytes(call.in);
    for (size_t i = 0; i < step->plan.more_count; i++) {
        more[i] = chain->column[step->plan.more[i]];
        taken += preprocess_column_bytes(more[i]);
    }
    if (partial != NULL) {
        call.partial_bytes_max = chain_partial_bytes_max(chain);
        step->op->fit->fold(step->state, &call, partial);
    } else if (call.rows > 0) {
        step->op->apply(step->state, &call);
    }
    chain->waits = call.waits;
    step->spent_ns += spent_ns(step) - before_ns;
    if (call.waits)
        return;
    tally(chain, step, &call);
    step->taken += taken;
    for (size_t i = 0; i < step->plan.outputs; i++)
        step->bytes += preprocess_column_bytes(&step->own[i]);
}

/* ---- row by row ---- */

/* Steps that take one row after the other; `last` is the last one that is applied. */
struct run {
    size_t first, last, end;
};

static struct run run_from(const struct chain *chain, size_t first)
{
    struct run run = {first, first, first + 1};
    while (run.end < chain->end && chain_is_run(&chain->step[run.end - 1], &chain->step[run.end])) {
        if (!chain->step[run.end].joined)
            run.last = run.end;
        run.end++;
    }
    return run;
}

/* Applies one step to one row, and returns what it made. */
static const struct column *run_row_step(struct chain *chain, struct chain_step *step,
                                         struct operator_call call)
{
    size_t before = preprocess_column_bytes(call.out);
    step->op->apply(step->state, &call);
    tally(chain, step, &call);
    step->bytes += preprocess_column_bytes(call.out) - before;
    return call.out;
}

/* Applies the steps of a run to one row: columns between two steps hold that row only. */
static void run_row(struct chain *chain, const struct run *run, size_t row)
{
    struct column in = preprocess_column_view(chain->column[chain->step[run->first].plan.in], row);
    const struct column *from = &in;
    int64_t before_ns = weir_cpu_thread_ns();
    for (size_t i = run->first; i <= run->last; i++) {
        struct chain_step *step = &chain->step[i];
        if (step->joined)
            continue;
        struct operator_call call = call_of(chain, step);
        call.rows = 1;
        call.in = from;
        call.first = row;
        call.failed += row;
        call.ids = call.ids != NULL ? call.ids + row : NULL;
        if (i != run->first) /* which reads all rows, one by one: run_steps() */
            step->taken += preprocess_column_bytes(from);
        if (i != run->last)
            preprocess_column_begin(call.out);
        from = run_row_step(chain, step, call);
        int64_t after_ns = weir_cpu_thread_ns();
        step->spent_ns += after_ns - before_ns;
        before_ns = after_ns;
    }
}

/* Room for all rows at once: they come one by one. */
static void begin_rows(struct column *column, size_t rows)
{
    preprocess_column_begin(column);
    if (column->about.kind == COLUMN_DENSE)
        weir_buf_reserve(&column->values, rows * column_row_bytes(column));
}

/* Runs the step, and those that belong to its run; returns the one after. */
static size_t run_steps(struct chain *chain, size_t first)
{
    struct run run = run_from(chain, first);
    struct chain_step *last = &chain->step[run.last];
    const struct operator_batch *batch = &chain->rows.batch;
    if (run.first == run.last) {
        run_step(chain, last, NULL);
    } else {
        chain->step[first].taken +=
            preprocess_column_bytes(chain->column[chain->step[first].plan.in]);
        begin_rows(&last->own[0], batch->rows);
    }
    for (size_t row = 0; row < batch->rows && run.first != run.last; row++) {
        if (batch->under_way != NULL && batch->ids != NULL)
            *batch->under_way = batch->ids[row];
        run_row(chain, &run, row);
    }
    if (batch->under_way != NULL)
        *batch->under_way = 0;
    advance(chain, last);
    if (!chain->waits)
        preprocess_chain_rows_drop(chain, &chain->step[run.end - 1], run.end == chain->end);
    return run.end;
}

/* ---- batches ---- */

static void start(struct chain *chain, const struct operator_batch *batch)
{
    preprocess_chain_rows_begin(chain, batch);
    chain->column[0] = &chain->payload;
    chain->failures.count = 0;
    chain->waits = false;
}

bool preprocess_chain_waits(const struct chain *chain)
{
    return chain->waits;
}

const struct operator_failures *preprocess_chain_failures(const struct chain *chain)
{
    return &chain->failures;
}

const uint8_t *preprocess_chain_run(struct chain *chain, const struct operator_batch *batch)
{
    start(chain, batch);
    for (size_t i = 0; i < chain->end && !chain->waits;)
        i = run_steps(chain, i);
    preprocess_chain_rows_end(chain);
    return chain->flags.at;
}

void preprocess_chain_cut(struct chain *chain, size_t end)
{
    chain->end = 0;
    while (chain->end < end && chain->step[chain->end].op->fit == NULL)
        chain->end++;
}

void preprocess_chain_walk(struct chain *chain, chain_step_fn *visit, void *owner)
{
    chain->column[0] = &chain->payload;
    for (size_t i = 0; i < chain->end; i++) {
        struct chain_step *step = &chain->step[i];
        const struct chain_seen seen = {.name = step->op->name,
                                        .is_joined = step->joined,
                                        .in = &chain->column[step->plan.in]->about,
                                        .made = step->own,
                                        .made_count = step->plan.outputs};
        visit(owner, &seen);
        if (!step->joined)
            advance(chain, step);
    }
}

void preprocess_chain_fold(struct chain *chain, const struct operator_batch *batch,
                           struct chain_partial *partial)
{
    partial->count = 0;
    start(chain, batch);
    chain->rows.batch.drops = false; /* columns behind a fit are not there */
    for (size_t i = 0; i < chain->steps && partial->count < chain->folding && !chain->waits;) {
        struct chain_step *step = &chain->step[i];
        bool folds = operator_folds(step->op);
        if (!folds && !step->behind_fit) {
            i = run_steps(chain, i);
            continue;
        }
        if (!step->behind_fit)
            run_step(chain, step, &partial->of[partial->count]);
        partial->count += folds;
        advance(chain, step);
        i++;
    }
}
