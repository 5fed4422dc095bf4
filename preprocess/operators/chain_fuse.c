/* Fusion, as a pass over the operators in the order in which they run (Boncz, Zukowski & Nes, "MonetDB/X100:
 * Hyper-Pipelining Query Execution", CIDR 2005, for loops over pieces of columns that stay in the cache):
 *
 * * One does the work of another. It says of which (`absorbs`), or that it makes no more of a picture than its reader
 *   says it reads (`reads_ahead`): that is settled when the chain is planned, for what is made may depend on it.
 * * Loops. Neighbours that work row by row on the same columns bring one piece of the batch after the other to the end
 *   of the loop, so that what is made between them never leaves the cache. What is made is the same to the bit, so
 *   loops are formed whenever it is known which operators run. */
#include "preprocess/operators/chain_steps.h"

#include <string.h>

/* ---- one does the work of another ---- */

/* True when `next` alone reads what `step` makes, and both take one row after the other. */
static bool is_only_reader(const struct chain_step *step, const struct chain_step *next)
{
    return step->op->by_row && next->op->by_row && step->plan.outputs == 1 &&
           next->plan.in == step->places[0] && next->plan.outputs == 1;
}

static bool fits(const struct chain_step *step, const struct preprocess_operator *next)
{
    bool is_heedless = ((step->op->traits | step->plan.traits) & OPERATOR_HEEDLESS) != 0;
    return step->op->absorbs == next ||
           (step->op->reads_ahead && !is_heedless && next->window != NULL);
}

/* In an exact order one knows its reader only if it does in the source, for pixels may depend on it. */
static bool may_know(const struct chain_step *step, const struct chain_step *next,
                     const struct chain_draft *draft)
{
    const struct chain *source = draft->source;
    return source == NULL || draft->law < ALGEBRA_EXACTLY ||
           source->step[source->running[next->written]].told == step->written + 1;
}

void preprocess_chain_absorb(struct chain *chain, const struct chain_draft *draft)
{
    size_t cut =
        chain->steps - chain->sunk; /* not across it: the consumer takes what is behind; nor
                                               * across the one at which rows are kept */
    for (size_t i = 0; i + 1 < chain->steps; i++) {
        struct chain_step *step = &chain->step[i], *next = &chain->step[i + 1];
        if (i + 1 == cut || i + 1 == chain->cut.end || step->is_absorbed || !fits(step, next->op) ||
            !is_only_reader(step, next) || !may_know(step, next, draft))
            continue;
        step->next = (struct operator_next){next->op, next->state, (uint32_t)next->written};
        next->told = (uint8_t)(step->written + 1);
        next->is_absorbed = step->op->absorbs == next->op;
        if (!next->is_absorbed)
            continue;
        step->own[0].about = next->own[0].about;
        if (step->op->absorb != NULL)
            step->op->absorb(step->state);
    }
}

/* ---- loops ---- */

static bool has_words(const struct chain_step *step)
{
    for (size_t i = 0; i < step->plan.outputs; i++) {
        if (step->plan.output[i].kind == COLUMN_TOKENS)
            return true;
    }
    return false;
}

static bool reads_words(const struct chain *chain, const struct chain_step *step)
{
    if (chain->column[step->plan.in]->about.kind == COLUMN_TOKENS)
        return true;
    for (size_t i = 0; i < step->plan.more_count; i++) {
        if (chain->column[step->plan.more[i]]->about.kind == COLUMN_TOKENS)
            return true;
    }
    return false;
}

/* True when it may be handed a piece of the batch. Words are places in the texts of all rows. */
static bool takes_pieces(const struct chain *chain, const struct chain_step *step, bool folds)
{
    bool is_fitted_first = folds && (operator_folds(step->op) || step->behind_fit);
    return step->op->by_row && !is_fitted_first && !has_words(step) && !reads_words(chain, step);
}

static bool reads_any(const struct chain_step *step, const bool *slots)
{
    for (size_t i = 0; i <= step->plan.more_count; i++) {
        if (slots[step->reads[i]])
            return true;
    }
    return false;
}

static void note_slots(const struct chain_step *step, bool *slots)
{
    for (size_t i = 0; i <= step->plan.more_count; i++)
        slots[step->reads[i]] = true;
    for (size_t i = 0; i < step->plan.outputs; i++)
        slots[step->makes[i]] = true;
}

/* Moves on to the columns after a step that is applied. */
static void pass(struct chain *chain, struct chain_step *step, bool is_piece)
{
    for (size_t i = 0; i < step->plan.outputs; i++)
        step->own[i].is_piece = is_piece;
    if (!step->is_absorbed)
        preprocess_chain_advance(chain, step);
}

static size_t row_bytes_of(const struct chain_step *step)
{
    size_t most = 0;
    for (size_t i = 0; i < step->plan.outputs; i++) {
        const struct column *own = &step->own[i];
        size_t bytes = own->about.kind == COLUMN_PICTURES ? CHAIN_PIECE_BYTES
                       : own->about.kind == COLUMN_DENSE  ? column_row_bytes(own)
                                                          : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Forms the loop that begins with step `first`; returns the one after. */
static size_t form_loop(struct chain *chain, size_t first, bool folds)
{
    struct chain_step *head = &chain->step[first];
    bool slots[CHAIN_SLOTS_MAX] = {false};
    bool goes_on = takes_pieces(chain, head, folds);
    size_t end = first;
    head->row_bytes = 0;
    do {
        struct chain_step *step = &chain->step[end++];
        size_t row_bytes = row_bytes_of(step);
        head->row_bytes = row_bytes > head->row_bytes ? row_bytes : head->row_bytes;
        note_slots(step, slots);
        pass(chain, step, true);
        goes_on = goes_on && (step->op->traits & OPERATOR_DROPS) == 0 && end < chain->end &&
                  !chain_is_cut(chain, end) && reads_any(&chain->step[end], slots) &&
                  takes_pieces(chain, &chain->step[end], folds);
    } while (goes_on || (end < chain->end && chain->step[end].is_absorbed));
    const struct chain_step *last = &chain->step[end - 1];
    for (size_t i = 0; i < last->columns; i++) {
        if (last->is_wanted[i])
            chain->column[i]->is_piece = false;
    }
    return end;
}

void preprocess_chain_form_loops(struct chain *chain, bool folds)
{
    enum chain_loops wanted = folds ? CHAIN_LOOPS_FOLD : CHAIN_LOOPS_RUN;
    if (chain->loops == wanted)
        return;
    chain->loops = wanted;
    chain->column[0] = &chain->payload;
    for (size_t i = 0; i < chain->end; i = chain->step[i].loop_end)
        chain->step[i].loop_end = form_loop(chain, i, folds);
}

size_t preprocess_chain_piece(const struct chain *chain, size_t first)
{
    const struct chain_step *head = &chain->step[first];
    const struct column *in = chain->column[head->plan.in];
    size_t rows = chain->rows.batch.rows, row_bytes = head->row_bytes;
    size_t read = rows > 0 ? preprocess_column_bytes(in) / rows : 0;
    row_bytes = read > row_bytes ? read : row_bytes;
    if (chain->cut.is_in_run && first == 0 && rows > 0)
        return 1;
    if (head->loop_end == first + 1 || row_bytes == 0)
        return rows;
    return row_bytes < chain->piece_bytes ? chain->piece_bytes / row_bytes : 1;
}

void preprocess_chain_set_piece(struct chain *chain, size_t bytes)
{
    chain->piece_bytes = bytes;
}

enum chain_fusion preprocess_chain_fusion_of(struct chain *chain, size_t written)
{
    size_t place = chain->running[written], first = 0;
    preprocess_chain_form_loops(chain, false);
    if (chain->step[place].is_absorbed)
        return CHAIN_ABSORBED;
    while (first < chain->end && chain->step[first].loop_end <= place)
        first = chain->step[first].loop_end;
    return first < place && place < chain->end ? CHAIN_IN_LOOP : CHAIN_ALONE;
}
