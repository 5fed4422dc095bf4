/* Allocation that aborts instead of failing, and the arena: a chain of blocks, newest first, of
 * which all but the first go back to the system when the arena is cleared. */
#include "core/base/memory.h"

#include "core/base/require.h"

#include <malloc.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CACHE_LINE_BYTES = 64,
    GROW_COUNT_MIN = 16,         /* the first size of a growing array */
    KEEP_PIECE_BYTES = 32 << 20, /* the most that the allocator takes for this option */
    KEEP_BYTES = 64 << 20,
    ARENA_ALIGN_BYTES = 16,
    ARENA_BLOCK_BYTES = 16 << 10, /* first block */
    /* later ones double up to this; larger pieces get a block of their own */
    ARENA_BLOCK_BYTES_MAX = 1 << 20,
    STACK_WIPED_BYTES = 256 << 10, /* deeper than any call that sees samples */
};

WEIR_NORETURN static void out_of_memory(size_t count, size_t size)
{
    fprintf(stderr, "out of memory: asked for %zu x %zu bytes\n", count, size);
    abort();
}

void weir_memory_keep(void)
{
    mallopt(M_MMAP_THRESHOLD, KEEP_PIECE_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
}

/* Defined by core/base/wiping.c where that is linked. */
extern const bool weir_memory_is_wiped __attribute__((weak));

bool weir_memory_wipes(void)
{
    return &weir_memory_is_wiped != NULL;
}

__attribute__((noinline)) void weir_memory_wipe_stack(void)
{
    uint8_t below[STACK_WIPED_BYTES];
    explicit_bzero(below, sizeof(below));
}

static size_t total_bytes(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        out_of_memory(count, size);
    return total;
}

void *weir_calloc(size_t count, size_t size)
{
    size_t total = total_bytes(count, size);
    void *memory = calloc(1, total > 0 ? total : 1);
    if (memory == NULL)
        out_of_memory(count, size);
    return memory;
}

void *weir_realloc(void *old, size_t count, size_t size)
{
    size_t total = total_bytes(count, size);
    if (total == 0) {
        free(old);
        return NULL;
    }
    void *memory = realloc(old, total);
    if (memory == NULL)
        out_of_memory(count, size);
    return memory;
}

void *weir_grow(void *old, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return old;
    *capacity = 2 * *capacity + GROW_COUNT_MIN;
    return weir_realloc(old, *capacity, size);
}

void *weir_aligned_alloc(size_t size)
{
    size_t padded;
    if (__builtin_add_overflow(size, CACHE_LINE_BYTES - 1, &padded))
        out_of_memory(1, size);
    padded -= padded % CACHE_LINE_BYTES;
    void *memory = aligned_alloc(CACHE_LINE_BYTES, padded > 0 ? padded : CACHE_LINE_BYTES);
    if (memory == NULL)
        out_of_memory(1, size);
    return memory;
}

char *weir_strndup(const char *text, size_t size)
{
    char *copy = weir_calloc(total_bytes(1, size) + 1, 1);
    if (size > 0)
        memcpy(copy, text, size);
    return copy;
}

char *weir_strdup(const char *text)
{
    return weir_strndup(text, strlen(text));
}

char *weir_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    if (size < 0)
        out_of_memory(1, 0);
    return text;
}

struct block {
    struct block *older;
    size_t size;
    size_t used;
    alignas(ARENA_ALIGN_BYTES) uint8_t bytes[];
};

struct weir_arena {
    struct block *newest;
};

struct weir_arena *weir_arena_new(void)
{
    return weir_calloc(1, sizeof(struct weir_arena));
}

void weir_arena_free(struct weir_arena *arena)
{
    if (arena == NULL)
        return;
    while (arena->newest != NULL) {
        struct block *older = arena->newest->older;
        free(arena->newest);
        arena->newest = older;
    }
    free(arena);
}

void weir_arena_clear(struct weir_arena *arena)
{
    while (arena->newest != NULL && arena->newest->older != NULL) {
        struct block *older = arena->newest->older;
        free(arena->newest);
        arena->newest = older;
    }
    if (arena->newest == NULL)
        return;
    explicit_bzero(arena->newest->bytes, arena->newest->used);
    arena->newest->used = 0;
}

/* A block with room for `size` bytes becomes the newest. */
static void add_block(struct weir_arena *arena, size_t size)
{
    size_t room = arena->newest != NULL ? 2 * arena->newest->size : ARENA_BLOCK_BYTES;
    if (room > ARENA_BLOCK_BYTES_MAX)
        room = ARENA_BLOCK_BYTES_MAX;
    if (room < size)
        room = size;
    size_t total;
    if (__builtin_add_overflow(room, sizeof(struct block), &total))
        out_of_memory(1, size);
    struct block *block = malloc(total);
    if (block == NULL)
        out_of_memory(1, size);
    *block = (struct block){.older = arena->newest, .size = room};
    arena->newest = block;
}

/* Not zeroed. */
static void *take(struct weir_arena *arena, size_t size)
{
    size_t padded;
    if (__builtin_add_overflow(size, ARENA_ALIGN_BYTES - 1, &padded))
        out_of_memory(1, size);
    padded -= padded % ARENA_ALIGN_BYTES;
    if (arena->newest == NULL || arena->newest->size - arena->newest->used < padded)
        add_block(arena, padded);
    void *at = arena->newest->bytes + arena->newest->used;
    arena->newest->used += padded;
    return at;
}

void *weir_arena_alloc(struct weir_arena *arena, size_t size)
{
    void *at = take(arena, size);
    memset(at, 0, size);
    return at;
}

void *weir_arena_copy(struct weir_arena *arena, const void *bytes, size_t size)
{
    void *at = take(arena, size);
    if (size > 0)
        memcpy(at, bytes, size);
    return at;
}

char *weir_arena_strndup(struct weir_arena *arena, const char *text, size_t size)
{
    char *copy = take(arena, size + 1);
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

char *weir_arena_format(struct weir_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    weir_require(size >= 0);
    char *text = take(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return text;
}
