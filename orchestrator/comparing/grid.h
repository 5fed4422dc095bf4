/* A grid file: a pipeline file, axes of sections that take the place of its own, seeds, and how the pipelines that come
 * of it are judged. Pure: texts in, texts of pipelines out.
 *
 * A *policy* is one entry of each axis; a *cell* is a policy with a seed, and is a pipeline of its own. */
#ifndef ORCHESTRATOR_COMPARING_GRID_H
#define ORCHESTRATOR_COMPARING_GRID_H

#include "core/config/complaints.h"
#include "orchestrator/config/prices.h"

/* Axes, which are sections of a pipeline file, in the order of the names of cells. */
enum grid_axis { GRID_TRIGGER, GRID_SELECTION, GRID_PREPROCESS, GRID_TRAINING, GRID_AXES };

enum {
    GRID_SEEDS_MAX = 100,
    GRID_COMBINATIONS_MAX = 10000, /* of the axes, with those left out */
    GRID_POLICIES_MAX = 1000,
    GRID_CELLS_MAX = 2000,
    GRID_AT_ONCE_MAX = 64,
};

extern const char *const ORCHESTRATOR_GRID_AXES[GRID_AXES + 1]; /* NULL at the end */

struct grid_policy {
    char *name;                                     /* "yearly-scratch" */
    const struct weir_yaml_node *values[GRID_AXES]; /* NULL: the grid has no such axis */
    const char *entries[GRID_AXES];                 /* their names; NULL likewise */
};

/* Windows [from, until) of an evaluation, by one metric. Texts are borrowed from the document. */
struct grid_judge {
    const char *evaluation, *metric;
    int64_t from, until;               /* windows that policies are judged on */
    int64_t choose_from, choose_until; /* earlier windows, by which one is chosen */
    bool higher_is_better;
};

struct comparison_grid {
    struct weir_yaml *document;
    struct weir_yaml *base_document;
    const struct weir_yaml_node *base; /* a pipeline file's root */
    const struct weir_yaml_node *axes;
    const char *name;
    uint64_t at_once;
    uint64_t seeds[GRID_SEEDS_MAX];
    size_t seed_count; /* 0: those of the base alone */
    struct grid_policy *policies;
    size_t policy_count;
    const struct grid_policy *baseline; /* the one that others are compared with */
    struct grid_judge judge;
    struct orchestrator_prices prices;
    bool has_prices; /* else those of the system file hold */
};

/* A grid file and its pipeline file as they are handed in. */
struct grid_files {
    const char *file;
    struct weir_bytes text;
    const char *base_file; /* "": the pipeline lies in the grid file, under `base` */
    struct weir_bytes base_text;
};

/* INVALID with file:line:column of everything that is wrong with the grid, or with a pipeline that comes of it. */
enum weir_status orchestrator_grid_parse(const struct grid_files *files,
                                         struct comparison_grid **ret_grid,
                                         struct weir_error *err) WEIR_MUST_USE;
/* The same, and all complaints; NULL: there are some. */
struct comparison_grid *orchestrator_grid_complain(const struct grid_files *files,
                                                   struct cfg_complaints *complaints);
void orchestrator_grid_free(struct comparison_grid *grid);
WEIR_DEFINE_AUTO(comparison_grid, orchestrator_grid_free)

/* Cells of each policy; and of all. */
size_t orchestrator_grid_seeds(const struct comparison_grid *grid);
size_t orchestrator_grid_cell_count(const struct comparison_grid *grid);
/* The policy and the seed (0: the base's) of a cell; cells of a policy follow each other. */
const struct grid_policy *orchestrator_grid_policy_of(const struct comparison_grid *grid,
                                                      size_t cell);
uint64_t orchestrator_grid_seed_of(const struct comparison_grid *grid, size_t cell);
/* Appends "yearly-scratch-s1", or without a seed "yearly-scratch". */
void orchestrator_grid_cell_name(const struct comparison_grid *grid, size_t cell,
                                 struct weir_buf *out);
/* Appends the text of a cell's pipeline file. */
void orchestrator_grid_cell_text(const struct comparison_grid *grid, size_t cell,
                                 struct weir_buf *out);
/* True of the first cell that has one of its entries: together they have all. */
bool orchestrator_grid_is_first_of_entry(const struct comparison_grid *grid, size_t cell);
/* Notes a complaint about a cell's text, "FILE:1:2: reason", at the entry of the axis that it is about, or at the
 * base. */
void orchestrator_grid_note_cell(const struct comparison_grid *grid, size_t cell, const char *line,
                                 struct cfg_complaints *complaints);
/* Samples of a batch of a cell. */
uint64_t orchestrator_grid_batch_of(const struct comparison_grid *grid, size_t cell);
/* Appends the reference page of a grid file. */
void orchestrator_grid_describe(struct weir_buf *out);

/* True of the root of a grid file. */
bool orchestrator_grid_is(const struct weir_yaml_node *root);
/* The pipeline file that a grid file names, which lies beside it, in caller's memory; NULL: it holds the pipeline. */
char *orchestrator_grid_base_path(const char *file,
                                  const struct weir_yaml_node *root) WEIR_MUST_USE;

#endif
