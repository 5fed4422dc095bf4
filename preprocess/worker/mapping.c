/* Copies from mapped files that survive the loss of the file's end. */
#include "preprocess/worker/mapping.h"

#include "core/base/bytes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RUN = 64 /* ranges that come together, as rows do: column_prefetch() */ };

static struct sigaction before;
static _Thread_local sigjmp_buf *volatile escape; /* of the work under way */

/* The jump does not unblock the signal: to know what was blocked would be a system call each time. Any
 * other SIGBUS does what it would have done without this handler. */
static void on_bus_error(int number)
{
    sigset_t blocked;
    if (escape != NULL) {
        sigemptyset(&blocked);
        sigaddset(&blocked, number);
        pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
        siglongjmp(*escape, 1);
    }
    sigaction(number, &before, NULL);
    raise(number);
}

static void watch_bus_errors(void)
{
    struct sigaction action = {.sa_handler = on_bus_error, .sa_flags = SA_ONSTACK}, now;
    sigaction(SIGBUS, NULL, &now);
    if (now.sa_handler == on_bus_error)
        return;
    before = now;
    sigaction(SIGBUS, &action, NULL);
}

bool preprocess_mapping_open(struct mapping *mapping, int fd, uint64_t size)
{
    void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return false;
    madvise(at, size, MADV_RANDOM);
    watch_bus_errors();
    *mapping = (struct mapping){.at = at, .size = size};
    return true;
}

void preprocess_mapping_close(struct mapping *mapping)
{
    if (mapping->at != NULL)
        munmap((void *)(uintptr_t)mapping->at, mapping->size);
    *mapping = (struct mapping){0};
}

void preprocess_mapping_read_ahead(const struct mapping *mapping, uint64_t offset, uint64_t length)
{
    const uint8_t *at = mapping_at(mapping, offset, length);
    uint64_t skew = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    if (at != NULL)
        (void)madvise((void *)(uintptr_t)(at - skew), length + skew, MADV_WILLNEED);
}

bool preprocess_mapping_watch(void (*work)(void *owner), void *owner)
{
    sigjmp_buf here;
    sigjmp_buf *volatile outer = escape;
    if (sigsetjmp(here, 0) != 0) {
        escape = outer;
        return false;
    }
    escape = &here;
    atomic_signal_fence(memory_order_seq_cst);
    work(owner);
    atomic_signal_fence(memory_order_seq_cst);
    escape = outer;
    return true;
}

struct copy {
    const struct mapping_range *ranges;
    size_t count;
    uint8_t *to;
};

static void prefetch(const struct copy *copy, size_t first)
{
    for (size_t i = first; i < copy->count && i < first + RUN; i++)
        weir_bytes_prefetch(weir_bytes(copy->ranges[i].from, copy->ranges[i].length));
}

static void copy_all(void *owner)
{
    const struct copy *copy = owner;
    uint8_t *to = copy->to;
    for (size_t i = 0; i < copy->count; i++) {
        if (i % RUN == 0)
            prefetch(copy, i);
        memcpy(to, copy->ranges[i].from, copy->ranges[i].length);
        to += copy->ranges[i].length;
    }
}

bool preprocess_mapping_copy(const struct mapping_range *ranges, size_t count, uint8_t *to)
{
    struct copy copy = {ranges, count, to};
    return preprocess_mapping_watch(copy_all, &copy);
}
