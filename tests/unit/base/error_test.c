/* Statuses and errors: what a caller and an operator get to read. */
#include "core/base/error.h"
#include "tests/support/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_status_has_a_name(void **state)
{
    (void)state;
#define X(name, number)                    \
    assert_int_equal(WEIR_##name, number); \
    assert_string_equal(weir_status_name((enum weir_status)number), #name);
    WEIR_STATUS_LIST(X)
#undef X
}

static void a_number_that_is_no_status_is_named_unknown(void **state)
{
    (void)state;
    assert_string_equal(weir_status_name((enum weir_status)4711), "UNKNOWN");
}

static void an_error_says_what_where_and_returns_its_status(void **state)
{
    (void)state;
    struct weir_error err;
    int line = __LINE__ + 1;
    enum weir_status status = weir_fail(&err, WEIR_LIMIT, "width %d is above %d", 9, 8);
    assert_int_equal(status, WEIR_LIMIT);
    assert_int_equal(err.status, WEIR_LIMIT);
    assert_string_equal(err.text, "width 9 is above 8");
    assert_non_null(strstr(err.file, "error_test.c"));
    assert_int_equal(err.line, line);
}

static void context_is_put_in_front_and_the_place_stays(void **state)
{
    (void)state;
    struct weir_error err;
    int line = __LINE__ + 1;
    enum weir_status status = weir_fail(&err, WEIR_INVALID, "width 0 is zero");
    status = weir_error_wrap(&err, status, "segment %d", 3);
    status = weir_error_wrap(&err, status, "dataset '%s'", "mails");
    assert_int_equal(status, WEIR_INVALID);
    assert_string_equal(err.text, "dataset 'mails': segment 3: width 0 is zero");
    assert_int_equal(err.line, line);
}

static void a_text_that_quotes_no_text_can_be_read_and_stored(void **state)
{
    (void)state;
    struct weir_error err;
    weir_ignore(weir_fail(&err, WEIR_IO, "caf\xc3\xa9 \xe9\x80 \x1b[2J\ttwo\nlines \xf0\x9f"));
    assert_string_equal(err.text, "caf\xc3\xa9 ?? ?[2J\ttwo\nlines ??");
    weir_ignore(weir_error_wrap(&err, WEIR_IO, "file '\xff'"));
    assert_string_equal(err.text, "file '?': caf\xc3\xa9 ?? ?[2J\ttwo\nlines ??");
}

static void wrapping_may_change_the_status(void **state)
{
    (void)state;
    struct weir_error err;
    assert_int_equal(weir_fail(&err, WEIR_IO, "disk full"), WEIR_IO);
    assert_int_equal(weir_error_wrap(&err, WEIR_UNAVAILABLE, "store"), WEIR_UNAVAILABLE);
    assert_int_equal(err.status, WEIR_UNAVAILABLE);
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    assert_int_equal(weir_fail(NULL, WEIR_IO, "unheard %d", 1), WEIR_IO);
    assert_int_equal(weir_error_wrap(NULL, WEIR_IO, "unheard"), WEIR_IO);
}

static void an_error_can_be_raised_from_its_own_text(void **state)
{
    (void)state;
    struct weir_error err;
    enum weir_status status = weir_fail(&err, WEIR_IO, "inner");
    status = weir_fail(&err, status, "outer (%s)", err.text);
    status = weir_error_wrap(&err, status, "again %s", err.text);
    assert_int_equal(status, WEIR_IO);
    assert_string_equal(err.text, "again outer (inner): outer (inner)");
}

static void a_long_text_is_cut_visibly(void **state)
{
    (void)state;
    struct weir_error err;
    char longer[2 * WEIR_ERROR_TEXT_MAX];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';

    assert_int_equal(weir_fail(&err, WEIR_IO, "%s", longer), WEIR_IO);
    assert_int_equal(strlen(err.text), WEIR_ERROR_TEXT_MAX - 1);
    assert_string_equal(err.text + strlen(err.text) - 4, "x...");

    assert_int_equal(weir_error_wrap(&err, WEIR_IO, "%s", longer), WEIR_IO);
    assert_int_equal(strlen(err.text), WEIR_ERROR_TEXT_MAX - 1);
    assert_string_equal(err.text + strlen(err.text) - 4, "x...");

    for (size_t i = 0; i + 1 < sizeof(longer); i++)
        longer[i] = "\303\251"[i % 2];
    for (int at = 0; at < 2; at++) { /* one of them is in the midst of a character */
        assert_int_equal(weir_fail(&err, WEIR_IO, "%s", longer + at), WEIR_IO);
        assert_null(strstr(err.text + 1, "?"));
        assert_string_equal(err.text + strlen(err.text) - 5, "\303\251...");
    }
}

static int break_a_requirement(const void *argument)
{
    weir_require(argument != NULL);
    return 0;
}

static void a_broken_requirement_aborts_and_names_condition_and_place(void **state)
{
    (void)state;
    struct child child;
    child_run(&child, break_a_requirement, NULL);
    assert_true(child_died_of(&child, SIGABRT));
    assert_non_null(strstr(child.errors, "argument != NULL"));
    assert_non_null(strstr(child.errors, "error_test.c:"));
    child_run(&child, break_a_requirement, "fine");
    assert_true(child_left_with(&child, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(a_number_that_is_no_status_is_named_unknown),
        cmocka_unit_test(an_error_says_what_where_and_returns_its_status),
        cmocka_unit_test(context_is_put_in_front_and_the_place_stays),
        cmocka_unit_test(a_text_that_quotes_no_text_can_be_read_and_stored),
        cmocka_unit_test(wrapping_may_change_the_status),
        cmocka_unit_test(nobody_needs_to_listen),
        cmocka_unit_test(an_error_can_be_raised_from_its_own_text),
        cmocka_unit_test(a_long_text_is_cut_visibly),
        cmocka_unit_test(a_broken_requirement_aborts_and_names_condition_and_place),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
