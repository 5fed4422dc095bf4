/* A file of others, mapped to be read: its owner may cut it short at any time, and a read after its end
 * is a signal (SIGBUS), which costs that copy only. The signal's handler is one for
 * the process: this module's mutable globals are the handler before it, and the place where each thread goes on. */
#ifndef WEIR_PREPROCESS_WORKER_MAPPING_H
#define WEIR_PREPROCESS_WORKER_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
    const uint8_t *at; /* NULL: nothing is mapped */
    uint64_t size;
};

/* Maps the first `size` bytes, for reads in no order, and handles the signal from then on: one thread at a
 * time. False when it cannot be; nothing is mapped then. */
bool preprocess_mapping_open(struct mapping *mapping, int fd, uint64_t size);
void preprocess_mapping_close(struct mapping *mapping); /* zeroed is fine, and what it leaves */
/* Returns the start of a range; NULL when it is not mapped. Only preprocess_mapping_copy() and
 * preprocess_mapping_watch() may read it. */
static inline const uint8_t *mapping_at(const struct mapping *mapping, uint64_t offset,
                                        uint64_t length)
{
    bool is_within =
        mapping->at != NULL && length <= mapping->size && offset <= mapping->size - length;
    return is_within ? mapping->at + offset : NULL;
}

/* Has a range that is mapped read from the disk, and does not wait for it. */
void preprocess_mapping_read_ahead(const struct mapping *mapping, uint64_t offset, uint64_t length);

/* Does `work`, which may read mapped ranges where they are. False when a file has ended before one of them: `work`
 * was left at that read, and must hold nothing just then that it has to give back. `work` may watch over other work. */
bool preprocess_mapping_watch(void (*work)(void *owner), void *owner);

/* A piece of a mapping. */
struct mapping_range {
    const uint8_t *from;
    size_t length;
};
/* Copies ranges end to end, many at a time on their way to the processor's cache; false when a file has
 * ended before one of them: `to` may be half written then. */
bool preprocess_mapping_copy(const struct mapping_range *ranges, size_t count, uint8_t *to);

#endif
