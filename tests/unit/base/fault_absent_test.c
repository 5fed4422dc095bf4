/* Fault points as a release build has them. */
#ifndef WEIR_NO_FAULTS
#define WEIR_NO_FAULTS
#endif
#include "core/base/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_release_build_cannot_be_told_to_fail(void **state)
{
    (void)state;
    assert_int_equal(setenv("WEIR_FAULTS", "db.commit=1", 1), 0);
    for (int pass = 0; pass < 3; pass++)
        assert_false(weir_fault("db.commit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_release_build_cannot_be_told_to_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
