/* Division of the pool among the jobs in use. Each asks for as many workers as its policy says; the sum decides how
 * many the pool has, and where bounds leave less than that, what there is is divided by share. Pure: time is handed in.
 *
 * Rules
 *   1  Parts are fractions of workers: a worker serves several jobs, so two jobs that need 0.4 have one together.
 *   2  Jobs of one pipeline have its bounds and its share together. A pipeline with a job in use has its minimum.
 *   3  Under scarcity parts are max-min fair by share: nobody has more than it asks for, and what one leaves goes to
 *      the others (Bertsekas & Gallager, Data Networks, 1992, 6.5.2).
 *   4  A job of which nothing is measured has one worker before anybody shares, however long the line.
 *   5  The pool grows at once, and shrinks at once as far as jobs in use ask for less. The part of a job that was
 *      closed stays for a while, because the next run of a pipeline often comes soon. */
#ifndef WEIR_PREPROCESS_SCALE_DIVISION_H
#define WEIR_PREPROCESS_SCALE_DIVISION_H

#include "preprocess/scale/policy.h"

enum { DIVISION_LINGER_MS = 60000 };

struct division_bounds {
    uint32_t min, max; /* workers of the pool */
};

struct division_job {
    uint64_t pipeline; /* key of the pipeline; jobs of one have equal bounds and shares */
    double share;      /* of the pipeline, > 0 */
    uint32_t min, max; /* workers of the pipeline; max 0: as many as there are */
    double asked;      /* workers: preprocess_division_asked() */
    bool is_new;       /* nothing is measured yet (rule 4) */
    double given;      /* result: its part of the pool, in workers */
};

/* Zeroed is an empty pool. */
struct division {
    uint32_t size;
    double lingering; /* workers that closed jobs have left … */
    int64_t lingers_until_ms;
};

/* Returns the workers of the pool that a decision asks for: its need once it has settled, else the size that is being
 * tried. */
double preprocess_division_asked(const struct scale_decision *decision);

/* A job that had this part was closed. */
void preprocess_division_close(struct division *division, double given, int64_t now_ms);
/* Returns the size that the pool should have, and sets the part of each job. */
uint32_t preprocess_division_divide(struct division *division, const struct division_bounds *bounds,
                                    struct division_job *jobs, size_t count, int64_t now_ms);

#endif
