/* Input in batches: nothing is lost between them, a mark leads back after the last one. */
#include "cli/push_input.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp_dir dir;
static char *path;

static int begin(void **state)
{
    (void)state;
    temp_dir_make(&dir);
    path = weir_format("%s/input", dir.path);
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(path);
    temp_dir_remove(&dir);
    return 0;
}

static void write_input(struct weir_bytes text)
{
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text.at, text.size), (ssize_t)text.size);
}

static struct cli_push_input *open_input(int fd, const char *format)
{
    struct cli_cut cut;
    struct weir_error err;
    assert_int_equal(
        cli_cut_init(&cut, &(struct cli_cut_format){.name = format, .delimiter = ","}, &err),
        WEIR_OK);
    return cli_push_input_new(fd, &cut);
}

static bool next(struct cli_push_input *input, struct cli_push_batch *ret_batch)
{
    struct weir_error err;
    while (!cli_push_input_take(input, false, ret_batch)) {
        if (cli_push_input_is_done(input))
            return false;
        assert_int_equal(cli_push_input_read(input, &err), WEIR_OK);
    }
    return true;
}

static void make_rows(struct weir_buf *text, int count)
{
    weir_buf_append_text(text, "ts,note\n");
    for (int i = 0; i < count; i++)
        weir_buf_printf(text, "%d,\"a note\nof two lines\"\n", i);
}

static void batches_begin_with_the_header_and_end_with_a_record(void **state)
{
    enum { ROWS = 400000, HEADER = 8 };
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_BUF together = {0};
    struct cli_push_batch batch;
    uint64_t lines = 2;
    int batches = 0;
    (void)state;
    make_rows(&text, ROWS);
    write_input(weir_buf_view(&text));
    WEIR_AUTO_FD int fd = open(path, O_RDONLY);
    WEIR_AUTO(cli_push_input) input = open_input(fd, "csv");
    for (; next(input, &batch); batches++) {
        assert_memory_equal(batch.payload.at, "ts,note\n", HEADER);
        assert_memory_equal(batch.payload.at + batch.payload.size - 2, "\"\n", 2);
        assert_int_equal(batch.first_record, lines);
        assert_int_equal(batch.header_records, 1);
        weir_buf_append(&together, batch.payload.at + HEADER, batch.payload.size - HEADER);
        lines = batch.end.records + 1;
        weir_buf_fini(&batch.payload);
    }
    assert_true(batches > 2);
    assert_int_equal(lines, 2 + 2 * ROWS);
    assert_int_equal(together.size, text.size - HEADER);
    assert_memory_equal(together.at, text.at + HEADER, together.size);
}

static void a_mark_leads_back_behind_its_batch(void **state)
{
    WEIR_AUTO_BUF text = {0};
    struct cli_push_batch first, second, again;
    uint8_t packed[CLI_PUSH_MARK_BYTES];
    struct cli_push_mark mark;
    struct weir_error err;
    (void)state;
    make_rows(&text, 400000);
    write_input(weir_buf_view(&text));
    WEIR_AUTO_FD int fd = open(path, O_RDONLY);
    WEIR_AUTO(cli_push_input) input = open_input(fd, "csv");
    assert_true(next(input, &first) && next(input, &second));
    cli_push_mark_pack(&first.end, packed);
    assert_true(cli_push_mark_unpack(weir_bytes(packed, sizeof(packed)), &mark));
    assert_false(cli_push_mark_unpack(weir_bytes(packed, 5), &mark));
    WEIR_AUTO_FD int reopened = open(path, O_RDONLY);
    WEIR_AUTO(cli_push_input) resumed = open_input(reopened, "csv");
    assert_int_equal(cli_push_input_skip(resumed, &mark, &err), WEIR_OK);
    assert_true(next(resumed, &again));
    assert_int_equal(again.first_record, second.first_record);
    assert_memory_equal(again.payload.at, second.payload.at, 1 << 20);
    weir_buf_fini(&first.payload);
    weir_buf_fini(&second.payload);
    weir_buf_fini(&again.payload);
}

static void another_input_is_not_gone_on_with(void **state)
{
    struct cli_push_mark mark = {.bytes = 4};
    struct weir_error err;
    (void)state;
    for (int i = 0; i < 2; i++) {
        write_input(weir_bytes_of(i == 0 ? "{}\n{}\n" : "{"));
        WEIR_AUTO_FD int fd = open(path, O_RDONLY);
        WEIR_AUTO(cli_push_input) input = open_input(fd, "jsonl");
        assert_int_equal(cli_push_input_skip(input, &mark, &err), WEIR_INVALID);
        assert_non_null(strstr(err.text, "does not begin with the 4 bytes"));
    }
}

static void a_record_that_is_too_long_is_left_out(void **state)
{
    size_t size = CLI_PUSH_RECORD_MAX + (3 << 20);
    WEIR_AUTO_FREE char *text = weir_calloc(size + 1, 1);
    WEIR_AUTO_BUF together = {0};
    struct cli_push_batch batch;
    uint64_t first;
    (void)state;
    memset(text, 'x', size);
    memcpy(text, "{}\n", 3);
    memcpy(text + size - 5, "\n{1}\n", 5);
    write_input(weir_bytes(text, size));
    WEIR_AUTO_FD int fd = open(path, O_RDONLY);
    WEIR_AUTO(cli_push_input) input = open_input(fd, "jsonl");
    while (next(input, &batch)) {
        weir_buf_append(&together, batch.payload.at, batch.payload.size);
        weir_buf_fini(&batch.payload);
    }
    assert_string_equal(weir_buf_text(&together), "{}\n{1}\n");
    assert_int_equal(cli_push_input_left_out(input, &first), 1);
    assert_int_equal(first, 2);
}

static void a_slow_input_is_sent_on_when_asked(void **state)
{
    int ends[2];
    struct cli_push_batch batch;
    struct weir_error err;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    WEIR_AUTO(cli_push_input) input = open_input(ends[0], "jsonl");
    assert_int_equal(write(ends[1], "{}\n{\"a\"", 7), 7);
    assert_int_equal(cli_push_input_read(input, &err), WEIR_OK);
    assert_false(cli_push_input_take(input, false, &batch));
    assert_true(cli_push_input_take(input, true, &batch));
    assert_int_equal(batch.payload.size, 3);
    weir_buf_fini(&batch.payload);
    assert_false(cli_push_input_take(input, true, &batch));
    assert_false(cli_push_input_is_done(input));
    close(ends[1]);
    assert_int_equal(cli_push_input_read(input, &err), WEIR_OK);
    assert_true(cli_push_input_take(input, false, &batch)); /* storage says what is wrong with it */
    assert_int_equal(batch.payload.size, 4);
    assert_int_equal(batch.first_record, 2);
    weir_buf_fini(&batch.payload);
    assert_true(cli_push_input_is_done(input));
    close(ends[0]);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(batches_begin_with_the_header_and_end_with_a_record),
        CASE(a_mark_leads_back_behind_its_batch),
        CASE(another_input_is_not_gone_on_with),
        CASE(a_record_that_is_too_long_is_left_out),
        CASE(a_slow_input_is_sent_on_when_asked),
    };
    return cmocka_run_group_tests_name("cli: push input", tests, NULL, NULL);
}
