/* The most that the cores at hand can make of a job, and what limits it: Plumber's linear programme (Kuchnik et al.,
 * MLSys 2022). A batch takes `seconds` of each stage; a stage that is given `units` of parallelism makes
 * units / seconds batches a second, and no more than the bandwidth that it reads with allows:
 *
 *     maximise X with  X * seconds <= units,  X * bytes <= base + slope * units for each piece of the bandwidth,
 *                      units <= most,  X <= consumers,  and the units of all stages that hold a core <= cores
 *
 * For a given X each stage needs a certain number of units at least, which grows with X, piece by piece and ever
 * faster. So X is where their sum meets the cores; it is found from above by Newton's method, which takes as many steps
 * as there are pieces at most. Pure. */
#ifndef WEIR_PREPROCESS_SCALE_OPTIMUM_H
#define WEIR_PREPROCESS_SCALE_OPTIMUM_H

#include "preprocess/operators/chain.h"

enum { OPTIMUM_STAGES_MAX = CHAIN_OPERATORS_MAX + 2, OPTIMUM_PIECES_MAX = 8 };

/* A straight line that a concave bandwidth lies below: bytes a second by units. */
struct optimum_piece {
    double base, slope; /* >= 0 */
};

struct optimum_stage {
    double seconds;  /* of one unit, for a batch */
    double most;     /* units: 1: it is sequential; 0: as many as there are */
    bool only_waits; /* its units hold no core */
    double bytes;    /* of a batch, that it reads with the bandwidth below; 0: none */
    struct optimum_piece pieces[OPTIMUM_PIECES_MAX];
    size_t piece_count;
};

struct optimum_problem {
    double cores;
    double consumers; /* batches a second that are taken at most; 0: any number */
    struct optimum_stage stages[OPTIMUM_STAGES_MAX];
    size_t stage_count;
};

enum optimum_limit {
    OPTIMUM_CORES,     /* more of them would bring more */
    OPTIMUM_STAGE,     /* a stage has as many units as it can use */
    OPTIMUM_BANDWIDTH, /* a stage reads as fast as that goes, with any number of units */
    OPTIMUM_CONSUMERS,
    OPTIMUM_NOTHING, /* no stage takes any time */
};

struct optimum {
    double rate;                      /* batches a second; INFINITY: nothing limits it */
    double units[OPTIMUM_STAGES_MAX]; /* by stage */
    enum optimum_limit limit;
    size_t stage; /* stage of the limit; of OPTIMUM_CORES the one that takes most of them */
};

void preprocess_optimum_solve(const struct optimum_problem *problem, struct optimum *ret_optimum);
/* Returns the name of a limit. */
const char *preprocess_optimum_limit_name(enum optimum_limit limit);

/* Rates that the job could have if one thing were otherwise. */
struct optimum_otherwise {
    double one_more_core;
    double reads_twice_as_fast;
    /* behind each stage: what comes before it is replaced by `cache` */
    double cached[OPTIMUM_STAGES_MAX];
};
/* `cache[i]` is the stage that reads what stage i has made. */
void preprocess_optimum_otherwise(const struct optimum_problem *problem,
                                  const struct optimum_stage *cache,
                                  struct optimum_otherwise *ret_otherwise);

#endif
