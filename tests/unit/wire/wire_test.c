/* Decoding by hand-written bytes, so that the encoder cannot cover up for the decoder; the golden
 * files hold every message, see golden_test.c. */
#include "core/base/file.h"
#include "core/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(text) weir_bytes(text, sizeof(text) - 1)

static int make_arena(void **state)
{
    *state = weir_arena_new();
    return 0;
}

static int free_arena(void **state)
{
    weir_arena_free(*state);
    return 0;
}

static void a_message_is_an_array_of_its_fields(void **state)
{
    struct weir_error err;
    struct msg_health_is health = {0};
    assert_int_equal(weir_message_unpack(MSG_health_is,
                                         BYTES("\x94\xa7storage\x2a\xfb\xcd\x03\xe8"), *state,
                                         &health, &err),
                     WEIR_OK);
    assert_string_equal(health.name, "storage");
    assert_int_equal(health.session, 42);
    assert_int_equal(health.up_ms, -5);
    assert_int_equal(health.cpu_ns, 1000);

    WEIR_AUTO_BUF packed = {0};
    weir_message_pack(MSG_health_is, &health, &packed);
    assert_true(weir_bytes_equal(weir_buf_view(&packed),
                                 BYTES("\x97\xa7storage\x2a\xfb\xcd\x03\xe8\x00\x00\x00")));
}

static void what_is_no_text_arrives_as_question_marks(void **state)
{
    struct weir_error err;
    struct msg_health_is health = {0};
    struct msg_wiped wiped = {0};
    assert_int_equal(weir_message_unpack(MSG_health_is, BYTES("\x91\xa6\xffM\xc3\xbc\xc3."), *state,
                                         &health, &err),
                     WEIR_OK);
    assert_string_equal(health.name, "?M\xc3\xbc?.");
    assert_int_equal(weir_message_unpack(MSG_wiped, BYTES("\x93\xa0\xc2\x92\xa1\xe4\xa2ok"), *state,
                                         &wiped, &err),
                     WEIR_OK);
    assert_string_equal(wiped.workers.at[0], "?");
    assert_string_equal(wiped.workers.at[1], "ok");
}

static void a_path_arrives_byte_by_byte(void **state)
{
    struct weir_error err;
    const struct msg_job_open job = {.set_path = "/d/\xe4\xff/1.set"};
    const char *const paths[] = {"/M\xfcller/a.csv"};
    const struct msg_located located = {.paths = {paths, 1}};
    struct msg_job_open job_arrived = {0};
    struct msg_located located_arrived = {0};
    WEIR_AUTO_BUF packed = {0};
    weir_message_pack(MSG_job_open, &job, &packed);
    assert_int_equal(
        weir_message_unpack(MSG_job_open, weir_buf_view(&packed), *state, &job_arrived, &err),
        WEIR_OK);
    assert_string_equal(job_arrived.set_path, job.set_path);
    weir_buf_clear(&packed);
    weir_message_pack(MSG_located, &located, &packed);
    assert_int_equal(
        weir_message_unpack(MSG_located, weir_buf_view(&packed), *state, &located_arrived, &err),
        WEIR_OK);
    assert_string_equal(located_arrived.paths.at[0], paths[0]);
}

static void a_message_without_fields_is_an_empty_array(void **state)
{
    struct weir_error err;
    struct msg_health health;
    WEIR_AUTO_BUF packed = {0};
    weir_message_pack(MSG_health, &health, &packed);
    assert_true(weir_bytes_equal(weir_buf_view(&packed), BYTES("\x90")));
    assert_int_equal(weir_message_unpack(MSG_health, BYTES("\x90"), *state, &health, &err),
                     WEIR_OK);
}

static void fields_of_a_newer_sender_are_ignored(void **state)
{
    struct weir_error err;
    struct msg_error error;
    assert_int_equal(weir_message_unpack(MSG_error,
                                         BYTES("\x95\x02\xa2no\x92\x01\x02\xc0\x81\xa1x\xc3"),
                                         *state, &error, &err),
                     WEIR_OK);
    assert_int_equal(error.status, WEIR_NOT_FOUND);
    assert_string_equal(error.text, "no");
    struct msg_health health;
    assert_int_equal(weir_message_unpack(MSG_health, BYTES("\x92\x01\x02"), *state, &health, &err),
                     WEIR_OK);
}

static void fields_that_an_older_sender_lacks_are_zero_and_strings_empty(void **state)
{
    struct weir_error err;
    struct msg_selected selected;
    memset(&selected, 0xff, sizeof(selected));
    assert_int_equal(weir_message_unpack(MSG_selected,
                                         BYTES("\x92\xa3"
                                               "abc\x07"),
                                         *state, &selected, &err),
                     WEIR_OK);
    assert_string_equal(selected.digest, "abc");
    assert_int_equal(selected.samples, 7);
    assert_string_equal(selected.path, "");
    assert_string_equal(selected.policy, "");
    assert_string_equal(selected.reason, "");
    assert_int_equal(selected.candidates, 0);

    struct msg_located located;
    assert_int_equal(weir_message_unpack(MSG_located, BYTES("\x90"), *state, &located, &err),
                     WEIR_OK);
    assert_int_equal(located.offsets.count, 0);
    assert_int_equal(located.paths.count, 0);
}

static void a_field_of_the_wrong_kind_is_named_with_what_was_expected(void **state)
{
    static const struct {
        enum weir_message type;
        const char *bytes;
        size_t size;
        const char *complaint;
    } CASES[] = {
#define CASE(type, bytes, complaint) {type, bytes, sizeof(bytes) - 1, complaint}
        CASE(MSG_run_orders, "\x91\x01", "run_orders.stop: expected true or false"),
        CASE(MSG_error, "\x91\xff", "error.status: expected an unsigned integer of 32 bits"),
        CASE(MSG_error, "\x91\xcf\x00\x00\x00\x01\x00\x00\x00\x00",
             "error.status: expected an unsigned integer of 32 bits"),
        CASE(MSG_erased, "\x91\xff", "erased.epoch: expected an unsigned integer"),
        CASE(MSG_erased, "\x91\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00",
             "erased.epoch: expected an unsigned integer"),
        CASE(MSG_health_is, "\x93\xa0\x00\xcf\x80\x00\x00\x00\x00\x00\x00\x00",
             "health_is.up_ms: expected an integer of 64 bits"),
        CASE(MSG_run_beat, "\x95\x01\x01\x01\x01\x01",
             "run_beat.loss: expected a floating-point number"),
        CASE(MSG_error, "\x92\x01\xc4\x00", "error.text: expected a string"),
        CASE(MSG_error,
             "\x92\x01\xa3"
             "a\0b",
             "error.text: expected a string without zero bytes"),
        CASE(MSG_dataset_declare, "\x92\xa0\xa0", "dataset_declare.config: expected bytes"),
        CASE(MSG_locate, "\x91\x93\x01\x02\x03", "locate.ids: expected bytes that hold numbers"),
        CASE(MSG_locate,
             "\x91\xc4\x09"
             "123456789",
             "locate.ids: expected a multiple of 8 bytes"),
        CASE(MSG_feed_is,
             "\x93\x01\xc4\x00\xc4\x03"
             "123",
             "feed_is.kinds: expected a multiple of 4 bytes"),
        CASE(MSG_workers_are, "\x91\xa0", "workers_are.workers: expected an array of strings"),
        CASE(MSG_workers_are, "\x91\x92\xa0\x01",
             "workers_are.workers: expected an array of strings without zero bytes"),
        CASE(MSG_workers_are, "\x91\x91\xa1\0",
             "workers_are.workers: expected an array of strings without zero bytes"),
        CASE(MSG_health, "\x80", "health: expected an array of fields"),
        CASE(MSG_health, "\xc0", "health: expected an array of fields"),
        CASE(MSG_health, "", "health: malformed at byte 0: ends too early"),
        CASE(MSG_locate, "\x91\xc6\xff\xff\xff\xff",
             "locate: malformed at byte 6: announces more bytes than it has"),
#undef CASE
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        struct msg_located large, untouched;
        memset(&large, 0xab, sizeof(large));
        untouched = large;
        assert_int_equal(weir_message_unpack(CASES[i].type,
                                             weir_bytes(CASES[i].bytes, CASES[i].size), *state,
                                             &large, &err),
                         WEIR_INVALID);
        assert_string_equal(err.text, CASES[i].complaint);
        assert_memory_equal(&large, &untouched, sizeof(large));
    }
}

static void integers_are_taken_to_their_limits(void **state)
{
    struct weir_error err;
    struct msg_error error;
    struct msg_erased erased;
    struct msg_health_is health;
    assert_int_equal(
        weir_message_unpack(MSG_error, BYTES("\x91\xce\xff\xff\xff\xff"), *state, &error, &err),
        WEIR_OK);
    assert_true(error.status == UINT32_MAX);
    assert_int_equal(weir_message_unpack(MSG_erased,
                                         BYTES("\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), *state,
                                         &erased, &err),
                     WEIR_OK);
    assert_true(erased.epoch == UINT64_MAX);
    assert_int_equal(weir_message_unpack(MSG_health_is,
                                         BYTES("\x94\xa0\x00\xd3\x80\x00\x00\x00\x00\x00\x00\x00"
                                               "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"),
                                         *state, &health, &err),
                     WEIR_OK);
    assert_true(health.up_ms == INT64_MIN && health.cpu_ns == INT64_MAX);
}

static void numbers_of_arrays_are_little_endian_and_aligned(void **state)
{
    struct weir_error err;
    struct msg_feed_is feed;
    assert_int_equal(
        weir_message_unpack(MSG_feed_is,
                            BYTES("\x95\x05\xc4\x10\x01\x02\x00\x00\x00\x00\x00\x00"
                                  "\xff\xff\xff\xff\xff\xff\xff\xff\xc4\x04\x04\x03\x02\x01"
                                  "\xc4\x00\xc4\x04\x01\x00\x00\x00"),
                            *state, &feed, &err),
        WEIR_OK);
    assert_int_equal(feed.sequences.count, 2);
    assert_int_equal((uintptr_t)feed.sequences.at % 16, 0);
    assert_int_equal((uintptr_t)feed.counts.at % 16, 0);
    assert_int_equal(feed.sequences.at[0], 0x0201);
    assert_true(feed.sequences.at[1] == UINT64_MAX);
    assert_int_equal(feed.kinds.at[0], 0x01020304);
    assert_int_equal(feed.firsts.count, 0);
    assert_int_equal(feed.counts.at[0], 1);
}

static void what_is_unpacked_outlives_the_bytes(void **state)
{
    struct weir_error err;
    struct msg_dataset_declare declare;
    WEIR_AUTO_BUF packed = {0};
    weir_message_pack(MSG_dataset_declare,
                      &(struct msg_dataset_declare){.file = "a.yaml", .config = BYTES("x\0y")},
                      &packed);
    assert_int_equal(
        weir_message_unpack(MSG_dataset_declare, weir_buf_view(&packed), *state, &declare, &err),
        WEIR_OK);
    memset(packed.at, 0xff, packed.size);
    assert_string_equal(declare.file, "a.yaml");
    assert_true(weir_bytes_equal(declare.config, BYTES("x\0y")));
}

static void no_text_packs_as_empty_text(void **state)
{
    struct weir_error err;
    struct msg_workers_are workers;
    struct msg_error error;
    static const char *const NAMES[] = {"worker-1", NULL};
    WEIR_AUTO_BUF packed = {0};
    weir_message_pack(MSG_error, &(struct msg_error){.text = NULL}, &packed);
    assert_int_equal(weir_message_unpack(MSG_error, weir_buf_view(&packed), *state, &error, &err),
                     WEIR_OK);
    assert_string_equal(error.text, "");
    weir_buf_clear(&packed);
    weir_message_pack(MSG_workers_are, &(struct msg_workers_are){.workers = {NAMES, 2}}, &packed);
    assert_int_equal(
        weir_message_unpack(MSG_workers_are, weir_buf_view(&packed), *state, &workers, &err),
        WEIR_OK);
    assert_int_equal(workers.workers.count, 2);
    assert_string_equal(workers.workers.at[0], "worker-1");
    assert_string_equal(workers.workers.at[1], "");
}

static void a_header_above_the_limit_is_refused_before_it_is_read(void **state)
{
    struct weir_error err;
    struct msg_health health;
    size_t size = WEIR_WIRE_HEADER_MAX + 1;
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(size, 1);
    assert_int_equal(
        weir_message_unpack(MSG_health, weir_bytes(bytes, size), *state, &health, &err),
        WEIR_LIMIT);
    assert_string_equal(err.text, "health: 16777217 bytes, expected at most 16777216");
}

static void a_type_that_is_not_in_the_list_is_unknown(void **state)
{
    static const int TYPES[] = {0, 0x00ff, 0x01ff, 0x7fff, 0xffff, -1};
    struct weir_error err;
    struct msg_health health;
    for (size_t i = 0; i < WEIR_COUNT(TYPES); i++) {
        enum weir_message type = (enum weir_message)TYPES[i];
        assert_null(weir_message_info(type));
        assert_int_equal(weir_message_unpack(type, BYTES("\x90"), *state, &health, &err),
                         WEIR_UNSUPPORTED);
    }
    assert_string_equal(err.text, "message type 0xffffffff: unknown");
}

static void every_message_is_described(void **state)
{
    (void)state;
    unsigned newest = 0;
    assert_true(weir_message_count() > 50);
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        assert_ptr_equal(weir_message_info(info->type), info);
        assert_true((unsigned)info->type > newest); /* ascending: a number given twice shows */
        newest = (unsigned)info->type;
        assert_non_null(strstr(info->doc, " -> "));
        assert_non_null(strstr(info->doc, ": "));
        for (size_t k = 0; k < info->fields; k++) {
            assert_true(info->field[k].offset < info->size);
            assert_true(k == 0 || info->field[k].offset > info->field[k - 1].offset);
        }
    }
}

static void descriptions_are_those_of_the_list(void **state)
{
    (void)state;
    const struct weir_message_info *info = weir_message_info(MSG_feed_read);
    assert_string_equal(info->name, "feed_read");
    assert_int_equal(info->type, 0x0105);
    assert_int_equal(info->size, sizeof(struct msg_feed_read));
    assert_int_equal(info->fields, 5);
    assert_string_equal(info->field[1].kind, "str");
    assert_string_equal(info->field[1].name, "consumer");
    assert_non_null(strstr(info->field[1].doc, "registered by its first read"));
    assert_int_equal(info->field[1].offset, offsetof(struct msg_feed_read, consumer));
    assert_int_equal(weir_message_info(MSG_health)->fields, 0);
}

static void messages_at_the_limit_take_bounded_memory_and_time(void **state)
{
    struct weir_error err;
    struct msg_workers_are workers;
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(WEIR_WIRE_HEADER_MAX, 1);
    uint32_t count =
        WEIR_WIRE_HEADER_MAX - 6; /* empty strings: the most objects that 16 MiB can hold */
    memset(bytes, 0xa0, WEIR_WIRE_HEADER_MAX);
    bytes[0] = 0x91;
    bytes[1] = 0xdd;
    for (int i = 0; i < 4; i++)
        bytes[2 + i] = (uint8_t)(count >> (24 - 8 * i));
    assert_int_equal(weir_message_unpack(MSG_workers_are, weir_bytes(bytes, WEIR_WIRE_HEADER_MAX),
                                         *state, &workers, &err),
                     WEIR_LIMIT);
    assert_string_equal(err.text, "workers_are: holds more than 1048576 objects");
}

/* "worker, trainer -> storage: …": does a word of that kind stand before the arrow? */
static bool is_sent_by(const struct weir_message_info *info, const char *word)
{
    const char *found = strstr(info->doc, word), *arrow = strstr(info->doc, " -> ");
    return found != NULL && found < arrow;
}

static void every_message_names_the_roles_that_send_it(void **state)
{
    enum { ON_THIS_HOST = WEIR_ROLE_PLATFORM | WEIR_ROLE_TRAINER | WEIR_ROLE_PROGRAM };
    static const char *const PROCESSES[] = {"any",        "orchestrator", "storage", "selector",
                                            "dispatcher", "worker",       "weir"};
    (void)state;
    for (size_t i = 0; i < weir_message_count(); i++) {
        const struct weir_message_info *info = weir_message_at(i);
        unsigned roles = (is_sent_by(info, "trainer") ? WEIR_ROLE_TRAINER : 0) |
                         (is_sent_by(info, "program") ? WEIR_ROLE_PROGRAM : 0);
        for (size_t j = 0; j < WEIR_COUNT(PROCESSES); j++)
            roles |= is_sent_by(info, PROCESSES[j]) ? WEIR_ROLE_PLATFORM : 0;
        print_message("%s\n", info->name);
        assert_int_not_equal(roles, 0);
        assert_int_equal(info->roles & ON_THIS_HOST, roles);
    }
    assert_string_equal(weir_role_name(WEIR_ROLE_PLATFORM), "platform");
    assert_string_equal(weir_role_name(WEIR_ROLE_TRAINER), "trainer");
    assert_string_equal(weir_role_name(WEIR_ROLE_PROGRAM), "program");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arena, free_arena)
    const struct CMUnitTest tests[] = {
        TEST(a_message_is_an_array_of_its_fields),
        TEST(what_is_no_text_arrives_as_question_marks),
        TEST(a_path_arrives_byte_by_byte),
        TEST(a_message_without_fields_is_an_empty_array),
        TEST(fields_of_a_newer_sender_are_ignored),
        TEST(fields_that_an_older_sender_lacks_are_zero_and_strings_empty),
        TEST(a_field_of_the_wrong_kind_is_named_with_what_was_expected),
        TEST(integers_are_taken_to_their_limits),
        TEST(numbers_of_arrays_are_little_endian_and_aligned),
        TEST(what_is_unpacked_outlives_the_bytes),
        TEST(no_text_packs_as_empty_text),
        TEST(a_header_above_the_limit_is_refused_before_it_is_read),
        TEST(a_type_that_is_not_in_the_list_is_unknown),
        TEST(every_message_is_described),
        TEST(every_message_names_the_roles_that_send_it),
        TEST(descriptions_are_those_of_the_list),
        TEST(messages_at_the_limit_take_bounded_memory_and_time),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
