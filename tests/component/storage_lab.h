/* A real storage process on a real Postgres and a real socket, for the component tests of storage: ask,
 * wait until something is so, kill it as kill -9 does, start it again. */
#ifndef WEIR_TESTS_COMPONENT_STORAGE_LAB_H
#define WEIR_TESTS_COMPONENT_STORAGE_LAB_H

#include "core/rpc/rpc.h"
#include "core/rpc/segment.h"
#include "tests/support/postgres.h"

#include <sys/types.h>

struct storage_lab {
    struct weir_test_postgres postgres;
    struct temp_dir dir; /* data/ run/ source/ */
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    struct weir_segment *lent; /* where samples that are read are written */
    struct weir_arena *arena;  /* answers live here until the next test */
    struct weir_error err;     /* of the newest refusal */
    pid_t pid;
    const char *faults;  /* WEIR_FAULTS of the next start */
    bool obeys_modes;    /* the next start gives up root's right to read everything */
    bool is_used;        /* by a test before */
    const char *cluster; /* told with each seal: Postgres is Weir's own; NULL: it is not */
};

void storage_lab_open(struct storage_lab *lab); /* once per program */
void storage_lab_close(struct storage_lab *lab);
/* An empty store and an empty source for each test. */
void storage_lab_begin(struct storage_lab *lab);
void storage_lab_end(struct storage_lab *lab);

/* ---- the same as fixtures of cmocka; the state of a case is its lab ---- */

struct CMUnitTest;

int storage_lab_setup(void **state); /* begin and start */
int storage_lab_setup_stopped(void **state);
int storage_lab_teardown(void **state);
#define STORAGE_CASE_AFTER(lab, setup, test) \
    cmocka_unit_test_prestate_setup_teardown(test, setup, storage_lab_teardown, lab)
#define STORAGE_CASE(lab, test) STORAGE_CASE_AFTER(lab, storage_lab_setup, test)
/* Opens the lab, runs the group, closes it. What main() returns. */
int storage_lab_run(struct storage_lab *lab, const char *name, const struct CMUnitTest *tests,
                    size_t count);

/* ---- the process ---- */

void storage_lab_start(struct storage_lab *lab);
void storage_lab_stop(struct storage_lab *lab); /* SIGTERM */
void storage_lab_kill(struct storage_lab *lab); /* SIGKILL */
/* True, and as after storage_lab_kill(), when a fault has killed it. */
bool storage_lab_has_died(struct storage_lab *lab);
/* Waits for a process that a fault kills. */
void storage_lab_await_death(struct storage_lab *lab);

/* ---- files and questions ---- */

/* Writes DIR/source/NAME. */
void storage_lab_write(struct storage_lab *lab, const char *name, const char *text);
void storage_lab_append(struct storage_lab *lab, const char *name, const char *text);
void storage_lab_remove(struct storage_lab *lab, const char *name);
/* "DIR/name", in the lab's arena. */
const char *storage_lab_path(struct storage_lab *lab, const char *name);

/* The answer, in the lab's arena; the status of the refusal otherwise. */
enum weir_status storage_lab_request(struct storage_lab *lab, enum weir_message type,
                                     const void *message, enum weir_message expected,
                                     void *ret_message);
/* Dataset `mails`: owned copies of *.txt, everything else about them in the source's manifest.csv. */
extern const char STORAGE_LAB_MAILS[];
/* Lines of which two are samples, with the words kept1 and kept2; all others, with the word lost, are refused or
 * duplicates by `id`. */
extern const char STORAGE_LAB_MIXED[];
/* Declares datasets; `yaml` is the value of datasets:, %s in it the source folder. */
enum weir_status storage_lab_declare(struct storage_lab *lab, const char *yaml);
void storage_lab_must_declare(struct storage_lab *lab, const char *yaml);
struct msg_dataset_is storage_lab_dataset(struct storage_lab *lab, const char *name);
/* Waits until the dataset is scanned and its newest change is at least `sequence`. */
struct msg_dataset_is storage_lab_await(struct storage_lab *lab, const char *name,
                                        uint64_t sequence);
/* Waits until the dataset has so many live samples, and so many records that were quarantined or are duplicates. */
struct msg_dataset_is storage_lab_await_counts(struct storage_lab *lab, const char *name,
                                               uint64_t live, uint64_t refused);
/* All changes, as the feed tells them to `consumer`. */
struct msg_feed_is storage_lab_feed(struct storage_lab *lab, uint64_t dataset, const char *consumer,
                                    uint64_t after);
/* The payload of one sample, or NULL with its state. */
const char *storage_lab_read(struct storage_lab *lab, uint64_t id, uint32_t *ret_state);
/* Submits an erasure by subject and waits until it has reached `state`. */
struct msg_erase_is storage_lab_erase(struct storage_lab *lab, const char *uuid,
                                      const char *subject, const char *state);
struct msg_erase_is storage_lab_await_erasure(struct storage_lab *lab, uint64_t number,
                                              const char *state);
/* Seals as the orchestrator does: storage may search for all requests that are scrubbed. */
void storage_lab_seal(struct storage_lab *lab);
/* Returns the answer to an examination by a new session (`weir doctor`). */
struct msg_doctor_is storage_lab_examine(struct storage_lab *lab, bool deep);
/* A deep one finds nothing wrong. */
void storage_lab_expect_fine(struct storage_lab *lab);
/* Returns the finding of an examination about bytes of a dataset, with a verdict of storage/doctor; NULL: none. */
const char *storage_lab_said_of_bytes(const struct msg_doctor_is *answer, uint32_t verdict);
/* Waits until every block of what storage owns has its sum; returns how many there are. */
unsigned long storage_lab_await_sums(struct storage_lab *lab);
/* Copies the data directory to another one in the same place, as a restored backup is, and runs `command` (NULL: none)
 * in the new data/storage. It must be stopped. */
void storage_lab_move(struct storage_lab *lab, const char *command);
/* Stops it, moves it, and starts it again. */
void storage_lab_restore(struct storage_lab *lab, const char *command);
/* Changes a bit of DIR/name, which keeps its times: only the bytes tell. */
void storage_lab_flip(struct storage_lab *lab, const char *name, off_t at);
/* True when `place` (absolute, or in DIR), a file, or any file below it, holds `text`. */
bool storage_lab_holds(struct storage_lab *lab, const char *place, const char *text);

#endif
