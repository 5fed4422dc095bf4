/* The list of digests in a task's directory: what a state contains stays in it, what it lacks is listed again. */
#include "trainer_client/digest_list.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    struct temp_dir dir;
    char *path;
    struct digest_list list;
};

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.path = NULL};
    temp_dir_make(&fixture->dir);
    fixture->path = weir_format("%s/digests-0", fixture->dir.path);
}

static void end(struct fixture *fixture)
{
    trainer_digest_list_close(&fixture->list);
    temp_dir_remove(&fixture->dir);
    free(fixture->path);
}

/* A session that goes on from a state, or from none. */
static void open_at(struct fixture *fixture, const struct weir_position *position)
{
    struct weir_error err;
    trainer_digest_list_close(&fixture->list);
    assert_int_equal(trainer_digest_list_open(&fixture->list, fixture->path, position, &err),
                     WEIR_OK);
}

static void add(struct fixture *fixture, uint64_t number)
{
    const struct weir_batch batch = {.epoch = number / 2, .number = number, .digest = "abcd"};
    trainer_digest_list_add(&fixture->list, &batch);
}

static void assert_listed(struct fixture *fixture, const char *expected)
{
    struct weir_error err;
    WEIR_AUTO_BUF text = {0};
    assert_int_equal(trainer_digest_list_flush(&fixture->list, &err), WEIR_OK);
    assert_int_equal(weir_file_read(fixture->path, 4096, &text, &err), WEIR_OK);
    assert_string_equal(weir_buf_text(&text), expected);
}

static void batches_are_listed_in_their_order(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct weir_position beginning = {.oldest = 0};
    begin(&fixture);
    open_at(&fixture, &beginning);
    add(&fixture, 1);
    add(&fixture, 0);
    add(&fixture, 3);
    assert_listed(&fixture, "0 1 abcd\n0 0 abcd\n1 3 abcd\n");
    end(&fixture);
}

static void what_a_state_lacks_is_listed_again(void **state)
{
    (void)state;
    struct fixture fixture;
    struct weir_position position = {.oldest = 0};
    begin(&fixture);
    open_at(&fixture, &position);
    for (uint64_t number = 0; number < 5; number++)
        add(&fixture, number);
    assert_true(weir_position_consume(&position, 0));
    assert_true(weir_position_consume(&position, 3));
    open_at(&fixture, &position);
    assert_listed(&fixture, "0 0 abcd\n1 3 abcd\n");
    add(&fixture, 1);
    assert_listed(&fixture, "0 0 abcd\n1 3 abcd\n0 1 abcd\n");
    weir_position_fini(&position);
    end(&fixture);
}

static void half_a_line_and_nonsense_are_dropped(void **state)
{
    (void)state;
    static const char TEXT[] = "0 0 abcd\nnonsense\n\n1 2 a line that is longer than any that is "
                               "written, by a good deal\n1 3 ab";
    struct fixture fixture;
    struct weir_error err;
    const struct weir_position position = {.oldest = 9};
    begin(&fixture);
    assert_int_equal(weir_file_write_atomic(fixture.path, weir_bytes_of(TEXT), &err), WEIR_OK);
    open_at(&fixture, &position);
    assert_listed(&fixture, "0 0 abcd\n");
    end(&fixture);
}

static void a_list_that_nobody_keeps_is_none(void **state)
{
    (void)state;
    struct digest_list list = {.file = NULL};
    const struct weir_batch batch = {.number = 1, .digest = "abcd"};
    struct weir_error err;
    trainer_digest_list_add(&list, &batch);
    assert_int_equal(trainer_digest_list_flush(&list, &err), WEIR_OK);
    trainer_digest_list_close(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_listed_in_their_order),
        cmocka_unit_test(what_a_state_lacks_is_listed_again),
        cmocka_unit_test(half_a_line_and_nonsense_are_dropped),
        cmocka_unit_test(a_list_that_nobody_keeps_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
