/* One encoded example of every message, kept in golden/NAME.msgpack and compared byte for byte:
 * what is on the wire changes only on purpose. After a change to messages.def, write them again and
 * look at the difference:
 *
 *     WEIR_UPDATE_GOLDEN=1 ctest --preset dev -R wire_golden_test
 *
 * With --json the program prints the examples' values instead; golden_test.py decodes the files
 * without Weir's code and compares. */
#include "core/base/file.h"
#include "core/wire/wire.h"

#include <dirent.h>
#include <inttypes.h>
#include <msgpack.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char FOLDER[] = WEIR_SOURCE_DIR "/tests/unit/wire/golden";

/* The value of a field depends on nothing but its kind and its place in the message. */
static void fill_bool(void *at, size_t place, struct weir_arena *arena)
{
    (void)arena;
    *(bool *)at = place % 2 == 0;
}

static void fill_u32(void *at, size_t place, struct weir_arena *arena)
{
    (void)arena;
    *(uint32_t *)at = UINT32_MAX >> (5 * place % 32);
}

static void fill_u64(void *at, size_t place, struct weir_arena *arena)
{
    (void)arena;
    *(uint64_t *)at = UINT64_MAX >> (7 * place % 64);
}

static void fill_i64(void *at, size_t place, struct weir_arena *arena)
{
    (void)arena;
    int64_t value = INT64_MAX >> (11 * place % 63);
    *(int64_t *)at = place % 2 == 0 ? value : -value - 1;
}

static void fill_f64(void *at, size_t place, struct weir_arena *arena)
{
    (void)arena;
    *(double *)at = (double)place / -3;
}

static void fill_str(void *at, size_t place, struct weir_arena *arena)
{
    *(const char **)at = place == 0 ? "first \"field\" \xc3\xbc\n"
                                    : weir_arena_format(arena, "%0*zu", (int)place * 3, place);
}

static void fill_bin(void *at, size_t place, struct weir_arena *arena)
{
    uint8_t *bytes = weir_arena_alloc(arena, 90 * place);
    for (size_t i = 0; i < 90 * place; i++)
        bytes[i] = (uint8_t)(i + place);
    *(struct weir_bytes *)at = weir_bytes(bytes, 90 * place);
}

static void fill_u64s(void *at, size_t place, struct weir_arena *arena)
{
    uint64_t *numbers = weir_arena_alloc(arena, (place + 1) * sizeof(*numbers));
    for (size_t i = 0; i < place + 1; i++)
        numbers[i] = UINT64_MAX >> (13 * i % 64);
    *(struct weir_u64s *)at = (struct weir_u64s){numbers, place + 1};
}

static void fill_i64s(void *at, size_t place, struct weir_arena *arena)
{
    int64_t *numbers = weir_arena_alloc(arena, (place + 1) * sizeof(*numbers));
    for (size_t i = 0; i < place + 1; i++)
        numbers[i] = INT64_MIN >> (13 * i % 64);
    *(struct weir_i64s *)at = (struct weir_i64s){numbers, place + 1};
}

static void fill_u32s(void *at, size_t place, struct weir_arena *arena)
{
    uint32_t *numbers = weir_arena_alloc(arena, (place + 1) * sizeof(*numbers));
    for (size_t i = 0; i < place + 1; i++)
        numbers[i] = UINT32_MAX >> (5 * i % 32);
    *(struct weir_u32s *)at = (struct weir_u32s){numbers, place + 1};
}

static void fill_strs(void *at, size_t place, struct weir_arena *arena)
{
    const char **texts = weir_arena_alloc(arena, place * sizeof(*texts));
    for (size_t i = 0; i < place; i++)
        texts[i] = weir_arena_format(arena, "%.*s", (int)(7 * i % 40),
                                     "worker-1 of a pool, as a text of some length");
    *(struct weir_strs *)at = (struct weir_strs){texts, place};
}

/* The same values as JSON; bytes in hexadecimal. */
static void show_bool(const void *at)
{
    printf("%s", *(const bool *)at ? "true" : "false");
}

static void show_u32(const void *at)
{
    printf("%" PRIu32, *(const uint32_t *)at);
}

static void show_u64(const void *at)
{
    printf("%" PRIu64, *(const uint64_t *)at);
}

static void show_i64(const void *at)
{
    printf("%" PRId64, *(const int64_t *)at);
}

static void show_f64(const void *at)
{
    printf("%#.17g", *(const double *)at); /* with a point, even if it is whole */
}

static void show_text(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            printf("\\n");
        else if (*text == '"')
            printf("\\\"");
        else
            putchar(*text);
    }
    putchar('"');
}

static void show_str(const void *at)
{
    show_text(*(const char *const *)at);
}

static void show_bin(const void *at)
{
    const struct weir_bytes *bytes = at;
    putchar('"');
    for (size_t i = 0; i < bytes->size; i++)
        printf("%02x", bytes->at[i]);
    putchar('"');
}

#define SHOW_LIST(kind, show_one)                  \
    static void show_##kind(const void *at)        \
    {                                              \
        const struct weir_##kind *list = at;       \
        putchar('[');                              \
        for (size_t i = 0; i < list->count; i++) { \
            printf("%s", i > 0 ? ", " : "");       \
            show_one(&list->at[i]);                \
        }                                          \
        putchar(']');                              \
    }
SHOW_LIST(u64s, show_u64)
SHOW_LIST(i64s, show_i64)
SHOW_LIST(u32s, show_u32)
SHOW_LIST(strs, show_str)

static const struct kind {
    const char *name;
    void (*fill)(void *at, size_t place, struct weir_arena *arena);
    void (*show)(const void *at);
} KINDS[] = {
    {"bool", fill_bool, show_bool}, {"u32", fill_u32, show_u32},    {"u64", fill_u64, show_u64},
    {"i64", fill_i64, show_i64},    {"f64", fill_f64, show_f64},    {"str", fill_str, show_str},
    {"bin", fill_bin, show_bin},    {"u64s", fill_u64s, show_u64s}, {"i64s", fill_i64s, show_i64s},
    {"u32s", fill_u32s, show_u32s}, {"strs", fill_strs, show_strs}, {"raw", fill_str, show_str},
    {"raws", fill_strs, show_strs},
};

static const struct kind *kind_of(const struct weir_field_info *field)
{
    for (size_t i = 0; i < WEIR_COUNT(KINDS); i++) {
        if (weir_str_equal(KINDS[i].name, field->kind))
            return &KINDS[i];
    }
    fail_msg("%s: a kind without an example: add it to KINDS", field->kind);
    return NULL;
}

static void *make_example(const struct weir_message_info *info, struct weir_arena *arena)
{
    char *message = weir_arena_alloc(arena, info->size);
    for (size_t i = 0; i < info->fields; i++)
        kind_of(&info->field[i])->fill(message + info->field[i].offset, i, arena);
    return message;
}

static void golden_path(const struct weir_message_info *info, char path[512])
{
    snprintf(path, 512, "%s/%s.msgpack", FOLDER, info->name);
}

static void every_message_is_encoded_as_its_golden_file(void **state)
{
    (void)state;
    bool updates = getenv("WEIR_UPDATE_GOLDEN") != NULL;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        struct weir_error err;
        char path[512];
        WEIR_AUTO_BUF packed = {0}, golden = {0};
        golden_path(info, path);
        weir_message_pack(info->type, make_example(info, arena), &packed);
        if (updates)
            assert_int_equal(weir_file_write_atomic(path, weir_buf_view(&packed), &err), WEIR_OK);
        if (weir_file_read(path, 1 << 20, &golden, &err) != WEIR_OK)
            fail_msg("%s; see the top of golden_test.c", err.text);
        if (!weir_bytes_equal(weir_buf_view(&packed), weir_buf_view(&golden)))
            fail_msg("%s: encoded otherwise than %s; see the top of golden_test.c", info->name,
                     path);
    }
}

static void every_golden_file_is_decoded_to_the_same_message(void **state)
{
    (void)state;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        struct weir_error err;
        char path[512];
        WEIR_AUTO_BUF golden = {0}, again = {0};
        golden_path(info, path);
        assert_int_equal(weir_file_read(path, 1 << 20, &golden, &err), WEIR_OK);
        void *message = weir_arena_alloc(arena, info->size);
        if (weir_message_unpack(info->type, weir_buf_view(&golden), arena, message, &err) !=
            WEIR_OK)
            fail_msg("%s", err.text);
        weir_message_pack(info->type, message, &again);
        assert_true(weir_bytes_equal(weir_buf_view(&again), weir_buf_view(&golden)));
    }
}

/* Bytes of the head of an array of so many fields. */
static size_t head_bytes(size_t fields)
{
    return fields < 16 ? 1 : 3;
}

/* The first `fields` fields of `packed`, which end at byte `end`, as a message of their own. */
static void cut(const struct weir_message_info *info, const struct weir_buf *packed, size_t fields,
                size_t end, struct weir_buf *out)
{
    const uint8_t head[] = {0xdc, (uint8_t)(fields >> 8), (uint8_t)fields};
    const uint8_t short_head = (uint8_t)(0x90 | fields);
    weir_buf_clear(out);
    weir_buf_append(out, fields < 16 ? &short_head : head, head_bytes(fields));
    weir_buf_append(out, packed->at + head_bytes(info->fields), end - head_bytes(info->fields));
}

static void assert_understood(const struct weir_message_info *info, size_t fields,
                              const struct weir_buf *shorter, struct weir_arena *arena)
{
    struct weir_error err;
    WEIR_AUTO_BUF again = {0};
    void *message = weir_arena_alloc(arena, info->size);
    if (weir_message_unpack(info->type, weir_buf_view(shorter), arena, message, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    weir_message_pack(info->type, message, &again);
    assert_memory_equal(again.at + head_bytes(info->fields), shorter->at + head_bytes(fields),
                        shorter->size - head_bytes(fields));
}

/* An older sender knew only the first fields. */
static void every_shorter_version_of_a_message_is_understood(void **state)
{
    (void)state;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        WEIR_AUTO_BUF packed = {0}, shorter = {0};
        weir_message_pack(info->type, make_example(info, arena), &packed);
        size_t end = head_bytes(info->fields);
        for (size_t fields = 0; fields < info->fields; fields++) {
            msgpack_unpacked field;
            cut(info, &packed, fields, end, &shorter);
            assert_understood(info, fields, &shorter, arena);
            msgpack_unpacked_init(&field);
            assert_int_equal(
                msgpack_unpack_next(&field, (const char *)packed.at, packed.size, &end),
                MSGPACK_UNPACK_SUCCESS);
            msgpack_unpacked_destroy(&field);
        }
        assert_int_equal(end, packed.size);
    }
}

static void every_golden_file_belongs_to_a_message(void **state)
{
    (void)state;
    size_t count = 0;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    assert_int_equal(count, weir_message_count());
}

static int print_json(void)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    printf("{\n");
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        const char *message = make_example(info, arena);
        printf("%s\"%s\": [", i > 0 ? ",\n" : "", info->name);
        for (size_t k = 0; k < info->fields; k++) {
            printf("%s{\"name\": \"%s\", \"kind\": \"%s\", \"value\": ", k > 0 ? ", " : "",
                   info->field[k].name, info->field[k].kind);
            kind_of(&info->field[k])->show(message + info->field[k].offset);
            printf("}");
        }
        printf("]");
    }
    printf("\n}\n");
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_is_encoded_as_its_golden_file),
        cmocka_unit_test(every_golden_file_is_decoded_to_the_same_message),
        cmocka_unit_test(every_shorter_version_of_a_message_is_understood),
        cmocka_unit_test(every_golden_file_belongs_to_a_message),
    };
    if (argc == 2 && weir_str_equal(argv[1], "--json"))
        return print_json();
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
