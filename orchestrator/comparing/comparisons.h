/* Comparisons: grids of pipelines that are begun, watched and judged. The pipelines are pipelines as any other; what
 * came of each is kept in Postgres with the edge that ends its cell, and outlives it.
 *
 * Owned by: struct orchestrator. Survives: a crash between any two edges: a cell and its pipeline begin in one
 * transaction, so none runs twice. */
#ifndef ORCHESTRATOR_COMPARING_COMPARISONS_H
#define ORCHESTRATOR_COMPARING_COMPARISONS_H

#include "core/base/hash.h"
#include "orchestrator/comparing/grid.h"
#include "orchestrator/comparing/starts.h"
#include "orchestrator/pipeline/pipeline.h"

struct comparing_cell {
    char *name; /* "yearly-s1" */
    char digest[WEIR_DIGEST_TEXT_MAX];
    enum cell_state state;
    int64_t pipeline; /* 0: none yet */
    char *error;      /* why its pipeline could not be begun; "": it could */
    int64_t began_us; /* 0: not yet */
    int64_t took_us;  /* of one that is done */
};

struct comparison {
    struct comparison *next;
    int64_t number;
    char *owner; /* tenant; "": of none */
    char *file;
    struct comparison_grid *grid;
    bool is_open;                 /* cells that wait are begun */
    struct comparing_cell *cells; /* as many as the grid has, in its order */
    size_t left_out;              /* cells that are done and no longer in the grid */
};

struct comparisons {
    struct context *context;
    struct pipelines *pipelines;
    struct comparison *first; /* newest first */
    uint64_t timer;           /* 0: nothing is to be watched */
};

/* Reads all comparisons from Postgres, and goes on with them unless the pipelines are held. */
enum weir_status orchestrator_comparisons_load(struct comparisons *comparisons,
                                               struct weir_error *err) WEIR_MUST_USE;
void orchestrator_comparisons_free(struct comparisons *comparisons);

/* Takes a grid in, or goes on with the comparison of its name: cells that are new are begun, those that failed are
 * tried again. EXISTS when the name, or that of a pipeline, is somebody else's, or when a cell that was begun would be
 * another pipeline now. `owner`: tenant; "": of none. */
enum weir_status orchestrator_comparison_submit(struct comparisons *comparisons,
                                                const struct grid_files *files, const char *owner,
                                                struct comparison **ret_comparison,
                                                struct weir_error *err) WEIR_MUST_USE;
/* Ends it: no further cell begins, and the pipelines of all cells are removed. Results stay. */
enum weir_status orchestrator_comparison_remove(struct comparisons *comparisons,
                                                struct comparison *comparison, size_t *ret_removed,
                                                struct weir_error *err) WEIR_MUST_USE;

/* The name of a cell's pipeline, in caller's memory. */
char *orchestrator_comparison_pipeline_name(const struct comparison *comparison,
                                            size_t cell) WEIR_MUST_USE;

#endif
