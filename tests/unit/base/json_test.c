/* Members of JSON objects, found without building them. What is refused, and another reader's opinion:
 * tests/unit/storage/json_fields_test.c. */
#include "core/base/json.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { NAMES = 300, NAME_MAX_BYTES = 24, ROUNDS = 20 };

/* Every third name lies two objects deep, beside others with the same beginning. */
static void write_name(size_t i, char name[NAME_MAX_BYTES])
{
    if (i % 3 == 0)
        snprintf(name, NAME_MAX_BYTES, "deep.n%zu.x", i);
    else
        snprintf(name, NAME_MAX_BYTES, "n%zu", i);
}

static void write_member(size_t i, struct weir_buf *flat, struct weir_buf *deep)
{
    if (i % 3 == 0)
        weir_buf_printf(deep, "%s\"n%zu\": {\"y\": 0, \"x\": %zu}", deep->size > 0 ? ", " : "", i,
                        i);
    else
        weir_buf_printf(flat, ", \"n%zu\": %zu", i, i);
}

static void expect_all(struct weir_json *json, const size_t *order)
{
    WEIR_AUTO_BUF flat = {0};
    WEIR_AUTO_BUF deep = {0};
    WEIR_AUTO_BUF text = {0};
    for (size_t i = 0; i < NAMES; i++)
        write_member(order[i], &flat, &deep);
    weir_buf_printf(&text, "{\"deep\": {%s}%s}", weir_buf_text(&deep), weir_buf_text(&flat));
    assert_true(weir_json_read(json, weir_buf_view(&text)));
    for (size_t i = 0; i < NAMES; i++) {
        char expected[NAME_MAX_BYTES];
        snprintf(expected, sizeof(expected), "%zu", i);
        struct weir_bytes found = weir_json_found(json, i);
        if (!weir_bytes_equal(found, weir_bytes_of(expected)))
            fail_msg("name %zu: '%.*s'", i, (int)found.size, (const char *)found.at);
    }
}

static void members_are_found_in_any_order(void **state)
{
    (void)state;
    static char names[NAMES][NAME_MAX_BYTES];
    const char *list[NAMES];
    size_t order[NAMES];
    struct weir_rng rng;
    weir_rng_init(&rng, 9);
    for (size_t i = 0; i < NAMES; i++) {
        write_name(i, names[i]);
        list[i] = names[i];
        order[i] = i;
    }
    WEIR_AUTO(weir_json) json = weir_json_new(list, NAMES);
    for (size_t round = 0; round < ROUNDS; round++) {
        expect_all(json, order);
        for (size_t i = NAMES - 1; i > 0; i--) {
            size_t other = weir_rng_below(&rng, i + 1), moved = order[i];
            order[i] = order[other];
            order[other] = moved;
        }
    }
}

static void a_name_may_be_asked_for_twice_or_not_at_all(void **state)
{
    (void)state;
    static const char *const NAMES_OF[] = {"a", NULL, "a", "", "a.b", "b"};
    WEIR_AUTO(weir_json) json = weir_json_new(NAMES_OF, WEIR_COUNT(NAMES_OF));
    assert_true(weir_json_read(json, weir_bytes_of("{\"a\": {\"b\": 1}}")));
    assert_int_equal(weir_json_found(json, 0).size, 8);
    assert_int_equal(weir_json_found(json, 2).size, 8);
    assert_int_equal(weir_json_found(json, 4).size, 1);
    assert_null(weir_json_found(json, 1).at);
    assert_null(weir_json_found(json, 3).at);
    assert_null(weir_json_found(json, 5).at);
    assert_true(weir_json_read(json, weir_bytes_of("{}")));
    assert_null(weir_json_found(json, 0).at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found_in_any_order),
        cmocka_unit_test(a_name_may_be_asked_for_twice_or_not_at_all),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
