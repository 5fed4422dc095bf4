/* See far_times.h. */
#include "benchmarks/cluster/far_times.h"

#include "core/base/memory.h"

#include <stdlib.h>

void far_times_fini(struct far_times *times)
{
    free(times->ns);
    *times = (struct far_times){0};
}

void far_times_note(struct far_times *times, int64_t ns)
{
    times->ns = weir_grow(times->ns, times->count, &times->capacity, sizeof(*times->ns));
    times->ns[times->count++] = ns;
}

static int by_size(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

int64_t far_times_p99_ns(const struct far_times *times)
{
    qsort(times->ns, times->count, sizeof(*times->ns), by_size);
    return times->count > 0 ? times->ns[times->count * 99 / 100] : 0;
}
