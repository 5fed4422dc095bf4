/* The allocator of Weir's own programs: memory is wiped when it is released, by libraries too, so that nothing that
 * was dropped can be read from a process. Linked to programs (weir_service()), never to the client library: the
 * memory of a user's program is the user's. glibc lets a program replace these functions, and keeps its own under
 * other names. */
#include "core/base/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

extern void __libc_free(void *memory);
extern void *__libc_malloc(size_t size);

enum { PAGE = 4096, PAGES_AT_ONCE = 256, LARGE_BYTES = 1 << 20 };

const bool weir_memory_is_wiped = true;

/* Wipes the pages that are in memory, and drops the others: they were never written, or are in swap. */
static void wipe_pages(uint8_t *at, size_t count)
{
    unsigned char is_there[PAGES_AT_ONCE];
    if (mincore(at, count * PAGE, is_there) != 0) {
        explicit_bzero(at, count * PAGE);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if ((is_there[i] & 1) != 0 || madvise(at + i * PAGE, PAGE, MADV_DONTNEED) != 0)
            explicit_bzero(at + i * PAGE, PAGE);
    }
}

/* Of a large piece, such as a peer may announce, often little was ever written: the rest must not come into memory for
 * being wiped. */
static void wipe_large(uint8_t *at, size_t size)
{
    size_t before = (size_t)(-(uintptr_t)at % PAGE);
    explicit_bzero(at, before);
    at += before;
    size -= before;
    for (size_t pages; (pages = size / PAGE) > 0; size -= pages * PAGE) {
        pages = pages < PAGES_AT_ONCE ? pages : PAGES_AT_ONCE;
        wipe_pages(at, pages);
        at += pages * PAGE;
    }
    explicit_bzero(at, size);
}

static void wipe(void *memory, size_t size)
{
    if (size < LARGE_BYTES)
        explicit_bzero(memory, size);
    else
        wipe_large(memory, size);
}

void free(void *memory)
{
    int error = errno; /* free() leaves it alone: what failed is often told after it */
    if (memory == NULL)
        return;
    wipe(memory, malloc_usable_size(memory));
    errno = error;
    __libc_free(memory);
}

/* glibc's own would leave the old bytes behind where it moves them. */
void *realloc(void *old, size_t size)
{
    if (old == NULL)
        return __libc_malloc(size);
    if (size == 0) {
        free(old);
        return NULL;
    }
    size_t had = malloc_usable_size(old);
    if (size <= had && size >= had / 2) {
        explicit_bzero((char *)old + size, had - size);
        return old;
    }
    void *moved = __libc_malloc(size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, old, size < had ? size : had);
    free(old);
    return moved;
}
