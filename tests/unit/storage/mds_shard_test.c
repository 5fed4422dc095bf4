/* Shards that cannot be read, and what is said of them. */
#include "storage/formats/mds_shard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *head;
    const char *complaint;
} CASES[] = {
    {"\x28\xb5\x2f\xfd and so on", "compressed with zstd, expected it decompressed (zstd -d)"},
    {"\x1f\x8b\x08 and so on", "compressed with gzip, expected it decompressed (gzip -d)"},
    {"BZh9 and so on", "compressed with bzip2, expected it decompressed (bzip2 -d)"},
    {"something else", "expected fewer: a shard that is not compressed"},
    {"short", "found 5 bytes, expected a shard"},
};

static void what_a_shard_is_instead_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        const struct weir_bytes head = weir_bytes_of(CASES[i].head);
        struct mds_shard shard;
        struct weir_error err;

        assert_int_equal(storage_mds_shard_read(head, head.size, &shard, &err), WEIR_INVALID);
        if (strstr(err.text, CASES[i].complaint) == NULL)
            fail_msg("expected \"%s\" in \"%s\"", CASES[i].complaint, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_shard_is_instead_is_said)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
