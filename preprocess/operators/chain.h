/* The operators of a job, planned once and applied to one batch after the other. A chain begins with
 * the column `payload` (bytes, one row per sample), the record, and must end in tensors: a record that
 * was read (struct preprocess_operator, reads_records) does not leave it. Owned by: a
 * worker's job, or the dispatcher, which merges partial fits. Not shared between threads. */
#ifndef WEIR_PREPROCESS_OPERATORS_CHAIN_H
#define WEIR_PREPROCESS_OPERATORS_CHAIN_H

#include "core/config/complaints.h"
#include "preprocess/operators/algebra.h"
#include "preprocess/operators/operator.h"

enum {
    CHAIN_OPERATORS_MAX = 32,
    CHAIN_FITTED_MAX = 8,
    CHAIN_PIECE_BYTES = 64 << 10,
    CHAIN_PARTIAL_BYTES_MAX = 12 << 20, /* partial fits of all operators: as WEIR_FITTED_MAX */
};

struct chain;

/* Cost of one operator so far; none for one whose work another one does. */
struct chain_cost {
    const char *name;
    int64_t spent_ns;    /* of CPU time; one that waits for others (exec): by the clock */
    int64_t programs_ns; /* CPU time of those others */
    uint64_t taken;      /* bytes of what it read */
    uint64_t bytes;      /* made */
    uint64_t rows;       /* rows of its input */
    uint64_t failed;     /* rows it could not read */
    uint64_t filtered;   /* rows it dropped */
    uint64_t warnings;   /* rows it could read, with something odd about them */
    const char *reason;  /* of the newest failed row; "" when there is none */
};

/* `operators` (a YAML list) and `records` (NULL: nothing is known of them) must live as long as the chain. INVALID with
 * place and expectation. */
enum weir_status preprocess_chain_new(const struct weir_yaml_node *operators,
                                      const struct operator_records *records,
                                      struct chain **ret_chain,
                                      struct weir_error *err) WEIR_MUST_USE;
/* The same for people: adds the first mistake, and those of all operators that read records, which do not depend on
 * each other. Returns true, and the chain, when there is none. */
bool preprocess_chain_check(const struct weir_yaml_node *operators,
                            const struct operator_records *records, struct chain **ret_chain,
                            struct cfg_complaints *all);
void preprocess_chain_free(struct chain *chain);
WEIR_DEFINE_AUTO(chain, preprocess_chain_free)

/* True when operators must be fitted before preprocess_chain_run(). */
bool preprocess_chain_wants_fit(const struct chain *chain);
/* True when that takes samples; else preprocess_chain_fit_finish() can be called at once. */
bool preprocess_chain_wants_samples(const struct chain *chain);
/* Checks the files that operators name. INVALID, NOT_FOUND, LIMIT, with file and line. */
enum weir_status preprocess_chain_check_files(struct chain *chain,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Takes up fitted state as made by preprocess_chain_fit_finish(). Empty is fine when nothing is fitted. */
enum weir_status preprocess_chain_fit_load(struct chain *chain, struct weir_bytes fitted,
                                           struct weir_error *err) WEIR_MUST_USE;
/* Before the first merge: the fitted state of the model that training starts from, to which
 * vocabularies only append. A chain without them takes no notice of it. */
enum weir_status preprocess_chain_fit_extend(struct chain *chain, struct weir_bytes fitted,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Takes in a packed partial fit, in group order; finish seals the result with names and digest. */
enum weir_status preprocess_chain_fit_merge(struct chain *chain, struct weir_bytes partial,
                                            struct weir_error *err) WEIR_MUST_USE;
enum weir_status preprocess_chain_fit_finish(struct chain *chain, struct weir_buf *fitted,
                                             struct weir_error *err) WEIR_MUST_USE;

/* Partial fits of the fitted operators over the batches of one group. Zeroed is empty. */
struct chain_partial {
    size_t count;                         /* of fitted operators; 0: nothing is folded yet */
    struct weir_buf of[CHAIN_FITTED_MAX]; /* per fitted operator, in their order */
};
void preprocess_chain_partial_fini(struct chain_partial *partial);
/* Appends it as it travels. */
void preprocess_chain_partial_pack(const struct chain_partial *partial, struct weir_buf *out);

/* True when an operator gives samples length classes. */
bool preprocess_chain_has_classes(const struct chain *chain);
/* The class of each sample, as struct preprocess_operator.classify; after preprocess_chain_fit_load(). */
void preprocess_chain_classify(const struct chain *chain, const uint64_t *ids, size_t count,
                               uint8_t *ret_classes);

/* True when rows of payload may be left where they lie (column.h, places). */
bool preprocess_chain_reads_in_place(const struct chain *chain);
/* True when an operator reads event times. */
bool preprocess_chain_reads_times(const struct chain *chain);
/* True when an operator takes what it reads for UTF-8, and repairs it. */
bool preprocess_chain_repairs(const struct chain *chain);
/* The empty payload column: append bytes and call preprocess_column_end_row() for each row. */
struct column *preprocess_chain_begin(struct chain *chain);
/* Applies every operator to the rows of payload. Flags (one per row, valid until the next call) say
 * what has become of each row (OPERATOR_ROW_…). All rows are still in the output columns; if the batch drops rows,
 * those that are OK. */
const uint8_t *preprocess_chain_run(struct chain *chain, const struct operator_batch *batch);
/* True when the last preprocess_chain_run() or preprocess_chain_fold() is not over, and has made nothing: an operator
 * waits for something. Call it again, with the same rows. */
bool preprocess_chain_waits(const struct chain *chain);
/* From now on only the operators before place `end`, and before the first that is fitted, run: nothing leaves the
 * chain. */
void preprocess_chain_stop_before(struct chain *chain, size_t end);
/* One operator, and its columns after the last preprocess_chain_run(): of a loop only the last rows are there. */
struct chain_seen {
    const char *name;
    uint32_t written; /* place of the operator in the file */
    bool is_absorbed; /* the operator before has done its work */
    bool repairs;     /* what is no UTF-8 in the column that it reads */
    const struct column *in;
    const struct column *made;
    size_t made_count;
};
typedef void chain_step_fn(void *owner, const struct chain_seen *seen);
void preprocess_chain_walk(struct chain *chain, chain_step_fn *visit, void *owner);
/* Rows that failed in the last preprocess_chain_run(), with reasons. */
const struct operator_failures *preprocess_chain_failures(const struct chain *chain);
/* Instead of preprocess_chain_run(): applies the operators before a fitted one, and folds the rows
 * into `partial`. */
void preprocess_chain_fold(struct chain *chain, const struct operator_batch *batch,
                           struct chain_partial *partial);

/* The tensors that leave the chain. Their values may be taken away after a run; between preprocess_chain_begin() and
 * the run they may be lent memory (weir_buf_lend), which they are then made in. */
size_t preprocess_chain_outputs(const struct chain *chain);
/* Description of one, known before there is a batch. */
const struct column_about *preprocess_chain_output_about(const struct chain *chain, size_t index);
struct column *preprocess_chain_output(struct chain *chain, size_t index);
/* Returns a bound of its integers, which are not negative; 0: none is known, or not before operators are fitted. */
uint64_t preprocess_chain_output_below(const struct chain *chain, size_t index);
/* The same by what preprocess_chain_fit_extend() was given; 0: nothing, or the bound is none of a fitted operator. */
uint64_t preprocess_chain_output_below_before(const struct chain *chain, size_t index);

/* Bytes of a row of all dense outputs together. */
uint64_t preprocess_chain_row_bytes(const struct chain *chain);

size_t preprocess_chain_operators(const struct chain *chain);
/* Of the operator at place `written` of the pipeline file. */
struct chain_cost preprocess_chain_cost(const struct chain *chain, size_t written);

/* ---- fusion (C18; chain_fuse.c) ---- */

/* Size, in bytes of its widest column, of the pieces that a batch is brought through neighbours in, for comparisons:
 * CHAIN_PIECE_BYTES, if nothing is said. SIZE_MAX: each operator takes the whole batch before the next one does. */
void preprocess_chain_set_piece(struct chain *chain, size_t bytes);

enum chain_fusion { CHAIN_ALONE, CHAIN_IN_LOOP, CHAIN_ABSORBED };
/* Returns how the operator at place `written` runs: by itself or as the first of others, in one loop with the one that
 * runs before it, or as a part of that one. */
enum chain_fusion preprocess_chain_fusion_of(struct chain *chain, size_t written);

/* ---- order (C18) ---- */

/* Facts about the operator at place `written`, from which follows what may change places with it. */
struct algebra_facts preprocess_chain_facts(const struct chain *chain, size_t written);
/* Places, as written, of the operators in the order in which they run. */
void preprocess_chain_order(const struct chain *chain, uint8_t ret_order[CHAIN_OPERATORS_MAX]);
/* True when an order is the one that this chain has. */
bool preprocess_chain_has_order(const struct chain *chain, const uint8_t *order);
/* Appends the names of the operators in an order. */
void preprocess_chain_print_order(const struct chain *chain, const uint8_t *order,
                                  const char *between, struct weir_buf *out);
/* Plans the operators of `chain` in another order: `order[i]` is the place, as written, of the one that
 * runs as number i. Chance, failures and costs go by places as written. By the exact law operators know no more of
 * each other than in `chain` (struct operator_next). INVALID when operators would read other columns there, or make
 * others. `chain` is free to go afterwards. */
enum weir_status preprocess_chain_reorder(const struct chain *chain, const uint8_t *order,
                                          enum algebra_law law, struct chain **ret_chain,
                                          struct weir_error *err) WEIR_MUST_USE;

/* ---- place (C18) ---- */

/* Number of operators at the end of an order that the consumer of the batches can take: total, row by row, each of one
 * tensor. */
size_t preprocess_chain_sinkable(const struct chain *chain, const uint8_t *order);
/* Plans the operators of `chain` in the order that it has, but for the last `count` of them: what leaves is made by
 * those before. What is known of it before there is a batch (preprocess_chain_output_about(),
 * preprocess_chain_row_bytes()) stays what the consumer makes of it. INVALID when they are more than sinkable.
 * `chain` is free to go afterwards. */
enum weir_status preprocess_chain_sink(const struct chain *chain, size_t count,
                                       struct chain **ret_chain,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Returns the steps that are left to the consumer. */
const struct weir_tensor_steps *preprocess_chain_left(const struct chain *chain);

/* ---- rows that are kept (C19) ---- */

/* Rows of a batch that are known behind the cut, and what is to be done with those that are not. */
struct chain_kept {
    const uint8_t *is_known; /* one per row; their payload is empty */
    /* Returns the row as it was kept, borrowed until the next call. False: it is lost, and so is the batch. */
    bool (*load)(void *owner, size_t row, struct weir_bytes *ret_row);
    /* Takes a row that is OK at the cut, borrowed. */
    void (*keep)(void *owner, size_t row, struct weir_bytes bytes);
    void *owner;
};
/* Plans the operators with a cut after the operator called `after`: what runs before it stays before it, and neither
 * side knows of the other (absorbs, reads_ahead). INVALID, with what to do, when what is there depends on more than
 * the record, or cannot be kept. `chain` is free to go afterwards. */
enum weir_status preprocess_chain_materialise(const struct chain *chain, const char *after,
                                              struct chain **ret_chain,
                                              struct weir_error *err) WEIR_MUST_USE;
/* The same with a cut after so many operators, of a chain in the order in which they are written. */
enum weir_status preprocess_chain_cut_after(const struct chain *chain, size_t cut,
                                            struct chain **ret_chain,
                                            struct weir_error *err) WEIR_MUST_USE;
/* True when rows could be kept after the operator at that place but for making no more than its reader asks for. */
bool preprocess_chain_makes_for_one(const struct chain *chain, size_t place);
/* True when a cut after so many operators parts one from another that does its work, so that both would have to run. */
bool preprocess_chain_cut_parts(const struct chain *chain, size_t cut);
/* Lists the operators, by place as written, that make the columns at the cut; returns how many. */
size_t preprocess_chain_cut_makers(const struct chain *chain, uint8_t ret_makers[COLUMNS_MAX]);
/* Number of operators that run before the cut; 0: there is none. */
size_t preprocess_chain_cut_at(const struct chain *chain);
/* Appends what the rows at the cut depend on besides the record and fitted state: operators as written, with versions
 * and options, and what is known of the records. */
void preprocess_chain_cut_print(const struct chain *chain, struct weir_buf *out);
/* True when one of them is fitted. */
bool preprocess_chain_cut_is_fitted(const struct chain *chain);
/* Has the next preprocess_chain_run() of a chain with a cut use rows that are kept. `kept` is borrowed until then. */
void preprocess_chain_use_kept(struct chain *chain, const struct chain_kept *kept);
/* True when a row was lost in the last preprocess_chain_run(), which has made nothing. */
bool preprocess_chain_has_lost(const struct chain *chain);

#endif
