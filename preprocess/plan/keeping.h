/* The place at which rows of samples are kept, or none (C19; `preprocess.plan.cache: auto`), chosen from
 * measured costs as Cachew does (Graur et al., "Cachew", ATC 2022, §4), with what it leaves out: every legal place,
 * not only a marked one; the cost of writing; how often a row is used from now on; rows that are there already; a
 * budget; and a page cache of which only a part is left. Times are per worker, as its clock shows them. Pure. */
#ifndef WEIR_PREPROCESS_PLAN_KEEPING_H
#define WEIR_PREPROCESS_PLAN_KEEPING_H

#include "preprocess/plan/ordering.h"

#define KEEPING_MEASURE_NS 2e8  /* of operators' time, before a choice */
#define KEEPING_GAIN       0.02 /* share of the time that keeping has to save */
#define KEEPING_ROW_NS \
    600 /* to find a row and put it among the others, besides its bytes: `./dev bench reuse` */

/* A legal place, as operators were measured around it; all per row of the set. */
struct keeping_place {
    uint32_t cut;   /* operators before it, as written; never 0 */
    double make_ns; /* from the record, which is read, to there */
    double rest_ns; /* from there on */
    double bytes;   /* of the rows there */
};

/* The disk of a worker, as it has measured it: nanoseconds a byte, with the checksum. */
struct keeping_disk {
    double write_ns;
    double warm_ns, cold_ns; /* read from the page cache, and past it */
    double memory;           /* bytes that the page cache may take … */
    double budget;           /* … and that the cache of samples may; 0: nothing is kept here */
};

/* Rows that are wanted, and how often. */
struct keeping_needs {
    double rows;       /* different ones of the set */
    double uses;       /* of each, from now on */
    uint32_t kept_cut; /* place at which jobs before it have kept rows; 0: none */
    double present;    /* share of the rows that are there */
};

/* An alternative, and what it comes to. */
struct keeping_option {
    uint32_t cut;    /* 0: nothing is kept */
    double total_ns; /* of all uses of all rows, writing included */
    double bytes;    /* of all rows */
    double fits;     /* share of the rows that finds room */
};

struct keeping_choice {
    uint32_t cut; /* 0: nothing is kept */
    size_t count;
    struct keeping_option option[1 + CHAIN_OPERATORS_MAX]; /* nothing first */
};

/* Returns the nanoseconds of reading a byte that was kept, where `bytes` are kept in all. */
double preprocess_keeping_read_ns(const struct keeping_disk *disk, double bytes);
/* The cheapest alternative; nothing is kept unless that saves KEEPING_GAIN. */
struct keeping_choice preprocess_keeping_choose(const struct keeping_place *places, size_t count,
                                                const struct keeping_disk *disk,
                                                const struct keeping_needs *needs);

/* ---- what is measured ---- */

/* The cost of a pipeline file's operators in the order in which they are written, and the choice made by it: shared by
 * its jobs, and stored with their plan. Zeroed: nothing is measured. */
struct keeping {
    struct ordering_cost costs[CHAIN_OPERATORS_MAX]; /* by place as written */
    double read_ns;                                  /* of getting the records' bytes */
    bool is_measured;
    bool is_chosen;
    struct keeping_disk disk;     /* the choice was made by it … */
    struct keeping_needs needs;   /* … and these … */
    struct keeping_choice choice; /* … and came to this */
};

/* Takes in what was spent since the last time, in the order as written and with nothing kept, until it is enough. */
void preprocess_keeping_measure(struct keeping *keeping, size_t operators,
                                const struct ordering_cost *costs, double read_ns);
/* Returns the rows that were measured. */
double preprocess_keeping_rows(const struct keeping *keeping);
/* Lists the legal places of a chain that runs as written and is not cut, as they were measured; returns how many. One
 * that parts two operators that run as one is left out: what they would cost apart was not measured. */
size_t preprocess_keeping_places(const struct keeping *keeping, const struct chain *chain,
                                 struct keeping_place ret_places[CHAIN_OPERATORS_MAX]);
/* Chooses, once it is measured. Returns true when another place was chosen than before. */
bool preprocess_keeping_decide(struct keeping *keeping, const struct chain *chain,
                               const struct keeping_disk *disk, const struct keeping_needs *needs);
/* Place of the last operator that costs anything behind which rows could be kept but for what it makes for its reader
 * alone, and the share of the operators' time that is spent up to there; false: there is none. */
bool preprocess_keeping_hint(const struct keeping *keeping, const struct chain *chain,
                             size_t *ret_place, double *ret_share);

#endif
