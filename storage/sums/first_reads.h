/* The blocks that were asked for since the start, and those of them that are still to be compared with their sums: two
 * bits a block, kept only where something was asked for. Pure. */
#ifndef WEIR_STORAGE_FIRST_READS_H
#define WEIR_STORAGE_FIRST_READS_H

#include "storage/sums/block_sum.h"

/* 60 MB for 16 TB; beyond, all is forgotten and begun again. */
enum { FIRST_READS_ROWS_MAX = 1 << 20 };

struct first_reads;

struct first_reads *storage_first_reads_new(void);
void storage_first_reads_free(struct first_reads *reads);
void storage_first_reads_clear(struct first_reads *reads);

/* Somebody is going to read the block. True when that is the first time. */
bool storage_first_reads_want(struct first_reads *reads, const struct block_at *at);
/* Notes a block that was just compared, or has a new sum: nobody need look at it again. */
void storage_first_reads_saw(struct first_reads *reads, const struct block_at *at);
/* Has a block compared once more. */
void storage_first_reads_again(struct first_reads *reads, const struct block_at *at);
/* The next block to compare, which counts as seen from now on; false when there is none. */
bool storage_first_reads_next(struct first_reads *reads, struct block_at *ret_at);

#endif
