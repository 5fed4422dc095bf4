/* Memory that is released holds nothing of what was in it: this program is linked as Weir's own are. */
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "tests/support/process_memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECRET_BYTES = 24, MANY = 4096, SKIPPED = 77 };

/* A secret, kept inverted, so that looking for it does not find this. */
static uint8_t inverted[SECRET_BYTES];

static void write_secret(uint8_t *at)
{
    for (size_t i = 0; i < SECRET_BYTES; i++)
        at[i] = (uint8_t)~inverted[i];
}

static size_t places(void)
{
    return process_memory_places(getpid(), inverted, sizeof(inverted));
}

static int draw_secret(void **state)
{
    (void)state;
    weir_random_bytes(inverted, sizeof(inverted));
    return 0;
}

static void what_is_freed_is_wiped(void **state)
{
    (void)state;
    for (size_t size = SECRET_BYTES; size < 1 << 20; size *= 3) {
        uint8_t *at = weir_calloc(size, 1);
        write_secret(at + size - SECRET_BYTES);
        assert_int_equal(places(), 1);
        free(at);
        assert_int_equal(places(), 0);
    }
}

static long most_kilobytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* A peer may announce much and send little. */
static void wiping_brings_nothing_into_memory(void **state)
{
    enum { HUGE = 1 << 30, STEP = 300 << 20, MORE_KILOBYTES = 64 << 10 };
    long before = most_kilobytes();
    uint8_t *at = malloc(HUGE);
    (void)state;
    assert_non_null(at);
    for (size_t i = 1000; i < HUGE - SECRET_BYTES; i += STEP)
        write_secret(at + i);
    free(at);
    assert_int_equal(places(), 0);
    assert_true(most_kilobytes() < before + MORE_KILOBYTES);
}

/* Pages that are locked, and not there yet, cannot be dropped. */
static void freeing_leaves_alone_what_failed_before(void **state)
{
    enum { LARGE = 2 << 20 };
    void (*volatile release)(void *) = free; /* of free() a compiler knows that errno stays */
    uint8_t *at = malloc(LARGE);
    (void)state;
    assert_non_null(at);
    if (mlock2(at, LARGE, MLOCK_ONFAULT) != 0)
        skip(); /* this user may lock no memory */
    errno = ENOENT;
    release(at);
    assert_int_equal(errno, ENOENT);
}

static void what_grows_leaves_nothing_behind(void **state)
{
    uint8_t *at = weir_realloc(NULL, SECRET_BYTES, 1);
    (void)state;
    write_secret(at);
    for (size_t size = SECRET_BYTES; size < MANY; size += 7) {
        at = weir_realloc(at, size, 1);
        char *between = weir_format("%zu", size); /* so that it has to move */
        assert_int_equal(places(), 1);
        free(between);
    }
    at = weir_realloc(at, SECRET_BYTES / 2, 1);
    assert_int_equal(places(), 0);
    free(at);
}

static void what_a_buffer_and_an_arena_keep_for_reuse_is_wiped(void **state)
{
    WEIR_AUTO_BUF buf = {0};
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    (void)state;
    weir_buf_reserve(&buf, SECRET_BYTES);
    write_secret(buf.at);
    buf.size = SECRET_BYTES;
    write_secret(weir_arena_alloc(arena, SECRET_BYTES));
    assert_int_equal(places(), 2);
    weir_buf_wipe(&buf);
    weir_arena_clear(arena);
    assert_int_equal(places(), 0);
}

__attribute__((noinline)) static void keep_on_the_stack(void)
{
    uint8_t local[SECRET_BYTES];
    write_secret(local);
    assert_int_equal(places(), 1);
}

static void what_calls_left_on_the_stack_is_wiped(void **state)
{
    (void)state;
    keep_on_the_stack();
    weir_memory_wipe_stack();
    assert_int_equal(places(), 0);
}

int main(void)
{
    if (!weir_memory_wipes()) {
        puts("skipped: a sanitizer's allocator does not wipe");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_freed_is_wiped, draw_secret),
        cmocka_unit_test_setup(wiping_brings_nothing_into_memory, draw_secret),
        cmocka_unit_test(freeing_leaves_alone_what_failed_before),
        cmocka_unit_test_setup(what_grows_leaves_nothing_behind, draw_secret),
        cmocka_unit_test_setup(what_a_buffer_and_an_arena_keep_for_reuse_is_wiped, draw_secret),
        cmocka_unit_test_setup(what_calls_left_on_the_stack_is_wiped, draw_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
