/* Candidates as policies read them: block by block, with the columns that were asked for. Holds one block
 * of columns, however many candidates there are. */
#ifndef SELECTOR_CHOICES_READER_H
#define SELECTOR_CHOICES_READER_H

#include "selector/pipelines/columns.h"
#include "selector/pipelines/history.h"
#include "selector/pipelines/origin.h"
#include "selector/scoring/progress.h"

/* Sources of the columns; those of columns that are not needed may be NULL. */
struct selector_sources {
    const struct selector_columns *columns; /* has every block of the set */
    const struct selector_pipeline *pipeline;
    const struct selector_ends *ends;
    const struct selector_history *history;
    struct progress progress; /* of one reading */
};

struct selector_reader {
    const struct selector_set *set;
    const struct selector_sources *sources;
    unsigned needs;                     /* selection_need flags */
    struct selector_reader_columns *at; /* private */
    enum weir_status status;            /* of the last run */
    struct weir_error err;
};

void selector_reader_open(struct selector_reader *reader, const struct selector_set *set,
                          unsigned needs, const struct selector_sources *sources);
void selector_reader_close(struct selector_reader *reader);
/* The `next` of a selection_input whose owner is the reader. A column that cannot be read ends the reading:
 * `status` says so; RESTART when it is no longer wanted. */
bool selector_reader_next(void *reader, struct selection_run *run);

#endif
