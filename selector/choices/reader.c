/* Expands one block at a time. */
#include "selector/choices/reader.h"

#include "core/base/memory.h"

#include <stdlib.h>

struct selector_reader_columns {
    uint64_t ids[WEIR_BLOCK_ROWS];
    int64_t times[WEIR_BLOCK_ROWS];
    int64_t labels[WEIR_BLOCK_ROWS];
    int64_t triggers[WEIR_BLOCK_ROWS];
    uint8_t past[WEIR_BLOCK_ROWS];
};

void selector_reader_open(struct selector_reader *reader, const struct selector_set *set,
                          unsigned needs, const struct selector_sources *sources)
{
    *reader = (struct selector_reader){.set = set, .sources = sources, .needs = needs};
    if (needs != 0)
        reader->at = weir_calloc(1, sizeof(*reader->at));
    if ((needs & SELECTION_NEEDS_TRIGGERS) && sources->pipeline->replay)
        reader->needs |= SELECTION_NEEDS_TIMES; /* a replay's triggers follow from times */
}

void selector_reader_close(struct selector_reader *reader)
{
    free(reader->at);
    reader->at = NULL;
}

static enum weir_status fill(struct selector_reader *reader, struct selection_run *run)
{
    struct selector_reader_columns *at = reader->at;
    const struct selector_sources *sources = reader->sources;
    unsigned needs = reader->needs;
    run->ids = at->ids;
    run->times = needs & SELECTION_NEEDS_TIMES ? at->times : NULL;
    run->labels = needs & SELECTION_NEEDS_LABELS ? at->labels : NULL;
    run->triggers = needs & SELECTION_NEEDS_TRIGGERS ? at->triggers : NULL;
    run->past = needs & SELECTION_NEEDS_PAST ? at->past : NULL;
    enum weir_status status = WEIR_OK;
    if (run->times != NULL || run->labels)
        status = selector_columns_read(sources->columns, at->ids, run->count,
                                       run->times != NULL ? at->times : NULL,
                                       run->labels != NULL ? at->labels : NULL, &reader->err);
    if (status == WEIR_OK && run->triggers != NULL)
        selector_origin_mark(sources->pipeline, sources->ends, run, at->triggers);
    if (status == WEIR_OK && run->past != NULL)
        selector_history_mark(sources->history, at->ids, run->count, at->past);
    return status;
}

bool selector_reader_next(void *owner, struct selection_run *run)
{
    struct selector_reader *reader = owner;
    size_t first = run->first + run->count;
    if (first >= reader->set->count)
        return false;
    if (!scoring_goes_on(&reader->sources->progress, first, reader->set->count)) {
        reader->status = scoring_given_up(&reader->err);
        return false;
    }
    size_t index = selector_set_block_of(reader->set, first);
    *run = (struct selection_run){.first = first, .count = reader->set->blocks[index].count};
    if (reader->needs == 0)
        return true;
    selector_set_ids(reader->set, index, reader->at->ids);
    reader->status = fill(reader, run);
    return reader->status == WEIR_OK;
}
