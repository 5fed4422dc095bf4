/* Refusals of the minute under way: the first of each sender one by one, the others by their number. Pure. */
#ifndef ORCHESTRATOR_AUDIT_REFUSALS_H
#define ORCHESTRATOR_AUDIT_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AUDIT_WHO_MAX = 128,    /* characters, the final zero included */
    AUDIT_REFUSED_MAX = 64, /* senders in a minute; the others are counted together */
    /* of them, keys that nobody knows: anybody can draw as many as they like */
    AUDIT_STRANGERS_MAX = 16,
    AUDIT_REFUSED_FIRST = 5, /* of a sender, that are told one by one */
    AUDIT_ROLE_MAX = 16,
    AUDIT_WHAT_MAX = 48,
};

/* A sender that was refused; `what` is the first thing that was counted. */
struct audit_refused {
    char who[AUDIT_WHO_MAX], role[AUDIT_ROLE_MAX], what[AUDIT_WHAT_MAX];
    unsigned told;
    uint64_t counted; /* beyond those that were told */
};

/* Zeroed is empty. */
struct audit_refusals {
    struct audit_refused at[AUDIT_REFUSED_MAX + 1];
    size_t count;
};

/* Notes one; `role` "" is a stranger's. `counted` of the sender is 0 when it is to be told at once. */
const struct audit_refused *orchestrator_refusals_note(struct audit_refusals *refusals,
                                                       const char *who, const char *role,
                                                       const char *what);

#endif
