/* Allocation that cannot fail: out of memory aborts with the size asked for. This is bearable
 * because every size that comes from a peer or a file is bounded before it gets here, and because
 * every process may die at any time. */
#ifndef WEIR_BASE_MEMORY_H
#define WEIR_BASE_MEMORY_H

#include "core/base/attributes.h"

#include <stdbool.h>
#include <stddef.h>

/* Has the allocator keep what is freed for what comes next, up to 64 MiB: messages of megabytes otherwise
 * cost a page fault for every 4 kB, again and again. Called once, by a program that sends them. */
void weir_memory_keep(void);

/* True in a program that wipes memory when it is released (core/base/wiping.c): all of Weir's own, unless they
 * were built with a sanitizer, which has an allocator of its own. */
bool weir_memory_wipes(void);
/* Wipes what functions that have returned left on the stack of this thread. */
void weir_memory_wipe_stack(void);

/* Zeroed memory of `count` objects; aborts on overflow of the product. Free with free(). */
void *weir_calloc(size_t count, size_t size) WEIR_MUST_USE;
/* Like reallocarray(), but never returns NULL for a non-zero size. */
void *weir_realloc(void *old, size_t count, size_t size) WEIR_MUST_USE;
/* `old`, an array of `*capacity` elements of which `count` are in use, with room for at least one more: twice
 * as large when it was full. Free with free(). */
void *weir_grow(void *old, size_t count, size_t *capacity, size_t size) WEIR_MUST_USE;
/* 64-byte aligned memory (a cache line; what tensors promise). Not zeroed. Free with free(). */
void *weir_aligned_alloc(size_t size) WEIR_MUST_USE;
char *weir_strdup(const char *text) WEIR_MUST_USE;
char *weir_strndup(const char *text, size_t size) WEIR_MUST_USE;
char *weir_format(const char *format, ...) WEIR_PRINTF(1, 2) WEIR_MUST_USE;

/* `WEIR_AUTO_FREE char *path = weir_format(…);` frees at the end of the scope. */
static inline void weir_auto_free(void *pointer)
{
    extern void free(void *);
    free(*(void **)pointer);
}
#define WEIR_AUTO_FREE __attribute__((cleanup(weir_auto_free)))

/* An arena hands out memory that is released as a whole: what a request, a message or a plan needs
 * while it lives. */
struct weir_arena;
struct weir_arena *weir_arena_new(void);
void weir_arena_free(struct weir_arena *arena);
/* Wipes and keeps the first block for reuse, releases the rest; everything handed out before is invalid. */
void weir_arena_clear(struct weir_arena *arena);
/* Zeroed, aligned to 16 bytes. */
void *weir_arena_alloc(struct weir_arena *arena, size_t size) WEIR_MUST_USE;
void *weir_arena_copy(struct weir_arena *arena, const void *bytes, size_t size) WEIR_MUST_USE;
char *weir_arena_strndup(struct weir_arena *arena, const char *text, size_t size) WEIR_MUST_USE;
char *weir_arena_format(struct weir_arena *arena, const char *format, ...)
    WEIR_PRINTF(2, 3) WEIR_MUST_USE;
WEIR_DEFINE_AUTO(weir_arena, weir_arena_free)

#endif
