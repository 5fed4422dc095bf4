/* Operators: each is one step from payload bytes to tensors, in one file with one const table; the
 * registry names it. Operators are pure: no clock, file, socket or log, so that
 * the same samples always make the same batch, on any worker.
 *
 * A batch is a set of named columns with one row per sample (column.h). An operator is planned once
 * per job: it sees the columns that reach it and says which columns leave. Then it is applied to
 * one batch after the other; its own columns keep their memory from batch to batch, so nothing is
 * allocated per sample. A row that cannot be read is marked failed and left empty: it becomes a
 * counted hole. */
#ifndef WEIR_PREPROCESS_OPERATORS_OPERATOR_H
#define WEIR_PREPROCESS_OPERATORS_OPERATOR_H

#include "core/base/rng.h"
#include "core/config/csv.h"
#include "core/config/plugin.h"
#include "preprocess/operators/column.h"

enum { OPERATOR_REASON_MAX = 160 };
/* State of a row: one that is not OK leaves the batch, as a hole of its kind. */
enum { OPERATOR_ROW_OK = 0, OPERATOR_ROW_FAILED = 1, OPERATOR_ROW_FILTERED = 2 };

/* Facts about the records of a job, which are tables: from the datasets that they come from. Borrowed: it lives as long
 * as the chain. */
struct operator_records {
    const char *dataset;        /* the first of them, for messages */
    struct cfg_csv dialect;     /* of its source */
    const char *const *columns; /* names of fields, "" where one has none */
    size_t column_count;        /* 0: not known */
    const char *other;          /* another dataset, whose columns differ; NULL: there is none */
    bool are_awaited;           /* names come with the data: until then any is good */
    const char *const *missing; /* texts that stand for nothing, in one of the datasets */
    size_t missing_count;
};

/* The columns between two operators, in order. While planning, an operator takes columns out and
 * puts its own in; what it does not touch passes through. */
struct operator_schema {
    size_t count;
    struct column_about column[COLUMNS_MAX];
    /* a reader has left it: only readers take it without being told its name */
    bool is_read[COLUMNS_MAX];
    /* column 0 is these; NULL: it is not, or nothing is known */
    const struct operator_records *records;
    struct weir_arena *arena; /* of names of elements (column.h): lives as long as the chain */
};

/* The column `on` of one of the kinds (a mask of 1 << kind), or the newest such column that no reader has left when
 * `on` is NULL. INVALID names what was found and what is there. */
enum weir_status preprocess_operator_schema_pick(const struct operator_schema *schema,
                                                 const char *on, unsigned kinds, int *ret_column,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* The column `on` of bytes or text, or when `on` is NULL the record: the payload, or the bytes or text that stand in
 * its place; if there are none, the newest such column. INVALID as above. */
enum weir_status preprocess_operator_schema_pick_record(const struct operator_schema *schema,
                                                        const char *on, int *ret_column,
                                                        struct weir_error *err) WEIR_MUST_USE;
/* The same as the first for a column of numbers, dense or ragged, of one of the types (a mask of 1 << type). */
enum weir_status preprocess_operator_schema_pick_numbers(const struct operator_schema *schema,
                                                         const char *on, unsigned types,
                                                         int *ret_column,
                                                         struct weir_error *err) WEIR_MUST_USE;
/* Replaces column `index` by `about`, in the same place. INVALID when another column has the name. */
enum weir_status preprocess_operator_schema_replace(struct operator_schema *schema, int index,
                                                    const struct column_about *about,
                                                    struct weir_error *err) WEIR_MUST_USE;
/* INVALID when it is no name of a column: empty, or too long. NULL, an option that is absent, is fine. */
enum weir_status preprocess_operator_schema_check_name(const char *name,
                                                       struct weir_error *err) WEIR_MUST_USE;

/* Identity of the samples of a batch, which chance depends on. */
struct operator_batch {
    size_t rows;
    const uint64_t *ids;  /* one per row; NULL: all 0 */
    const int64_t *times; /* event times, one per row; NULL: no operator reads them */
    /* one per row; NULL: they are not known. Nothing but fold() may read them … */
    const int64_t *labels;
    uint32_t label_kind; /* … as the enum weir_label_kind says (core/wire/sample.h) */
    uint64_t seed;       /* of the job */
    uint32_t epoch;
    bool trains; /* false: nothing is left to chance */
    /* rows that are marked leave the columns, as soon as that saves work and at the end */
    bool drops;
    /* Optional: place for the id of the row under way, to be read after a crash. */
    volatile uint64_t *under_way;
};

enum { OPERATOR_FAILURES_MAX = 32 };

/* The first rows of a batch that have failed, by row, with reasons: the same in whatever order operators run. */
struct operator_failures {
    size_t count;
    struct operator_failure {
        size_t row;
        uint32_t step; /* place of the operator, as written */
        char reason[OPERATOR_REASON_MAX];
    } of[OPERATOR_FAILURES_MAX];
};

/* The part of a picture that an operator reads, and how large it makes it. */
struct picture_window {
    uint32_t top, left, height, width;
    uint32_t out_height, out_width;
};

/* The operator that reads what another one makes. */
struct operator_next {
    const struct preprocess_operator *op;
    const void *state;
    uint32_t step;
};

/* A batch, or a piece of it, on its way through one operator. */
struct operator_call {
    size_t rows;
    const struct column *in;          /* the column picked in plan() */
    const struct column *const *more; /* those of plan.more, in their order */
    size_t more_count;
    /* the operator's own columns, one per output: empty, or with the rows before these */
    struct column *out;
    /* the reader that it is to work for (absorbs, reads_ahead); NULL: none */
    const struct operator_next *next;
    uint8_t *failed; /* OPERATOR_ROW_… of each row, over all operators */
    const struct operator_batch *batch;
    const uint64_t *ids; /* one per row of this call, or NULL */
    size_t first;        /* row of the batch that is row 0 of this call */
    /* what number each row of the batch had before others left; NULL: none has */
    const uint32_t *origins;
    size_t partial_bytes_max;         /* fold(): maximum size of the partial fit */
    struct operator_failures *list;   /* NULL: not wanted */
    uint32_t step;                    /* the operator's place in the chain, as written */
    uint64_t failures;                /* rows this call has marked as failed */
    uint64_t warnings;                /* rows it could read, with something odd about them */
    char reason[OPERATOR_REASON_MAX]; /* of the newest */
    uint64_t filtered;                /* rows this call has dropped */
    bool waits;                       /* nothing is made yet: call again with the same batch */
};

/* Marks a row that is OK as failed and keeps the reason. The text names what was found and what was expected. */
void preprocess_operator_fail_row(struct operator_call *call, size_t row, const char *format, ...)
    WEIR_PRINTF(3, 4);
/* Drops a row that is OK: a hole, counted as filtered. */
void preprocess_operator_filter_row(struct operator_call *call, size_t row);

/* Makes the first output row by row: `read` appends what it makes of a row that is OK, and nothing
 * of one that it fails. */
void preprocess_operator_read_rows(void *owner, struct operator_call *call,
                                   void (*read)(void *owner, struct operator_call *call,
                                                size_t row));

/* Makes the first output, dense rows of `width` numbers: `read` writes those of a row that is OK; they are zeros
 * before, and stay so in the other rows. */
void preprocess_operator_read_numbers(void *owner, struct operator_call *call, size_t width,
                                      void (*read)(void *owner, struct operator_call *call,
                                                   size_t row, float *to));

/* Masks of element types. */
enum {
    OPERATOR_FLOATS = 1 << WEIR_F32 | 1 << WEIR_F64,
    OPERATOR_INTEGERS = 1 << WEIR_I32 | 1 << WEIR_I64 | 1 << WEIR_U32,
    OPERATOR_NUMBERS = OPERATOR_FLOATS | OPERATOR_INTEGERS | 1 << WEIR_U8,
};

/* The chance of a row at a step: the same for the same seed, sample and epoch, on any worker. */
void preprocess_operator_draw(const struct operator_call *call, size_t row, uint32_t step,
                              struct weir_rng *ret_rng);

enum { OPERATOR_OUTPUTS_MAX = 2 };

/* Behaviour of an operator, from which follows what may change places with it (algebra.h). One that declares nothing
 * may fail rows, and stays where it was written among those that touch the same column. An element is a number, a
 * pixel, or a character. */
enum operator_trait {
    OPERATOR_TOTAL = 1 << 0, /* marks no row, and warns about none */
    OPERATOR_DROPS = 1 << 1, /* marks rows as filtered alone, and warns about none */
    /* makes each element of the one in the same place, and of nothing else; a character in as
     * many bytes */
    OPERATOR_ELEMENTWISE = 1 << 2,
    /* keeps elements of a row as they are; which, only their number and sizes say */
    OPERATOR_SELECTS = 1 << 3,
    OPERATOR_WIDENS = 1 << 4, /* puts each number into a type in which it is the same number */
    OPERATOR_TESTS_LENGTHS = 1 << 5, /* reads how long rows are, and no more */
    OPERATOR_TESTS_NUMBERS = 1 << 6, /* reads elements as doubles, and changes none */
    OPERATOR_RESAMPLES = 1 << 7,     /* makes each pixel a weighted mean of pixels near its place */
    /* … but for what it sums over a picture, or for their places in it */
    OPERATOR_NEARLY_ELEMENTWISE = 1 << 8,
    /* makes another row of the same record by chance, or where nothing is trained */
    OPERATOR_VARIES = 1 << 9,
    OPERATOR_HEEDLESS = 1 << 10, /* makes the same, whoever reads it (reads_ahead) */
};

/* Effect of an operator on the schema: takes one column, or several, and puts one or two in the
 * place of the first; without outputs, or if it reads records, it only reads the column, which stays. One that keeps
 * what it reads puts its own after all columns, too. */
struct operator_plan {
    int in; /* index of the column it reads */
    size_t more_count;
    int more[COLUMNS_MAX]; /* others that it takes away too */
    bool keeps;            /* it takes none away */
    size_t outputs;
    struct column_about output[OPERATOR_OUTPUTS_MAX];
    size_t partial_bytes; /* fold(): size of the partial fit, if the plan alone determines it */
    unsigned traits;      /* those that it has with these options, besides those of the table */
};

/* Plans a single output with the name that the option `as` gave. INVALID when that is no name of a column. */
enum weir_status preprocess_operator_plan_output(struct operator_plan *plan, const char *as,
                                                 enum column_kind kind, enum weir_dtype type,
                                                 uint32_t width,
                                                 struct weir_error *err) WEIR_MUST_USE;

/* Fitting (C16). A partial fit covers one group; partial fits are merged in group order, so that any number of workers
 * gives the same result, to the bit. An operator whose fitted state is given by a file that an option names has
 * neither fold() nor merge(), and reads the file in finish(), in the dispatcher alone. */
struct operator_fit {
    /* Adds the rows that are OK to `partial`, empty at first. */
    void (*fold)(void *state, const struct operator_call *call, struct weir_buf *partial);
    /* Merges the next `partial` into `state`. INVALID when it is malformed. */
    enum weir_status (*merge)(void *state, struct weir_bytes partial, struct weir_error *err);
    /* Required. Appends the fitted state made of everything merged. */
    enum weir_status (*finish)(void *state, struct weir_buf *fitted, struct weir_error *err);
    /* Required. Takes up fitted state before the first apply(). INVALID when it does not fit the plan. */
    enum weir_status (*load)(void *state, struct weir_bytes fitted, struct weir_error *err);
    /* Optional. Before the first merge(): the fitted state of the model that training starts from,
     * which finish() may only append to. */
    enum weir_status (*extend)(void *state, struct weir_bytes fitted, struct weir_error *err);
    /* Optional, after load(). Returns a bound of the integers of its first output, which are not negative. */
    uint64_t (*bound)(const void *state);
    /* Optional, after load(). The length class (preprocess/order/buckets.h) of each sample of the set it was fitted
     * on; `ids` rise. A sample that is not known has class 0. */
    void (*classify)(const void *state, const uint64_t *ids, size_t count, uint8_t *ret_classes);
};

struct preprocess_operator {
    CFG_PLUGIN;
    size_t state_size;              /* zeroed and owned by the caller */
    const struct operator_fit *fit; /* NULL: it knows all it needs from its options */

    /* apply() appends a row for each row, which depends on no other: the chain may hand it the batch in pieces, and
     * brings each through neighbours that are such, so that it stays in the cache from one to the next. */
    bool by_row;
    /* Optional. The operator whose work it does on the way when that one, call->next, reads what it makes: then it
     * makes what that one would. Both take one row after the other. */
    const struct preprocess_operator *absorbs;
    /* Optional. Tells it after plan() that it is to. */
    void (*absorb)(void *state);
    /* It makes of a picture no more than call->next reads, if that one has a window(). */
    bool reads_ahead;
    /* apply() reads each row once, by column_row(), and may be left at any such read, to be called again: it holds
     * nothing meanwhile that it would have to give back. So, if all that read the payload are such, they are given
     * small samples where they lie, in files of others that may be cut short. */
    bool in_place;
    /* It reads fields of records: the column that it reads stays, for others that read it, and its outputs come after
     * all columns. plan() chooses the column by preprocess_operator_schema_pick_record(). */
    bool reads_records;
    /* apply() may need several calls for a batch, so that each is short: it sets call->waits. It stands
     * before all operators that fold. */
    bool may_wait;
    /* It reads no column, but what comes beside the samples: their labels, or their event times. */
    bool reads_no_column;
    /* It reads the event times of the batch. */
    bool reads_times;
    /* It takes what it reads for UTF-8: other bytes become U+FFFD, or nothing. */
    bool repairs;
    /* A row of its output depends on the other rows of the batch: it comes last, when all rows that fail have
     * failed. */
    bool by_batch;
    unsigned traits; /* enum operator_trait, whatever its options */
    /* Raised whenever it makes other bytes of the same row: what is kept of it is made again (C19). */
    uint32_t version;

    /* Required. Chooses the column it reads and describes those it makes; keeps in `state` what
     * apply() needs. `options` lives as long as the state. */
    enum weir_status (*plan)(void *state, const void *options, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err);
    /* Required. Fills call->out with one row per row of call->in, or marks rows. */
    void (*apply)(void *state, struct operator_call *call);
    /* Optional. Returns the part that apply() will read of the picture in row `row`, of height x width pixels. */
    struct picture_window (*window)(const void *state, const struct operator_call *call, size_t row,
                                    uint32_t height, uint32_t width);
    /* Optional. Returns what apply() does as a step that the consumer of a batch can take instead; NULL: it cannot. An
     * operator that has one is TOTAL. The step belongs to the state. */
    const struct weir_tensor_step *(*step)(const void *state);
    /* Optional. Returns the CPU time that processes of its own have used so far. */
    int64_t (*programs_ns)(const void *state);
    /* Optional. Releases what plan(), apply() and fit->load() acquired; not the state itself. */
    void (*fini)(void *state);
};

/* True when it is fitted on samples. */
static inline bool operator_folds(const struct preprocess_operator *op)
{
    return op->fit != NULL && op->fit->fold != NULL;
}

CFG_REGISTRY(operator, struct preprocess_operator, PREPROCESS_OPERATORS)

#endif
