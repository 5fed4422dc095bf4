/* Workers and consumers that make nothing: they beat, take leases and report groups as done, over real sockets
 * to a real dispatcher. A worker's next beat says that it has sent everything the former one brought. All
 * of them live in this process and share some connections; each has its own name, session and leases. */
#ifndef BENCHMARKS_PREPROCESS_SIMULATED_H
#define BENCHMARKS_PREPROCESS_SIMULATED_H

#include "benchmarks/rig.h"

struct simulated;

/* Opens `jobs` jobs of more groups of one sample than can be leased, one consumer each. */
enum weir_status simulated_start(struct rig *rig, unsigned workers, unsigned jobs,
                                 struct simulated **ret_simulated,
                                 struct weir_error *err) WEIR_MUST_USE;
void simulated_stop(struct simulated *simulated);
WEIR_DEFINE_AUTO(simulated, simulated_stop)

/* Every worker beats again as soon as it is answered, for `ms`; how many groups were leased. */
uint64_t simulated_lease(struct simulated *simulated, int64_t ms);
/* Every worker keeps what it has and beats as often as the dispatcher wants, for `ms`; how many beats. */
uint64_t simulated_beat(struct simulated *simulated, int64_t ms);
/* Returns the number of leases that all workers have now. */
size_t simulated_leases(const struct simulated *simulated);

#endif
