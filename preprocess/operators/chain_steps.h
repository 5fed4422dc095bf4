/* The inside of a chain, for chain.c, which plans it, chain_order.c, which plans it in another order, chain_fuse.c,
 * which makes one of several operators, chain_run.c, which runs it, chain_rows.c, which lets rows go, chain_cut.c and
 * chain_kept.c, which keep them, and chain_fit.c, which fits it. */
#ifndef WEIR_PREPROCESS_OPERATORS_CHAIN_STEPS_H
#define WEIR_PREPROCESS_OPERATORS_CHAIN_STEPS_H

#include "preprocess/operators/chain.h"

/* A column keeps its slot as long as operators put others in its place: so the slots that an operator reads are the
 * same wherever it runs. */
enum { CHAIN_SLOTS_MAX = 1 + CHAIN_OPERATORS_MAX * OPERATOR_OUTPUTS_MAX };

/* One operator at its place. */
struct chain_step {
    const struct preprocess_operator *op;
    size_t written; /* place in the pipeline file */
    void *options;
    void *state;
    struct operator_plan plan;
    struct column own[OPERATOR_OUTPUTS_MAX];
    int places[OPERATOR_OUTPUTS_MAX]; /* of its outputs among the columns */
    size_t columns;                   /* there are once it has run … */
    uint8_t slots[COLUMNS_MAX];       /* … their slots … */
    bool is_wanted[COLUMNS_MAX];      /* … and those that are read later, or leave the chain */
    uint8_t reads[COLUMNS_MAX];       /* slots: `in`, then `more` */
    uint8_t makes[OPERATOR_OUTPUTS_MAX];
    char on[COLUMN_NAME_MAX];  /* name of the column that it is told to read in another order */
    bool behind_fit;           /* it reads output of a fitted operator, or of one after it */
    struct operator_next next; /* the reader that it knows; op NULL: none */
    /* place, as written, of the step that knows of this one, and one; 0: none does … */
    uint8_t told;
    bool is_absorbed; /* … and does its work */
    size_t loop_end;  /* of the first of a loop: the step after it … */
    size_t row_bytes; /* … and bytes of a row of its widest column, as far as it is known */
    int64_t piece_ns; /* of the piece under way, by the clock … */
    int64_t timed_ns; /* … and of pieces of the loop under way */
    int64_t spent_ns;
    uint64_t rows;
    uint64_t taken; /* bytes */
    uint64_t bytes;
    uint64_t failed;
    uint64_t filtered;
    uint64_t warnings;
    char reason[OPERATOR_REASON_MAX];
    /* bound of the integers of its first output by its fitted state, and by that it goes on from; 0: none yet */
    uint64_t below, below_before;
    struct weir_buf inherited; /* given state as it was for the model that training starts from */
};

/* The rows of a batch that are left, once others were let go. */
struct chain_rows {
    struct weir_buf flags;   /* what has become of each */
    struct weir_buf origins; /* u32: the number that each had … */
    bool are_fewer;          /* … if some were let go */
    struct weir_buf ids, times, labels;
    struct operator_batch batch;
    size_t marked; /* of them, by now */
};

/* Loops differ while operators are fitted, for then some do not run. */
enum chain_loops { CHAIN_LOOPS_NONE, CHAIN_LOOPS_RUN, CHAIN_LOOPS_FOLD };

/* The place at which rows are kept. */
struct chain_cut {
    size_t end;                       /* operators that run before it; 0: there is none */
    bool is_in_run;                   /* pictures pass it one after the other, within a loop */
    size_t columns;                   /* kept … */
    size_t column[COLUMNS_MAX];       /* … by their slots, ascending: where they are */
    struct column whole[COLUMNS_MAX]; /* scratch: rows that were made, and those that were kept */
    struct weir_buf row;              /* scratch: one of them, as it is kept */
    struct column alone;              /* a picture that was kept, borrowed … */
    uint32_t offsets[2];              /* … its offsets … */
    struct picture_place place;       /* … and where its pixels are */
    const struct chain_kept *kept;    /* of the batch under way; NULL: none */
    struct operator_batch batch;      /* all rows of it */
    bool has_lost;
};

struct chain {
    const struct weir_yaml_node *operators;
    const struct operator_records *records;
    struct chain_step step[CHAIN_OPERATORS_MAX];
    uint8_t running[CHAIN_OPERATORS_MAX]; /* index in `step` of each operator, as written */
    size_t steps;
    size_t end;                          /* of those that run: all, if it was not cut off */
    size_t sunk;                         /* the last of them, which the consumer takes … */
    struct weir_tensor_steps left;       /* … by these steps */
    size_t fitted;                       /* steps that want a fit … */
    size_t folding;                      /* … and those of them that want samples for it */
    const struct chain_step *classifies; /* NULL: none does */
    struct column payload;
    struct column *column[COLUMNS_MAX];     /* of the batch, as far as it has come */
    struct column views[1 + COLUMNS_MAX];   /* the rows of them that an operator is handed */
    struct weir_arena *arena;               /* names of elements */
    size_t columns;                         /* leaving the chain … */
    size_t leaving[COLUMNS_MAX];            /* … where they are in `column` … */
    struct column_about about[COLUMNS_MAX]; /* … and what they are */
    bool copies_payload;                    /* it cannot be left where it lies */
    uint64_t row_bytes;                     /* of those of them that are dense */
    struct operator_failures failures;      /* of the newest batch */
    struct weir_buf flags;                  /* what has become of each of its rows */
    struct chain_rows rows;
    bool is_timed;          /* the piece under way is */
    bool waits;             /* an operator needs the batch once more */
    enum chain_loops loops; /* loops in force */
    size_t piece_bytes;     /* of the widest column of a loop */
    struct chain_cut cut;
};

/* Maximum bytes of one operator's partial fit: an equal part for each. */
static inline size_t chain_partial_bytes_max(const struct chain *chain)
{
    return CHAIN_PARTIAL_BYTES_MAX / (chain->folding > 0 ? chain->folding : 1);
}

/* True when what the operator is made with is given by a file, not fitted on samples. */
static inline bool chain_is_given(const struct chain_step *step)
{
    return step->op->fit != NULL && !operator_folds(step->op);
}

/* True when the cut is before the step that runs as number `index`, and loops end there. */
static inline bool chain_is_cut(const struct chain *chain, size_t index)
{
    return chain->cut.end == index && index > 0 && !chain->cut.is_in_run;
}

/* The schema while a chain is planned. */
struct chain_draft {
    struct operator_schema schema;
    bool behind_fit[COLUMNS_MAX]; /* exists only once operators are fitted */
    uint8_t slot[COLUMNS_MAX];
    size_t slots;               /* slots in use */
    bool is_used;               /* the payload has become something else */
    const struct chain *source; /* the chain as it is, when another order is planned … */
    enum algebra_law law;       /* … by this law */
};

struct chain_draft preprocess_chain_draft_of(const struct chain *chain);
/* An empty chain. Free with preprocess_chain_free(). */
struct chain *preprocess_chain_make(const struct weir_yaml_node *operators,
                                    const struct operator_records *records);
/* Plans the operator at place `written` next. */
enum weir_status preprocess_chain_plan_step(struct chain *chain, size_t written,
                                            struct chain_draft *draft,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Ends planning once it is known which columns leave. */
void preprocess_chain_end(struct chain *chain, const struct chain_draft *draft);
/* The columns after a step. */
void preprocess_chain_advance(struct chain *chain, struct chain_step *step);
/* Has operators do the work of those behind them, as they declare. */
void preprocess_chain_absorb(struct chain *chain, const struct chain_draft *draft);
/* Forms the loops of those that run, or are folded. */
void preprocess_chain_form_loops(struct chain *chain, bool folds);
/* Returns how many rows at a time a batch takes through the loop that begins with step `first`. */
size_t preprocess_chain_piece(const struct chain *chain, size_t first);
/* Returns the place of a column that the step reads or has made, by slot; -1: it is gone. */
static inline int chain_find_slot(const uint8_t *slots, size_t count, uint8_t slot)
{
    for (size_t i = 0; i < count; i++) {
        if (slots[i] == slot)
            return (int)i;
    }
    return -1;
}

/* All rows of a batch are here; `flags` of the chain are theirs. */
void preprocess_chain_rows_begin(struct chain *chain, const struct operator_batch *batch);
/* Lets rows that are marked go from the columns that are wanted after a step, if that pays. */
void preprocess_chain_rows_drop(struct chain *chain, const struct chain_step *step, bool is_last);
/* Lets rows that are marked go from the columns that are wanted after a step; NULL: from the payload. */
void preprocess_chain_rows_let_go(struct chain *chain, const struct chain_step *step);
/* Tells chain->flags what has become of the rows that are left. */
void preprocess_chain_rows_end(struct chain *chain);
/* Takes ids, times and labels of the rows that are there out of those of the batch as it came. */
void preprocess_chain_rows_gather(struct chain *chain, const struct operator_batch *batch);
void preprocess_chain_rows_fini(struct chain_rows *rows);

/* Plans the operators in an exact order, with a cut after so many. */
enum weir_status preprocess_chain_divide(const struct chain *chain, const uint8_t *order,
                                         size_t cut, struct chain **ret_chain,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Finds what is kept of a chain with a cut, once its steps are planned. */
void preprocess_chain_cut_plan(struct chain *chain);
void preprocess_chain_cut_fini(struct chain_cut *cut);
/* Takes the rows that are known out of the batch, until the cut. */
void preprocess_chain_cut_begin(struct chain *chain);
/* Hands the rows at the cut on to be kept, and puts those that are known beside them. */
void preprocess_chain_cut_pass(struct chain *chain);
/* Puts the row at the cut of a loop where the operator behind it reads it. False: it is not known, or lost. */
bool preprocess_chain_cut_load(struct chain *chain, size_t row);
/* Hands the row at the cut of a loop on to be kept. */
void preprocess_chain_cut_keep(struct chain *chain, size_t row);

#endif
