/* Ten thousand workers that beat to a real dispatcher, take leases of 200 jobs, and hold use leases of a real storage:
 * what they cost each, and how soon an erasure is in force among them. The workers make nothing
 * (tests/support/crowd.h); each has a connection of its own to each service. They live in some processes, for
 * descriptors are limited, one of which has a hundredth of them and may be killed. */
#ifndef BENCHMARKS_POOL_CROWD_H
#define BENCHMARKS_POOL_CROWD_H

#include "benchmarks/harness.h"
#include "benchmarks/rig.h"

enum { POOL_CROWD = 10000 };

struct pool_crowd;

/* Starts a platform below `directory` and `workers`, at least 100, and waits until all hold and beat. */
enum weir_status pool_crowd_gather(const char *directory, size_t workers,
                                   struct pool_crowd **ret_crowd,
                                   struct weir_error *err) WEIR_MUST_USE;
/* The same of workers that come from elsewhere: over TCP of the loopback, each with a key of its own. */
enum weir_status pool_crowd_gather_elsewhere(const char *directory, size_t workers,
                                             struct pool_crowd **ret_crowd,
                                             struct weir_error *err) WEIR_MUST_USE;
void pool_crowd_disperse(struct pool_crowd *crowd);
WEIR_DEFINE_AUTO(pool_crowd, pool_crowd_disperse)

/* Cores that a service has used, over some seconds. INTERNAL when use leases were over before they were renewed: the
 * load was another one. */
enum weir_status pool_crowd_load(struct pool_crowd *crowd, enum rig_service service,
                                 double *ret_cores, struct weir_error *err) WEIR_MUST_USE;
/* Seconds from a request until it is in force. `is_maimed`: a hundredth of the workers are killed before; others take
 * their places afterwards. */
enum weir_status pool_crowd_erase(struct pool_crowd *crowd, bool is_maimed, double *ret_seconds,
                                  struct weir_error *err) WEIR_MUST_USE;

/* Memory that a service has taken for a worker, in bytes. */
double pool_crowd_memory(const struct pool_crowd *crowd, enum rig_service service);
/* A restart, until both services run again and have answered every worker's requests. Processor time is in
 * milliseconds for a worker, the start of the services included. */
struct pool_return {
    double seconds,
        keyed_seconds; /* … and until they run again and have the keys, if there are any */
    double storage_ms, dispatcher_ms; /* of all threads of the service … */
    double busiest_ms;                /* … and of one, of either: no machine is quicker than it */
    double crowd_ms;                  /* of the workers themselves, who share the machine */
};
/* Kills storage and dispatcher at once. */
enum weir_status pool_crowd_return(struct pool_crowd *crowd, struct pool_return *ret_return,
                                   struct weir_error *err) WEIR_MUST_USE;

#endif
