/* Which row of a batch a program dies of, found by halving. */
#include "preprocess/operators/exec/suspects.h"

struct suspects_range suspects_next(const struct suspects *suspects, size_t count)
{
    size_t under = suspects->end - suspects->first;
    if (suspects->end == 0)
        return (struct suspects_range){0, count};
    return (struct suspects_range){suspects->first, suspects->first + (under + 1) / 2};
}

/* Nobody is under suspicion any more; what has failed so far counts on. */
static void begin_again(struct suspects *suspects)
{
    *suspects = (struct suspects){.failures = suspects->failures};
}

enum suspects_verdict suspects_passed(struct suspects *suspects, size_t count)
{
    struct suspects_range asked = suspects_next(suspects, count);
    if (suspects->end == 0)
        return SUSPECTS_DONE;
    if (asked.end == suspects->end) { /* it was a single row, and fails only now and then */
        begin_again(suspects);
        return SUSPECTS_GO_ON;
    }
    suspects->first = asked.end;
    return SUSPECTS_GO_ON;
}

enum suspects_verdict suspects_failed(struct suspects *suspects, size_t count)
{
    struct suspects_range asked = suspects_next(suspects, count);
    if (++suspects->failures > SUSPECTS_FAILURES_MAX)
        return SUSPECTS_HOPELESS;
    suspects->first = asked.first;
    suspects->end = asked.end;
    return asked.end - asked.first == 1 ? SUSPECTS_GUILTY : SUSPECTS_GO_ON;
}
