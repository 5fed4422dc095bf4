/* An erasure that is not verified yet, between erasing.c (its steps), scrub.c (bytes) and
 * scrub_record.c (rows). */
#ifndef WEIR_STORAGE_OPEN_ERASURE_H
#define WEIR_STORAGE_OPEN_ERASURE_H

#include "storage/catalog/id_list.h"
#include "storage/erasure/erasing.h"
#include "storage/erasure/fingerprint.h"
#include "storage/erasure/search.h"
#include "storage/intake/extent.h"
#include "storage/keys/key_names.h"
#include "storage/reading/serve.h"

enum erasure_state {
    ERASURE_ACCEPTED,
    ERASURE_TOMBSTONED,
    ERASURE_IN_FORCE,
    ERASURE_SCRUBBED,
    ERASURE_VERIFIED
};

/* A record that is to be overwritten. */
struct scrub_record {
    uint64_t id;
    struct format_range payload;
    struct extent extent;
};

/* The file that is being overwritten, open over many records, and those of them that are at work. */
struct scrub_target {
    struct storage *storage;
    struct dataset *dataset;
    uint64_t file; /* its number */
    int fd;
    char *path; /* NULL: none */
    struct scrub_record *records;
    size_t count, capacity;
    size_t bytes; /* that are to be written */
    size_t syncs; /* so far */
};

/* A round goes over all samples, the rounds behind it over those that a file stood in the way of. */
struct scrub_round {
    bool is_again;         /* over `todo` */
    bool is_read;          /* what is to be overwritten has been looked at, as far as can be */
    size_t at;             /* the next of those that are read, then of those that are overwritten */
    size_t synced;         /* those before are on disk */
    struct id_list todo;   /* ascending */
    struct id_list reread; /* not read in an earlier round, ascending */
    struct id_list failed; /* of this round */
    int error; /* errno of the newest failure; ESTALE: a file of Weir's own is not what was recorded */
    bool meets_unidentified, is_unidentified; /* such a file: in this round, in the last one */
    char *found, *trouble; /* this round's first failure, and the last round's; NULL: none */
    size_t waiting;        /* samples of the last round's failures */
    int64_t pause_ms, again_ms;
};

/* What is owed to buckets (s3_owed.h), as far as this start knows. */
struct owing {
    int pass;         /* of the planning, */
    size_t at;        /* and where in `ids` it is */
    uint32_t dataset; /* of the newest file that was planned for; 0: none yet */
    uint64_t planned; /* and its number */
    bool is_planned;
    bool is_any; /* something is owed at all */
    bool is_due; /* the mirror is overwritten */
    bool is_waiting;
    size_t asked;     /* when it was not settled yet */
    uint64_t cleaned; /* objects */
};

/* The beginning of the file that was looked at last. */
struct guard_head {
    uint32_t dataset; /* 0: none */
    uint64_t file;    /* its number */
    struct weir_buf bytes;
};

/* Attempts to verify that have failed: they go on, after pauses that double. */
struct failing {
    char *trouble; /* the newest, for a person: it may name files; NULL: none has failed */
    int64_t pause_ms, again_ms;
};

struct open_erasure {
    uint64_t number;
    uint32_t dataset; /* 0: all */
    enum erasure_state state;
    int64_t accepted_us;
    struct key_names names;  /* subjects and keys */
    struct id_list subjects; /* their hashes, ascending */
    struct id_list keys;     /* … */
    struct id_list wanted;
    struct id_list ids;    /* ascending; known once tombstoned */
    struct id_list hashes; /* of subjects and keys of `ids`, ascending; empty: not all are known */
    uint64_t epoch;

    /* While ids are being resolved. */
    struct key_identifier *identifier; /* NULL: not begun */
    struct id_fetch fetch;             /* also when bytes are read before they are overwritten */
    size_t checked, kept;              /* of `ids` */
    bool is_blind;                     /* a sample could not be read: its hashes are not known */

    struct fingerprints prints;
    struct id_list blocked; /* hashes to be blocked, with `prints` */
    struct guard_head head;
    struct id_list unread; /* could not be read yet: neither in `prints` nor blocked */
    bool is_prepared;      /* prints, blocked and unread are stored: bytes may be overwritten */
    struct scrub_round round;
    bool is_overwritten; /* the last round is through */
    size_t blanked;      /* of `ids`: their rows in chunks tell nothing any more */
    struct scrub_target target;
    char *parent; /* folder with unlinked files that is not yet synced */
    uint64_t files_scrubbed, bytes_scrubbed;
    struct weir_buf remarks; /* one a line */
    struct owing owing;
    size_t deep_at; /* next step of scrub_deep.c: ids, then tables, then cycles */
    bool is_deep;   /* Postgres's dead row versions are gone, as far as can be */
    struct search *search;
    struct failing failing;
};

void storage_open_erasure_free(struct open_erasure *erasure);
/* Subjects and keys as an erasure's row has them: what was asked for before there were proofs is known by its hashes
 * alone. */
enum weir_status storage_open_erasure_names(struct weir_bytes proofs, struct weir_bytes subjects,
                                            struct key_names *names,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Fills `subjects` and `keys` from `names`. */
void storage_open_erasure_list(struct open_erasure *erasure);
/* An accepted erasure begins: it is storage's from now on. */
void storage_erasing_take_up(struct storage *storage, struct open_erasure *erasure);
/* Whether one of them may have been stopped in the middle of a sample. */
bool storage_erasing_is_half_way(const struct storage *storage);
/* Adds a line unless it is there. */
void storage_erasure_remark(struct open_erasure *erasure, const char *remark);

/* resolve.c: the ids that the erasure may mean and that are not erased yet: all that have the hash. */
enum weir_status storage_resolve(struct storage *storage, const struct open_erasure *erasure,
                                 struct id_list *ids, struct weir_error *err) WEIR_MUST_USE;

/* resolve.c, a bounded piece of work: fills erasure->ids with those it does mean, by what their records say,
 * and erasure->hashes. A sample whose record cannot be read any more counts as meant. */
enum weir_status storage_resolve_step(struct storage *storage, struct open_erasure *erasure,
                                      bool *ret_done, struct weir_error *err) WEIR_MUST_USE;

/* scrub_round.c, a bounded piece of work: reads what is to be overwritten, so that it can be searched for and
 * kept out later, then overwrites or unlinks it. A file that cannot be read or written holds up nothing but its
 * own samples: they are tried again, after pauses that double. */
enum weir_status storage_scrub_step(struct storage *storage, struct open_erasure *erasure,
                                    bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* Between two rounds, until round.again_ms. */
bool storage_scrub_waits(const struct open_erasure *erasure, int64_t now_ms);
/* What stands in the way, for a person, in `arena`; "": nothing. It may name a file. */
const char *storage_scrub_trouble(const struct open_erasure *erasure, struct weir_arena *arena);
void storage_scrub_round_fini(struct open_erasure *erasure);

/* verify.c, a bounded piece of work: erased content is searched for, and the ids are asked for. An attempt that finds
 * any, or cannot look everywhere, is made again: nothing is verified that was not looked at. */
enum weir_status storage_verify_step(struct storage *storage, struct open_erasure *erasure,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Between two attempts, until failing.again_ms. */
bool storage_verify_waits(const struct open_erasure *erasure, int64_t now_ms);

/* scrub.c: one sample is read, or overwritten; repeating it is harmless. IO, and round.error, when a file stands
 * in the way. */
enum weir_status storage_scrub_look(struct storage *storage, struct open_erasure *erasure,
                                    uint64_t id, struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_scrub_one(struct storage *storage, struct open_erasure *erasure,
                                   uint64_t id, struct weir_error *err) WEIR_MUST_USE;
/* What was read is kept out, and will be searched for. */
enum weir_status storage_scrub_store(struct storage *storage, struct open_erasure *erasure,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Everything overwritten or unlinked so far is on disk. */
enum weir_status storage_scrub_sync(struct open_erasure *erasure,
                                    struct weir_error *err) WEIR_MUST_USE;
/* IO, with errno: the erasure comes back to this file. */
enum weir_status storage_scrub_stuck(struct open_erasure *erasure, const char *path,
                                     const char *what, struct weir_error *err) WEIR_MUST_USE;
/* scrub_round.c: the first of a round is told. */
void storage_scrub_note_failure(struct open_erasure *erasure, const struct weir_error *err);
/* scrub_group.c: takes the extent over; it is overwritten with others of the open file. */
void storage_scrub_group_add(struct open_erasure *erasure, const struct located *found, uint64_t id,
                             struct extent *extent);
/* Overwrites them now, for good; what cannot be fails this round. */
void storage_scrub_group_end(struct open_erasure *erasure);
/* Forgets them: they are left to another round. */
void storage_scrub_group_drop(struct open_erasure *erasure);
/* What stands there is what an erasure writes. */
bool storage_scrub_is_done(int fd, const struct extent *extent);
/* A sample whose bytes may still lie where they were indexed. */
bool storage_scrub_has_bytes(const struct located *found);
/* scrub_record.c, a bounded piece of work in a transaction of its own: times, labels and vectors in chunks. Begins at
 * the front again after a failure, and with every start; repeating it is harmless. */
enum weir_status storage_scrub_columns(struct storage *storage, struct open_erasure *erasure,
                                       bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* scrub_record.c: what else Postgres holds of the samples, inside the caller's transaction. */
enum weir_status storage_scrub_rows(struct storage *storage, struct open_erasure *erasure,
                                    struct weir_error *err) WEIR_MUST_USE;
/* scrub_deep.c: rewrites the touched tables and cycles the WAL, one at a time, so that old row versions are
 * gone as well; is_deep with the last. */
void storage_scrub_deep(struct storage *storage, struct open_erasure *erasure);

#endif
