/* The audit log: orders that change something, and refusals. Each record carries the hash of the one before it and a
 * signature by the receipt key, as receipts do, so that a record that was changed, put in or taken out is found. An
 * order has two: one that is committed before anything is done, and one of how it ended; an order without an end was
 * under way when the orchestrator was killed. Nothing here is of a person whose data there are: of an erasure its
 * number alone, of errors their kind alone.
 *
 * Refusals are bounded: beyond some in a minute they are counted, and the count is one record. */
#ifndef ORCHESTRATOR_AUDIT_AUDIT_H
#define ORCHESTRATOR_AUDIT_AUDIT_H

#include "orchestrator/audit/refusals.h"
#include "orchestrator/context/context.h"

#include <jansson.h>

enum {
    AUDIT_WRONG_MAX = 100,
    AUDIT_HASH_MAX = 65,
    AUDIT_ABOUT_MAX = 128, /* bytes of a text in `about`; a longer one is left out */
};

struct audit;

/* Reads where the chain stands. */
enum weir_status orchestrator_audit_open(struct context *context, struct audit **ret_audit,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Writes the counts that wait. */
void orchestrator_audit_close(struct audit *audit);
WEIR_DEFINE_AUTO(audit, orchestrator_audit_close)

struct audit_order {
    const char *who;     /* "alice", "local uid 1000" */
    const char *role;    /* of the key */
    const char *what;    /* topic */
    const json_t *about; /* object: the pipeline, model, key that it is about; borrowed */
};
/* Commits that an order begins. `ret_number` is what it ends by. */
enum weir_status orchestrator_audit_begin(struct audit *audit, const struct audit_order *order,
                                          int64_t *ret_number,
                                          struct weir_error *err) WEIR_MUST_USE;
/* How the order of that number ended: OK, or why not. `about` (NULL: nothing) is what became of it. */
void orchestrator_audit_end(struct audit *audit, int64_t number, enum weir_status outcome,
                            const json_t *about);
/* Somebody was refused what they may not do. Best effort: a refusal needs no database. */
void orchestrator_audit_refuse(struct audit *audit, const char *who, const char *role,
                               const char *what);

/* Appends the records after a number, made at that time or later, as they are signed, at most `most`, oldest first. */
enum weir_status orchestrator_audit_read(const struct audit *audit, int64_t after, int64_t since_us,
                                         int64_t most, json_t *records,
                                         struct weir_error *err) WEIR_MUST_USE;

/* The chain as far as it was gone over. Begin with one that has an array as `wrong`, and else is zeroed. */
struct audit_chain {
    int64_t records, newest;
    char hash[AUDIT_HASH_MAX]; /* of the newest */
    json_t *wrong; /* of each mistake {"record", "found"}, at most AUDIT_WRONG_MAX; the caller's */
    size_t mistakes; /* all of them */
    bool is_through;
};
/* Goes over the next piece of it. */
enum weir_status orchestrator_audit_verify(const struct audit *audit, struct audit_chain *chain,
                                           struct weir_error *err) WEIR_MUST_USE;

/* Pure. Copies the members that may stand in the log: names and numbers of things, no text of people. */
void orchestrator_audit_copy(const json_t *from, json_t *to);

#endif
