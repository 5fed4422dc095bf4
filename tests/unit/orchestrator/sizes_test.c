/* Sizes of sets: limits, ratios, tails and warm-up, as selector_target_of() has it. */
#include "core/base/error.h"
#include "core/config/yaml.h"
#include "orchestrator/pipeline/sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t at_most(const char *selection, size_t count)
{
    static const uint64_t SAMPLES_NEW[] = {100, 29, 50, 1000};
    struct weir_error err;
    struct set_sizes sizes;
    struct weir_yaml *document = NULL;
    assert_int_equal(weir_yaml_parse("t.yaml", weir_bytes_of(selection), &document, &err), WEIR_OK);
    orchestrator_set_sizes_read(weir_yaml_root(document), &sizes);
    weir_yaml_free(document);
    return orchestrator_set_sizes_at_most(&sizes, SAMPLES_NEW, count);
}

static void without_a_bound_a_set_is_what_the_trigger_brought(void **state)
{
    (void)state;
    assert_int_equal(at_most("{policy: new_data}", 1), 100);
    assert_int_equal(at_most("{policy: new_data}", 4), 1000);
    assert_int_equal(at_most("{policy: new_data, limit: none}", 2), 29);
}

static void a_tail_adds_the_triggers_before(void **state)
{
    (void)state;
    assert_int_equal(at_most("{tail_triggers: 1}", 1), 100);
    assert_int_equal(at_most("{tail_triggers: 1}", 3), 79);
    assert_int_equal(at_most("{tail_triggers: all}", 4), 1179);
    assert_int_equal(at_most("{tail_triggers: 18446744073709551615}", 4), 1179);
}

static void ratio_and_limit_bound_all_but_the_first_triggers(void **state)
{
    (void)state;
    assert_int_equal(at_most("{ratio: 0.29}", 1), 29); /* not 28 */
    assert_int_equal(at_most("{ratio: 0.5}", 2), 14);
    assert_int_equal(at_most("{ratio: 0.5, limit: 10}", 2), 10);
    assert_int_equal(at_most("{ratio: 0.5, warmup_triggers: 1}", 1), 100);
    assert_int_equal(at_most("{ratio: 0.5, warmup_triggers: 1}", 2), 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_bound_a_set_is_what_the_trigger_brought),
        cmocka_unit_test(a_tail_adds_the_triggers_before),
        cmocka_unit_test(ratio_and_limit_bound_all_but_the_first_triggers),
    };
    return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
