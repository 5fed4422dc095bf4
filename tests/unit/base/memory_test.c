/* Allocation that cannot fail, and the arena. */
#include "core/base/memory.h"
#include "tests/support/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_zero(const void *at, size_t size)
{
    const uint8_t *bytes = at;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static bool is_aligned(const void *at, size_t to)
{
    return (uintptr_t)at % to == 0;
}

static void calloc_gives_zeroes_and_never_null(void **state)
{
    (void)state;
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(100, 3);
    assert_true(is_zero(bytes, 300));
    WEIR_AUTO_FREE uint8_t *none = weir_calloc(0, 3);
    assert_non_null(none);
}

static void realloc_keeps_what_was_there(void **state)
{
    (void)state;
    static const uint8_t WORD[] = {'w', 'e', 'i', 'r'};
    uint8_t *bytes = weir_realloc(NULL, sizeof(WORD), 1);
    memcpy(bytes, WORD, sizeof(WORD));
    bytes = weir_realloc(bytes, 1000, 8);
    assert_memory_equal(bytes, WORD, sizeof(WORD));
    bytes = weir_realloc(bytes, 0, 8);
    assert_null(bytes);
}

static void aligned_memory_begins_on_a_cache_line(void **state)
{
    (void)state;
    static const size_t SIZES[] = {0, 1, 63, 64, 65, 100000};
    for (size_t i = 0; i < WEIR_COUNT(SIZES); i++) {
        WEIR_AUTO_FREE uint8_t *bytes = weir_aligned_alloc(SIZES[i]);
        assert_true(is_aligned(bytes, 64));
        memset(bytes, 0xab, SIZES[i]);
    }
}

static void text_is_copied_and_formatted(void **state)
{
    (void)state;
    WEIR_AUTO_FREE char *all = weir_strdup("mails");
    WEIR_AUTO_FREE char *some = weir_strndup("mails", 4);
    WEIR_AUTO_FREE char *none = weir_strndup(NULL, 0);
    WEIR_AUTO_FREE char *made = weir_format("%s-%d", "worker", 12);
    assert_string_equal(all, "mails");
    assert_string_equal(some, "mail");
    assert_string_equal(none, "");
    assert_string_equal(made, "worker-12");
}

static int ask_for_more_than_there_is(const void *argument)
{
    size_t size = *(const size_t *)argument;
    void *memory = size == 0 ? weir_calloc(SIZE_MAX / 2, 3) : weir_aligned_alloc(size);
    free(memory);
    return 0;
}

static void an_impossible_size_aborts_and_is_named(void **state)
{
    (void)state;
    struct child child;
    static const size_t SIZES[] = {0, SIZE_MAX};
    for (size_t i = 0; i < WEIR_COUNT(SIZES); i++) {
        child_run(&child, ask_for_more_than_there_is, &SIZES[i]);
        assert_true(child_died_of(&child, SIGABRT));
        assert_non_null(strstr(child.errors, "out of memory"));
    }
}

static void an_arena_hands_out_zeroed_aligned_pieces_that_stay(void **state)
{
    (void)state;
    enum { PIECES = 2000 };
    uint32_t *piece[PIECES];
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    for (uint32_t i = 0; i < PIECES; i++) {
        size_t size = sizeof(uint32_t) * (1 + i % 97);
        piece[i] = weir_arena_alloc(arena, size);
        assert_true(is_aligned(piece[i], 16));
        assert_true(is_zero(piece[i], size));
        memset(piece[i], 0xff, size);
        *piece[i] = i;
    }
    for (uint32_t i = 0; i < PIECES; i++)
        assert_int_equal(*piece[i], i);
}

static void an_arena_serves_pieces_of_any_size(void **state)
{
    (void)state;
    static const size_t SIZES[] = {0, 1, 16 << 10, (16 << 10) + 1, 5 << 20, 3};
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    for (size_t i = 0; i < WEIR_COUNT(SIZES); i++) {
        uint8_t *bytes = weir_arena_alloc(arena, SIZES[i]);
        assert_non_null(bytes);
        memset(bytes, 0xee, SIZES[i]);
    }
}

static void a_cleared_arena_reuses_its_first_block_and_zeroes_it(void **state)
{
    (void)state;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    weir_arena_clear(arena); /* before it has any */
    uint8_t *first = weir_arena_alloc(arena, 100);
    memset(first, 0xff, 100);
    memset(weir_arena_alloc(arena, 1 << 20), 0xff, 1 << 20);
    weir_arena_clear(arena);
    uint8_t *again = weir_arena_alloc(arena, 100);
    assert_ptr_equal(again, first);
    assert_true(is_zero(again, 100));
}

static void an_arena_copies_bytes_and_text(void **state)
{
    (void)state;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    assert_memory_equal(weir_arena_copy(arena, "ab\0c", 4), "ab\0c", 4);
    assert_non_null(weir_arena_copy(arena, NULL, 0));
    assert_string_equal(weir_arena_strndup(arena, "mails", 4), "mail");
    assert_string_equal(weir_arena_strndup(arena, NULL, 0), "");
    assert_string_equal(weir_arena_format(arena, "%05d", 42), "00042");
}

static void freeing_nothing_is_fine(void **state)
{
    (void)state;
    weir_arena_free(NULL);
    WEIR_AUTO(weir_arena) arena = NULL;
    assert_null(arena);
}

static void taking_moves_a_pointer_out(void **state)
{
    (void)state;
    WEIR_AUTO_FREE char *from = weir_strdup("x");
    WEIR_AUTO_FREE char *to = WEIR_TAKE(from);
    assert_null(from);
    assert_string_equal(to, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calloc_gives_zeroes_and_never_null),
        cmocka_unit_test(realloc_keeps_what_was_there),
        cmocka_unit_test(aligned_memory_begins_on_a_cache_line),
        cmocka_unit_test(text_is_copied_and_formatted),
        cmocka_unit_test(an_impossible_size_aborts_and_is_named),
        cmocka_unit_test(an_arena_hands_out_zeroed_aligned_pieces_that_stay),
        cmocka_unit_test(an_arena_serves_pieces_of_any_size),
        cmocka_unit_test(a_cleared_arena_reuses_its_first_block_and_zeroes_it),
        cmocka_unit_test(an_arena_copies_bytes_and_text),
        cmocka_unit_test(freeing_nothing_is_fine),
        cmocka_unit_test(taking_moves_a_pointer_out),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
