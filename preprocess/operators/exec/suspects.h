/* The row of a batch that a program dies of, found by halving: ask for all rows; when that fails, for the first half of
 * those under suspicion, again and again. A row is found guilty when it fails alone. Pure.
 *
 * A failure by hanging costs a time-out: after SUSPECTS_HANGS in a row it may be the program that
 * always hangs, and not a row. So rows from the end of the batch, which are above suspicion, are asked
 * for by themselves: when SUSPECTS_PROBES of them hang too, the batch is given up; when one passes,
 * the search goes on. */
#ifndef WEIR_PREPROCESS_OPERATORS_EXEC_SUSPECTS_H
#define WEIR_PREPROCESS_OPERATORS_EXEC_SUSPECTS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SUSPECTS_FAILURES_MAX = 256, /* of one batch */
    SUSPECTS_HANGS = 3,
    SUSPECTS_PROBES = 2,
};

/* Zeroed: no row is under suspicion. */
struct suspects {
    size_t first, end; /* rows under suspicion; end 0: none */
    size_t failures;
    size_t hangs; /* in a row */
};

struct suspects_range {
    size_t first, end;
};

/* The next step after an outcome. */
enum suspects_verdict {
    SUSPECTS_GO_ON,    /* ask for preprocess_suspects_next() */
    SUSPECTS_DONE,     /* all rows have passed together */
    SUSPECTS_GUILTY,   /* row `first` of what was asked for: leave it out, and begin again */
    SUSPECTS_HOPELESS, /* too much has failed, or nothing by itself */
};

/* The rows to ask for next, of `count` (> 0). */
struct suspects_range preprocess_suspects_next(const struct suspects *suspects, size_t count);
/* They have passed, or failed: `is_hang` when no answer came in time. */
enum suspects_verdict preprocess_suspects_passed(struct suspects *suspects, size_t count);
enum suspects_verdict preprocess_suspects_failed(struct suspects *suspects, size_t count,
                                                 bool is_hang);
/* Begins again without the guilty row and without suspicion; failures so far still count. */
void preprocess_suspects_begin_again(struct suspects *suspects);

#endif
