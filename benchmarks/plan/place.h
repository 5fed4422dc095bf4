/* Pictures to a trainer on another host, which a worker finishes or the client library does: the last operators, place:
 * pool and host (E5 has the order alone). */
#ifndef BENCHMARKS_PLAN_PLACE_H
#define BENCHMARKS_PLAN_PLACE_H

#include "benchmarks/slice/workload.h"

enum place_side { PLACE_POOL, PLACE_HOST, PLACE_SIDES };

struct place {
    struct rig *rig;
    struct corpus corpus;
    struct workload workload[PLACE_SIDES];
    uint64_t jobs; /* opened so far */
};

/* Cost of a run, per sample. */
struct place_taken {
    double seconds, bytes, cpu_s; /* CPU time of the client, this process */
};

/* Starts a platform, and writes pictures for it. */
enum weir_status place_open(struct place *place, const char *directory, double scale,
                            struct weir_error *err) WEIR_MUST_USE;
void place_close(struct place *place); /* zeroed is fine */
enum weir_status place_run(struct place *place, enum place_side side, struct place_taken *ret_taken,
                           struct weir_error *err) WEIR_MUST_USE;

#endif
