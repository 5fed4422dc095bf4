/* The orchestrator in process on a real Postgres, with storage, selector, dispatcher and trainers as scripts in the
 * same loop. The stream is `SAMPLES` samples a day apart, label = row % 2; embeddings and features of the samples from
 * row STAGE_CHANGE on are others than before; a scripted model's file is the hash of what
 * it was made from, so that a model made twice or in another order has another checksum. */
#ifndef WEIR_TESTS_COMPONENT_ORCHESTRATOR_STAGE_H
#define WEIR_TESTS_COMPONENT_ORCHESTRATOR_STAGE_H

#include "core/base/bits.h"
#include "core/wire/sample_set.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/pipeline/pipeline.h"
#include "tests/support/postgres.h"

enum {
    STAGE_SAMPLES = 100,
    STAGE_LIVE = 30,
    STAGE_CHANGE = 55,
    STAGE_JOBS_MAX = 512,
    STAGE_TRAINERS_MAX = 64
};

struct stage;

struct stage_trainer {
    struct stage *stage;
    struct weir_rpc_peer *peer; /* NULL: this place is free */
    int64_t run;
    uint64_t session;
    bool learns;
};

struct stage_job {
    uint64_t number;
    char set_path[512];
    char set_digest[64];
    char mode[16];
    double later, seen; /* foretold of its samples */
    bool is_noted;      /* the orchestrator has it on record that its trainer was done */
};

struct stage {
    struct weir_test_postgres postgres;
    struct temp_dir dir;
    struct weir_loop *loop;
    struct weir_rpc_server *storage, *selector, *dispatcher;
    struct orchestrator *orch; /* NULL: it is dead */
    struct stage_trainer trainers[STAGE_TRAINERS_MAX];
    struct stage_job jobs[STAGE_JOBS_MAX];
    size_t job_count;
    struct weir_buf events;      /* one a line, as told */
    struct weir_bits erased;     /* rows */
    uint64_t erasures;           /* accepted */
    bool in_force;               /* what storage says of all of them */
    uint64_t unverified;         /* the newest so many are no more than in force */
    uint64_t moves;              /* how often each has moved since it was in force */
    uint64_t followed;           /* how far the orchestrator has listened to moves */
    bool reports_wait;           /* requests for reports are not answered yet */
    uint64_t reports_requested;  /* requests that had to wait, for a report of erasure 1 */
    uint64_t reports_newest;     /* of them */
    bool measures_wait;          /* jobs that evaluate are not opened yet */
    uint64_t measures_requested; /* requests to open one that had to wait */
    uint64_t feed_floor;         /* changes up to here are not kept */
    uint64_t missed;             /* samples erased among them */
    /* The selector wants scores and a model of what is held out before it seals, each epoch anew. */
    bool chooses;
    char scored[64];        /* digest of the set that it has scores of */
    uint64_t skips;         /* the trigger of which it says that nothing is there; 0: none */
    uint64_t lost;          /* what the dispatcher says of every job */
    unsigned trainers_fail; /* so many of the next trainers end with an error … */
    int exit_code;          /* … and with this code */
    const char *model_name; /* as trainers call the file of their model */
    void (*plant)(const struct stage *stage, const char *path); /* what lies there; NULL: a model */
    double loss;                                                /* reported by trainers */
    size_t fires_first; /* triggers that have fired when the first training ends */
    unsigned trainers_started;
    unsigned strangers_refused;          /* one asked for the run of each, before it did */
    struct orchestrator_sharing sharing; /* of the next orchestrator */
    uint64_t gpus;                       /* given to the newest trainer */
    size_t page;                         /* samples of a replay in one answer; 0: 7 */
    int64_t now_us;                      /* of the orchestrator's clock */
    uint64_t measured;                   /* samples that runs have gone over which do not train */
    uint64_t forgotten;                  /* pipelines that the selector was told to forget */
    unsigned forgets_fail;               /* so many of the next times it cannot */
    bool rests;                          /* told since the last stage_begin() */
    /* So many of the next sets find no room on its disk. */
    unsigned selects_full, intervals_full;
};

/* For cmocka: the stage with an orchestrator on it. */
int stage_setup(void **state);
int stage_teardown(void **state);
/* The same in parts, for tests whose orchestrators are processes of their own: Postgres and
 * folders; then, in the process that goes on, the services. */
void stage_found(struct stage *stage);
void stage_serve(struct stage *stage);
void stage_end(struct stage *stage);
/* A new orchestrator process on what is there; aborts when it cannot open. */
void stage_begin(struct stage *stage);
/* It dies, and its trainers with it. */
void stage_kill(struct stage *stage);
/* Begins again with an empty stage. */
void stage_begin_again(struct stage *stage);
struct pipeline *stage_submit(struct stage *stage, const char *yaml);
/* Submits `yaml` and runs until it rests; returns the state. */
/* Handlers of storage: orchestrator_stage_erasures.c. */
void stage_on_erase_progress_request(void *owner, struct weir_request *request);
void stage_on_erase_samples_request(void *owner, struct weir_request *request);
void stage_on_erase_reports_request(void *owner, struct weir_request *request);

/* Starting and ending of trainers: orchestrator_stage_trainers.c. */
enum weir_status stage_start_trainer(void *owner, const struct orchestrator_trainer *wanted,
                                     struct weir_error *err);
void stage_end_trainer(void *owner, int64_t run);
struct stage_job *stage_find_job(struct stage *stage, uint64_t number); /* NULL: none was opened */
/* Counts the samples of a set that are erased. */
size_t stage_erased_of(const struct stage *stage, const struct weir_sample_set *set);

/* The orchestrator takes in an erasure that storage has accepted. */
void stage_accept(struct stage *stage, int64_t number, const char *reference);

enum pipeline_state stage_run(struct stage *stage, const char *yaml);
/* "1:DIGEST 2:…": id, checksum and parent of every model, in order. */
void stage_models(struct stage *stage, struct weir_buf *out);
/* Counts the occurrences of `text` in the events. */
size_t stage_reported(struct stage *stage, const char *text);
/* Turns the loop until it occurs that often. */
void stage_until_reported(struct stage *stage, const char *text, size_t count);
uint64_t stage_id(size_t row);

#endif
