/* Copies from mapped files that survive the loss of the file's end. */
#include "preprocess/worker/mapping.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { CACHE_LINE_BYTES = 64, PREFETCH_RANGES = 8 };

static struct sigaction before;
static _Thread_local sigjmp_buf *volatile escape; /* of the copy under way */

/* Any other SIGBUS does what it would have done without this handler. */
static void on_bus_error(int number)
{
    if (escape != NULL)
        siglongjmp(*escape, 1);
    sigaction(number, &before, NULL);
    raise(number);
}

/* SA_NODEFER: the jump leaves the signal unblocked, without a system call for each copy. */
static void watch_bus_errors(void)
{
    struct sigaction action = {.sa_handler = on_bus_error, .sa_flags = SA_NODEFER | SA_ONSTACK},
                     now;
    sigaction(SIGBUS, NULL, &now);
    if (now.sa_handler == on_bus_error)
        return;
    before = now;
    sigaction(SIGBUS, &action, NULL);
}

bool mapping_open(struct mapping *mapping, int fd, uint64_t size)
{
    void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return false;
    madvise(at, size, MADV_RANDOM);
    watch_bus_errors();
    *mapping = (struct mapping){.at = at, .size = size};
    return true;
}

void mapping_close(struct mapping *mapping)
{
    if (mapping->at != NULL)
        munmap((void *)(uintptr_t)mapping->at, mapping->size);
    *mapping = (struct mapping){0};
}

const uint8_t *mapping_at(const struct mapping *mapping, uint64_t offset, size_t length)
{
    bool is_within =
        mapping->at != NULL && length <= mapping->size && offset <= mapping->size - length;
    return is_within ? mapping->at + offset : NULL;
}

/* What is small comes from memory, and is waited for. Never faults. */
static void prefetch(const struct mapping_range *range)
{
    for (size_t at = 0; at < range->length; at += CACHE_LINE_BYTES)
        __builtin_prefetch(range->from + at);
}

/* A function of its own, so that nothing it changes is in a register of the one that may be jumped to. */
__attribute__((noinline)) static void copy_all(const struct mapping_range *ranges, size_t count,
                                               uint8_t *to)
{
    for (size_t i = 0; i < count && i < PREFETCH_RANGES; i++)
        prefetch(&ranges[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + PREFETCH_RANGES < count)
            prefetch(&ranges[i + PREFETCH_RANGES]);
        memcpy(to, ranges[i].from, ranges[i].length);
        to += ranges[i].length;
    }
}

bool mapping_copy(const struct mapping_range *ranges, size_t count, uint8_t *to)
{
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) {
        escape = NULL;
        return false;
    }
    escape = &here;
    atomic_signal_fence(memory_order_seq_cst);
    copy_all(ranges, count, to);
    atomic_signal_fence(memory_order_seq_cst);
    escape = NULL;
    return true;
}
