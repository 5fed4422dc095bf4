/* The row of a batch that a program dies of, found by halving. */
#include "preprocess/operators/exec/suspects.h"

/* The row that is asked for by itself after so many hangs, from the end of the batch; false: nobody doubts the program,
 * or that row is under suspicion. */
static bool probe(const struct suspects *suspects, size_t count, size_t *ret_row)
{
    size_t behind = suspects->hangs - SUSPECTS_HANGS + 1;
    if (suspects->hangs < SUSPECTS_HANGS || behind > count || count - behind < suspects->end)
        return false;
    *ret_row = count - behind;
    return true;
}

struct suspects_range preprocess_suspects_next(const struct suspects *suspects, size_t count)
{
    size_t under = suspects->end - suspects->first, row;
    if (probe(suspects, count, &row))
        return (struct suspects_range){row, row + 1};
    if (suspects->end == 0)
        return (struct suspects_range){0, count};
    return (struct suspects_range){suspects->first, suspects->first + (under + 1) / 2};
}

void preprocess_suspects_begin_again(struct suspects *suspects)
{
    suspects->first = suspects->end = 0;
}

enum suspects_verdict preprocess_suspects_passed(struct suspects *suspects, size_t count)
{
    struct suspects_range asked = preprocess_suspects_next(suspects, count);
    size_t row;
    bool was_probe = probe(suspects, count, &row) && count > 1;
    suspects->hangs = 0;
    if (was_probe)
        return SUSPECTS_GO_ON;
    if (suspects->end == 0)
        return SUSPECTS_DONE;
    if (asked.end == suspects->end) { /* it was a single row, and fails only now and then */
        preprocess_suspects_begin_again(suspects);
        return SUSPECTS_GO_ON;
    }
    suspects->first = asked.end;
    return SUSPECTS_GO_ON;
}

enum suspects_verdict preprocess_suspects_failed(struct suspects *suspects, size_t count,
                                                 bool is_hang)
{
    struct suspects_range asked = preprocess_suspects_next(suspects, count);
    size_t row;
    bool was_probe = probe(suspects, count, &row);
    suspects->hangs = is_hang ? suspects->hangs + 1 : 0;
    if (++suspects->failures > SUSPECTS_FAILURES_MAX ||
        (was_probe && suspects->hangs >= SUSPECTS_HANGS + SUSPECTS_PROBES))
        return SUSPECTS_HOPELESS;
    if (was_probe)
        return SUSPECTS_GO_ON;
    suspects->first = asked.first;
    suspects->end = asked.end;
    return asked.end - asked.first == 1 ? SUSPECTS_GUILTY : SUSPECTS_GO_ON;
}
