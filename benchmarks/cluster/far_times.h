/* Times that answers took. */
#ifndef BENCHMARKS_CLUSTER_FAR_TIMES_H
#define BENCHMARKS_CLUSTER_FAR_TIMES_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised has none. */
struct far_times {
    int64_t *ns;
    size_t count, capacity;
};

void far_times_fini(struct far_times *times);
void far_times_note(struct far_times *times, int64_t ns);
/* Returns the time that 99 of 100 took at most; 0: there are none. Sorts them. */
int64_t far_times_p99_ns(const struct far_times *times);

#endif
