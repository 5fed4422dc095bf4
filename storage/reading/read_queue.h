/* Reads for those who cannot be lent to, such as workers on other hosts: done on threads, so that the loop waits for no
 * disk and compresses nothing. A few at a time, in fair order: the key that has the fewest under way is next, and of
 * one key, or of this host, the asker: whoever asks for much waits for itself. Bounded: each holds READ_ANSWER_BYTES,
 * one key leaves as many to others as it has, and what is too much is refused with UNAVAILABLE, and asked again. Owned
 * by struct storage. */
#ifndef WEIR_STORAGE_READ_QUEUE_H
#define WEIR_STORAGE_READ_QUEUE_H

#include "storage/reading/serve.h"

enum {
    READ_THREADS = 4,
    READS_WAITING_MAX = 256,
    READS_REPLANNED_MAX = 8, /* times that an erasure may come while one is read */
};

struct read_queue;

struct read_queue *storage_read_queue_new(const struct serving *serving);
/* Waits for the threads; requests that wait are not answered. */
void storage_read_queue_free(struct read_queue *queue);
/* Answers the request later, whatever becomes of it. */
void storage_read_queue_add(struct read_queue *queue, const struct weir_request *request);
/* Returns how many reads of a key wait, or are under way. */
size_t storage_read_queue_has(const struct read_queue *queue, uint64_t key);

#endif
