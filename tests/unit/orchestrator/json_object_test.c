/* Objects out of fields: their order, what is left out, what makes no object. */
#include "orchestrator/values/json_object.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_json(json_t *json, const char *expected)
{
    assert_non_null(json);
    char *text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER);
    assert_string_equal(text, expected);
    free(text);
    json_decref(json);
}

static void members_stand_in_the_order_of_their_fields(void **state)
{
    (void)state;
    assert_json(JSON_FIELDS(JSON_TEXT("z", "é"), JSON_NUMBER("n", UINT32_MAX),
                            JSON_NUMBER("m", INT64_MIN), JSON_DOUBLE("d", 0.5),
                            JSON_FLAG("f", true), JSON_TIME("t", 1500000),
                            JSON_NEW("a", JSON_FIELDS(JSON_NEW("l", json_array())))),
                "{\"z\":\"é\",\"n\":4294967295,\"m\":-9223372036854775808,\"d\":0.5,\"f\":true,"
                "\"t\":\"1970-01-01T00:00:01.5Z\",\"a\":{\"l\":[]}}");
}

static void what_is_not_there_is_null_or_left_out(void **state)
{
    json_t *shared = json_integer(7);
    (void)state;
    assert_json(JSON_FIELDS(JSON_TEXT_OR_NULL("a", NULL), JSON_TEXT_OR_NULL("b", "x"),
                            JSON_TEXT_IF_ANY("c", NULL), JSON_TEXT_IF_ANY("d", "y"),
                            JSON_SHARED_IF_ANY("e", NULL), JSON_SHARED_IF_ANY("f", shared)),
                "{\"a\":null,\"b\":\"x\",\"d\":\"y\",\"f\":7}");
    assert_int_equal(json_integer_value(shared), 7);
    json_decref(shared);
}

static void a_value_that_json_cannot_hold_makes_no_object(void **state)
{
    (void)state;
    assert_null(JSON_FIELDS(JSON_TEXT("a", "x"), JSON_DOUBLE("b", NAN), JSON_TEXT("c", "y")));
    assert_null(JSON_FIELDS(JSON_TEXT("a", "\xff")));
    assert_null(JSON_FIELDS(JSON_TEXT("a", NULL), JSON_NEW("b", json_array())));
    assert_null(JSON_FIELDS(JSON_NEW("a", JSON_FIELDS(JSON_DOUBLE("b", HUGE_VAL)))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_stand_in_the_order_of_their_fields),
        cmocka_unit_test(what_is_not_there_is_null_or_left_out),
        cmocka_unit_test(a_value_that_json_cannot_hold_makes_no_object),
    };
    return cmocka_run_group_tests_name("json object", tests, NULL, NULL);
}
