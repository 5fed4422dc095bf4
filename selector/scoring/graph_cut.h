/* Graph cut: like all samples, unlike each other. f(S) = Σ_i Σ_{j ∈ S} s(i, j) - diversity · Σ_{i ∈ S} Σ_{j ∈ S}
 * s(i, j) with s = (1 + cos) / 2 (Iyer, Khargonkar, Bilmes & Asnani, Submodular Combinatorial Information
 * Measures, ALT 2021, §2). Submodular; monotone up to a diversity of 1/2. A gain is a look-up; adding
 * costs count × width; memory: three doubles a sample beside the vectors. */
#ifndef SELECTOR_SCORING_GRAPH_CUT_H
#define SELECTOR_SCORING_GRAPH_CUT_H

#include "selector/scoring/greedy.h"
#include "selector/scoring/vectors.h"

struct graph_cut {
    const struct vectors *vectors;
    double diversity;
    double *to_all;    /* similarity of each with all */
    double *to_chosen; /* and with S */
    double *products;  /* of the row being added */
    double *row;
    double value; /* f(S) */
};

/* Borrows the vectors, which have unit length. S is empty. */
void selector_scoring_graph_cut_init(struct graph_cut *cut, const struct vectors *vectors,
                                     double diversity);
void selector_scoring_graph_cut_fini(struct graph_cut *cut);
struct objective selector_scoring_graph_cut_objective(struct graph_cut *cut);

#endif
