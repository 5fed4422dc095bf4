/* Bytes of finished batches that a consumer lets be on their way and waiting: from rates and jitter that it measures
 * itself. Pure: time is handed in. What is in a batch, and which the loop gets, does not depend on it.
 * Owned by: struct weir_client, under its mutex.
 *
 * Model. The batches in reserve are a queue of at most B: workers put r a second into it while they have credit, the
 * loop takes d a second while there are any. Over many batches its length is a Brownian motion between two walls, 0
 * (the loop waits) and B (workers wait), of drift r - d and variance v = sum of r_i c_i^2 over the workers + d c^2,
 * where c is the deviation of the time per batch over its mean (Harrison, Brownian Motion and Stochastic Flow
 * Systems, 1985). What the loop waits longer than it would with any reserve is, as a share of its time,
 *     |r - d| / d / (exp(2 |r - d| B / v) - 1)
 * and BUFFERING_STALL of it leads to
 *     B = v / (2 |r - d|) ln(1 + |r - d| / (d BUFFERING_STALL)),
 * which is v / (2 d BUFFERING_STALL) where both are as fast. So workers that are steady, or much faster or slower than
 * the loop, need little; with c = 1 it is the M/M/1/K queue, whose exact formula the test holds it to.
 *
 * To B come: the batches that the loop takes between a credit and the batch that it brings (Little, A Proof for the
 * Queuing Formula L = lambda W, 1961); in number order, those that others make while the slowest worker makes a group;
 * one in the making at each worker; those in the loop's hands. A quarter of a worker's part may be free and not granted
 * again yet (delivery_credit.c), so all of it is a third more.
 *
 * A model that is wrong, as in slow phases, shows: the loop waits, and workers wait for credit, on average, for as
 * long. Then the reserve grows by half at each look, until that ends; afterwards the addition fades. A loop that
 * waits for workers that have credit gets nothing more: it would not help.
 *
 * Measured are: the time that the loop works on a batch; each worker's time from when it may send until it has. One
 * that was without credit may have something ready, so beside a slow loop workers look a little faster than they
 * are. */
#ifndef WEIR_TRAINER_CLIENT_BUFFERING_H
#define WEIR_TRAINER_CLIENT_BUFFERING_H

#include "trainer_client/delivery.h"

enum {
    BUFFERING_LOOK_MS = 1000,
    BUFFERING_EVIDENCE = 8,  /* times that have to be measured, of both sides */
    BUFFERING_MEMORY_S = 20, /* after which what was measured counts half */
    BUFFERING_SHRINKS = 8,   /* part of the bytes that a look gives up, at most: one of so many */
};
#define BUFFERING_STALL 0.005

enum buffering_reason {
    BUFFERING_FIRST,   /* not enough is measured */
    BUFFERING_FIXED,   /* the loop has said how many bytes */
    BUFFERING_STEADY,  /* next to nothing is needed: one batch in the making at each worker */
    BUFFERING_JITTER,  /* most is needed for jitter of workers and loop */
    BUFFERING_ORDER,   /* … for others' batches while a worker makes a group */
    BUFFERING_LATENCY, /* … for the time from credit to batch */
    BUFFERING_WAITED,  /* the loop has waited, and workers have waited for credit */
    BUFFERING_MEMORY,  /* more is needed than there may be */
};

/* The numbers that one decision is made from. */
struct buffering_rates {
    double wanted;   /* batches a second that the loop takes while it has some */
    double made;     /* batches a second that all workers bring while they may */
    double slowest;  /* … the slowest of them */
    double variance; /* v, of a second */
    double lead_s;   /* from credit to a batch that was ready */
};

struct buffering_extent {
    uint32_t workers;
    uint64_t group_batches; /* made by one worker, in number order; 0: the order is free */
    size_t in_hand;         /* batches that the loop has */
};

/* Batches that the rates ask for, and which part of them is largest. */
double trainer_buffering_batches(const struct buffering_rates *rates,
                                 const struct buffering_extent *extent,
                                 enum buffering_reason *ret_why);

/* Times of one kind, older ones counting less. */
struct buffering_times {
    double count, seconds, squares;
};

/* Zeroed: one that has brought nothing. */
struct buffering_worker {
    struct buffering_times gaps;
    double least_s, least_before_s; /* shortest gap in this half-life and the one before; 0: none */
    bool has_come;                  /* its first batch tells how long its start took */
    int64_t may_since;              /* it has credit, in ns; 0: it has none … */
    int64_t held_since;             /* … since then; 0: it never had any */
};

/* Zeroed is a client that has measured nothing. */
struct buffering {
    bool is_fixed;   /* the loop says how many bytes */
    uint64_t bytes;  /* as decided */
    uint64_t need;   /* … but for the memory that there may be */
    uint64_t memory; /* bytes there may be; 0: any number */
    enum buffering_reason why;
    struct buffering_rates rates; /* rates that decided */
    double batches, batch_bytes;  /* mean of its batches, older ones counting less */
    struct buffering_times steps; /* of the loop */
    struct buffering_worker workers[DELIVERY_WORKERS_MAX];
    double extra;      /* share by which the reserve has grown beyond the model */
    int64_t waited_ns; /* of the loop for a batch, since the newest look */
    int64_t held_ns;   /* without credit, all workers together, since then */
    int64_t look_ns, halved_ns;
};

/* Begins with so many bytes, as far as there may be so much memory. */
void trainer_buffering_begin(struct buffering *buffering, uint64_t bytes, uint64_t memory);
/* The loop has worked on a batch for so long. */
void trainer_buffering_worked(struct buffering *buffering, int64_t worked_ns);
/* … or has waited for one that was not here. */
void trainer_buffering_waited(struct buffering *buffering, int64_t waited_ns);
/* `left`: bytes that the worker may still send. */
void trainer_buffering_granted(struct buffering *buffering, uint32_t worker, uint64_t left,
                               int64_t now_ns);
void trainer_buffering_arrived(struct buffering *buffering, uint32_t worker, uint64_t bytes,
                               uint64_t left, int64_t now_ns);
void trainer_buffering_leave(struct buffering *buffering, uint32_t worker);
bool trainer_buffering_due(const struct buffering *buffering, int64_t now_ns);
/* Decides again: buffering->bytes. */
void trainer_buffering_look(struct buffering *buffering, const struct buffering_extent *extent,
                            int64_t now_ns);
/* "jitter" */
const char *trainer_buffering_name(enum buffering_reason why);

#endif
