/* The choice of the active model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/attributes.h"
#include "orchestrator/judging/promotion.h"

static void a_model_may_be_worse_by_so_much_and_no_more(void **unused)
{
    (void)unused;
    static const struct {
        struct promotion_case measured;
        bool promoted;
    } CASES[] = {
        {{true, 0, true, true, 0.9, 0.8}, true},
        {{true, 0, true, true, 0.8, 0.8}, true},
        {{true, 0, true, true, 0.79, 0.8}, false},
        {{true, 0.0625, true, true, 0.75, 0.8125}, true},
        {{true, 0.0625, true, true, 0.7, 0.8125}, false},
        {{false, 0, true, true, 0.3, 0.4}, true}, /* a loss */
        {{false, 0, true, true, 0.5, 0.4}, false},
        {{false, 0.25, true, true, 0.5, 0.4}, true},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        if (orchestrator_models_judge(&CASES[i].measured) != CASES[i].promoted)
            fail_msg("case %zu", i);
}

static void what_is_undefined_changes_nothing(void **unused)
{
    (void)unused;
    assert_false(orchestrator_models_judge(&(struct promotion_case){true, 9, false, true, 0, 0.5}));
    assert_false(orchestrator_models_judge(&(struct promotion_case){true, 9, true, false, 0.5, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_may_be_worse_by_so_much_and_no_more),
        cmocka_unit_test(what_is_undefined_changes_nothing),
    };
    return cmocka_run_group_tests_name("promotion", tests, NULL, NULL);
}
