/* Batches on their way through a chain: loop by loop (chain_fuse.c), in each piece by piece, in each operator by
 * operator. */
#include "preprocess/operators/chain_steps.h"

#include "core/base/clock.h"

#include <string.h>

#define TIMED_EVERY_NS (200 * 1000)

bool preprocess_chain_reads_in_place(const struct chain *chain)
{
    return !chain->copies_payload;
}

void preprocess_chain_advance(struct chain *chain, struct chain_step *step)
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
        if (!chain->step[i].is_absorbed)
            preprocess_chain_advance(chain, &chain->step[i]);
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

/* ---- pieces ---- */

/* Rows of a batch on their way through a loop. */
struct piece {
    size_t first, rows;
    bool is_last;
};

static struct operator_call call_of(struct chain *chain, struct chain_step *step,
                                    const struct piece *piece)
{
    struct chain_rows *rows = &chain->rows;
    const uint64_t *ids = rows->batch.ids;
    return (struct operator_call){
        .rows = piece->rows,
        .out = step->own,
        .next = step->next.op != NULL ? &step->next : NULL,
        .failed = rows->flags.at + piece->first,
        .batch = &rows->batch,
        .ids = ids != NULL ? ids + piece->first : NULL,
        .first = piece->first,
        .origins = rows->are_fewer ? (const uint32_t *)(const void *)rows->origins.at : NULL,
        .step = (uint32_t)step->written,
        .list = &chain->failures,
    };
}

/* Bytes that are new in a column: it is counted with each piece, or when the whole batch is there. */
static size_t bytes_of(const struct column *column, const struct piece *piece)
{
    return column->is_piece || piece->is_last ? preprocess_column_bytes(column) : 0;
}

/* The rows of a piece, in a column that has them, or those of the batch so far. */
static const struct column *take(const struct chain *chain, int place, const struct piece *piece,
                                 struct column *view)
{
    const struct column *column = chain->column[place];
    if (column->is_piece || piece->rows == chain->rows.batch.rows)
        return column;
    *view = preprocess_column_view(column, piece->first, piece->rows);
    return view;
}

static void begin_outputs(struct chain_step *step, const struct piece *piece)
{
    for (size_t i = 0; i < step->plan.outputs; i++) {
        if (step->own[i].is_piece || piece->first == 0)
            preprocess_column_begin(&step->own[i]);
    }
}

/* Room for all rows at once: they come piece by piece. */
static void reserve_outputs(struct chain_step *step, size_t rows)
{
    for (size_t i = 0; i < step->plan.outputs; i++) {
        struct column *own = &step->own[i];
        if (own->about.kind == COLUMN_DENSE && !own->is_piece)
            weir_buf_reserve(&own->values, rows * column_row_bytes(own));
    }
}

/* Applies a step to a piece, or folds the rows into `partial` instead. */
static void run_step(struct chain *chain, struct chain_step *step, const struct piece *piece,
                     struct weir_buf *partial)
{
    const struct column *more[COLUMNS_MAX];
    const struct operator_plan *plan = &step->plan;
    int64_t before_ns = chain->is_timed ? weir_now_ns() : 0;
    struct operator_call call = call_of(chain, step, piece);
    size_t taken = bytes_of(chain->column[plan->in], piece);
    call.in = take(chain, plan->in, piece, &chain->views[0]);
    call.more = more;
    call.more_count = plan->more_count;
    for (size_t i = 0; i < plan->more_count; i++) {
        more[i] = take(chain, plan->more[i], piece, &chain->views[i + 1]);
        taken += bytes_of(chain->column[plan->more[i]], piece);
    }
    begin_outputs(step, piece);
    if (partial != NULL) {
        call.partial_bytes_max = chain_partial_bytes_max(chain);
        step->op->fit->fold(step->state, &call, partial);
    } else if (call.rows > 0) {
        reserve_outputs(step, chain->rows.batch.rows - piece->first);
        step->op->apply(step->state, &call);
    }
    chain->waits = call.waits;
    step->piece_ns = chain->is_timed ? weir_now_ns() - before_ns : 0;
    if (call.waits)
        return;
    tally(chain, step, &call);
    step->taken += taken;
    for (size_t i = 0; i < plan->outputs; i++)
        step->bytes += bytes_of(&step->own[i], piece);
}

/* Brings a piece to the end of the loop. A row that is kept enters at the cut. */
static void run_piece(struct chain *chain, size_t first, const struct piece *piece)
{
    bool is_kept = first == 0 && preprocess_chain_cut_load(chain, piece->first);
    for (size_t i = is_kept ? chain->cut.end : first;
         i < chain->step[first].loop_end && !chain->waits && !chain->cut.has_lost; i++) {
        struct chain_step *step = &chain->step[i];
        if (i == chain->cut.end && first < i && !is_kept)
            preprocess_chain_cut_keep(chain, piece->first);
        if (step->is_absorbed)
            continue;
        run_step(chain, step, piece, NULL);
        preprocess_chain_advance(chain, step);
    }
}

/* Notes which row is at work, where there is one at a time. */
static void note_row(const struct operator_batch *batch, size_t row, size_t piece)
{
    if (batch->under_way != NULL && batch->ids != NULL && piece == 1)
        *batch->under_way = batch->ids[row];
}

/* ---- costs ---- */

/* CPU time of a loop, shared out among its steps as the clock divides some of its pieces. A thread's CPU time takes a
 * system call to read, longer than many a row, and what comes after it finds the processor's caches and predictions
 * gone: it is read around a piece, never between two steps. */
struct loop_cost {
    int64_t begun_ns; /* CPU time … */
    int64_t seen_ns; /* … and when it was read last, if nothing has run since; 0: something has */
    int64_t timed_ns; /* of all steps in the pieces that count, by the clock */
    int64_t due_ns;   /* when the next piece is timed, by the clock */
    bool is_whole;    /* none of the pieces that count was interrupted */
};

static struct loop_cost begin_cost(bool is_one_piece)
{
    int64_t now_ns = weir_cpu_thread_ns();
    return (struct loop_cost){.begun_ns = now_ns,
                              .seen_ns = now_ns,
                              .due_ns = is_one_piece ? 0 : weir_now_ns() + TIMED_EVERY_NS};
}

static int64_t cpu_ns_now(const struct loop_cost *cost)
{
    return cost->seen_ns != 0 ? cost->seen_ns : weir_cpu_thread_ns();
}

/* Adds what each step of a loop took of a piece that took `cpu_ns`. One that took longer by the clock was interrupted:
 * it counts until there is one that was not. */
static void add_piece(struct chain *chain, size_t first, size_t end, int64_t cpu_ns,
                      struct loop_cost *cost)
{
    int64_t piece_ns = 0;
    for (size_t i = first; i < end; i++)
        piece_ns += chain->step[i].piece_ns;
    bool is_whole = piece_ns <= cpu_ns;
    bool begins = cost->timed_ns == 0 || (is_whole && !cost->is_whole);
    if (!is_whole && !begins)
        return;
    for (size_t i = first; i < end; i++) {
        struct chain_step *step = &chain->step[i];
        step->timed_ns = (begins ? 0 : step->timed_ns) + step->piece_ns;
    }
    cost->timed_ns = (begins ? 0 : cost->timed_ns) + piece_ns;
    cost->is_whole = is_whole;
}

static void clear_piece(struct chain *chain, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        chain->step[i].piece_ns = 0;
}

/* Runs a piece, and times it if that is due. */
static void run_timed(struct chain *chain, size_t first, const struct piece *piece,
                      struct loop_cost *cost)
{
    size_t end = chain->step[first].loop_end;
    chain->is_timed = (piece->is_last && cost->timed_ns == 0) || weir_now_ns() >= cost->due_ns;
    clear_piece(chain, first, end);
    int64_t before_ns = chain->is_timed ? cpu_ns_now(cost) : 0;
    run_piece(chain, first, piece);
    cost->seen_ns = chain->is_timed ? weir_cpu_thread_ns() : 0;
    if (!chain->is_timed)
        return;
    add_piece(chain, first, end, cost->seen_ns - before_ns, cost);
    cost->due_ns = weir_now_ns() + TIMED_EVERY_NS;
}

/* Charges the steps of a loop: with its CPU time, but with time by the clock where one waits for others, who is alone
 * in its loop. */
static void charge(struct chain *chain, size_t first, size_t end, const struct loop_cost *cost)
{
    double scale = 1;
    if (!chain->step[first].op->may_wait && cost->timed_ns > 0)
        scale = (double)(cpu_ns_now(cost) - cost->begun_ns) / (double)cost->timed_ns;
    for (size_t i = first; i < end; i++) {
        struct chain_step *step = &chain->step[i];
        step->spent_ns += (int64_t)(scale * (double)step->timed_ns);
        step->timed_ns = 0;
    }
}

/* Runs the loop that begins with step `first`; returns the step after it. */
static size_t run_loop(struct chain *chain, size_t first)
{
    const struct operator_batch *batch = &chain->rows.batch;
    size_t end = chain->step[first].loop_end, rows = batch->rows;
    size_t most = preprocess_chain_piece(chain, first);
    struct column *before[COLUMNS_MAX];
    memcpy(before, chain->column, sizeof(before));
    struct loop_cost cost = begin_cost(most >= rows);
    size_t row = 0;
    do {
        struct piece piece = {.first = row, .rows = rows - row < most ? rows - row : most};
        piece.is_last = row + piece.rows == rows;
        memcpy(chain->column, before, sizeof(before));
        note_row(batch, row, end > first + 1 ? most : 0);
        run_timed(chain, first, &piece, &cost);
        row += piece.rows;
    } while (row < rows && !chain->waits && !chain->cut.has_lost);
    charge(chain, first, end, &cost);
    if (batch->under_way != NULL)
        *batch->under_way = 0;
    if (!chain->waits)
        preprocess_chain_rows_drop(chain, &chain->step[end - 1], end == chain->end);
    return end;
}

/* ---- batches ---- */

static void start(struct chain *chain, const struct operator_batch *batch, bool folds)
{
    preprocess_chain_form_loops(chain, folds);
    preprocess_chain_rows_begin(chain, batch);
    chain->column[0] = &chain->payload;
    chain->failures.count = 0;
    chain->waits = false;
    chain->cut.has_lost = false;
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
    start(chain, batch, false);
    preprocess_chain_cut_begin(chain);
    for (size_t i = 0; i < chain->end && !chain->waits && !chain->cut.has_lost;) {
        i = run_loop(chain, i);
        if (chain_is_cut(chain, i) && !chain->waits)
            preprocess_chain_cut_pass(chain);
    }
    preprocess_chain_rows_end(chain);
    chain->cut.kept = NULL;
    return chain->flags.at;
}

void preprocess_chain_stop_before(struct chain *chain, size_t end)
{
    chain->end = 0;
    chain->loops = CHAIN_LOOPS_NONE;
    while (chain->end < end && chain->step[chain->end].op->fit == NULL)
        chain->end++;
}

void preprocess_chain_walk(struct chain *chain, chain_step_fn *visit, void *owner)
{
    chain->column[0] = &chain->payload;
    for (size_t i = 0; i < chain->end; i++) {
        struct chain_step *step = &chain->step[i];
        const struct chain_seen seen = {.name = step->op->name,
                                        .written = (uint32_t)step->written,
                                        .is_absorbed = step->is_absorbed,
                                        .repairs = step->op->repairs,
                                        .in = chain->column[step->plan.in],
                                        .made = step->own,
                                        .made_count = step->plan.outputs};
        visit(owner, &seen);
        if (!step->is_absorbed)
            preprocess_chain_advance(chain, step);
    }
}

void preprocess_chain_fold(struct chain *chain, const struct operator_batch *batch,
                           struct chain_partial *partial)
{
    partial->count = 0;
    start(chain, batch, true);
    chain->rows.batch.drops = false; /* columns behind a fit are not there */
    const struct piece whole = {.rows = batch->rows, .is_last = true};
    for (size_t i = 0; i < chain->steps && partial->count < chain->folding && !chain->waits;) {
        struct chain_step *step = &chain->step[i];
        bool folds = operator_folds(step->op);
        if (!folds && !step->behind_fit) {
            i = run_loop(chain, i);
            continue;
        }
        struct loop_cost cost = begin_cost(true);
        chain->is_timed = true;
        clear_piece(chain, i, i + 1);
        if (!step->behind_fit)
            run_step(chain, step, &whole, &partial->of[partial->count]);
        add_piece(chain, i, i + 1, 0, &cost);
        charge(chain, i, i + 1, &cost);
        partial->count += folds;
        preprocess_chain_advance(chain, step);
        i++;
    }
}
