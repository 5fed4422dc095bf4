/* Topics: what `weir` asks and orders, as JSON in and JSON out (docs/reference/json.md). A topic answers at once or
 * later; it answers exactly once. To add one: write a function and name it in topics.c. */
#ifndef ORCHESTRATOR_TOPICS_TOPIC_H
#define ORCHESTRATOR_TOPICS_TOPIC_H

#include "orchestrator/erasures/erasure.h"
#include "orchestrator/pipeline/pipeline.h"

#include <jansson.h>

struct rehearsal;
struct erase_requests;

/* The questions of weir that are not answered yet, and what is asked about. Owned by: struct orchestrator. */
struct topics {
    struct context *context;
    struct runs *runs;
    struct evaluators *evaluators;
    struct pipelines *pipelines;
    struct erasures *erasures;
    struct weir_rpc_server *server; /* of all messages to the orchestrator */
    struct topic_call *first;
    int64_t started_ms; /* of this process */
};

/* One question on its way to its answer. Freed by the answer. */
struct topic_call {
    struct topics *all;
    struct context *context;
    struct topic_call *next;
    struct weir_route route;
    json_t *arguments; /* an object */
    json_t *collected; /* what a topic gathers until it answers; may be NULL */
    void (*forget)(struct topic_call *call); /* drops what the topic waits for; may be NULL */
    char *text;                              /* a topic's own */
    int64_t number;                          /* a topic's own */
    struct pipeline *pipeline;               /* a topic's own */
    struct rehearsal *rehearsal;             /* a topic's own */
    struct erase_requests *requests;         /* a topic's own */
};

/* Consumes `json` and the call. */
void topic_answer(struct topic_call *call, json_t *json);
/* Consumes the call. */
void topic_refuse(struct topic_call *call, const struct weir_error *err);
/* The same with an error of its own, raised as weir_fail() does. */
#define topic_fail(call, status, ...)                                   \
    do {                                                                \
        struct weir_error topic_error;                                  \
        weir_ignore(weir_fail(&topic_error, (status), __VA_ARGS__));    \
        topic_refuse((call), &topic_error); /* it carries the status */ \
    } while (0)
/* Drops what is not answered. */
void orchestrator_topics_free(struct topics *topics);

/* The text under `key`, or `fallback` when it is absent or no text. */
const char *topic_text(const struct topic_call *call, const char *key, const char *fallback);
/* True when it is there and true. */
bool topic_flag(const struct topic_call *call, const char *key);
int64_t topic_number(const struct topic_call *call, const char *key, int64_t fallback);
/* The pipeline called `pipeline` in the arguments, or the only or newest one. NULL: refused already. */
struct pipeline *topic_pipeline(struct topic_call *call);

/* `from` and `to` of the arguments; all of time where they are absent. */
enum weir_status topic_interval(const struct topic_call *call, int64_t *ret_from, int64_t *ret_to,
                                struct weir_error *err) WEIR_MUST_USE;
/* The model asked for, or the newest one of the pipeline; NOT_FOUND when its files are gone. */
enum weir_status topic_choose_model(const struct topic_call *call, const struct pipeline *pipeline,
                                    char **ret_model, struct weir_error *err) WEIR_MUST_USE;

struct id_blocks;
/* {"samples", "models", "milliseconds"}: which models have seen one of `ids`. */
enum weir_status topic_lineage_json(const struct topic_call *call, const struct id_blocks *ids,
                                    json_t **ret_json, struct weir_error *err) WEIR_MUST_USE;
/* Appends what a model learnt from: its own set, then its parent's, back to the initial weights. */
enum weir_status topic_ancestors_json(const struct topic_call *call, const char *model,
                                      json_t *ancestors, struct weir_error *err) WEIR_MUST_USE;
/* Appends the newest decisions of the trigger policy of a pipeline (report.c), at most `most`, oldest first. */
enum weir_status topic_add_checks(struct topics *topics, int64_t pipeline, int64_t most,
                                  json_t *checks, struct weir_error *err) WEIR_MUST_USE;
/* The texts or numbers of the arguments that name samples; borrowed from the call's arguments, but for the arrays,
 * which topic_names_fini() frees. INVALID when there are too many, or
 * none and the request is for nothing else either. */
struct topic_names {
    const char **subjects, **keys;
    uint64_t *ids;
    size_t subject_count, key_count, id_count;
};
enum weir_status topic_names_read(const json_t *arguments, struct topic_names *ret_names,
                                  struct weir_error *err) WEIR_MUST_USE;
void topic_names_fini(struct topic_names *names);

struct receipt_claims;
/* The file of an erasure's receipt; the caller frees it. */
char *topic_receipt_path(const struct topics *topics, int64_t erasure) WEIR_MUST_USE;
/* Reads and parses it; NOT_FOUND when it is gone, CORRUPT or INVALID when it is no receipt. */
enum weir_status topic_receipt_load(const struct topics *topics, int64_t erasure,
                                    struct receipt_claims *ret_claims,
                                    struct weir_error *err) WEIR_MUST_USE;

typedef void topic_fn(struct topic_call *call);
topic_fn topic_status, topic_datasets, topic_models, topic_model, topic_model_promote,
    topic_model_rollback, topic_model_export, topic_model_diff, topic_lineage, topic_erase_request,
    topic_erase_requests, topic_erase_plan, topic_erase_status, topic_erase_list,
    topic_erase_receipt, topic_erase_verify, topic_erase_key, topic_predict, topic_evaluate,
    topic_select, topic_report, topic_events, topic_stop, topic_push, topic_doctor, topic_feed_list,
    topic_feed_forget, topic_sets, topic_workers;
topic_fn topic_submit, topic_list, topic_standing, topic_pause, topic_resume, topic_remove,
    topic_rerun;

/* topic_submit() with `dry_run`. */
void topic_dry_run(struct topic_call *call);

void orchestrator_topics_ask(struct topics *topics, struct weir_request *request);

#endif
