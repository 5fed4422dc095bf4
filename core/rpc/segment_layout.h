/* Layout of a segment, on which owner and borrower agree. For core/rpc alone. */
#ifndef WEIR_RPC_SEGMENT_LAYOUT_H
#define WEIR_RPC_SEGMENT_LAYOUT_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>

/* Seals that fix the size of a segment for good. */
enum { WEIR_SEGMENT_SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW };

/* The first page of a segment. Its bytes follow from WEIR_SEGMENT_HEAD_BYTES on. */
enum { WEIR_SEGMENT_HEAD_BYTES = 4096, WEIR_SEGMENT_KEY_BYTES = 16 };
struct weir_segment_head {
    uint8_t key[WEIR_SEGMENT_KEY_BYTES]; /* random, of this memory */
    _Atomic uint64_t word;               /* ticket * 4 + state */
};

enum weir_segment_state {
    WEIR_SEGMENT_IDLE,
    WEIR_SEGMENT_LENT,
    WEIR_SEGMENT_WRITING,
    WEIR_SEGMENT_WRITTEN
};

static inline uint64_t weir_segment_word(uint64_t ticket, enum weir_segment_state state)
{
    return ticket * 4 + (uint64_t)state;
}

/* A loan as it is sent: u32 process, u32 descriptor, u64 bytes after the head, key, u64 ticket. */
enum {
    WEIR_LOAN_PROCESS = 0,
    WEIR_LOAN_DESCRIPTOR = 4,
    WEIR_LOAN_SIZE = 8,
    WEIR_LOAN_KEY = 16,
    WEIR_LOAN_TICKET = 32
};

#endif
