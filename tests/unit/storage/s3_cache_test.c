/* The cache of fetched objects: found again, bounded, forgotten for good. */
#include "storage/objects/s3_cache.h"

#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 4 };

struct fixture {
    struct temp_dir folder;
    struct s3_cache *cache;
};

static int set_up(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    struct weir_error err;

    temp_dir_make(&fixture->folder);
    fixture->cache = storage_s3_cache_new(fixture->folder.path, BLOCKS);
    assert_int_equal(storage_s3_cache_open(fixture->cache, &err), WEIR_OK);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    storage_s3_cache_free(fixture->cache);
    temp_dir_remove(&fixture->folder);
    free(fixture);
    return 0;
}

static struct s3_body *body_of(struct s3_cache *cache, const char *path, uint64_t size)
{
    char name[64], etag[] = "\"e\"";
    const struct s3_body model = {.dataset = 1, .path = name, .etag = etag, .size = size};

    strcpy(name, path);
    return storage_s3_cache_add_body(cache, &model);
}

/* Block `index` of the object is full of the letter. */
static struct s3_block *put(struct s3_cache *cache, struct s3_body *body, uint64_t index,
                            char letter)
{
    uint8_t bytes[S3_BLOCK_BYTES];
    struct s3_block *block = storage_s3_cache_add(cache, body, index);
    struct weir_error err;

    memset(bytes, letter, sizeof(bytes));
    assert_int_equal(storage_s3_cache_store(cache, block, bytes, &err), WEIR_OK);
    return block;
}

static char letter_of(struct s3_cache *cache, struct s3_block *block)
{
    uint8_t byte;

    assert_true(storage_s3_cache_read(cache, block, storage_s3_block_size(block) - 1, 1, &byte));
    return (char)byte;
}

static void what_was_put_is_found_by_its_object_and_place(void **state)
{
    struct s3_cache *cache = ((struct fixture *)*state)->cache;
    struct s3_body *a = body_of(cache, "a", S3_BLOCK_BYTES + 7);
    struct s3_body *b = body_of(cache, "b", S3_BLOCK_BYTES);

    put(cache, a, 0, 'a');
    put(cache, a, 1, 'A');
    put(cache, b, 0, 'b');
    assert_ptr_equal(storage_s3_cache_body(cache, 1, "a"), a);
    assert_null(storage_s3_cache_body(cache, 2, "a"));
    assert_int_equal(letter_of(cache, storage_s3_cache_find(cache, a, 0)), 'a');
    assert_int_equal(letter_of(cache, storage_s3_cache_find(cache, a, 1)), 'A');
    assert_int_equal(letter_of(cache, storage_s3_cache_find(cache, b, 0)), 'b');
    assert_int_equal(storage_s3_block_size(storage_s3_cache_find(cache, a, 1)), 7);
    assert_null(storage_s3_cache_find(cache, b, 1));
}

static void what_was_not_used_for_longest_makes_room_unless_it_is_pinned(void **state)
{
    struct s3_cache *cache = ((struct fixture *)*state)->cache;
    struct s3_body *body = body_of(cache, "a", 100 * S3_BLOCK_BYTES);

    for (uint64_t i = 0; i < BLOCKS; i++)
        put(cache, body, i, (char)('a' + i));
    storage_s3_cache_pin(storage_s3_cache_find(cache, body, 0));
    assert_int_equal(letter_of(cache, storage_s3_cache_find(cache, body, 1)), 'b');
    put(cache, body, 50, 'x');
    assert_non_null(storage_s3_cache_find(cache, body, 0));
    assert_non_null(storage_s3_cache_find(cache, body, 1));
    assert_null(storage_s3_cache_find(cache, body, 2));
    storage_s3_cache_unpin(cache, storage_s3_cache_find(cache, body, 0));
    for (uint64_t i = 60; i < 60 + BLOCKS; i++)
        put(cache, body, i, 'y');
    assert_null(storage_s3_cache_find(cache, body, 0));
    assert_null(storage_s3_cache_find(cache, body, 50));
}

static void a_forgotten_object_is_another_one_when_it_comes_again(void **state)
{
    struct s3_cache *cache = ((struct fixture *)*state)->cache;
    struct s3_body *body = body_of(cache, "a", 2 * S3_BLOCK_BYTES);
    struct s3_block *held = put(cache, body, 0, 'a');

    put(cache, body, 1, 'b');
    storage_s3_cache_pin(held);
    storage_s3_cache_forget(cache, body);
    assert_null(storage_s3_cache_body(cache, 1, "a"));
    assert_int_equal(letter_of(cache, held), 'a'); /* who holds it may read on */
    storage_s3_cache_unpin(cache, held);
    body = body_of(cache, "a", 2 * S3_BLOCK_BYTES);
    assert_null(storage_s3_cache_find(cache, body, 0));
    storage_s3_cache_drop(
        cache, storage_s3_cache_add(cache, body, 0)); /* it never came: nothing is left of it */
    assert_null(storage_s3_cache_body(cache, 1, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_put_is_found_by_its_object_and_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            what_was_not_used_for_longest_makes_room_unless_it_is_pinned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_forgotten_object_is_another_one_when_it_comes_again,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
