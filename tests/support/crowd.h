/* Thousands of workers in one thread that make nothing: they hold use leases as real ones do, and beat. Each has a
 * name, a session, and a connection of its own to each service; one socket dials them all, so that a member costs a
 * descriptor for each connection and the process one thread of ZeroMQ. Who holds never names an epoch before it was
 * told of it. */
#ifndef WEIR_TESTS_SUPPORT_CROWD_H
#define WEIR_TESTS_SUPPORT_CROWD_H

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct crowd;
struct weir_pair;

/* Borrowed by the crowd, but for the name. */
struct crowd_plan {
    const char *storage;           /* address */
    const char *dispatcher;        /* address; NULL: they do not beat */
    const struct weir_pair *pairs; /* of each member, who comes from elsewhere; NULL: of none */
    const char *name;              /* beginning of all their names */
    size_t count;                  /* of members, who come one after the other, 500 a second */
    uint32_t pause_ms;             /* between two holds, at least; 0: as real workers do */
};

/* A plain value: it may lie in memory that processes share. */
struct crowd_report {
    size_t holding;                /* members whose lease runs, as they count it */
    size_t beating;                /* members whose newest beat was answered */
    uint64_t holds, beats, leases; /* answers to each, and leases that the newest ones brought */
    uint64_t lapses;               /* leases that were over before they were renewed */
    uint64_t refused;              /* answers that are refusals … */
    char words[256];               /* … and the newest of them */
    uint64_t epoch; /* the newest one that all holders have named, and storage has answered */
    int64_t held_ms, beaten_ms; /* when the last of them all was answered last; 0: one never */
};

/* LIMIT when the process may not have the descriptors. */
enum weir_status crowd_start(const struct crowd_plan *plan, struct crowd **ret_crowd,
                             struct weir_error *err) WEIR_MUST_USE;
/* Leaves without a word. */
void crowd_stop(struct crowd *crowd);
WEIR_DEFINE_AUTO(crowd, crowd_stop)

/* Sends what is due and takes what has come, for some milliseconds at most. */
void crowd_step(struct crowd *crowd);
void crowd_look(struct crowd *crowd, struct crowd_report *ret_report);

#endif
