/* A dispatcher over real Postgres, with consumers and workers that the test plays: a process of its own, which may
 * die whenever it likes and is started again, or within the test on a clock that stands still. */
#ifndef WEIR_TESTS_COMPONENT_DISPATCHER_STAGE_H
#define WEIR_TESTS_COMPONENT_DISPATCHER_STAGE_H

#include "core/wire/sample_set.h"
#include "preprocess/dispatcher/dispatcher.h"
#include "tests/support/child.h"
#include "tests/support/loop.h"
#include "tests/support/postgres.h"

/* The set has ids from here on, one sample to a batch, one batch to a group. */
#define STAGE_FIRST_ID (UINT64_C(1) << 44)

struct stage {
    struct weir_test_postgres *postgres;
    struct temp_dir dir;
    char *set_path, *endpoint;
    char digest[WEIR_DIGEST_TEXT_MAX];
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    struct weir_arena *arena; /* of the answers */
    pid_t process;
    const char *(*faults)(void); /* WEIR_FAULTS of the next process; NULL: none */
    int deaths;                  /* found when it did not answer */
    int hosts; /* so far; each has a name of its own: one that has closed stays bound for a moment */
    struct weir_rpc_server *server;
    void *dispatcher;
    struct test_clock clock;
};

void stage_begin(struct stage *stage, struct weir_test_postgres *postgres, size_t samples);
void stage_end(struct stage *stage);

/* A process, by its own orders or, when it was found dead, another one. */
void stage_start(struct stage *stage);
/* Within this process; what it is sent in one round of the test, it finds in one round of its loop. */
void stage_host(struct stage *stage);
void stage_unhost(struct stage *stage);
/* Waits until nothing is being stored any more. */
void stage_await_stored(struct stage *stage);

/* Outcome of a request to the dispatcher within this process. */
struct stage_heard {
    bool done;
    enum weir_status status;
    char job_state[16]; /* of job_is */
    char limit[16];     /* of plan_is, as are these */
    double wanted, optimum;
    uint64_t operator_ns, operator_rows; /* of the first one */
    char error[WEIR_ERROR_TEXT_MAX];
    struct msg_client_opened opened; /* without what it points to */
};
/* Asks, and is told later; `heard` must outlive that. */
void stage_tell(struct stage *stage, enum weir_message type, const void *message,
                struct stage_heard *heard);
/* Asks and waits. */
struct stage_heard stage_hear(struct stage *stage, enum weir_message type, const void *message);

/* Asks the process until it answers, which must be well; starts it when it is dead. */
void stage_request(struct stage *stage, enum weir_message type, const void *message,
                   enum weir_message expected, void *ret_answer);
struct msg_job_open stage_job(const struct stage *stage, uint64_t job);
struct msg_job_is stage_audit(struct stage *stage, uint64_t job);
/* The place of the job's one consumer, which begins at `state` (NULL: it names none). Returns the attempt. */
uint64_t stage_take_place(struct stage *stage, uint64_t job, uint64_t session,
                          const struct weir_position *state);

/* A consumer that sends something, and its position. */
struct stage_consumer {
    uint64_t job, attempt, session;
    const struct weir_position *position;
};
/* All batches before `oldest`, and every other one of 2 * `ahead` after it. */
struct weir_position stage_position(uint64_t oldest, uint64_t ahead);
void stage_consume(struct stage *stage, const struct stage_consumer *consumer, uint64_t number);
void stage_commit(struct stage *stage, const struct stage_consumer *consumer, bool final);

#endif
