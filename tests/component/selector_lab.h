/* A selector in process, against real Postgres and a scripted storage. */
#ifndef TESTS_COMPONENT_SELECTOR_LAB_H
#define TESTS_COMPONENT_SELECTOR_LAB_H

#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "selector/selector.h"
#include "tests/support/child.h"
#include "tests/support/loop.h"
#include "tests/support/postgres.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { DATASET = 2, CHANGES_MAX = 64 };

struct change {
    uint32_t kind;
    uint64_t first;
    uint32_t count;
};

/* Data that the scripted storage serves: a feed, and columns that follow from the id. */
struct script {
    struct change changes[CHANGES_MAX];
    size_t change_count;
    size_t floor; /* changes up to here are told as a snapshot only */
    size_t feed_reads;
    size_t column_reads;
    bool is_silent;  /* columns are not told */
    uint64_t untold; /* newest request for them that was not: it comes again */
};

struct fixture {
    struct weir_test_postgres postgres;
    struct temp_dir dir;
    struct weir_loop *loop;
    struct weir_rpc_server *storage;
    struct weir_rpc_server *server;
    struct weir_rpc_peer *peer;
    void *selector;
    struct script script;
    /* The newest answer. */
    bool done;
    enum weir_status status;
    char digest[WEIR_DIGEST_TEXT_MAX];
    char path[512];
    char text[512]; /* reason or error */
    uint64_t samples;
    uint64_t candidates;
    uint64_t period;
    char preview[2048];
    char mode[16]; /* of the scores that are wanted, or "holdout"; empty: nothing is */
    char model[64];
    uint64_t unscored;
};

int lab_setup_group(void **state);
int lab_teardown_group(void **state);
int lab_setup(void **state);
int lab_teardown(void **state);

void lab_start(struct fixture *fixture);
/* Nothing is asked to end, nothing is written: what memory held is lost. */
void lab_stop(struct fixture *fixture);
void lab_restart(struct fixture *fixture);
/* The real program, in a process that can be killed. */
pid_t lab_spawn(struct fixture *fixture, const char *bin_dir, const char *faults);
void lab_wait_for_death(struct fixture *fixture, pid_t pid);

/* Every change is one sequence number: the first is 1. */
void lab_change(struct fixture *fixture, uint32_t kind, uint32_t row, uint32_t count);

/* The fixture keeps what is answered. */
void lab_on_done(void *owner, const struct weir_reply *reply, const struct weir_error *err);
enum weir_status lab_request(struct fixture *fixture, enum weir_message type, const void *message);
/* Asks the real program, which dies at `point` and is started again; then goes on in process. */
enum weir_status lab_request_through_death(struct fixture *fixture, const char *bin_dir,
                                           const char *point, enum weir_message type,
                                           const void *message);
enum weir_status lab_open_pipeline(struct fixture *fixture, const char *selection, bool replay);
enum weir_status lab_select_live(struct fixture *fixture, uint64_t trigger, uint64_t position);
enum weir_status lab_select_replay(struct fixture *fixture, uint64_t trigger, uint64_t position,
                                   uint32_t until_row);
enum weir_status lab_seal_interval(struct fixture *fixture, int64_t from, int64_t to,
                                   uint64_t position);
/* Asks for a live set that this model may score for. */
enum weir_status lab_select_by(struct fixture *fixture, uint64_t trigger, uint64_t position,
                               const char *model);
/* Writes outputs of the newest set as a trainer would: row 52 is nearest to one half, then 53, 51, 54; none for the row
 * `missing`. Models of the holdout, h-…, say it the other way round. */
const char *lab_write_outputs(struct fixture *fixture, uint32_t missing);
/* Brings what was just wanted; the selector dies at `point` meanwhile, unless that is NULL. */
enum weir_status lab_bring_through(struct fixture *fixture, uint32_t missing, const char *point);
enum weir_status lab_bring(struct fixture *fixture, uint32_t missing);
/* The newest set as rows: "0-3 7". */
const char *lab_rows(struct fixture *fixture);

#endif
