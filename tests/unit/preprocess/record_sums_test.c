/* Sums of records: the bytes of a sample agree with its sum alone, and a sample without one agrees with nothing. */
#include "preprocess/worker/record_sums.h"

#include "core/base/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void bytes_agree_with_the_sum_of_their_own_sample(void **state)
{
    struct record_sums sums = {.count = 0};

    (void)state;
    preprocess_record_sums_put(&sums, 7, weir_crc32c(weir_bytes_of("new")));
    preprocess_record_sums_put(&sums, 8, weir_crc32c(weir_bytes_of("other")));
    assert_true(preprocess_record_sums_agree(&sums, 7, weir_bytes_of("new")));
    assert_false(preprocess_record_sums_agree(&sums, 7, weir_bytes_of("old")));
    assert_false(preprocess_record_sums_agree(&sums, 8, weir_bytes_of("new")));
    assert_false(preprocess_record_sums_agree(&sums, 9, weir_bytes_of("new")));
    assert_false(preprocess_record_sums_has(&sums, 9));
    preprocess_record_sums_fini(&sums);
    assert_false(preprocess_record_sums_has(&sums, 7));
}

static void there_are_at_most_so_many(void **state)
{
    struct record_sums sums = {.count = 0};

    (void)state;
    for (uint64_t id = 1; id <= RECORD_SUMS_MAX + 1; id++)
        preprocess_record_sums_put(&sums, id, (uint32_t)id);
    assert_int_equal(sums.count, 1);
    assert_true(preprocess_record_sums_has(&sums, RECORD_SUMS_MAX + 1));
    preprocess_record_sums_fini(&sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_agree_with_the_sum_of_their_own_sample),
        cmocka_unit_test(there_are_at_most_so_many),
    };
    return cmocka_run_group_tests_name("record sums", tests, NULL, NULL);
}
