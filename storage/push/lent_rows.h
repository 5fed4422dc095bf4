/* Rows that are to be predicted and not stored. They are in memory alone, under ids of a dataset that is in no catalog,
 * until whoever lent them takes them back or stops renewing the loan. Workers read them like samples of files that only
 * storage can open. Owned by struct storage. */
#ifndef WEIR_STORAGE_LENT_ROWS_H
#define WEIR_STORAGE_LENT_ROWS_H

#include "core/rpc/rpc.h"
#include "storage/reading/use_leases.h"
#include "storage/store/store.h"

enum {
    LENT_BYTES_MAX = 256 << 20,   /* of all loans; more are asked again later */
    LENT_LOAN_BYTES = 256 << 10,  /* counted for each loan beside its rows … */
    LENT_ROW_BYTES = 32,          /* … and for each of these */
    LENT_ROWS_MAX = 1 << 20,      /* of one loan, malformed ones among them */
    LENT_REASONS_MAX = 100,       /* reported of one loan */
    LENT_ANSWER_BYTES = 15 << 20, /* length of what tells of one, in a header */
    LENT_MS = 30000,              /* a loan that is not renewed */
};

struct lent_rows;

/* Both borrowed. */
struct lent_rows *storage_lent_rows_new(struct store *store, const struct use_leases *leases);
void storage_lent_rows_free(struct lent_rows *lent);

/* A loan is its key's: another one of the same number is another loan. UNAVAILABLE while others, or the key itself,
 * have lent as much as they can. */
enum weir_status storage_rows_lend(struct lent_rows *lent, struct weir_request *request,
                                   struct msg_rows_lent *answer,
                                   struct weir_error *err) WEIR_MUST_USE;
void storage_rows_return(struct lent_rows *lent, const struct weir_request *request);

/* NOT_FOUND unless the rows are of a loan of that key: no row is predicted for anybody else. */
enum weir_status storage_rows_claim(const struct lent_rows *lent,
                                    const struct msg_rows_claim *asked,
                                    struct weir_error *err) WEIR_MUST_USE;

/* True when the first of `ids` is of a lent row: a request is for samples or for lent rows. */
bool storage_rows_are_lent(const struct weir_u64s *ids);
/* Answers about lent rows. What is no longer lent is GONE. */
enum weir_status storage_lent_locate(const struct lent_rows *lent, const struct msg_locate *asked,
                                     struct weir_arena *arena, struct msg_located *answer,
                                     struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_lent_read(const struct lent_rows *lent, const struct msg_read *asked,
                                   struct weir_arena *arena, struct msg_read_is *answer,
                                   struct weir_frames *frames,
                                   struct weir_error *err) WEIR_MUST_USE;

#endif
