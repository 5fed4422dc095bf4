/* Bytes that lie about their sizes: whatever a peer or a damaged file announces, no more memory is
 * taken than a small multiple of what was really received. Each case runs in a process of its own
 * with little memory left. */
#include "core/base/file.h"
#include "core/wire/outputs.h"
#include "core/wire/position.h"
#include "core/wire/sample_set.h"
#include "core/wire/wire.h"
#include "tests/support/child.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* Sanitizers map terabytes for themselves; there, their own checks must do. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { MEMORY_LEFT_BYTES = 64 << 20 };

static size_t address_space_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    weir_require(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void leave_little_memory(void)
{
    if (SANITIZED)
        return;
    rlim_t limit = address_space_bytes() + MEMORY_LEFT_BYTES;
    weir_require(setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}) == 0);
}

static void assert_survives(int (*body)(const void *), const void *argument)
{
    struct child child;
    child_run(&child, body, argument);
    if (!child_left_with(&child, 0))
        fail_msg("ended with status 0x%x: %s", (unsigned)child.status, child.errors);
}

static const struct weir_bytes LIARS[] = {
#define LIAR(text)                                \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }
    LIAR("\xdd\xff\xff\xff\xff"),
    LIAR("\xdf\xff\xff\xff\xff"),
    LIAR("\xc6\xff\xff\xff\xff"),
    LIAR("\xdb\xff\xff\xff\xff"),
    LIAR("\xc9\xff\xff\xff\xff\x01"),
    LIAR("\x91\xdd\xff\xff\xff\xff"),
    LIAR("\x91\xdd\x7f\xff\xff\xff\xa0"),
    LIAR("\x9f\xdd\x40\x00\x00\x00\xdd\x40\x00\x00\x00\xdd\x40\x00\x00\x00"),
    LIAR("\x92\x01\xdb\xff\xff\xff\xf0"),
    LIAR("\x92\xa0\xc6\xff\xff\xff\xf8"),
    LIAR("\x91\x91\x91\x91\x91\x91\x91\xdd\xff\xff\xff\xff"),
    LIAR("\xdc\xff\xff\xde\xff\xff"),
#undef LIAR
};

static int every_decoder_reads_every_liar(const void *argument)
{
    (void)argument;
    leave_little_memory();
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        for (size_t k = 0; k < WEIR_COUNT(LIARS); k++) {
            struct weir_error err;
            WEIR_AUTO(weir_arena) arena = weir_arena_new();
            void *message = weir_arena_alloc(arena, info->size);
            if (weir_message_unpack(info->type, LIARS[k], arena, message, &err) != WEIR_INVALID)
                return 1;
            if (strstr(err.text, ": malformed at byte ") == NULL)
                return 2; /* the guard did not see it: msgpack-c ran into the limit */
        }
    }
    return 0;
}

static void no_decoder_takes_what_a_header_announces(void **state)
{
    (void)state;
    assert_survives(every_decoder_reads_every_liar, NULL);
}

/* The most that the guard lets through: a million empty texts in one field. */
static int a_million_texts(const void *argument)
{
    (void)argument;
    enum { TEXTS = 1 << 20 };
    struct weir_error err;
    struct msg_workers_are workers;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    WEIR_AUTO_BUF bytes = {0};
    leave_little_memory();
    weir_buf_append(&bytes, "\x91\xdd\x00\x0f\xff\xfe", 6);
    for (size_t i = 0; i < TEXTS - 2; i++) /* two objects are arrays */
        weir_buf_append(&bytes, "\xa0", 1);
    return weir_message_unpack(MSG_workers_are, weir_buf_view(&bytes), arena, &workers, &err) !=
               WEIR_OK ||
           workers.workers.count != TEXTS - 2;
}

static void the_most_objects_that_pass_fit_into_little_memory(void **state)
{
    (void)state;
    assert_survives(a_million_texts, NULL);
}

static int open_both_kinds(const void *path)
{
    struct weir_error err;
    struct weir_sample_set set;
    struct weir_outputs outputs;
    leave_little_memory();
    return weir_sample_set_open(path, &set, &err) != WEIR_CORRUPT ||
           weir_outputs_open(path, &outputs, &err) != WEIR_CORRUPT;
}

static void files_that_announce_more_than_they_hold_are_corrupt(void **state)
{
    (void)state;
    static const uint64_t COUNTS[] = {
        1, 1 << 20, UINT64_MAX, UINT64_MAX / 8 + 1, UINT64_MAX / 12 + 1, (uint64_t)1 << 60};
    static const char *const MAGICS[] = {"WEIRSET1", "WEIROUT1"};
    struct temp_dir dir;
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(COUNTS) * WEIR_COUNT(MAGICS); i++) {
        struct weir_error err;
        uint8_t header[64] = {0};
        memcpy(header, MAGICS[i % 2], 8);
        weir_put_u64(header + 8, COUNTS[i / 2]);
        weir_put_u32(header + 16, 1);
        weir_put_u64(header + 40, weir_hash64(weir_bytes(header, 40), 0));
        assert_int_equal(
            weir_file_write_atomic(temp_path(&dir, "f"), weir_bytes(header, sizeof(header)), &err),
            WEIR_OK);
        assert_survives(open_both_kinds, dir.file);
    }
    temp_dir_remove(&dir);
}

static int unpack_huge_position(const void *argument)
{
    (void)argument;
    struct weir_error err;
    struct weir_position position = {0};
    uint8_t bytes[64] = {1};
    leave_little_memory();
    memset(bytes + 60, 0xff, 4);
    return weir_position_unpack(weir_bytes(bytes, sizeof(bytes)), &position, &err) != WEIR_INVALID;
}

static void a_position_of_gigabytes_is_invalid(void **state)
{
    (void)state;
    assert_survives(unpack_huge_position, NULL);
}

static void read_golden(const struct weir_message_info *info, struct weir_buf *out)
{
    struct weir_error err;
    char path[512];
    snprintf(path, sizeof(path), "%s/tests/unit/wire/golden/%s.msgpack", WEIR_SOURCE_DIR,
             info->name);
    if (weir_file_read(path, 1 << 20, out, &err) != WEIR_OK)
        fail_msg("%s", err.text);
}

static void no_prefix_of_a_message_is_a_message(void **state)
{
    (void)state;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        struct weir_error err;
        WEIR_AUTO_BUF golden = {0};
        read_golden(info, &golden);
        for (size_t size = 0; size < golden.size; size++) {
            WEIR_AUTO_FREE uint8_t *cut =
                weir_calloc(size, 1); /* exactly so large: ASan watches its end */
            void *message = weir_arena_alloc(arena, info->size);
            if (size > 0)
                memcpy(cut, golden.at, size);
            assert_int_equal(
                weir_message_unpack(info->type, weir_bytes(cut, size), arena, message, &err),
                WEIR_INVALID);
            weir_arena_clear(arena);
        }
    }
}

static void a_damaged_byte_makes_another_message_or_a_clear_error(void **state)
{
    (void)state;
    static const uint8_t DAMAGES[] = {0x01, 0x80, 0xff, 0x40};
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        WEIR_AUTO_BUF golden = {0};
        read_golden(info, &golden);
        for (size_t k = 0; k < golden.size * WEIR_COUNT(DAMAGES); k++) {
            struct weir_error err = {0};
            uint8_t damage = DAMAGES[k % WEIR_COUNT(DAMAGES)];
            golden.at[k / WEIR_COUNT(DAMAGES)] ^= damage;
            void *message = weir_arena_alloc(arena, info->size);
            if (weir_message_unpack(info->type, weir_buf_view(&golden), arena, message, &err) !=
                WEIR_OK)
                assert_memory_equal(err.text, info->name, strlen(info->name));
            golden.at[k / WEIR_COUNT(DAMAGES)] ^= damage;
            weir_arena_clear(arena);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_decoder_takes_what_a_header_announces),
        cmocka_unit_test(the_most_objects_that_pass_fit_into_little_memory),
        cmocka_unit_test(files_that_announce_more_than_they_hold_are_corrupt),
        cmocka_unit_test(a_position_of_gigabytes_is_invalid),
        cmocka_unit_test(no_prefix_of_a_message_is_a_message),
        cmocka_unit_test(a_damaged_byte_makes_another_message_or_a_clear_error),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
