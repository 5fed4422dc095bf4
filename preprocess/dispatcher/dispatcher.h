/* The dispatcher: metadata of all jobs, which worker makes what, what became of it. It never sees a
 * sample. One loop, which decides; and a thread, which stores what was decided (core/db/thread.h): state that matters
 * is in Postgres before it is announced, and nothing else waits for that. */
#ifndef WEIR_PREPROCESS_DISPATCHER_DISPATCHER_H
#define WEIR_PREPROCESS_DISPATCHER_DISPATCHER_H

#include "core/base/quota.h"
#include "core/service/service.h"
#include "preprocess/dispatcher/entry.h"
#include "preprocess/dispatcher/leasing.h"
#include "preprocess/dispatcher/plans.h"
#include "preprocess/dispatcher/pool.h"
#include "preprocess/dispatcher/store.h"

enum {
    DISPATCHER_REPORT_MS = 200,
    DISPATCHER_SILENCE_MS = 10 * 60 * 1000,            /* maximum age of a stored silence */
    DISPATCHER_ABANDONED_MS = 7 * 24 * 60 * 60 * 1000, /* without a request: the job is closed */
    DISPATCHER_ORDERS_MAX = 1024,                      /* leases of one worker, over all jobs */
    DISPATCHER_REPLIES_MAX = 16384, /* answers that wait for what is being stored */
    /* Jobs that are read, one after the other, before what is stored: for keys, and for programs of this host. The
     * thread that reads them keeps room for what is stored. */
    DISPATCHER_LOADS_MAX = 256,
    DISPATCHER_LOADS_HERE_MAX = WEIR_DB_JOBS_MAX / 2,
    DISPATCHER_LOAD_BYTES = 64 << 10, /* of a request for one: longer ones take several places */
};

/* A request that waits for Postgres, and is handled again then. */
struct dispatcher_asking {
    struct dispatcher *dispatcher;
    weir_rpc_handler_fn *handler;
    struct weir_request request; /* its message lies in … */
    struct weir_arena *arena;
    size_t bytes; /* of the message, packed */
};

/* An answer that waits until everything it says is durable. */
struct dispatcher_pending_reply {
    struct weir_route route;
    uint64_t job;
    uint64_t key;                     /* of whoever waits */
    struct dispatcher_asking *asking; /* the answer is made then; NULL: it is this one */
    enum weir_message type;
    union {
        struct {
            struct msg_client_orders orders; /* without the workers and the totals */
            struct dispatcher_totals totals;
        };
        struct msg_client_committed committed;
    };
};

struct dispatcher_replies {
    struct dispatcher_pending_reply *at;
    size_t count, capacity;
    struct weir_index requests; /* of at[] */
};

/* A job as Postgres has it, for a request that is handled again. */
struct dispatcher_found {
    bool is_set;
    uint64_t number;
    struct dispatcher_entry *entry; /* closed; NULL: it is in memory, or … */
    struct weir_error err;          /* … says why there is none */
};

/* The columns of worker_orders, filled again for each answer. */
struct dispatcher_orders {
    size_t count;
    uint64_t jobs[DISPATCHER_ORDERS_MAX];
    uint64_t attempts[DISPATCHER_ORDERS_MAX];
    uint64_t groups[DISPATCHER_ORDERS_MAX];
    uint64_t fences[DISPATCHER_ORDERS_MAX];
    uint64_t sessions[DISPATCHER_ORDERS_MAX];
    uint32_t ranks[DISPATCHER_ORDERS_MAX];
    size_t planned;
    uint64_t planned_jobs[DISPATCHER_ORDERS_MAX];
    uint32_t plan_changes[DISPATCHER_ORDERS_MAX];
};

/* Keys of trainers, as workers are told them; zeroed: nobody has asked yet. */
struct dispatcher_told_keys {
    struct msg_keys_set keys; /* of the keyring of their number, whose names they borrow */
    struct weir_arena *arena;
};

struct dispatcher {
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_db_thread *thread;
    char *data_dir;
    uint64_t batches_memory; /* of batches on their way to trainers, and waiting there; 0: any */
    struct dispatcher_fences fences;
    struct pool pool;
    struct shares shares;
    struct plans plans;
    struct productions productions;
    struct scaling scaling;
    struct dispatcher_entry **entries; /* jobs in use, not closed */
    size_t entry_count;
    size_t rotation; /* index of the job that is asked first when a worker wants work */
    uint64_t timer;
    int64_t opened_ms;
    int64_t looked_ms;                 /* when the timer fired last */
    bool settling;                     /* settle() is due in the next round */
    bool flushing;                     /* preprocess_dispatcher_flush() is due in the next round */
    bool is_saving;                    /* records are being stored */
    bool is_reporting;                 /* reports are */
    struct dispatcher_replies pending; /* until what is stored next is … */
    struct dispatcher_replies saved;   /* … and until what is being stored is */
    /* Of both, and of requests from elsewhere whose jobs are being read: one key leaves as many to others as it has. */
    struct weir_quota replies_quota, loads_quota, loads_here;
    struct dispatcher_found found;
    struct dispatcher_orders orders;
    uint64_t wipe;             /* newest `wipe` that was asked for */
    struct weir_pair trainers; /* of this host, for workers elsewhere; zeroed: there are none */
    struct dispatcher_told_keys told;
};

enum weir_status preprocess_dispatcher_open(const struct weir_service_options *options,
                                            struct weir_loop *loop, struct weir_rpc_server *server,
                                            void **ret_state, struct weir_error *err) WEIR_MUST_USE;
void preprocess_dispatcher_close(void *state);
/* Also says which workers have obeyed. */
void preprocess_dispatcher_wipe(void *state, const struct weir_request *request,
                                struct msg_wiped *answer);

/* asking.c: handles the request once the job is in memory, or what Postgres says of it is known; until then it is kept,
 * and then handed to `again`; of one from elsewhere, unless its key has as many kept as it leaves to others. */
void preprocess_dispatcher_when_found(struct dispatcher *dispatcher, struct weir_request *request,
                                      uint64_t number, weir_rpc_handler_fn *handler,
                                      weir_rpc_handler_fn *again);
struct dispatcher_asking *preprocess_asking_keep(struct dispatcher *dispatcher,
                                                 const struct weir_request *request,
                                                 weir_rpc_handler_fn *handler);
void preprocess_asking_resume(struct dispatcher_asking *asking);
void preprocess_asking_refuse(const struct dispatcher_asking *asking, const struct weir_error *err);
void preprocess_asking_free(struct dispatcher_asking *asking);
/* The job, for a handler that was called so. NOT_FOUND, UNAVAILABLE; a closed job comes as one of its own:
 * preprocess_dispatcher_let_go() frees it. */
enum weir_status preprocess_dispatcher_find(struct dispatcher *dispatcher, uint64_t number,
                                            struct dispatcher_entry **ret_entry,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Without a look into Postgres; NULL: it is not in use. */
struct dispatcher_entry *preprocess_dispatcher_in_memory(const struct dispatcher *dispatcher,
                                                         uint64_t number);
void preprocess_dispatcher_let_go(struct dispatcher_entry *entry);
/* Keeps an entry that was just stored, and counts its pipeline among those that share the workers. */
void preprocess_dispatcher_add(struct dispatcher *dispatcher, struct dispatcher_entry *entry);
/* endings.c: works out what the audit of a final job must add up to, which is stored soon. UNAVAILABLE: not done yet;
 * it goes on by itself, ask again. */
enum weir_status preprocess_dispatcher_expect(struct dispatcher *dispatcher,
                                              struct dispatcher_entry *entry,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Works out a piece of it for a job that is under way, so that its end need not wait. */
void preprocess_dispatcher_expect_ahead(struct dispatcher *dispatcher);
/* The job's pipeline shares the workers otherwise from now on. */
void preprocess_dispatcher_change_quota(struct dispatcher *dispatcher,
                                        struct dispatcher_entry *entry,
                                        const struct shares_quota *quota);
/* Somebody may have forgotten to close it: it counts for how long nobody has asked. Time in which no dispatcher ran
 * does not count, for nobody could ask. */
void preprocess_dispatcher_note_silence(struct dispatcher_entry *entry, int64_t passed_ms);
/* Goes on with all such sums in the next rounds, and closes the jobs that are to be closed. */
void preprocess_dispatcher_settle(struct dispatcher *dispatcher);
/* Takes a job that makes nothing more out of its production: another one of the same batches that begins now is not to
 * wait for workers that have made them for it. */
void preprocess_dispatcher_leave_production(struct dispatcher *dispatcher,
                                            struct dispatcher_entry *entry);
/* Has a fit that is complete be stored; then delivery begins. */
void preprocess_dispatcher_settle_fit(struct dispatcher *dispatcher,
                                      struct dispatcher_entry *entry);

/* Returns the endpoints of the workers in the job's crew that beat, in slot order; in the arena. */
struct weir_strs preprocess_dispatcher_endpoints(const struct dispatcher *dispatcher, uint64_t job,
                                                 struct weir_arena *arena);

/* Has the workers in the job's crew beat at once. */
void preprocess_dispatcher_hint(struct dispatcher *dispatcher, uint64_t job);
/* Has the first of them plan the job while its consumer is still on its way. */
void preprocess_dispatcher_announce(struct dispatcher *dispatcher, uint64_t job);

/* windows.c: bytes that a trainer may let be on their way and waiting, beside the others; 0: any. */
uint64_t preprocess_dispatcher_memory(const struct dispatcher *dispatcher,
                                      const struct dispatcher_entry *entry, uint32_t rank,
                                      struct weir_arena *arena);
/* The decisions of the job's trainers about that, as they have last said; in the arena. */
void preprocess_dispatcher_show_windows(const struct dispatcher *dispatcher,
                                        const struct dispatcher_entry *entry,
                                        struct weir_arena *arena, struct msg_plan_is *answer);

/* pending_replies.c: group commit. The answer to a message of a consumer: at once, or if what it says is not stored
 * yet, together with others once it is. */
void preprocess_dispatcher_reply(struct dispatcher *dispatcher,
                                 const struct dispatcher_entry *entry,
                                 const struct dispatcher_pending_reply *reply);
/* True when something of the job is not stored yet: the request is handled again once it is. */
bool preprocess_dispatcher_waits(struct dispatcher *dispatcher,
                                 const struct dispatcher_entry *entry,
                                 const struct weir_request *request, weir_rpc_handler_fn *handler);
/* Has what has changed, of all jobs, be stored, unless that is under way: then the rest follows. */
void preprocess_dispatcher_flush(struct dispatcher *dispatcher);
void preprocess_replies_fini(struct dispatcher_replies *replies);
/* reports.c: has what may be a little late be stored, unless that is under way. */
void preprocess_dispatcher_report(struct dispatcher *dispatcher);

/* sizing.c: what beats say of the rates of a job, and the workers that there should be. */
void preprocess_dispatcher_note_making(struct dispatcher_entry *entry,
                                       const struct msg_worker_beat *beat, size_t row,
                                       enum scale_place place, int64_t now_ms);
/* Of a beat that was taken in. */
void preprocess_dispatcher_note_taking(struct dispatcher_entry *entry,
                                       const struct msg_client_beat *beat, int64_t now_ms);
/* Decides again: a few times a second. */
void preprocess_dispatcher_size(struct dispatcher *dispatcher);
/* Nobody uses a job that somebody has used. */
void preprocess_dispatcher_end_use(struct dispatcher *dispatcher, struct dispatcher_entry *entry);
/* Takes an order of the orchestrator, and answers it; columns in the arena. */
enum weir_status preprocess_dispatcher_order_pool(struct dispatcher *dispatcher,
                                                  const struct msg_pool_order *order,
                                                  struct weir_arena *arena,
                                                  struct msg_pool_is *ret_answer,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* Returns the number in thousandths, as messages have it; what a trainer says may be any number. */
uint32_t preprocess_permille(double value);
/* Says what was decided, without what was weighed and the workers that are drained; columns in the arena. */
void preprocess_dispatcher_show_sizes(const struct dispatcher *dispatcher, struct weir_arena *arena,
                                      struct msg_pool_is *answer);

/* handlers.c, opening.c, endings.c, reports.c, beats.c and inside.c */
extern const struct weir_rpc_handler PREPROCESS_DISPATCHER_HANDLERS[];
void preprocess_dispatcher_on_job_open(void *state, struct weir_request *request);
void preprocess_dispatcher_on_jobs_purge(void *state, struct weir_request *request);
/* Says what came of the rows that are kept, over all jobs. */
void preprocess_dispatcher_on_cache_request(void *state, struct weir_request *request);
void preprocess_dispatcher_on_worker_beat(void *state, struct weir_request *request);
void preprocess_dispatcher_on_worker_leave(void *state, struct weir_request *request);
void preprocess_dispatcher_on_workers_request(void *state, struct weir_request *request);

#endif
