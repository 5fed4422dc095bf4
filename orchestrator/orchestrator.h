/* The orchestrator's state: one database connection, one peer per service, the pipelines and erasures in work. One
 * thread, one loop. Whatever it decides is committed in Postgres before anybody hears of it, so that a killed
 * orchestrator goes on where it was. */
#ifndef ORCHESTRATOR_ORCHESTRATOR_H
#define ORCHESTRATOR_ORCHESTRATOR_H

#include "core/loop/loop.h"
#include "core/rpc/rpc.h"
#include "orchestrator/config/prices.h"
#include "orchestrator/sharing/quotas.h"
#include "orchestrator/sql/queries.h"

enum {
    ORCHESTRATOR_ASK_MS = 30000, /* deadline of a request to a service; then the step begins anew */
    ORCHESTRATOR_AGAIN_MS = 300, /* pause before a step is tried again */
    ORCHESTRATOR_POLL_MS = 50,   /* between two looks at something another process works on */
};

struct pipeline;
struct erasures;
struct wiping;
struct run;
struct evaluator;
struct topic_call;

/* How a trainer's process is started and ended; main.c backs it with the platform, tests with a script. */
struct orchestrator_trainers {
    void *owner;
    /* `gpus`: the slots that are its own, a bit each. `base`: file of the model it starts from; NULL: none. */
    enum weir_status (*start)(void *owner, int64_t run, uint64_t gpus, const char *base,
                              struct weir_error *err);
    void (*end)(void *owner, int64_t run);
};

/* The wall clock by which triggers of live pipelines tick; now_us NULL: the system's. */
struct orchestrator_clock {
    void *owner;
    int64_t (*now_us)(void *owner);
};

/* Who is told of events: committed ones in order, and progress that is not kept. */
struct orchestrator_listener {
    void *owner;
    /* `json` is one line. `pipeline` and `erasure` are 0 where they have no part. */
    void (*event)(void *owner, int64_t pipeline, int64_t erasure, const char *json);
    void (*progress)(void *owner);
    /* A pipeline has come to rest, or every erasure has. */
    void (*rest)(void *owner);
};

struct orchestrator_options {
    const char *data_dir;
    const char *socket_dir;
    const char *postgres;
    const char *cluster; /* its folder; NULL: the server is not Weir's own */
    struct orchestrator_prices prices;
    struct orchestrator_trainers trainers;
    struct orchestrator_listener listener;
    struct orchestrator_clock clock;
    struct orchestrator_sharing sharing;
    const struct weir_yaml_node *budgets; /* of the system file; NULL: none */
    bool hold;            /* leave unfinished pipelines as they are; erasures go on */
    bool new_receipt_key; /* sign with another key from now on */
};

struct orchestrator {
    struct weir_loop *loop;
    struct weir_db *db;
    char *data_dir;
    char *cluster; /* of Postgres; NULL: the server is not Weir's own */
    struct weir_rpc_server *server;
    struct weir_rpc_peer *storage;
    struct weir_rpc_peer *selector;
    struct weir_rpc_peer *dispatcher;
    struct orchestrator_prices prices;
    struct orchestrator_trainers trainers;
    struct orchestrator_listener listener;
    struct orchestrator_clock clock;
    struct orchestrator_sharing sharing;
    const struct weir_yaml_node *budgets; /* of the system file; NULL: none */
    struct arbiter *arbiter;              /* of trainers */
    struct run_watch *watch;              /* their processes */
    bool hold;
    struct pipeline *pipelines; /* newest first */
    struct erasures *erasures;
    struct wiping *wiping; /* of memory, for them */
    struct seal *seal;     /* of the erasures that wait for one; NULL: none is under way */
    struct weir_rows
        *sealed; /* changes of tables as of the newest one; NULL: none since the start */
    struct run *runs;
    bool holds_runs; /* an erasure purges what runs left behind: none begins */
    struct evaluator *evaluators;
    struct topic_call *calls; /* questions of weir that are not answered yet */
    unsigned trainers_alive;  /* processes, those included that were told to end */
    int64_t event_shown;      /* number of the newest event the listener has seen */
    uint64_t session;
    int64_t started_ms;
};

/* Connects, migrates, serves `orchestrator.sock`, and takes up what a former process left unfinished. */
enum weir_status orchestrator_open(struct weir_loop *loop,
                                   const struct orchestrator_options *options,
                                   struct orchestrator **ret_orch,
                                   struct weir_error *err) WEIR_MUST_USE;
void orchestrator_close(struct orchestrator *orch);
WEIR_DEFINE_AUTO(orchestrator, orchestrator_close)

/* Commits an edge of something: opens a transaction, runs `effect` (NULL: none) in it, commits. */
typedef enum weir_status orchestrator_effect_fn(void *subject, const void *what,
                                                struct weir_error *err);
enum weir_status orchestrator_commit(struct orchestrator *orch, orchestrator_effect_fn *effect,
                                     void *subject, const void *what,
                                     struct weir_error *err) WEIR_MUST_USE;

/* DATA_DIR/FOLDER/NAME in caller's memory. */
char *orchestrator_path(const struct orchestrator *orch, const char *folder,
                        const char *name) WEIR_MUST_USE;

/* The pipelines may have come between two triggers, or an erasure may be through: whoever waits looks again. */
void orchestrator_look_again(struct orchestrator *orch);

int64_t orchestrator_now_us(const struct orchestrator *orch);

/* Whether asking again may help: the service or database is away, or slow. */
bool orchestrator_may_pass(enum weir_status status);

/* The table of incoming messages. */
extern const struct weir_rpc_handler ORCHESTRATOR_HANDLERS[];

#endif
