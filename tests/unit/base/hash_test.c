/* Checksums and digests: their values are on disk, so they must never change. */
#include "core/base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void digests_are_the_canonical_xxh3_128(void **state)
{
    (void)state;
    char text[WEIR_DIGEST_TEXT_MAX];
    struct weir_digest digest = weir_digest_of(weir_bytes(NULL, 0));
    weir_digest_text(&digest, text);
    assert_string_equal(
        text, "99aa06d3014798d86001c324468d497f"); /* of nothing, as xxhash documents it */
    digest = weir_digest_of(weir_bytes_of("weir"));
    weir_digest_text(&digest, text);
    assert_string_equal(text, "58611f8d7be1fe2c3921234764190df9");
}

static void checksums_are_the_seeded_xxh3_64(void **state)
{
    (void)state;
    assert_true(weir_hash64(weir_bytes(NULL, 0), 0) == 0x2d06800538d394c2);
    assert_true(weir_hash64(weir_bytes_of("weir"), 0) == 0x09831dc741817118);
    assert_true(weir_hash64(weir_bytes_of("weir"), 1) != weir_hash64(weir_bytes_of("weir"), 0));
    const struct weir_span spans[] = {{2, 4}, {0, 0}};
    uint64_t hashes[WEIR_COUNT(spans)];
    weir_hash64_spans((const uint8_t *)"a weir", spans, WEIR_COUNT(spans), 0, hashes);
    assert_true(hashes[0] == 0x09831dc741817118 && hashes[1] == 0x2d06800538d394c2);
}

static void pieces_have_the_digest_of_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[5000];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 31);
    struct weir_digest whole = weir_digest_of(weir_bytes(bytes, sizeof(bytes)));
    static const size_t STEPS[] = {1, 7, 240, 241, 1024, 5000};
    for (size_t i = 0; i < WEIR_COUNT(STEPS); i++) {
        WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
        weir_hasher_add(hasher, NULL, 0);
        for (size_t at = 0; at < sizeof(bytes); at += STEPS[i]) {
            size_t left = sizeof(bytes) - at;
            weir_hasher_add(hasher, bytes + at, left < STEPS[i] ? left : STEPS[i]);
        }
        struct weir_digest digest = weir_hasher_digest(hasher);
        assert_memory_equal(digest.bytes, whole.bytes, sizeof(whole.bytes));
    }
}

static void a_digest_can_be_asked_for_while_adding(void **state)
{
    (void)state;
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    weir_hasher_add(hasher, "we", 2);
    struct weir_digest before = weir_hasher_digest(hasher);
    weir_hasher_add(hasher, "ir", 2);
    struct weir_digest after = weir_hasher_digest(hasher);
    struct weir_digest expected = weir_digest_of(weir_bytes_of("weir"));
    assert_memory_not_equal(before.bytes, after.bytes, sizeof(after.bytes));
    assert_memory_equal(after.bytes, expected.bytes, sizeof(after.bytes));
    weir_hasher_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_the_canonical_xxh3_128),
        cmocka_unit_test(checksums_are_the_seeded_xxh3_64),
        cmocka_unit_test(pieces_have_the_digest_of_the_whole),
        cmocka_unit_test(a_digest_can_be_asked_for_while_adding),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
