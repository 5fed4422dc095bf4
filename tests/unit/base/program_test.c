/* A program knows itself from others, and the same one again. */
#include "core/base/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void it_has_an_identity_that_stays(void **state)
{
    (void)state;
    struct weir_digest once, again;
    assert_true(weir_program_identify(&once));
    assert_true(weir_program_identify(&again));
    assert_memory_equal(&once, &again, sizeof(once));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_an_identity_that_stays),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
