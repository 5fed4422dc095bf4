/* Erasures that are not verified yet. Requests that wait together are worked on together, as one open erasure: one
 * look-up, one pass over files, one search, however many they are. Between erasure_steps.c (its steps), tombstoning.c
 * (which samples it takes), scrub_round.c and scrub.c (bytes), scrub_record.c (rows) and search.c. */
#ifndef WEIR_STORAGE_ERASURE_RECORD_H
#define WEIR_STORAGE_ERASURE_RECORD_H

#include "core/wire/erasure.h"
#include "storage/erasure/eraser.h"
#include "storage/erasure/fingerprint.h"
#include "storage/erasure/search.h"
#include "storage/files/extent.h"
#include "storage/keys/id_list.h"
#include "storage/keys/key_index.h"
#include "storage/keys/key_names.h"
#include "storage/reading/serve.h"
#include "storage/records/key_identify.h"

enum {
    /* worked on as one; what numbers of requests are stored in relies on it */
    ERASE_REQUESTS_MAX = 65536,
    ERASE_SLICE = 512, /* requests that one transaction moves on */
    ERASE_PAUSE_FIRST_MS = 500,
    ERASE_PAUSE_MAX_MS = 60000,
};

/* The pause before another try, when the one before this try was of `pause_ms`, 0: none. They double. */
static inline int64_t storage_erase_pause(int64_t pause_ms)
{
    if (pause_ms == 0)
        return ERASE_PAUSE_FIRST_MS;
    return pause_ms < ERASE_PAUSE_MAX_MS / 2 ? 2 * pause_ms : ERASE_PAUSE_MAX_MS;
}

/* An order, and what its receipt will say. */
struct erase_request {
    bool is_sealed;      /* by the orchestrator, once it is scrubbed */
    bool drops_refused;  /* also overwrites what became no sample (dropping.h) */
    int64_t taken_up_ms; /* since when it waits to be looked up; 0: before this start */
    uint64_t number;
    uint32_t dataset; /* 0: all */
    int64_t accepted_us;
    struct key_names names;  /* subjects and keys, sorted; these four only until it is tombstoned */
    struct id_list subjects; /* their hashes, ascending */
    struct id_list keys;     /* … */
    struct id_list wanted;
    uint64_t samples, pages; /* tombstoned */
    struct weir_buf remarks; /* one a line */
    bool is_remarked;        /* `remarks` has more than its row */
    size_t failed,
        stuck; /* samples that a file stands in the way of: in this round, and in the last one */
    char *found, *trouble; /* the first of them, for a person; NULL: none */
    bool saw_unidentified,
        is_unidentified; /* a file of Weir's own is not what was recorded: the same */
    uint64_t left;       /* places where something of it still is */
    uint64_t unsearched; /* records of it that have no fingerprint */
    bool is_shared;      /* others' samples have passages in common with it */
};

enum { ERASE_PAGE_IDS = 2048 };

/* Stored as numbers: append only. */
enum page_step {
    PAGE_TOMBSTONED,
    PAGE_READ, /* its fingerprints and hashes are stored: bytes may be overwritten, and some may be */
    PAGE_OVERWRITTEN,
    PAGE_BLANK, /* its rows in chunks tell nothing, its paths are forgotten */
};

/* Share of one request in the page. */
struct page_row {
    struct erase_request *request;
    uint64_t number; /* its page */
    enum page_step step;
    struct fingerprints prints;
    bool is_stuck;           /* a file stood in the way of some of it */
    uint64_t records, bytes; /* overwritten, or removed with their file */
    uint64_t files;          /* records that were files of their own */
    struct id_list touched;  /* the files of the others, with repetitions */
};

/* Progress of this start with it. */
enum page_stage {
    PAGE_IS_NEW,
    PAGE_IS_READ,
    PAGE_IS_PLANNED, /* its pending writes to buckets have rows */
    PAGE_IS_OPEN,    /* no block that is to be overwritten has a sum */
};

/* Samples of a page that were given a hash when they came. */
struct known_hash {
    uint32_t dataset; /* its number */
    enum key_kind kind;
    uint64_t hash;
    struct id_list ids; /* ascending */
};

/* Some samples of an open erasure, which were put under tombstones together and are read, overwritten and forgotten
 * together. A row of storage.erasure_ids for each request that has samples in it. Each step of a page is stored when it
 * is through, so that a death costs a page at most. Zeroed is none. */
struct erase_page {
    uint64_t erasure_epoch; /* 0: none */
    enum page_stage stage;
    struct page_row *rows;
    size_t row_count;
    struct id_list ids;    /* ascending */
    uint32_t *row_of;      /* … row of each */
    struct id_list unread; /* could not be read yet: neither in `prints` nor blocked; ascending */
    struct id_list still_unread; /* … nor this time, */
    struct id_list read;         /* and those that could */
    struct known_hash *known;    /* what records without a sum say of themselves, looked up once */
    size_t known_count, known_capacity;
};

/* A record that is to be overwritten. */
struct scrub_record {
    uint64_t id;
    struct format_range payload;
    struct extent extent;
    bool is_done; /* it was overwritten before */
};

/* The file that is being overwritten, open over many records, and those of them that are at work. */
struct scrub_target {
    struct eraser *eraser;
    struct dataset *dataset;
    uint64_t file;                 /* its number */
    char *path;                    /* NULL: none */
    struct file_window window;     /* on it, and its descriptor */
    struct stat seen;              /* as it was opened */
    struct scrub_intent *half_way; /* in the file, as this group began; NULL: not asked yet */
    size_t half_way_count;
    struct scrub_record *records;
    size_t count, capacity;
    size_t bytes; /* bytes to be written */
    size_t syncs; /* so far */
};

/* Over all pages that are not overwritten. */
struct scrub_round {
    size_t at;     /* the next sample of the page: read, then planned for, then overwritten */
    size_t synced; /* those before are on disk */
    size_t failed; /* samples that a file stood in the way of */
    int error; /* errno of the newest failure; ESTALE: a file of Weir's own is not what was recorded */
    int64_t pause_ms, again_ms;
    struct kept_out {
        uint32_t dataset; /* 0: none */
        uint64_t file;    /* its number */
        uint64_t count;   /* records that are kept out of what stands in its place */
    } kept_out;           /* of the file that was asked about last */
};

/* Pending writes to buckets (s3_pending.h), as far as this start knows. */
struct pending_progress {
    int pass;         /* of the planning of this page, */
    size_t at;        /* and where it is */
    uint64_t request; /* request whose newest file was planned for; 0: none yet */
    uint32_t dataset;
    uint64_t planned; /* and its number */
    bool is_any;      /* it has any pending write */
    bool is_due;      /* the mirror is overwritten */
    bool is_waiting;
    size_t asked; /* when it was not settled yet */
};

/* The file that is being read, open over many samples; it was what was indexed as it was opened. */
struct scrub_source {
    char *path; /* NULL: none */
    struct file_window window;
};
/* Look-ups about records that no sum vouches for. */
struct scrub_proof {
    bool is_begun;
    struct sum_proof sums;
};
/* A sample that is not erased, of the file that was last looked through for one. */
struct survivor {
    uint64_t file; /* its number */
    uint64_t id;   /* 0: none */
};
struct resolving;
struct dropping;

/* Attempts to verify that have failed: they go on, after pauses that double. */
struct failing {
    char *trouble; /* the newest, for a person: it may name files; NULL: none has failed */
    int64_t pause_ms, again_ms;
};

struct erasure_record {
    enum weir_erasure_state state;
    struct erase_request **requests; /* by number */
    size_t count, capacity;
    size_t drops;           /* requests that are orders to drop what became no sample */
    size_t moved;           /* requests that have their next state in Postgres already */
    uint64_t erasure_epoch; /* the newest of its pages */
    uint64_t samples;
    struct resolving *resolving; /* NULL: not begun, or done */
    bool is_resolved;
    struct id_fetch fetch;

    struct id_list epochs;  /* of its pages, ascending */
    size_t epoch_at;        /* the next one to look into */
    struct erase_page page; /* at work; page.erasure_epoch 0: none */
    int64_t in_force_ms;    /* since when; 0: before this start */
    bool is_begun;          /* its bytes are being worked on */
    uint64_t inherited;     /* up to this epoch a death may have left files half-way; 0: none */
    struct id_list blocked, blocked_in; /* hashes to be blocked, and in which dataset */
    struct scrub_source source;
    struct key_identifier *identifier; /* NULL: no page is being read */
    struct scrub_proof proof;
    struct scrub_round round;
    bool is_overwritten; /* the last round is through */
    bool is_unrefused;   /* no file of its own has refused records of who is erased */
    bool is_settled;     /* nothing is to be waited for in buckets */
    uint64_t blanked;    /* first sample of the newest chunk that is blank, */
    uint32_t blanked_rows;
    struct survivor survivor;
    bool is_blank; /* no row of its samples tells anything */
    struct scrub_target target;
    char *parent; /* folder with unlinked files that is not yet synced */
    size_t kept;  /* bytes of it that stay though they name empty folders */
    struct pending_progress pending_progress;

    struct id_list hashes;   /* of subjects and keys of its samples */
    bool is_blind;           /* they are not all known, or too many */
    struct id_list datasets; /* of its samples */
    struct run_walk {
        size_t dataset; /* index into `datasets` */
        int kind;       /* 0: subjects, 1: keys */
        struct key_walk runs;
    } thinning;
    bool is_thin; /* no run has an entry of its samples */
    struct class_check {
        size_t dataset;   /* index in the catalog */
        uint64_t edition; /* of its classes, as this look began; 0: it has not */
        uint64_t next_row;
        struct weir_bits left; /* classes that have a live sample */
        size_t left_count;
    } classes;
    bool is_renamed; /* no class without a sample has a name that came with one of its samples */

    struct dropping *dropping; /* NULL: not begun, or nothing to drop */
    bool is_dropped;

    bool is_counted;           /* those who can still be read are counted */
    struct id_list partitions; /* of chunks that it has touched: dataset << 32 | partition */
    bool is_sealed;            /* every holder is purged, and Postgres keeps no dead row versions */
    struct search *search;     /* of this round; NULL: none is under way */
    struct prints_place {
        size_t from;            /* requests */
        uint64_t erasure, page; /* after this row */
        bool is_full;           /* the next row waits for another round */
        bool is_through;
    } prints;
    struct search_result result;
    struct search_prints found, shared; /* ascending once is_searched */
    bool is_searched, is_attributed;
    struct attempt {
        char *trouble; /* of this one */
        uint64_t unread;
    } attempt;
    struct failing failing;
};

/* ---- requests ---- */

void storage_erase_request_free(struct erase_request *request);
/* Subjects and keys as a request's row has them: what was asked for before there were proofs is known by its hashes
 * alone. */
enum weir_status storage_erasure_record_names(struct weir_bytes proofs, struct weir_bytes subjects,
                                              struct key_names *names,
                                              struct weir_error *err) WEIR_MUST_USE;
/* Sorts its names, and fills `subjects` and `keys` from them. */
void storage_erasure_record_list(struct erase_request *request);
/* An accepted request begins: it is storage's from now on. */
void storage_erasure_take_up(struct eraser *eraser, struct erase_request *request);
/* Drops the names: from now on the request is known by what is in Postgres. */
void storage_erase_request_forget_names(struct erase_request *request);
/* Adds a line unless it is there. */
void storage_remark(struct weir_buf *remarks, const char *remark);

/* ---- all of them ---- */

/* The state of this name, as the table of erasures has it; VERIFIED for a name of no other. */
enum weir_erasure_state storage_erasure_state(const char *name);
struct erasure_record *storage_erasure_record_new(enum weir_erasure_state state);
void storage_erasure_record_free(struct erasure_record *erasure);
/* Parts those requests from it that `is_parted` says, as an open erasure of their own with the same epochs. */
struct erasure_record *storage_erasure_record_part(struct erasure_record *erasure,
                                                   bool (*is_parted)(const struct erase_request *));
/* Takes the request over. */
void storage_erasure_record_add(struct erasure_record *erasure, struct erase_request *request);
/* All of them. */
struct erasures {
    struct erasure_record **at;
    size_t count, capacity;
    size_t rotation;
    int64_t newest_ms;              /* when the newest request was accepted */
    struct erase_request **waiting; /* accepted, and not begun */
    size_t waiting_count, waiting_capacity, waiting_at;
    struct id_list spent; /* erasures that are verified, and whose fingerprints are still there */
};

/* erase_trouble.c: an accepted erasure whose files and objects are not all dealt with. */
bool storage_erasure_is_open(const struct eraser *eraser, uint64_t number);
/* together.c: not freed. */
void storage_erasure_remove(struct erasures *erasures, const struct erasure_record *erasure);
bool storage_erasure_has_bytes_to_do(const struct erasure_record *erasure);
/* True while records of any are still to be overwritten, and no file stands in the way of that. */
bool storage_erasure_is_any_unscrubbed(const struct erasures *erasures);
/* All whose bytes wait begin together, as soon as fewer than AT_ONCE_MAX are at work, and no more requests come one
 * upon the other. Those that wait for a file do not count. Returns when to call again; 0: when something happens. */
int64_t storage_erasure_begin_bytes(const struct eraser *eraser, int64_t now_ms);
/* Joins all erasures that wait for their search to this one, for one search. */
void storage_erasure_search_together(struct erasures *erasures, struct erasure_record *first);

/* NULL: it is of another open erasure. */
struct erase_request *storage_erasure_record_find(const struct erasure_record *erasure,
                                                  uint64_t number);
/* The numbers of its requests from the one at `from` on, at most `max`: for = ANY ($n). The caller frees `at`. */
struct id_list storage_erasure_record_numbers(const struct erasure_record *erasure, size_t from,
                                              size_t max);
/* Inside the caller's transaction: what there is to remark on these requests. */
enum weir_status storage_store_remarks(struct store *store, struct erase_request *const *requests,
                                       size_t count, struct weir_error *err) WEIR_MUST_USE;
/* A remark on the request that a sample of the page is of. */
void storage_scrub_remark(struct erasure_record *erasure, uint64_t id, const char *remark);

/* erase_load.c: the requests and open erasures that Postgres knows of, after `after`, at most some thousand. */
enum weir_status storage_erase_load(struct store *store, struct erasure_record **by_state,
                                    struct weir_error *err) WEIR_MUST_USE;
/* erase_load.c: which epochs its pages are of, and which a death may have left half-way. */
enum weir_status storage_erase_load_epochs(struct store *store, struct erasure_record *erasure,
                                           struct weir_error *err) WEIR_MUST_USE;

/* ---- which samples ---- */

/* resolve.c: the ids that the request may mean and that are not erased yet: all that have the hash; no more than
 * `max` and some. */
enum weir_status storage_resolve(struct store *store, const struct erase_request *request,
                                 size_t max, struct id_list *ids,
                                 struct weir_error *err) WEIR_MUST_USE;

/* tombstoning.c, a bounded piece of work: looks its samples up and puts them under tombstones, a page at a time. */
enum weir_status storage_tombstone_step(struct eraser *eraser, struct erasure_record *erasure,
                                        bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
void storage_resolving_free(struct resolving *resolving);

/* ---- erase_page.c: pages ---- */

void storage_page_fini(struct erase_page *page);
/* Makes erasure->page the next one that has rows below `step`, those alone; none is left when its erasure_epoch is 0
 * and *ret_done. Looks into some epochs at a time. */
enum weir_status storage_page_next(struct store *store, struct erasure_record *erasure,
                                   enum page_step step, bool *ret_done,
                                   struct weir_error *err) WEIR_MUST_USE;
/* From the first one on again. */
void storage_page_rewind(struct erasure_record *erasure);
/* The row that a sample of the page is of. */
struct page_row *storage_page_row(const struct erase_page *page, uint64_t id);
/* Counts a record of `length` bytes, of this file of the dataset, that is overwritten or removed. */
void storage_page_row_scrubbed(struct page_row *row, const struct dataset *dataset, uint64_t file,
                               uint64_t length);

/* Inside the caller's transaction: fingerprints, what could not be read, and the step. */
enum weir_status storage_page_store_read(struct store *store, struct erase_page *page,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Inside the caller's transaction: the step, for rows that nothing stands in the way of. */
enum weir_status storage_page_store_step(struct store *store, const struct erase_page *page,
                                         enum page_step step, struct weir_error *err) WEIR_MUST_USE;
/* Inside the caller's transaction: what there is to remark on its requests. */
enum weir_status storage_page_store_remarks(struct store *store, const struct erase_page *page,
                                            struct weir_error *err) WEIR_MUST_USE;

/* Pieces of one long bytea, each of its own row: for substr() over unnest(). Zeroed is empty. */
struct pieces {
    struct weir_buf bytes;
    struct id_list at, sizes;
};
void storage_pieces_add(struct pieces *pieces, struct weir_bytes piece);
void storage_pieces_fini(struct pieces *pieces);

/* ---- bytes ---- */

void storage_dropping_free(struct dropping *dropping);

/* scrub_round.c, a bounded piece of work: reads what is to be overwritten, so that it can be searched for and
 * kept out later, then overwrites or unlinks it, page by page. A file that cannot be read or written holds up nothing
 * but its own samples: they are tried again, after pauses that double. *ret_done: all pages have been gone over. */
enum weir_status storage_scrub_step(struct eraser *eraser, struct erasure_record *erasure,
                                    bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* Between two rounds, until round.again_ms. */
bool storage_scrub_waits(const struct erasure_record *erasure, int64_t now_ms);
/* The requests that a file stands in the way of, as an open erasure of their own that waits; NULL: none. */
struct erasure_record *storage_scrub_part(struct erasure_record *erasure);
/* The obstacle, for a person, in `arena`; "": nothing. It may name a file. */
const char *storage_scrub_trouble(const struct erase_request *request, struct weir_arena *arena);
void storage_scrub_round_fini(struct erasure_record *erasure);

/* scrub.c: one sample of the page is read, or overwritten; repeating it is harmless. IO, and round.error, when a file
 * stands in the way. */
enum weir_status storage_scrub_look(struct eraser *eraser, struct erasure_record *erasure,
                                    uint64_t id, struct weir_error *err) WEIR_MUST_USE;
/* Closes the file that was read: it may be another one the next time. */
void storage_scrub_look_end(struct erasure_record *erasure);
enum weir_status storage_scrub_one(struct eraser *eraser, struct erasure_record *erasure,
                                   uint64_t id, struct weir_error *err) WEIR_MUST_USE;
/* scrub_proof.c: the record in the place of a sample of the page, whose file is open in erasure->source, where other
 * bytes may be in the window afterwards unless it is SCRUB_OWN. */
enum scrub_verdict {
    SCRUB_OWN,
    SCRUB_OVERWRITTEN, /* by a former erasure */
    SCRUB_UNPROVEN,    /* nothing says whose it is, since the store was copied, restored or moved */
    SCRUB_OTHER,       /* it may be anybody's */
};
enum weir_status storage_scrub_prove(struct eraser *eraser, struct erasure_record *erasure,
                                     const struct located *found, uint64_t id,
                                     enum scrub_verdict *ret_verdict,
                                     struct weir_error *err) WEIR_MUST_USE;
void storage_scrub_proof_end(struct erasure_record *erasure);
/* scrub_proof.c: whose the record says it is. */
struct key_identity storage_scrub_identify(struct eraser *eraser, struct erasure_record *erasure,
                                           const struct located *found);
/* scrub_lost.c: of a sample whose file was replaced. IO while what stands in its place still holds people who were
 * erased, and this sample was not overwritten before. */
enum weir_status storage_scrub_lost(struct store *store, struct erasure_record *erasure,
                                    const struct located *found, uint64_t id,
                                    struct weir_error *err) WEIR_MUST_USE;
/* scrub_remarks.c: the file of the sample was gone before anything of it could be overwritten. */
void storage_scrub_remark_gone(struct erasure_record *erasure, const struct located *found,
                               uint64_t id);
/* The file of the sample is to be overwritten, or unlinked, and is not there. An unlinked one that was there when the
 * page was read counts. */
void storage_scrub_remark_missing(struct erasure_record *erasure, const struct located *found,
                                  uint64_t id);
/* A source that Weir does not own still has the sample. */
void storage_scrub_remark_source(struct erasure_record *erasure, uint64_t id,
                                 const struct dataset *dataset);
/* The file as a whole, as it is in the source, must not come in again: scans need not read it while it is what it
 * was. Stored with the page at the latest. */
void storage_scrub_block_source(struct store *store, struct erasure_record *erasure,
                                const struct located *found);
/* Commits what scans have staged: no row of theirs depends on what is written next. */
enum weir_status storage_scrub_flush(struct eraser *eraser, struct weir_error *err) WEIR_MUST_USE;
/* scrub_record.c: file groups that have changed in memory, of the page's datasets, inside the caller's transaction. */
enum weir_status storage_scrub_write_groups(struct store *store,
                                            const struct erasure_record *erasure,
                                            struct weir_error *err) WEIR_MUST_USE;
/* … of one dataset. */
enum weir_status storage_scrub_write_dataset(const struct dataset *dataset,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Stores the hashes so far. */
enum weir_status storage_scrub_store_blocked(struct store *store, struct erasure_record *erasure,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Everything overwritten or unlinked so far is on disk. */
enum weir_status storage_scrub_sync(struct erasure_record *erasure,
                                    struct weir_error *err) WEIR_MUST_USE;
/* IO, with errno: the erasure comes back to this file. */
enum weir_status storage_scrub_stuck(struct erasure_record *erasure, const char *path,
                                     const char *what, struct weir_error *err) WEIR_MUST_USE;
/* scrub_round.c: the sample is left to another round; the first failure of its request is reported. */
void storage_scrub_fail(struct erasure_record *erasure, uint64_t id, const struct weir_error *err);
/* scrub_group.c: takes the extent over; it is overwritten with others of the open file. */
void storage_scrub_group_add(struct erasure_record *erasure, const struct located *found,
                             uint64_t id, struct extent *extent);
/* Overwrites them now, for good; what cannot be fails this round. */
void storage_scrub_group_end(struct erasure_record *erasure);
/* Forgets them: they are left to another round. */
void storage_scrub_group_drop(struct erasure_record *erasure);
/* scrub_sums.c, a bounded piece of work: the blocks that samples of the page lie in lose their sums, for good. */
enum weir_status storage_scrub_open_sums(struct eraser *eraser, struct erasure_record *erasure,
                                         bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* scrub_sums.c: the same of what is overwritten with a sample, in a transaction of its own. */
enum weir_status storage_scrub_open_extent(struct eraser *eraser, struct erasure_record *erasure,
                                           const struct located *found, struct format_range range,
                                           struct weir_error *err) WEIR_MUST_USE;
/* True when an erasure has overwritten the bytes. */
bool storage_scrub_is_done(struct file_window *window, const struct extent *extent);
/* A sample whose bytes may still lie where they were indexed. */
bool storage_scrub_has_bytes(const struct located *found);

/* ---- rows ---- */

/* scrub_record.c, a bounded piece of work: what Postgres holds of its samples, times, labels, vectors and paths, page
 * by page. Repeating it is harmless. */
enum weir_status storage_scrub_records(struct store *store, struct erasure_record *erasure,
                                       bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* scrub_classes.c, inside the caller's transaction: notes the classes of erased samples of the chunk, whose labels are
 * about to be overwritten. */
enum weir_status storage_scrub_touch_classes(struct store *store,
                                             const struct erasure_record *erasure,
                                             struct dataset *dataset, const struct chunk *chunk,
                                             struct weir_error *err) WEIR_MUST_USE;
/* scrub_classes.c, a bounded piece of work: the names of classes whose last sample was erased are replaced. */
enum weir_status storage_scrub_classes(struct eraser *eraser, struct erasure_record *erasure,
                                       bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* scrub_record.c, a bounded piece of work: its samples are taken out of the sorted runs, which nobody may merge
 * meanwhile. */
enum weir_status storage_scrub_runs(struct store *store, struct erasure_record *erasure,
                                    bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* verify.c, a bounded piece of work: who can still be read is counted, every owned
 * file is searched for passages of all that was erased, and each request learns what of it was found. is_attributed
 * with the last. */
enum weir_status storage_verify_step(struct eraser *eraser, struct erasure_record *erasure,
                                     struct weir_error *err) WEIR_MUST_USE;
/* After an attempt that found something, or could not look everywhere, comes another one, for nothing is verified
 * that was not looked at. Returns the requests that something was found of, as an open erasure of their own that waits;
 * NULL: none, or all of them wait. With `is_other_unscrubbed` a find may be what they have in common with records that
 * are still to be overwritten: then it is no trouble yet. */
struct erasure_record *storage_verify_part(struct erasure_record *erasure,
                                           bool is_other_unscrubbed);
/* Between two attempts, until failing.again_ms. */
bool storage_verify_waits(const struct erasure_record *erasure, int64_t now_ms);
/* Inside the caller's transaction: some of its requests are verified. */
enum weir_status storage_move_verified(struct eraser *eraser, struct erasure_record *erasure,
                                       const struct id_list *numbers,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
