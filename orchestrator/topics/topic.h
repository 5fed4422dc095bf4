/* Topics: what `weir` asks and orders, as JSON in and JSON out (docs/reference/json.md). A topic answers at once or
 * later; it answers exactly once. To add one: write a function and a row of access.def. */
#ifndef ORCHESTRATOR_TOPICS_TOPIC_H
#define ORCHESTRATOR_TOPICS_TOPIC_H

#include "core/base/quota.h"
#include "orchestrator/audit/audit.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/keys/keys.h"
#include "orchestrator/keys/tokens.h"
#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/topics/orders.h"

#include <jansson.h>
#include <sys/queue.h>

struct comparisons;
struct exports;
struct grid_files;
struct rehearsal;
struct erase_requests;
struct webhooks;

enum {
    TOPIC_CALLS_MAX = 512,       /* half of what the selector queues, where many of them end up */
    TOPIC_CALL_BYTES = 64 << 10, /* of the arguments of one: longer ones count as several */
};

/* The requests of weir that are not answered yet, and what they are about. Owned by: struct orchestrator. */
struct topics {
    struct context *context;
    struct pool *pool; /* NULL: workers are somebody else's */
    struct runs *runs;
    struct evaluators *evaluators;
    struct pipelines *pipelines;
    struct comparisons *comparisons;
    struct exports *exports;
    struct erasures *erasures;
    struct webhooks *webhooks;
    struct keys *keys;
    struct tokens *tokens;
    struct audit *audit;
    struct weir_rpc_server *server; /* of all messages to the orchestrator */
    struct topic_orders orders;     /* orders being written to the audit log */
    LIST_HEAD(, topic_call) calls;
    struct weir_quota quota; /* of TOPIC_CALLS_MAX: one key leaves as many to others as it has */
    int64_t started_ms;      /* of this process */
    const char *metrics;     /* address of /metrics; NULL: there is none */
    const char *page;        /* "http://127.0.0.1:9470/", the live page; NULL: there is none */
};

/* Called with the answer, which is the caller's, or with NULL and why it was refused. */
typedef void topic_answered_fn(void *owner, json_t *json, const struct weir_error *err);

/* One request on its way to its answer. Freed by the answer. */
struct topic_call {
    struct topics *all;
    struct context *context;
    LIST_ENTRY(topic_call) link;
    struct weir_route route;
    uint64_t key;                /* of whoever asks … */
    size_t places;               /* … and how many of TOPIC_CALLS_MAX it takes */
    topic_answered_fn *answered; /* takes the answer; NULL: it goes to `route` */
    void *owner;                 /* of `answered` */
    const struct topic_access *access;
    struct topic_sender sender;
    int64_t order;     /* number in the audit log; 0: none */
    json_t *arguments; /* an object */
    json_t *collected; /* what a topic gathers until it answers; may be NULL */
    void (*forget)(struct topic_call *call); /* drops what the topic waits for; may be NULL */
    char *text;                              /* a topic's own */
    int64_t number;                          /* a topic's own */
    uint64_t timer;                          /* a topic's own */
    struct pipeline *pipeline;               /* a topic's own */
    struct rehearsal *rehearsal;             /* a topic's own */
    struct erase_requests *requests;         /* a topic's own */
    struct doctor_cache *cache;              /* a topic's own */
    struct doctor_models *models;            /* a topic's own */
    struct topic_opening *opening;           /* outputs on their way, see run_outputs.h */
    struct audit_chain *chain;               /* a topic's own */
};

/* Consumes `json` and the call. */
void orchestrator_topic_answer(struct topic_call *call, json_t *json);
/* Consumes the call. */
void orchestrator_topic_refuse(struct topic_call *call, const struct weir_error *err);
/* The same with an error of its own, raised as weir_fail() does. */
#define topic_fail(call, status, ...)                                                \
    do {                                                                             \
        struct weir_error topic_error;                                               \
        weir_ignore(weir_fail(&topic_error, (status), __VA_ARGS__));                 \
        orchestrator_topic_refuse((call), &topic_error); /* it carries the status */ \
    } while (0)
/* Drops what is not answered. */
void orchestrator_topics_free(struct topics *topics);

/* The text under `key`, or `fallback` when it is absent or no text. */
const char *orchestrator_topic_text(const struct topic_call *call, const char *key,
                                    const char *fallback);
/* True when it is there and true. */
bool orchestrator_topic_flag(const struct topic_call *call, const char *key);
int64_t orchestrator_topic_number(const struct topic_call *call, const char *key, int64_t fallback);
/* The pipeline called `pipeline` in the arguments, or the only or newest one. NULL: refused already. */
struct pipeline *orchestrator_topic_pipeline(struct topic_call *call);
/* True when the pipeline is not another tenant's than the sender's. */
bool orchestrator_topic_sees(const struct topic_call *call, const struct pipeline *pipeline);
/* The same of a pipeline's number, which nobody may have; 0: it is of the whole platform. */
bool orchestrator_topic_sees_number(const struct topic_call *call, int64_t number);
/* True when such a pipeline has the dataset. */
bool orchestrator_topic_sees_dataset(const struct topic_call *call, const char *dataset);
/* NOT_FOUND, or DENIED, when the arguments name something of another tenant (tenants.c). */
enum weir_status orchestrator_topic_check_tenant(const struct topic_call *call,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* The same for the cells of a grid that is handed in. */
enum weir_status orchestrator_topic_check_grid(const struct topic_call *call,
                                               const struct grid_files *files,
                                               struct weir_error *err) WEIR_MUST_USE;
/* The same for a topic that uses its models: UNAVAILABLE, asked again by itself, while an erasure replaces models. */
struct pipeline *orchestrator_topic_models_of(struct topic_call *call);

/* `from` and `to` of the arguments; all of time where they are absent. */
enum weir_status orchestrator_topic_interval(const struct topic_call *call, int64_t *ret_from,
                                             int64_t *ret_to, struct weir_error *err) WEIR_MUST_USE;
/* The model asked for, or the newest one of the pipeline; NOT_FOUND when its files are gone. */
enum weir_status orchestrator_topic_choose_model(const struct topic_call *call,
                                                 const struct pipeline *pipeline, char **ret_model,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* A page of a list, newest first, of which one more than it holds was asked for: a message is bounded. */
struct topic_page {
    size_t count;
    bool has_older;
};
struct topic_page orchestrator_topic_page(const struct weir_rows *rows, size_t most);
/* How a pipeline stands, as orders answer it. */
json_t *orchestrator_topic_standing_json(const struct topic_call *call,
                                         const struct pipeline *pipeline);

struct id_blocks;
/* {"samples", "models", "milliseconds"}: which models have seen one of `ids`. */
enum weir_status orchestrator_topic_lineage_json(const struct topic_call *call,
                                                 const struct id_blocks *ids, json_t **ret_json,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* Appends what a model learnt from: its own set, then its parent's, back to the initial weights. */
enum weir_status orchestrator_topic_ancestors_json(const struct topic_call *call, const char *model,
                                                   json_t *ancestors,
                                                   struct weir_error *err) WEIR_MUST_USE;
/* A decision as it was kept, of the features that have moved only the first: the event has all (report.c). */
json_t *orchestrator_topic_decision(const char *text);
/* The measures of one model, among those of all, in an order of bytes: as many as an answer holds, after the first
 * `from` of them. */
enum { TOPIC_MEASURES_MAX = 20000 };
struct topic_measures {
    size_t first, end;
    size_t left_out; /* after them */
};
struct topic_measures orchestrator_topic_measures_of(const struct weir_rows *measures,
                                                     const char *model, size_t from);
/* Appends the newest decisions of the trigger policy of a pipeline (report.c), at most `most`, oldest first. */
enum weir_status orchestrator_topic_add_checks(struct topics *topics, int64_t pipeline,
                                               int64_t most, json_t *checks,
                                               struct weir_error *err) WEIR_MUST_USE;
/* The texts or numbers of the arguments that name samples; borrowed from the call's arguments, but for the arrays,
 * which orchestrator_topic_names_fini() frees. INVALID when there are too many, or
 * none and the request is for nothing else either. */
struct topic_names {
    const char **subjects, **keys;
    uint64_t *ids;
    size_t subject_count, key_count, id_count;
};
enum weir_status orchestrator_topic_names_read(const json_t *arguments,
                                               struct topic_names *ret_names,
                                               struct weir_error *err) WEIR_MUST_USE;
void orchestrator_topic_names_fini(struct topic_names *names);

struct receipt_claims;
/* The file of an erasure's receipt; the caller frees it. */
char *orchestrator_topic_receipt_path(const struct topics *topics, int64_t erasure) WEIR_MUST_USE;
/* Reads and parses it; NOT_FOUND when it is gone, CORRUPT or INVALID when it is no receipt. */
enum weir_status orchestrator_topic_receipt_load(const struct topics *topics, int64_t erasure,
                                                 struct receipt_claims *ret_claims,
                                                 struct weir_error *err) WEIR_MUST_USE;

typedef void topic_fn(struct topic_call *call);
#define TOPIC(name, roles, kind, scope) topic_fn orchestrator_topic_##name;
#include "orchestrator/topics/access.def"
#undef TOPIC

/* orchestrator_topic_submit() with `dry_run`. */
void orchestrator_topic_dry_run(struct topic_call *call);

void orchestrator_topics_answer(struct topics *topics, struct weir_request *request);

/* A request from within this process; `arguments` is consumed. */
struct topic_request {
    const char *topic;  /* one that changes nothing */
    const char *tenant; /* tenant of the viewer; "": one of the whole platform */
    json_t *arguments;
};
/* Asks it. It may be answered before this returns. */
void orchestrator_topics_ask(struct topics *topics, const struct topic_request *request,
                             topic_answered_fn *answered, void *owner);
/* Drops what this owner has asked. */
void orchestrator_topics_forget(struct topics *topics, const void *owner);

#endif
