/* Memory that one process lends to another on the same host: bulk bytes are written where their reader
 * wants them, instead of through a socket.
 *
 * Who wants bytes owns a segment: sealed memory without a name. With each request it lends the segment
 * again, under a ticket that was never used before, and sends the loan (some bytes that name process,
 * memory and ticket) along. Who answers claims the loan, writes, gives it back written, and says in its
 * answer how many bytes there are. Who cannot (another user, a loan that is over) answers
 * with a frame: a borrower that fails costs a copy, never an answer.
 *
 * Rules
 *   1  The word of a segment is (ticket, state): lent -> writing -> written. The borrower moves it by
 *      compare-and-swap, so a request that arrives twice is written once: the second claim fails. A late
 *      one names a ticket that is over, and fails as well.
 *   2  The owner lends again by swapping the old word for the new ticket. Memory that is being written at
 *      that moment is not lent again, ever: the owner lets go of it and takes other memory. Whether that
 *      writer is slow or dead does not matter.
 *   3  The borrower believes nothing: it maps what is anonymous memory of the size named, sealed against
 *      shrinking (a peer cannot take pages away under a write), at most WEIR_SEGMENT_BYTES_MAX, and begins
 *      with the random key named (a process number may belong to another process by now).
 *   4  A borrower maps at most WEIR_BORROWED_MAX segments, those used last, and none of a process that has
 *      ended: then the memory is gone. */
#ifndef WEIR_RPC_SEGMENT_H
#define WEIR_RPC_SEGMENT_H

#include "core/base/bytes.h"
#include "core/loop/loop.h"
#include "core/rpc/frames.h"

enum {
    WEIR_SEGMENT_BYTES_MAX = 64 << 20,
    WEIR_BORROWED_MAX = 256,
    WEIR_LOAN_BYTES = 40, /* of what is sent */
};

/* ---- the owner, who reads ---- */

struct weir_segment;

/* Room for `size` bytes, at most WEIR_SEGMENT_BYTES_MAX; the memory is taken with the first loan. */
struct weir_segment *weir_segment_new(size_t size) WEIR_MUST_USE;
void weir_segment_free(struct weir_segment *segment);
WEIR_DEFINE_AUTO(weir_segment, weir_segment_free)
/* Ends the loan there was, and begins one. What to send, valid until the next call; empty when the system
 * has no such memory. */
struct weir_bytes weir_segment_lend(struct weir_segment *segment);
/* Ends the newest loan unless it was claimed: true when nobody has written under it, and nobody will. */
bool weir_segment_withdraw(struct weir_segment *segment);
/* The first `size` bytes that were written under the newest loan; empty when nothing was, or not so much.
 * Nobody writes to them until the next loan. */
struct weir_bytes weir_segment_written(const struct weir_segment *segment, uint64_t size);
/* Content of an answer: `written` bytes of the newest loan, or the first frame when that is 0. `segment`
 * may be NULL when nothing was lent. */
struct weir_bytes weir_segment_answer(const struct weir_segment *segment, uint64_t written,
                                      const struct weir_frames *frames);

/* ---- the borrower, who writes ---- */

/* The segments of others that this process has mapped. */
struct weir_borrowed;

struct weir_borrowed *weir_borrowed_new(struct weir_loop *loop) WEIR_MUST_USE;
void weir_borrowed_free(struct weir_borrowed *borrowed);
/* Lets go of all of them: between two rounds of the loop, when no loan is claimed. */
void weir_borrowed_clear(struct weir_borrowed *borrowed);

/* A claimed loan: written to by this process alone until weir_loan_end(). */
struct weir_loan {
    uint8_t *at; /* 64-byte aligned; NULL: there is none */
    size_t size;
    _Atomic uint64_t *word;
    uint64_t ticket;
};
/* False when the memory cannot be reached or trusted, or the loan is over or was claimed before; `ret_loan` is as
 * it was then. Valid until the next round of the loop, or WEIR_BORROWED_MAX - 1 more claims. */
bool weir_loan_claim(struct weir_borrowed *borrowed, struct weir_bytes sent,
                     struct weir_loan *ret_loan);
/* `is_written`: its reader may look. Otherwise it is as if it had never been claimed. */
void weir_loan_end(struct weir_loan *loan, bool is_written);

#endif
