/* Keys that are found: what profiles and answers say, and when they are found again. */
#include "core/base/memory.h"
#include "storage/identity/answers.h"
#include "storage/identity/identity.h"
#include "storage/identity/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char CONFIG[] = "key = before any section\n"
                             "[default]\n"
                             "region=eu-test-1\r\n"
                             "; key = a comment\n"
                             "s3 =\n"
                             "  key = nested\n"
                             "[profile lab]\n"
                             "key = of a = b\n"
                             "key = twice\n"
                             "[lab]\n"
                             "other = of no profile\n"
                             "[profile]\n"
                             "[]\n"
                             "[profile empty";

static void says(bool is_config, const char *profile, const char *key, const char *expected)
{
    WEIR_AUTO_FREE char *value =
        storage_identity_profile(weir_bytes_of(CONFIG), is_config, profile, key);
    if (!weir_str_equal(value, expected))
        fail_msg("%s of %s: '%s'", key, profile, value != NULL ? value : "-");
}

static void a_profile_says_what_stands_in_its_section(void **state)
{
    (void)state;
    says(true, "default", "region", "eu-test-1");
    says(true, "default", "key", NULL);
    says(true, "default", "s3", NULL);
    says(true, "lab", "key", "of a = b");
    says(true, "lab", "other", NULL);
    says(false, "lab", "other", "of no profile");
    says(true, "empty", "key", NULL);
    says(true, "", "key", NULL);
}

static const uint64_t SECOND = 1000000;

static void keys_that_end_are_found_again_before_each_at_another_moment(void **state)
{
    static const int64_t LIVES_S[] = {1, 4, 60, 3600, 12 * 3600};
    int64_t hour_us = (int64_t)(3600 * SECOND);

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(LIVES_S); i++) {
        int64_t life_us = LIVES_S[i] * (int64_t)SECOND;
        for (uint64_t draw = 0; draw < UINT64_MAX / 2; draw = draw * 3 + 1) {
            int64_t at_us = storage_identity_refresh_us(7, 7 + life_us, draw);
            assert_true(at_us > 7 + life_us / 2 && at_us < 7 + life_us);
            assert_true(at_us >= 7 + life_us - hour_us / 4);
        }
    }
    assert_true(storage_identity_refresh_us(0, hour_us, 0) !=
                storage_identity_refresh_us(0, hour_us, 4711));
    assert_true(storage_identity_refresh_us(0, INT64_MAX, 3) == INT64_MAX);
    assert_true(storage_identity_refresh_us(9, 8, 3) == 9);
}

static void answers_that_are_cut_or_no_keys_are_refused(void **state)
{
    static const char WHOLE[] =
        "{\"AccessKeyId\": \"A\\u0041\", \"SecretAccessKey\": \"s\", \"Token\": \"t\", "
        "\"Expiration\": \"2030-01-01T00:00:00Z\"}";
    struct s3_credentials keys = {0};
    struct weir_error err;

    (void)state;
    for (size_t size = 0; size < strlen(WHOLE); size++)
        assert_int_equal(storage_identity_read_json("it", weir_bytes(WHOLE, size), &keys, &err),
                         WEIR_INVALID);
    assert_int_equal(storage_identity_read_json("it", weir_bytes_of(WHOLE), &keys, &err), WEIR_OK);
    assert_string_equal(keys.key_id, "AA");
    assert_string_equal(keys.token, "t");
    assert_true(keys.expires_us == 1893456000 * (int64_t)SECOND);
    storage_s3_credentials_fini(&keys);
    assert_int_equal(
        storage_identity_read_json("it", weir_bytes_of("{\"AccessKeyId\": 1}"), &keys, &err),
        WEIR_INVALID);
    assert_int_equal(storage_identity_read_xml(
                         "it", weir_bytes_of("<AccessKeyId>a</AccessKeyId><Secret"), &keys, &err),
                     WEIR_INVALID);
    assert_int_equal(
        storage_identity_read_xml("it",
                                  weir_bytes_of("<AccessKeyId>a</AccessKeyId>"
                                                "<SecretAccessKey>b</SecretAccessKey>"),
                                  &keys, &err),
        WEIR_OK);
    assert_true(keys.expires_us == INT64_MAX && keys.token == NULL);
    storage_s3_credentials_fini(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_says_what_stands_in_its_section),
        cmocka_unit_test(keys_that_end_are_found_again_before_each_at_another_moment),
        cmocka_unit_test(answers_that_are_cut_or_no_keys_are_refused),
    };
    return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
