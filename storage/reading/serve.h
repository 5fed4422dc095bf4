/* Answers about samples. Each function fills the answer from the arena of the request. */
#ifndef WEIR_STORAGE_SERVE_H
#define WEIR_STORAGE_SERVE_H

#include "core/rpc/rpc.h"
#include "core/rpc/segment.h"
#include "storage/records/gather.h"
#include "storage/records/located.h"
#include "storage/store/store.h"

struct mirrors;
struct sums;
struct use_leases;

enum {
    LOCATE_IDS_MAX = 65536,
    READ_IDS_MAX = 4096,
    READ_ANSWER_BYTES = 16 << 20, /* an answer ends before it grows beyond this … */
    READ_BYTES_MAX = 256 << 20,   /* … unless its first sample alone does */
};

/* Sources of every answer about samples; borrowed. */
struct serving {
    struct store *store;
    const struct gather_from *from;
    struct sums *sums;
    struct mirrors *mirrors; /* the buckets of datasets */
    const struct use_leases *leases;
    struct weir_borrowed *borrowed; /* memory of readers */
    uint64_t host;                  /* core/base/host.h */
};

/* columns.c */
enum weir_status storage_columns_read(struct store *store, const struct msg_columns_read *asked,
                                      struct weir_arena *arena, struct msg_columns_is *answer,
                                      struct weir_error *err) WEIR_MUST_USE;
/* list.c */
enum weir_status storage_list(struct store *store, const struct msg_list *asked,
                              struct weir_arena *arena, struct msg_list_is *answer,
                              struct weir_frames *frames, struct weir_error *err) WEIR_MUST_USE;
/* find.c: where one sample is. UNAVAILABLE without the database, unless its chunk is cached. An unknown id is GONE. */
enum weir_status storage_find(struct store *store, uint64_t id, struct located *ret_located,
                              struct weir_error *err) WEIR_MUST_USE;
/* Returns the state of a row whose block has these dead rows (NULL: none), in this file (NULL: an unknown one). */
enum weir_sample_state storage_state_of(const struct dead_rows *dead, uint32_t row,
                                        const struct stored_file *file);
/* Returns the state that a reader is answered, who goes on to read what is live: GONE when a block of it is damaged. */
enum weir_sample_state storage_serve_state(struct sums *sums, const struct located *found);
/* All of them by ascending id, which is nearly always the order of files and of places in them; `number` is
 * the place of the id among `ids`. What is found may be borrowed until the function returns; files are copies, which
 * belong to no group, in `arena`. */
typedef void storage_found_fn(void *owner, uint32_t number, const struct located *found);
enum weir_status storage_find_all(struct store *store, const struct weir_u64s *ids,
                                  struct weir_arena *arena, storage_found_fn *on_found, void *owner,
                                  struct weir_error *err) WEIR_MUST_USE;
/* answer_values.c: the vectors of an answer, zeros for whatever has none. All of one kind: an answer ends
 * before a sample of another, and before it holds more than ANSWER_VALUES_BYTES. */
struct answer_values {
    uint32_t width;
    enum weir_dtype type;
    size_t row_bytes; /* 0: labels are no vectors */
    struct weir_bytes all;
    uint8_t *at;
};
/* Returns how many of `ids` are answered: one at least. */
size_t storage_answer_values_open(const struct store *store, const struct weir_u64s *ids,
                                  struct weir_arena *arena, struct answer_values *ret_values);
void storage_answer_values_put(struct answer_values *values, size_t i, const struct located *found);
void storage_answer_values_drop(struct answer_values *values, size_t i);

/* answer_files.c: files of an answer, for readers that open them themselves. */
struct answer_file {
    const struct dataset *dataset;
    const struct stored_file *file;
};
struct answer_files {
    struct weir_strs paths;
    struct weir_u64s layouts, devices, inodes, sizes;
    struct weir_i64s mtimes;
};
/* A file that nobody may open, because it is not live or in a bucket, has the path "". */
struct answer_files storage_answer_files(const struct answer_file *found, size_t count,
                                         struct weir_arena *arena);

/* locate_chunks.c */
enum weir_status storage_locate_chunks(const struct serving *serving,
                                       const struct msg_locate_chunks *asked,
                                       struct weir_arena *arena, struct msg_located_chunks *answer,
                                       struct weir_frames *frames,
                                       struct weir_error *err) WEIR_MUST_USE;
/* locate.c */
enum weir_status storage_locate(const struct serving *serving, const struct msg_locate *asked,
                                struct weir_arena *arena, struct msg_located *answer,
                                struct weir_error *err) WEIR_MUST_USE;
/* read.c */
enum weir_status storage_read(const struct serving *serving, const struct msg_read *asked,
                              struct weir_arena *arena, struct msg_read_is *answer,
                              struct weir_frames *frames, struct weir_error *err) WEIR_MUST_USE;

#endif
