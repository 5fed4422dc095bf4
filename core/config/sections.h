/* Sections of a pipeline file that several services read, each for itself: their keys, declared once. */
#ifndef WEIR_CONFIG_SECTIONS_H
#define WEIR_CONFIG_SECTIONS_H

#include "core/config/schema.h"

/* `holdout` of a dataset: samples that no training set ever holds. */
enum cfg_holdout_by { CFG_HOLDOUT_BY_SAMPLE, CFG_HOLDOUT_BY_SUBJECT };
struct cfg_holdout {
    double share;
    int by; /* enum cfg_holdout_by */
};
extern const struct cfg_key CFG_HOLDOUT_KEYS[];

/* `use` of a dataset: the parts of its pipeline that take its samples. */
enum cfg_use {
    CFG_USE_TRIGGER = 1,   /* the trigger policy sees them */
    CFG_USE_SELECTION = 2, /* training sets are chosen from them */
    /* evaluations measure on them; without the others, only those that name the dataset */
    CFG_USE_EVALUATION = 4,
    CFG_USE_ALL = 7
};
#define CFG_USE_DOC                                                                              \
    "parts of the pipeline that take its samples: trigger, selection, evaluation, or a list of " \
    "these; by default all. With evaluation alone they are measured on by the evaluations that " \
    "name the dataset (`on`)"
/* Reads a word or a list; `node` NULL: all. `path` is "datasets[0].use". INVALID with place, and the nearest word; then
 * it is all, so that nothing else is said of it. */
enum weir_status cfg_use_read(const struct weir_yaml_node *node, const char *path,
                              unsigned *ret_uses, struct weir_error *err) WEIR_MUST_USE;
/* Appends "[trigger, selection]". */
void cfg_use_print(unsigned uses, struct weir_buf *out);

/* `preprocess.on_error`: what becomes of a sample that cannot be read, and how many such samples are borne. */
enum cfg_on_error_action { CFG_ON_ERROR_SKIP, CFG_ON_ERROR_FAIL, CFG_ON_ERROR_RETRY };
struct cfg_on_error {
    enum cfg_on_error_action action;
    /* of a job's samples, and of a dataset's records, that may be unreadable: at most 1 */
    double share;
};
/* Reads a word, or {skip: 1%} or {retry: 0.01}; `node` NULL: the default, {skip: 1%}. A word alone bears any number.
 * INVALID with place and expectation. */
enum weir_status cfg_on_error_read(const struct weir_yaml_node *node,
                                   struct cfg_on_error *ret_on_error,
                                   struct weir_error *err) WEIR_MUST_USE;
/* Appends it as it is read: `skip`, or `{skip: 1%}`. */
void cfg_on_error_print(const struct cfg_on_error *on_error, struct weir_buf *out);

/* Returns the list of a pipeline file's datasets, by whichever name it has; NULL: there is none. */
const struct weir_yaml_node *cfg_datasets(const struct weir_yaml_node *root);
/* True of a key of a dataset, such as `source.settle`, that says when something is looked at, or what is done to it
 * later: it may change while there are samples. */
bool cfg_dataset_may_change(const char *path);
/* True of `use` and of a word of its list. */
bool cfg_dataset_is_use(const char *path);

/* `selection.batch_then_sample`: the part of each batch that a step of training learns from. */
enum cfg_in_batch_score { CFG_IN_BATCH_LOSS, CFG_IN_BATCH_GRAD_NORM, CFG_IN_BATCH_UNCERTAINTY };
struct cfg_batch_then_sample {
    int score;    /* enum cfg_in_batch_score */
    int metric;   /* enum weir_doubt, of that score */
    double ratio; /* of the batch's live samples; 0: nothing is chosen, all are learnt from */
};
/* Finds the mapping from the root of a pipeline file; NULL: there is none. */
const struct weir_yaml_node *cfg_batch_then_sample_node(const struct weir_yaml_node *root);
/* The first of selection.score.period that cuts trainings into rounds, each on a set of its own; NULL: none does. */
const struct weir_yaml_node *cfg_period_node(const struct weir_yaml_node *root);
/* Reads the mapping; NULL: nothing is chosen. INVALID with place and expectation. */
enum weir_status cfg_batch_then_sample_read(const struct weir_yaml_node *node,
                                            struct cfg_batch_then_sample *ret_options,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Appends the lines of its keys, indented by so many spaces. */
void cfg_batch_then_sample_print(const struct cfg_batch_then_sample *options, int indent,
                                 struct weir_buf *out);
/* Appends it as a mapping of JSON, or null. */
void cfg_batch_then_sample_print_json(const struct cfg_batch_then_sample *options,
                                      struct weir_buf *out);
extern const struct cfg_key CFG_BATCH_THEN_SAMPLE_KEYS[];

/* The keys of `training` that are not the trainer's alone. */
struct cfg_training {
    uint64_t epochs, seed;
    const char *start_from;
    uint64_t retries;
    int64_t patience, keep_warm;
    uint64_t gpus, ranks;
    bool report_losses;
    bool digests;
};
extern const struct cfg_key CFG_TRAINING_KEYS[];

enum { CFG_GPUS_MAX = 64, CFG_RANKS_MAX = 64 };

/* Rows of a table of keys for `owner`, in which `in` leads to the struct cfg_training: `shared.`, or nothing. */
// clang-format off
#define CFG_TRAINING_ROWS(owner, in)                                                                                \
    CFG_KEY_AS("epochs", CFG_KIND_U64, uint64_t, owner, in epochs, .fallback = "1", .min = 1, .max = 100000,        \
               .doc = "passes over the sample set of a trigger"),                                                   \
    CFG_KEY_AS("seed", CFG_KIND_U64, uint64_t, owner, in seed, .fallback = "1",                                     \
               .doc = "of shuffling and initial weights"),                                                          \
    CFG_KEY_AS("start_from", CFG_KIND_TEXT, const char *, owner, in start_from, .fallback = "previous",             \
               .doc = "previous (the newest model), scratch, a model's name (weir models list), or the absolute "   \
                      "path of a model's file (weir models export --format file)"),                                  \
    CFG_KEY_AS("retries", CFG_KIND_U64, uint64_t, owner, in retries, .fallback = "3", .max = 100,                   \
               .doc = "number of times that a failed trainer is started again"),                                    \
    CFG_KEY_AS("patience", CFG_KIND_DURATION, int64_t, owner, in patience, .fallback = "10m", .min = 1000000,       \
               .doc = "a trainer that says nothing for so long, hung or stopped, has failed"),                      \
    CFG_KEY_AS("keep_warm", CFG_KIND_DURATION, int64_t, owner, in keep_warm, .fallback = "60s", .min = 0,           \
               .doc = "a trainer that is done waits so long for the next run of its pipeline, without a slot, in "  \
                      "place of starting again; 0s: it leaves"),                                                    \
    CFG_KEY_AS("gpus", CFG_KIND_U64, uint64_t, owner, in gpus, .fallback = "0", .max = CFG_GPUS_MAX,                \
               .doc = "slots of the system file's `gpus` that each trainer holds while it works; built-in models "  \
                      "compute on the CPU all the same"),                                                           \
    CFG_KEY_AS("ranks", CFG_KIND_U64, uint64_t, owner, in ranks, .fallback = "1", .min = 1, .max = CFG_RANKS_MAX,   \
               .doc = "processes of a `program` that train together and share each batch, at most its `ranks` of "  \
                      "the system file; `gpus` are divided over them; whatever only uses a model has one; "         \
                      "built-in models: 1"),                                                                        \
    CFG_KEY_AS("report_losses", CFG_KIND_BOOL, bool, owner, in report_losses, .fallback = "false",                  \
               .doc = "keep what each sample cost in the last epoch: a coreset by loss or grad_norm then scores "   \
                      "only what the newest model was not trained on"),                                                \
    CFG_KEY_AS("digests", CFG_KIND_BOOL, bool, owner, in digests, .fallback = "false",                              \
               .doc = "keep a digest of each batch: the audit of a run then tells their sum, which is the same "    \
                      "whoever made the batches; nothing is computed otherwise")
// clang-format on

#endif
