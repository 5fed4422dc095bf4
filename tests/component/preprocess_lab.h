/* A pool of real dispatcher and worker processes over real Postgres, a scripted storage in a thread
 * of its own, and a set of JSON lines in one file: what the preprocess tests deliver from.
 *
 * Sample i (from 0) has id LAB_FIRST_ID + i, label i % 2 and the line {"a": i, "b": i * i}. */
#ifndef WEIR_TESTS_COMPONENT_PREPROCESS_LAB_H
#define WEIR_TESTS_COMPONENT_PREPROCESS_LAB_H

#include "core/base/error.h"
#include "core/wire/wire.h"
#include "tests/support/postgres.h"

#include <weir/client.h>

enum { LAB_SAMPLES = 600, LAB_WORKERS_MAX = 4, LAB_PARTS = 3, LAB_REASON_MAX = 400 };

#define LAB_FIRST_ID (UINT64_C(1) << 44 | UINT64_C(1) << 20)

struct lab;

/* Starts everything; `bad_line` >= 0: that line is no JSON, until it is mended. */
struct lab *lab_start(struct weir_test_postgres *postgres, int workers, int bad_line);
/* The same with workers that send over TCP, compressed. */
struct lab *lab_start_over_tcp(struct weir_test_postgres *postgres, int workers,
                               const char *compress);
void lab_stop(struct lab *lab);

const char *lab_socket_dir(const struct lab *lab);
void lab_kill_worker(struct lab *lab, int worker); /* kill -9, and a new one in its place */
void lab_kill_dispatcher(struct lab *lab);
void lab_freeze_worker(struct lab *lab, int worker); /* it stands still, and is not dead */
void lab_thaw_worker(struct lab *lab, int worker);
void lab_retire_worker(struct lab *lab, int worker); /* told to end, and none in its place … */
void lab_hire_worker(struct lab *lab, int worker);   /* … until now */
/* Returns the leases of a worker, as the pool shows them; -1: it is not shown. */
int lab_leases(struct lab *lab, int worker);
long lab_memory_kb(const struct lab *lab); /* resident, of all workers */
void lab_erase(struct lab *lab, uint64_t id);
void lab_mend_line(struct lab *lab, int bad_line);  /* it is as long as before */
size_t lab_located(struct lab *lab, uint64_t id);   /* as scripted_storage_located() */
void lab_slow_storage(struct lab *lab, int64_t ms); /* as scripted_storage_slow_down() */
void lab_hide_file(struct lab *lab); /* no worker can open it any more; storage can */
size_t lab_storage_reads(struct lab *lab, size_t *ret_loans); /* as scripted_storage_reads() */
size_t lab_storage_wholes(struct lab *lab);                   /* as scripted_storage_wholes() */
void lab_lose_set(struct lab *lab);                           /* there is no sample set any more */
void lab_lose_file(struct lab *lab);                          /* the data file is another one now */

/* Opens job `job` over the whole set, with a `preprocess` section. */
void lab_open_job(struct lab *lab, uint64_t job, const char *section, uint32_t epochs);
/* The same over a set with a part of LAB_SAMPLES / 2 for each of LAB_PARTS epochs, for so many consumers. */
void lab_open_parted_job(struct lab *lab, uint64_t job, const char *section, uint32_t ranks);
bool lab_in_part(size_t row, uint32_t epoch);
/* The same for several consumers. */
void lab_open_ranked_job(struct lab *lab, uint64_t job, const char *section, uint32_t epochs,
                         uint32_t ranks);
/* The same for training that starts from a model with this fitted state. */
void lab_open_job_from(struct lab *lab, uint64_t job, const char *section,
                       struct weir_bytes fitted);
/* The audit; strings and arrays are dropped. */
struct msg_job_is lab_audit(struct lab *lab, uint64_t job);
/* The first sample that the audit lists as failed; 0: none. `reason` says why. */
uint64_t lab_failed(struct lab *lab, uint64_t job, char reason[LAB_REASON_MAX]);
/* Returns the samples of the job that have failed so far, as the pool shows them; `reason` names the last, and why. */
uint64_t lab_failing(struct lab *lab, uint64_t job, char reason[LAB_REASON_MAX]);
/* The pool as it is shown: bytes that all workers have sent, and finished batches that wait at the worker with the
 * fewest and at the one with the most. */
struct lab_flow {
    uint64_t sent;
    uint32_t least, most;
};
struct lab_flow lab_flow(struct lab *lab);
void lab_pause(struct lab *lab, int64_t ms); /* in which the test does nothing */
/* Lists the bytes that each operator of the job has made so far, by all workers, as the pool shows them; returns their
 * number. */
size_t lab_made(struct lab *lab, uint64_t job, uint64_t *ret_bytes);
/* Opens a consumer of the job that starts from `state`. */
struct weir_client *lab_consume(struct lab *lab, uint64_t job, const void *state, size_t size);
/* The same with so many bytes in flight; 0: the default. */
struct weir_client *lab_consume_within(struct lab *lab, uint64_t job, const void *state,
                                       size_t size, uint64_t prefetch_bytes);

#endif
