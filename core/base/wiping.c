/* The allocator of Weir's own programs: memory is wiped when it is released, by libraries too, so that nothing that
 * was dropped can be read from a process. Linked to programs (weir_service()), never to the client library: the
 * memory of a user's program is the user's. glibc lets a program replace these functions, and keeps its own under
 * other names. */
#include "core/base/memory.h"

#include <malloc.h>
#include <stddef.h>
#include <string.h>

extern void __libc_free(void *memory);
extern void *__libc_malloc(size_t size);

const bool weir_memory_is_wiped = true;

void free(void *memory)
{
    if (memory == NULL)
        return;
    explicit_bzero(memory, malloc_usable_size(memory));
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
