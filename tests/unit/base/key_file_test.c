/* Key files: drawn once, never twice, whatever dies in between. */
#include "core/base/bytes.h"
#include "core/base/key_file.h"
#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    struct temp_dir dir;
    char path[512], fresh[520];
    struct weir_key_file file;
};

/* No secret here: the key itself is its check value. */
static void check_of(const uint8_t key[WEIR_KEY_BYTES], char ret_check[WEIR_KEY_CHECK_MAX])
{
    weir_hex(key, WEIR_KEY_BYTES, ret_check);
}

static int make_place(void **state)
{
    struct place *place = weir_calloc(1, sizeof(*place));
    temp_dir_make(&place->dir);
    (void)snprintf(place->path, sizeof(place->path), "%s", temp_path(&place->dir, "key"));
    (void)snprintf(place->fresh, sizeof(place->fresh), "%s.new", place->path);
    place->file =
        (struct weir_key_file){.path = place->path, .check = check_of, .remedy = "put it back"};
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    temp_dir_remove(&place->dir);
    free(place);
    return 0;
}

/* Draws a key, and returns what is recorded of it. */
static const char *drawn(const struct place *place, char check[WEIR_KEY_CHECK_MAX])
{
    struct weir_error err;
    uint8_t key[WEIR_KEY_BYTES];
    assert_int_equal(weir_key_file_draw(&place->file, key, &err), WEIR_OK);
    check_of(key, check);
    return check;
}

static enum weir_status read_recorded(const struct place *place, const char *recorded,
                                      struct weir_error *err)
{
    uint8_t key[WEIR_KEY_BYTES];
    char check[WEIR_KEY_CHECK_MAX];
    enum weir_status status = weir_key_file_read(&place->file, recorded, key, err);
    check_of(key, check);
    if (status == WEIR_OK)
        assert_string_equal(check, recorded);
    return status;
}

static void write_file(const char *path, size_t size)
{
    struct weir_error err;
    uint8_t bytes[WEIR_KEY_BYTES + 1] = {7};
    assert_int_equal(weir_file_write_atomic(path, weir_bytes(bytes, size), &err), WEIR_OK);
}

static void a_recorded_key_is_put_into_its_place_and_stays(void **state)
{
    const struct place *place = *state;
    char check[WEIR_KEY_CHECK_MAX];
    struct weir_error err;
    struct stat found;
    drawn(place, check);
    for (int i = 0; i < 3; i++)
        assert_int_equal(read_recorded(place, check, &err), WEIR_OK);
    assert_int_equal(stat(place->path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_int_not_equal(access(place->fresh, F_OK), 0);
}

static void a_key_that_was_drawn_before_a_death_is_drawn_again_as_it_is(void **state)
{
    const struct place *place = *state;
    char one[WEIR_KEY_CHECK_MAX], two[WEIR_KEY_CHECK_MAX];
    drawn(place, one);
    assert_string_equal(drawn(place, two), one);
}

static void a_key_that_was_torn_by_a_death_is_drawn_anew(void **state)
{
    const struct place *place = *state;
    char check[WEIR_KEY_CHECK_MAX];
    struct weir_error err;
    write_file(place->fresh, 5);
    drawn(place, check);
    assert_int_equal(read_recorded(place, check, &err), WEIR_OK);
}

static void a_missing_key_is_an_error_and_no_file_comes_of_it(void **state)
{
    const struct place *place = *state;
    char check[WEIR_KEY_CHECK_MAX];
    struct weir_error err;
    drawn(place, check);
    assert_int_equal(read_recorded(place, check, &err), WEIR_OK);
    assert_int_equal(unlink(place->path), 0);
    assert_int_equal(read_recorded(place, check, &err), WEIR_CORRUPT);
    assert_non_null(strstr(err.text, "is missing: put it back"));
    assert_int_not_equal(access(place->path, F_OK), 0);
    assert_int_not_equal(access(place->fresh, F_OK), 0);
}

static void another_key_or_no_key_in_its_place_is_an_error(void **state)
{
    const struct place *place = *state;
    char check[WEIR_KEY_CHECK_MAX];
    struct weir_error err;
    drawn(place, check);
    assert_int_equal(read_recorded(place, check, &err), WEIR_OK);
    write_file(place->path, WEIR_KEY_BYTES);
    assert_int_equal(read_recorded(place, check, &err), WEIR_CORRUPT);
    assert_non_null(strstr(err.text, "is another key"));
    for (size_t size = 0; size <= WEIR_KEY_BYTES + 1; size += WEIR_KEY_BYTES + 1) {
        write_file(place->path, size);
        assert_int_equal(read_recorded(place, check, &err), WEIR_CORRUPT);
        assert_non_null(strstr(err.text, "expected a key of 32 bytes"));
    }
}

static void a_renewed_key_replaces_the_one_before_once_it_is_recorded(void **state)
{
    const struct place *place = *state;
    char one[WEIR_KEY_CHECK_MAX], two[WEIR_KEY_CHECK_MAX];
    struct weir_error err;
    drawn(place, one);
    assert_int_equal(read_recorded(place, one, &err), WEIR_OK);
    drawn(place, two);
    assert_string_not_equal(one, two);
    assert_int_equal(read_recorded(place, one, &err), WEIR_OK); /* not recorded yet */
    assert_int_equal(read_recorded(place, two, &err), WEIR_OK);
    assert_int_equal(read_recorded(place, one, &err), WEIR_CORRUPT);
}

static void a_key_of_which_nothing_is_recorded_is_adopted(void **state)
{
    const struct place *place = *state;
    uint8_t key[WEIR_KEY_BYTES];
    struct weir_error err;
    assert_int_equal(weir_key_file_adopt(&place->file, key, &err), WEIR_NOT_FOUND);
    write_file(place->path, WEIR_KEY_BYTES);
    assert_int_equal(weir_key_file_adopt(&place->file, key, &err), WEIR_OK);
    assert_int_equal(key[0], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
        IN_PLACE(a_recorded_key_is_put_into_its_place_and_stays),
        IN_PLACE(a_key_that_was_drawn_before_a_death_is_drawn_again_as_it_is),
        IN_PLACE(a_key_that_was_torn_by_a_death_is_drawn_anew),
        IN_PLACE(a_missing_key_is_an_error_and_no_file_comes_of_it),
        IN_PLACE(another_key_or_no_key_in_its_place_is_an_error),
        IN_PLACE(a_renewed_key_replaces_the_one_before_once_it_is_recorded),
        IN_PLACE(a_key_of_which_nothing_is_recorded_is_adopted),
#undef IN_PLACE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
