/* The `preprocess` section of a pipeline file. */
#include "preprocess/plan/options.h"

#include "core/base/memory.h"
#include "preprocess/operators/operator.h"

#include <stdlib.h>

static const char *const LAST[] = {"short", "drop", "repeat", NULL};
static const char *const SHUFFLE[] = {"full", "none", "windowed", NULL};
static const char *const ORDER[] = {"deterministic", "relaxed", NULL};
static const char *const DELIVERY[] = {"exactly_once", "at_least_once", "at_most_once", NULL};

static const struct cfg_key BATCH[] = {
    CFG_U64(struct preprocess_batch, samples, .fallback = "256", .min = 1,
            .max = PREPROCESS_BATCH_SAMPLES_MAX, .doc = "samples of a batch"),
    CFG_CHOICE(struct preprocess_batch, last, .fallback = "short", .choices = LAST,
               .doc = "treatment of an incomplete last batch of an epoch"),
    CFG_CHOICE(struct preprocess_batch, shuffle, .fallback = "full", .choices = SHUFFLE,
               .doc = "range over which samples are shuffled"),
    CFG_U64(struct preprocess_batch, window, .fallback = "0",
            .doc = "windowed: length of the runs that samples are shuffled within"),
    CFG_CHOICE(struct preprocess_batch, order, .fallback = "deterministic", .choices = ORDER,
               .doc = "deterministic: the same sequence of batches always; relaxed: ready first"),
    CFG_CHOICE(
        struct preprocess_batch, delivery, .fallback = "exactly_once", .choices = DELIVERY,
        .doc =
            "guarantee when a trainer dies. exactly_once: the model is made by each sample once "
            "per epoch; at_least_once: none is lost, some may be in it twice; at_most_once: none "
            "is in it twice, some may be lost"),
    CFG_U64(struct preprocess_batch, group, .fallback = "0", .max = PREPROCESS_GROUP_BATCHES_MAX,
            .doc = "batches leased to a worker in one piece; 0: a sixteenth of an epoch"),
    CFG_SIZE(struct preprocess_batch, sample_bytes_max, .fallback = "64MiB", .min = 1,
             .max = PREPROCESS_PAYLOAD_BYTES_MAX, .doc = "a larger sample fails"),
    CFG_SIZE(struct preprocess_batch, memory, .fallback = "0",
             .doc =
                 "of finished batches on their way to the trainers of a run, and waiting there, at "
                 "most; 0: as the rates and the jitter of workers and trainers ask for, within "
                 "batches.memory of the system file"),
    CFG_END,
};

static const char *const OPERATOR_ORDER[] = {"auto", "as_written", "approximate", NULL};

static const char *const OPERATOR_PLACE[] = {"auto", "pool", "host", NULL};

static const char *const SHARING[] = {"auto", "none", NULL};

static const struct cfg_key PLAN[] = {
    CFG_CHOICE(struct preprocess_planned, order, .fallback = "auto", .choices = OPERATOR_ORDER,
               .doc =
                   "order of the operators. auto: the cheapest, by what was measured, that makes "
                   "the same batches; approximate: those that make pictures smaller come first "
                   "too, which changes pixels a little"),
    CFG_CHOICE(struct preprocess_planned, place, .fallback = "auto", .choices = OPERATOR_PLACE,
               .doc = "place of the last operators that make tensors larger (cast, one_hot, pad, "
                      "normalize, to_chw). pool: in workers; host: in the trainer, by the client "
                      "library; auto: there where batches come over TCP or compressed, and the "
                      "bytes that it saves cost more, by what was measured"),
    CFG_CHOICE(struct preprocess_planned, share, .fallback = "auto", .choices = SHARING,
               .doc = "batches that another job makes as well, of another pipeline or of another "
                      "run of this one. auto: they are made once, for all; none: this job's are "
                      "made for it alone"),
    CFG_F64(struct preprocess_planned, tolerance, .fallback = "0.1", .max = 1,
            .doc = "approximate: root mean square of the differences it may make in a tensor, as a "
                   "share of that of its numbers' deviations; checked on records before a run"),
    {.name = "cache",
     .kind = CFG_KIND_NODE,
     .offset = CFG_OFFSET(const struct weir_yaml_node *, struct preprocess_planned, cache_node),
     .doc = "rows that are kept for whoever reads the same samples again: none (default), or "
            "auto, or {after: NAME}, what the operators up to the one of that name make of each; "
            "{after: source}, records that workers cannot read themselves, such as those of "
            "buckets. auto: after the operator that saves most, by what was measured, or none"},
    {.name = "workers",
     .kind = CFG_KIND_NODE,
     .offset = CFG_OFFSET(const struct weir_yaml_node *, struct preprocess_planned, workers_node),
     .doc =
         "workers that the pipeline has while it trains: auto (default), as many as its trainers "
         "need; a number; or {min: A, max: B}, as many as they need within these bounds. The "
         "system file bounds all of them together"},
    CFG_NODE(struct preprocess_planned, policy,
             .doc = "policy by which the number of workers follows the need (default: rates): its "
                    "name, or {policy: NAME} with its options: see below"),
    CFG_END,
};

static const struct cfg_key WORKERS[] = {
    CFG_U64(struct preprocess_workers, min, .fallback = "0", .max = PREPROCESS_WORKERS_MAX,
            .doc = ""),
    CFG_U64(struct preprocess_workers, max, .fallback = "0", .max = PREPROCESS_WORKERS_MAX,
            .doc = ""),
    CFG_END,
};

static const struct cfg_key CACHE[] = {
    CFG_KEY_AS("after", CFG_KIND_TEXT, const char *, struct preprocess_planned, cache_after,
               .required = true, .doc = ""),
    CFG_END,
};

static const struct cfg_key SECTION[] = {
    CFG_NODE(struct preprocess_options, operators, .required = true,
             .doc = "list of operators, each `op: NAME` and its options"),
    {.name = "batch",
     .kind = CFG_KIND_NODE,
     .offset = CFG_OFFSET(const struct weir_yaml_node *, struct preprocess_options, batch_node),
     .doc = "division of the samples into batches: see below"},
    {.name = "plan",
     .kind = CFG_KIND_NODE,
     .offset = CFG_OFFSET(const struct weir_yaml_node *, struct preprocess_options, plan_node),
     .doc = "what Weir may change about how batches are made: see below"},
    {.name = "on_error",
     .kind = CFG_KIND_NODE,
     .offset = CFG_OFFSET(const struct weir_yaml_node *, struct preprocess_options, on_error_node),
     .doc = "a sample that cannot be read: skip it and count it; fail the run, with one error that "
            "names sample and file; or retry: read it again, five times with growing pauses, then "
            "skip it. A limit stops a run that skips more, and a pipeline of whose dataset more "
            "records were refused: {skip: 1%} is the default, {retry: 1%} the same with retries"},
    CFG_END,
};

bool preprocess_keeps_records(const struct preprocess_planned *plan)
{
    return weir_str_equal(plan->cache_after, "source");
}

/* Reads none, auto or {after: NAME}. */
static enum weir_status read_cache(struct preprocess_planned *plan, struct weir_error *err)
{
    const struct weir_yaml_node *node = plan->cache_node;
    const char *word = weir_yaml_text(node);
    if (node == NULL || weir_str_equal(word, "none"))
        return WEIR_OK;
    plan->cache_auto = weir_str_equal(word, "auto");
    if (word != NULL && !plan->cache_auto)
        return weir_yaml_fail(node, err,
                              "preprocess.plan.cache: found '%s', expected none, auto or "
                              "{after: NAME} of the operator after which rows are kept",
                              word);
    enum weir_status status = WEIR_OK;
    if (!plan->cache_auto)
        status = cfg_read(CACHE, CFG_CLOSED, node, "preprocess.plan.cache", NULL, plan, err);
    if (status == WEIR_OK && plan->order == PREPROCESS_APPROXIMATE &&
        !preprocess_keeps_records(plan))
        return weir_yaml_fail(node, err,
                              "preprocess.plan.cache: expected none beside order: approximate, "
                              "which moves operators across any place");
    return status;
}

/* Reads auto, a number, or {min: A, max: B}. */
static enum weir_status read_workers(struct preprocess_planned *plan, struct weir_error *err)
{
    const struct weir_yaml_node *node = plan->workers_node;
    const char *word = weir_yaml_text(node);
    struct preprocess_workers *workers = &plan->workers;
    enum weir_status status = WEIR_OK;
    if (node == NULL || weir_str_equal(word, "auto"))
        return WEIR_OK;
    if (word == NULL)
        status = cfg_read(WORKERS, CFG_CLOSED, node, "preprocess.plan.workers", NULL, workers, err);
    else if (!cfg_parse_u64(word, &workers->min) || workers->min == 0 ||
             workers->min > PREPROCESS_WORKERS_MAX)
        status = weir_yaml_fail(node, err,
                                "preprocess.plan.workers: found '%s', expected auto, a number of "
                                "workers from 1 to %d, or {min: A, max: B}",
                                word, PREPROCESS_WORKERS_MAX);
    else
        workers->max = workers->min;
    if (status == WEIR_OK && workers->max > 0 && workers->min > workers->max)
        return weir_yaml_fail(node, err,
                              "preprocess.plan.workers: found min %lu above max %lu, expected it "
                              "to be at most that",
                              workers->min, workers->max);
    return status;
}

/* Reads the keys of the section itself. */
static enum weir_status read_keys(const struct weir_yaml_node *section,
                                  struct preprocess_options *options, struct weir_error *err)
{
    const struct weir_yaml_node *moved = weir_yaml_get(section, "workers");
    if (moved != NULL)
        return weir_yaml_fail(moved, err,
                              "preprocess.workers: found here, expected in preprocess.plan, as "
                              "preprocess.plan.workers");
    return cfg_read(SECTION, CFG_CLOSED, section, "preprocess", NULL, options, err);
}

static void read_section(const struct weir_yaml_node *root, struct preprocess_options *options,
                         struct cfg_complaints *all)
{
    struct weir_error err;
    const struct weir_yaml_node *section = weir_yaml_get(root, "preprocess");
    cfg_note(all, read_keys(section, options, &err), &err);
    cfg_note(all,
             cfg_read(BATCH, CFG_CLOSED, options->batch_node, "preprocess.batch", NULL,
                      &options->batch, &err),
             &err);
    cfg_note(all,
             cfg_read(PLAN, CFG_CLOSED, options->plan_node, "preprocess.plan", NULL, &options->plan,
                      &err),
             &err);
    cfg_note(all, read_cache(&options->plan, &err), &err);
    cfg_note(all, read_workers(&options->plan, &err), &err);
    cfg_note(all, cfg_on_error_read(options->on_error_node, &options->on_error, &err), &err);
    if (options->batch.shuffle == PREPROCESS_SHUFFLE_WINDOWED && options->batch.window == 0)
        cfg_note(all,
                 weir_yaml_fail(options->batch_node, &err,
                                "preprocess.batch.window: found none, expected how many samples "
                                "are shuffled together, as shuffle is windowed"),
                 &err);
}

enum weir_status preprocess_options_read(const struct weir_yaml_node *root,
                                         struct preprocess_options *ret_options,
                                         struct weir_error *err)
{
    struct preprocess_options options = {0};
    CFG_AUTO_COMPLAINTS complaints = {0};
    read_section(root, &options, &complaints);
    if (complaints.status == WEIR_OK)
        *ret_options = options;
    return cfg_complaints_end(&complaints, err);
}

const char *preprocess_delivery_name(enum weir_delivery delivery)
{
    return DELIVERY[delivery];
}

static bool check_operator(const struct weir_yaml_node *node, struct cfg_complaints *all)
{
    struct weir_error err;
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&PREPROCESS_OPERATORS, NULL, node, "preprocess.operators", &opened, &err);
    free(opened.memory);
    return cfg_note(all, status, &err);
}

bool preprocess_options_check(const struct weir_yaml_node *root, struct cfg_complaints *complaints)
{
    struct preprocess_options options = {0};
    bool is_good = true;
    if (weir_yaml_get(root, "preprocess") == NULL)
        return false; /* the orchestrator misses it */
    read_section(root, &options, complaints);
    for (size_t i = 0; i < weir_yaml_length(options.operators); i++)
        is_good = check_operator(weir_yaml_at(options.operators, i), complaints) && is_good;
    return is_good && options.operators != NULL;
}

static enum weir_status print_operator(const struct weir_yaml_node *node, struct weir_buf *out,
                                       struct weir_error *err)
{
    struct cfg_opened opened = {0};
    enum weir_status status =
        cfg_plugin_open(&PREPROCESS_OPERATORS, NULL, node, "preprocess.operators", &opened, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_printf(out, "    - op: %s\n", opened.plugin->name);
    cfg_print(opened.plugin->options, opened.options, 6, out);
    free(opened.memory);
    return WEIR_OK;
}

enum weir_status preprocess_options_print(const struct weir_yaml_node *root, struct weir_buf *out,
                                          struct weir_error *err)
{
    struct preprocess_options options = {0};
    enum weir_status status = preprocess_options_read(root, &options, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_append_text(out, "preprocess:\n  operators:\n");
    for (size_t i = 0; i < weir_yaml_length(options.operators) && status == WEIR_OK; i++)
        status = print_operator(weir_yaml_at(options.operators, i), out, err);
    weir_buf_append_text(out, "  batch:\n");
    cfg_print(BATCH, &options.batch, 4, out);
    weir_buf_append_text(out, "  plan:\n");
    cfg_print(PLAN, &options.plan, 4, out);
    weir_buf_append_text(out, "  on_error: ");
    cfg_on_error_print(&options.on_error, out);
    weir_buf_append_text(out, "\n");
    return status;
}

void preprocess_options_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "## preprocess\n\n");
    cfg_document(SECTION, out);
    weir_buf_append_text(out, "\n### preprocess.batch\n\n");
    cfg_document(BATCH, out);
    weir_buf_append_text(out, "\n### preprocess.plan\n\n");
    cfg_document(PLAN, out);
    cfg_registry_document(&PREPROCESS_OPERATORS, "### op", out);
}
