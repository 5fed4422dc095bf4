/* Addresses at which HTTP may listen, and those at which it may not. */
#include "orchestrator/values/loopback_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void addresses_of_the_loopback_are_read_and_written(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"127.0.0.1:9464", "127.0.0.1:9464"}, {"127.1.2.3:0", "127.1.2.3:0"},
        {"localhost:80", "127.0.0.1:80"},     {"[::1]:65535", "[::1]:65535"},
        {"[0:0:0:0:0:0:0:1]:1", "[::1]:1"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct loopback_address address;
        struct weir_error err;
        char text[LOOPBACK_ADDRESS_TEXT_MAX];
        assert_int_equal(orchestrator_loopback_address_read(CASES[i][0], &address, &err), WEIR_OK);
        orchestrator_loopback_address_text(&address, text);
        assert_string_equal(text, CASES[i][1]);
    }
}

static void refuse_all(const char *const *texts, size_t count, enum weir_status status)
{
    for (size_t i = 0; i < count; i++) {
        struct loopback_address address;
        struct weir_error err;
        assert_int_equal(orchestrator_loopback_address_read(texts[i], &address, &err), status);
    }
}

static void addresses_that_others_reach_are_refused(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "0.0.0.0:1", ":1", "*:1", "10.0.0.1:1", "[::]:1", "[::ffff:127.0.0.1]:1", "128.0.0.1:1"};
    refuse_all(TEXTS, WEIR_COUNT(TEXTS), WEIR_UNSUPPORTED);
}

static void other_texts_are_no_addresses(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "",
        "9464",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "::1:9464",
        "127.0.0.1:-1",
        "127.0.0.1: 1",
        "[]:1",
        "[127.0.0.1]:1",
        "127.1:1",
        "localhost.:1",
        "127.0.0.1:1\n",
        "[::1:1",
        "http://127.0.0.1:1",
        "127.0.0.1:99999999999999999999",
    };
    refuse_all(TEXTS, WEIR_COUNT(TEXTS), WEIR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_the_loopback_are_read_and_written),
        cmocka_unit_test(addresses_that_others_reach_are_refused),
        cmocka_unit_test(other_texts_are_no_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
