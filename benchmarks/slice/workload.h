/* The work of both sides of `slice.batches`: the same samples, order, operators and batch shape, so
 * that every byte they hand to the loop is the same. Owned by the benchmark. */
#ifndef BENCHMARKS_SLICE_WORKLOAD_H
#define BENCHMARKS_SLICE_WORKLOAD_H

#include "benchmarks/rig.h"
#include "benchmarks/slice/corpus.h"
#include "benchmarks/slice/tally.h"
#include "core/base/hash.h"

enum {
    WORKLOAD_STRIDE = 2, /* the set holds every second sample of the corpus */
    WORKLOAD_SEED = 1,
};

/* A dataset of records (corpus_make_records()) in the directory `%s`. */
#define WORKLOAD_RECORDS                                                                         \
    "    source: {path: %s, format: binary, record_bytes: 160, import: reference, settle: 0s}\n" \
    "    time: {from: file_name, pattern: \"day_%%Y-%%m-%%d\"}\n"                                \
    "    label: {offset: 0, type: i32}\n"

struct workload {
    const struct corpus *corpus; /* borrowed */
    char *config;                /* the pipeline file */
    char *set_path;
    char set_digest[WEIR_DIGEST_TEXT_MAX];
    uint32_t epochs; /* set before workload_prepare(); 0 becomes 1 */
    size_t set;      /* samples of the set */
    size_t samples;  /* of all epochs */
    uint64_t digest; /* of the batches, as the first run made them; 0: none yet */
};

/* Registers the corpus with storage as dataset `name` and writes the sample set. `preprocess` is
 * the section of that name. */
enum weir_status workload_prepare(struct workload *workload, struct rig *rig, const char *name,
                                  const char *dataset, const char *preprocess,
                                  struct weir_error *err) WEIR_MUST_USE;
/* The same of a corpus of records, as dataset "records", in batches of 4096. */
enum weir_status workload_prepare_records(struct workload *workload, struct rig *rig,
                                          struct weir_error *err) WEIR_MUST_USE;
void workload_fini(struct workload *workload); /* zeroed is fine */

/* Makes every batch in this thread, in a loop. */
enum weir_status workload_run_here(const struct workload *workload, struct tally *ret_tally,
                                   double *ret_seconds, struct weir_error *err) WEIR_MUST_USE;
/* Batches first, first + step, … of it. */
struct workload_share {
    uint64_t first, step;
};
/* Makes those; shares may be made by several threads at once. */
enum weir_status workload_run_share(const struct workload *workload, struct workload_share share,
                                    struct tally *ret_tally, struct weir_error *err) WEIR_MUST_USE;
struct workload_job {
    uint64_t number, seed;
    uint32_t ranks; /* 0: one */
};
/* Opens a job over the set at the dispatcher. */
enum weir_status workload_open(const struct workload *workload, struct rig *rig,
                               const struct workload_job *job,
                               struct weir_error *err) WEIR_MUST_USE;
/* One job of the platform's. Seconds are from `job_open`. */
struct workload_run {
    uint64_t job;      /* its number; these three are set by the caller */
    bool keep_digests; /* of its batches */
    void (*on_batch)(struct rig *rig,
                     uint64_t batches); /* after each, so many are taken; or NULL */
    struct tally tally;
    double first_s;       /* when the loop had its first batch … */
    double seconds;       /* … released its last one … */
    double audited_s;     /* … and the audit was known */
    int64_t digest_ns;    /* spent on digests … */
    uint64_t batch_bytes; /* … of batches of so many bytes */
    uint64_t sent_bytes;  /* by workers */
};
/* Has the platform make them, and takes them with the client library. */
enum weir_status workload_run_there(const struct workload *workload, struct rig *rig,
                                    struct workload_run *run, struct weir_error *err) WEIR_MUST_USE;
/* Fails unless a side made every batch, and the same as all runs before. */
enum weir_status workload_check(struct workload *workload, const struct tally *tally,
                                struct weir_error *err) WEIR_MUST_USE;

#endif
