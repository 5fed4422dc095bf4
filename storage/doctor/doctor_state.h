/* One examination, between doctor.c (its course), doctor_rows.c (chunks and accounts), doctor_feed.c (feed,
 * keys, refusals, erasures) and doctor_files.c (files). */
#ifndef WEIR_STORAGE_DOCTOR_STATE_H
#define WEIR_STORAGE_DOCTOR_STATE_H

#include "storage/doctor/doctor.h"

enum { FINDINGS_MAX = 1000, DOCTOR_TRIES_MAX = 5 };

/* Objects of an examination, in the order of doctor.c's table of advice. */
enum doctor_check {
    DOCTOR_CATALOG,
    DOCTOR_IDS,
    DOCTOR_CHUNKS,
    DOCTOR_ACCOUNTS,
    DOCTOR_FEED,
    DOCTOR_REFUSED,
    DOCTOR_KEYS,
    DOCTOR_ERASURES,
    DOCTOR_FILES,
    DOCTOR_BYTES,
    DOCTOR_CHECKS
};

/* Wire numbers: append only. */
enum doctor_verdict { DOCTOR_FINE, DOCTOR_NOTE, DOCTOR_WRONG };

struct finding {
    enum doctor_check check;
    enum doctor_verdict verdict;
    uint32_t dataset; /* 0: all */
    int64_t file; /* of it; -1: no single one. Its name, which may be a person's, is not kept. */
    char *found, *expected;
};

/* Progress in a sorted run. */
struct run_check {
    uint64_t segment; /* the next */
    struct sorted_run_entry last;
    bool has_last;
    uint64_t entries;
};

struct doctor {
    struct examined examined;
    uint64_t session;
    bool is_deep, is_done;
    struct finding *findings;
    size_t finding_count;
    uint64_t wrong_unlisted; /* beyond FINDINGS_MAX */

    struct catalog *catalog; /* Postgres as it is now */
    struct chunk_cache *cache;
    size_t dataset;    /* index of the one being examined, */
    uint32_t number;   /* its number; 0: none was begun, the highest: all are through */
    uint64_t sequence; /* and its newest change when it was */
    int phase;         /* of doctor.c's table */
    size_t at;         /* within the phase */
    int step_ms;       /* after which a step ends */
    int tries;
    size_t kept; /* findings from before this dataset */
    bool is_bad[DOCTOR_CHECKS];

    /* Progress in this dataset. */
    uint64_t next_row;
    struct accounts counted;
    uint64_t *file_samples; /* by file number */
    size_t file_count;
    uint64_t feed_at;
    size_t added_seen;
    uint64_t entries;     /* of sorted runs */
    struct run_check run; /* the one that is being read */
    uint64_t marked;      /* samples of erasures */
    uint64_t files, bytes;
    int fd, source_fd; /* DOCTOR_BYTES: the copy being compared, or -1 */
    uint64_t read_at;  /* in it */
    bool is_reported;  /* something is wrong with its bytes */
    uint64_t summed,
        unsummed;      /* blocks that were compared with a sum, and that lack one of all there is */
    uint64_t unproven; /* of both: had none when the store was copied, restored or moved */
    struct sum_rows *sums; /* looked up last; NULL: none */
    uint64_t sums_edition;
};

/* A finding about the dataset being examined; `expected` may be NULL. */
void storage_doctor_say(struct doctor *doctor, enum doctor_check check, enum doctor_verdict verdict,
                        char *found, char *expected);
/* The same about one of its files, which the answer names before `found`. */
void storage_doctor_say_file(struct doctor *doctor, enum doctor_check check,
                             enum doctor_verdict verdict, const struct stored_file *file,
                             char *found, char *expected);
void storage_doctor_close_files(struct doctor *doctor);
#define doctor_wrong(doctor, check, found, expected) \
    storage_doctor_say((doctor), (check), DOCTOR_WRONG, (found), (expected))

/* One piece of a phase; *ret_done with its last. An error means that it could not be examined. */
typedef enum weir_status doctor_phase_fn(struct doctor *doctor, bool *ret_done,
                                         struct weir_error *err);
/* doctor_rows.c */
doctor_phase_fn storage_doctor_chunks, storage_doctor_accounts;
/* doctor_feed.c */
doctor_phase_fn storage_doctor_feed, storage_doctor_refused, storage_doctor_keys,
    storage_doctor_erasures;
/* doctor_files.c */
doctor_phase_fn storage_doctor_files;

/* doctor_sums.c: a piece of the file that begins with a block. */
enum weir_status storage_doctor_sums(struct doctor *doctor, const struct stored_file *file,
                                     uint64_t from, struct weir_bytes bytes,
                                     struct weir_error *err) WEIR_MUST_USE;

static inline struct dataset *storage_doctor_dataset(const struct doctor *doctor)
{
    return doctor->catalog->datasets[doctor->dataset];
}

#endif
