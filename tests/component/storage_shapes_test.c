/* Data as it comes: out of order, twice, quoted over lines, with marks and gaps, cut off, huge and empty. For each
 * what is taken in and what is refused is counted exactly, and what is refused is named by file and line. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/formats/format.h"
#include "tests/component/storage_lab.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MARK "\xef\xbb\xbf"
#define CSV(more)                                                                              \
    "format: csv, on_erase: scrub, settle: 0ms" more "}\n    time: {from: field, field: ts}\n" \
    "    label: {field: y, type: int}\n"
#define JSONL                                                                            \
    "format: jsonl, on_erase: scrub, settle: 0ms}\n    time: {from: field, field: ts}\n" \
    "    label: {field: y, type: int}\n"

#define NUMBERED(more) \
    more ", on_erase: scrub, settle: 0ms}\n    time: {from: record, start: 1970-01-02, every: 1m}\n"
#define NAMED_DAYS                  \
    "format: files, settle: 0ms}\n" \
    "    time: {from: file_name, pattern: \"day_%Y-%m-%d\"}\n"
#define NAMES                                                                            \
    "format: jsonl, on_erase: scrub, settle: 0ms}\n    time: {from: field, field: ts}\n" \
    "    label: {field: y, classes: stream}\n"
#define LETTERS_100                                      \
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

#define TEXT(text) (text), sizeof(text) - 1 /* it may hold zeros */

struct shape {
    const char *name, *options, *file, *content;
    size_t size; /* of `content` */
    uint64_t live, quarantined;
    const char *complaint; /* a part of it; NULL: there is none */
    const char *times;     /* of the samples, in id order */
};

static const struct shape SHAPES[] = {
    {"unsorted", CSV(""), "a.csv", TEXT("ts,y\n30,1\n10,2\n20,3\n"), 3, 0, NULL, "30 10 20 "},
    {"twice", CSV(""), "a.csv", TEXT("ts,y\n10,1\n10,2\n10,1\n"), 3, 0, NULL, "10 10 10 "},
    {"newest_first", CSV(""), "a.csv", TEXT("ts,y\n9,1\n8,1\n-7,1\n"), 3, 0, NULL, "9 8 -7 "},
    {"over_lines", CSV(""), "a.csv", TEXT("ts,note,y\n1,\"a\nb,\"\"c\"\"\r\n\",5\n2,\"\",6\n"), 2,
     0, NULL, "1 2 "},
    {"bad_behind_lines", CSV(""), "a b.csv", TEXT("ts,note,y\n1,\"a\n\n\",5\nsoon,x,6\n3,x,7\n"), 2,
     1, "a b.csv:5", "1 3 "},
    {"never_closed", CSV(""), "a.csv", TEXT("ts,note,y\n1,x,5\n2,\"x,6\n3,x,7\n"), 2, 1, "a.csv:3",
     "1 3 "},
    {"gaps", CSV(", missing: [NA]"), "a.csv", TEXT("ts,y\n1,NA\n2,7\nNA,8\n\"NA\",9\n5,1\n"), 2, 3,
     "a.csv:2", "2 5 "},
    {"marked", CSV(""), "a.csv", TEXT(MARK "ts,y\r\n1,5\r\n2,6\r\n"), 2, 0, NULL, "1 2 "},
    {"no_last_newline", CSV(""), "a.csv", TEXT("ts,y\n1,5\n2,6"), 2, 0, NULL, "1 2 "},
    {"only_a_header", CSV(""), "a.csv", TEXT("ts,y\n"), 0, 0, NULL, ""},
    {"empty_lines", CSV(""), "a.csv", TEXT("ts,y\n\n1,5\n\n\n2,6\n\n"), 2, 0, NULL, "1 2 "},
    {"quotes_that_mean_nothing", CSV(", delimiter: \"\\t\", quotes: none"), "a.tsv",
     TEXT("ts\ty\tt\n1\t5\t\"open\n2\t6\tsay \"hi\"\n"), 2, 0, NULL, "1 2 "},
    {"no_clock", NUMBERED("format: csv, header: false, columns: [a, b]"), "a.csv",
     TEXT("x,y\nx,\n\nz\nx,y\n"), 3, 1, "a.csv:4", "86400 86460 86640 "},
    {"no_clock_in_records", NUMBERED("format: binary, record_bytes: 2"), "a.bin", TEXT("aabbcc"), 3,
     0, NULL, "86400 86460 86520 "},
    {"few_and_many_fields", CSV(""), "a.csv", TEXT("ts,y\n1\n2,6,7\n3,8\n"), 1, 2, "a.csv:3", "3 "},
    {"zeros", CSV(""), "a.csv", TEXT("ts,y\n1,5\n2,\0006\n3,7\n"), 2, 1, "a.csv:3", "1 3 "},
    {"blanks", CSV(""), "a.csv", TEXT("ts,y\n 1 , 5\n2,0x5\n\t3,+6 \n0x10,1\n"), 2, 2, "a.csv:3",
     "1 3 "},
    {"nothing", CSV(""), "a.csv", TEXT(""), 0, 0, NULL, ""},
    {"only_empty_lines", CSV(""), "a.csv", TEXT(MARK "\n\r\n\n"), 0, 0, NULL, ""},
    {"empty_lines_first", CSV(""), "a.csv", TEXT("\n\r\nts,y\nsoon,5\n1,5\n"), 1, 1, "a.csv:4",
     "1 "},
    {"lines_of_a_mac", CSV(""), "a.csv", TEXT("ts,y\r1,5\r"), 0, 1, "not with CR alone", ""},
    {"spaced_header", CSV(""), "a.csv", TEXT("ts, y\n1, 5\n"), 0, 1,
     "no column 'y' among 2 (ts,  y), only with blanks around it", ""},
    {"semicolons", CSV(""), "a.csv", TEXT("ts;y\n1;5\n"), 0, 1, "source.delimiter says", ""},
    {"utf_16", CSV(""), "a.csv", TEXT("\xff\xfet\0s\0,\0y\0\n\0"), 0, 1, "found a table in UTF-16",
     ""},
    {"two_labels", CSV(""), "a.csv", TEXT("ts,y,y\n1,5,6\n"), 0, 1, "found two columns 'y'", ""},
    {"named", CSV(""), "a \xc3\xbc\xe2\x82\xac\xf0\x9f\x90\xa6 'b'.csv", TEXT("ts,y\n1,x\n2,5\n"),
     1, 1, "a \xc3\xbc\xe2\x82\xac\xf0\x9f\x90\xa6 'b'.csv:2", "2 "},
    {"named_to_deceive", CSV(""), "a\x1b[1m\n\xe2\x80\xae\xff.csv", TEXT("ts,y\n1,x\n"), 0, 1,
     "a?[1m?????.csv:2", ""},
    {"named_to_inject", CSV(""), "'; DROP TABLE storage.chunk; --.csv", TEXT("ts,y\n1,5\n"), 1, 0,
     NULL, "1 "},
    {"named_at_length", CSV(""),
     LETTERS_100 LETTERS_100 "/" LETTERS_100 LETTERS_100 "/" LETTERS_100 LETTERS_100 ".csv",
     TEXT("ts,y\n1,5\n"), 1, 0, NULL, "1 "},
    {"far_away", CSV(""), "a.csv",
     TEXT("ts,y\n-62135596800,9223372036854775807\n9223372036854,-9223372036854775808\n"
          "9223372036855,1\n1,9223372036854775808\n"),
     2, 2, "a.csv:4", "-62135596800 9223372036854 "},
    {"leap_day", NAMED_DAYS, "day_2020-02-29.txt", TEXT("x"), 1, 0, NULL, "1582934400 "},
    {"no_leap_day", NAMED_DAYS, "day_2021-02-29.txt", TEXT("x"), 0, 1, "without a time", ""},
    {"no_names", NAMES, "a.jsonl",
     TEXT("{\"ts\": 1, \"y\": \"\"}\n{\"ts\": 2, \"y\": \"a\\nb\"}\n{\"ts\": 3, \"y\": \"a\"}\n"),
     1, 2, "1 to 256 bytes", "3 "},
    {"json_mixed", JSONL, "a.jsonl",
     TEXT(MARK "{\"ts\": 3, \"y\": 1}\r\n\r\n{\"ts\": 1, \"y\": 2}\r\n{\"ts\": 2, \"y\": 3}"), 3, 0,
     NULL, "3 1 2 "},
    {"json_bytes", JSONL, "\xff\xfe.jsonl",
     TEXT("{\"ts\": 1, \"y\": 1}\n{\"ts\": 2, \"y\": 2, \"z\": \"\xff\"}\n"
          "{\"ts\": 3, \"y\": NaN}\n{\"ts\": 4, \"y\": 4}\n"),
     2, 2, ".jsonl:2", "1 4 "},
    {"json_half", JSONL, "a.jsonl", TEXT("{\"ts\": 1, \"y\": 1}\n{\"ts\": 2, \"y"), 1, 1,
     "a.jsonl:2", "1 "},
};

enum { WRONG = 2 }; /* a verdict of an examination */

static struct storage_lab lab;

static int create(const char *name)
{
    int fd;

    storage_lab_write(&lab, name, "");
    fd = open(storage_lab_path(&lab, weir_arena_format(lab.arena, "source/%s", name)),
              O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void write_bytes(const char *name, const char *content, size_t size)
{
    int fd = create(name);

    assert_int_equal(write(fd, content, size), size);
    close(fd);
}

static void check_health(void)
{
    struct msg_doctor_is examined = storage_lab_examine(&lab, true);

    for (size_t i = 0; i < examined.checks.count; i++)
        if (examined.verdicts.at[i] == WRONG)
            fail_msg("%s: %s", examined.checks.at[i], examined.found.at[i]);
}

/* ---- what is in the files ---- */

static void declare_shape(const struct shape *shape)
{
    WEIR_AUTO_FREE char *name = weir_format("%s/%s", shape->name, shape->file);
    WEIR_AUTO_FREE char *yaml = weir_format("  - name: %s\n    source: {path: %%s/%s, %s",
                                            shape->name, shape->name, shape->options);

    write_bytes(name, shape->content, shape->size);
    if (storage_lab_declare(&lab, yaml) != WEIR_OK)
        fail_msg("%s: %s", shape->name, lab.err.text);
}

static void times_of(uint32_t dataset, uint64_t live, char text[256])
{
    struct msg_columns_is columns;
    size_t size = 0;

    *text = '\0';
    if (live == 0)
        return;
    assert_int_equal(
        storage_lab_request(&lab, MSG_columns_read,
                            &(struct msg_columns_read){.first = weir_sample_id(dataset, 0, 0),
                                                       .count = (uint32_t)live},
                            MSG_columns_is, &columns),
        WEIR_OK);
    for (size_t i = 0; i < columns.times.count; i++)
        size += (size_t)snprintf(text + size, 256 - size, "%lld ",
                                 (long long)(columns.times.at[i] / 1000000));
}

static void check_shape(const struct shape *shape)
{
    struct msg_dataset_is found = storage_lab_await(&lab, shape->name, shape->live > 0);
    const char *complaint = found.complaints.count > 0 ? found.complaints.at[0] : "none";
    char times[256];

    for (size_t i = 0; shape->complaint != NULL && i < found.complaints.count; i++)
        if (strstr(found.complaints.at[i], shape->complaint) != NULL)
            complaint = found.complaints.at[i];
    times_of((uint32_t)found.dataset, shape->live, times);
    if (found.live != shape->live || found.quarantined != shape->quarantined ||
        (shape->complaint != NULL && strstr(complaint, shape->complaint) == NULL) ||
        strcmp(times, shape->times) != 0)
        fail_msg("%s: %llu live, %llu refused, complaint '%s', times %s", shape->name,
                 (unsigned long long)found.live, (unsigned long long)found.quarantined, complaint,
                 times);
}

static void each_shape_is_counted_and_what_is_refused_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(SHAPES); i++)
        declare_shape(&SHAPES[i]);
    for (size_t i = 0; i < WEIR_COUNT(SHAPES); i++)
        check_shape(&SHAPES[i]);
    check_health();
}

static const char ROWS[] = "  - name: rows\n"
                           "    source: {path: %s, format: csv, settle: 0ms}\n"
                           "    time: {from: field, field: ts}\n";

/* A file that somebody has only begun is not refused for good. */
static void what_was_empty_or_half_a_header_is_taken_in_when_it_has_grown(void **state)
{
    (void)state;
    storage_lab_write(&lab, "empty.csv", "");
    storage_lab_write(&lab, "half.csv", "t");
    assert_int_equal(storage_lab_declare(&lab, ROWS), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "rows", 0).quarantined, 1);
    storage_lab_append(&lab, "empty.csv", "\nts\n1\n2\n");
    storage_lab_append(&lab, "half.csv", "s\n3\n");
    while (storage_lab_dataset(&lab, "rows").live < 3)
        weir_loop_step(lab.loop, 20);
    assert_int_equal(storage_lab_dataset(&lab, "rows").quarantined, 0);
    storage_lab_append(&lab, "empty.csv", "4\n");
    while (storage_lab_dataset(&lab, "rows").live < 4)
        weir_loop_step(lab.loop, 20);
    assert_int_equal(storage_lab_dataset(&lab, "rows").replaced, 0);
}

/* ---- what surrounds them ---- */

static const char SIDECARS[] = "  - name: letters\n"
                               "    source: {path: %s, format: files, include: \"*.txt\",\n"
                               "             sidecar: .json, on_erase: unlink, settle: 0ms}\n"
                               "    time: {from: sidecar, field: at}\n"
                               "    label: {from: sidecar, field: y, type: int}\n";

static void links_in_a_circle_and_empty_sidecars_stop_nobody(void **state)
{
    struct msg_dataset_is found;

    (void)state;
    storage_lab_write(&lab, "deep/a.txt", "a letter");
    storage_lab_write(&lab, "deep/a.json", "{\"at\": 5, \"y\": 1}");
    storage_lab_write(&lab, "b.txt", "a letter without a word on it");
    storage_lab_write(&lab, "b.json", "");
    storage_lab_write(&lab, "c.txt", "");
    storage_lab_write(&lab, "c.json", "{\"at\": 5, \"y\": 1}");
    assert_int_equal(symlink("..", storage_lab_path(&lab, "source/deep/up")), 0);
    assert_int_equal(symlink("circle", storage_lab_path(&lab, "source/circle")), 0);
    assert_int_equal(storage_lab_declare(&lab, SIDECARS), WEIR_OK);
    found = storage_lab_await(&lab, "letters", 1);
    assert_int_equal(found.live, 1);
    assert_int_equal(found.quarantined, 2);
    assert_int_equal(found.complaints.count, 2);
    assert_true(strstr(found.complaints.at[0], "b.txt") != NULL ||
                strstr(found.complaints.at[1], "b.txt"));
    check_health();
}

enum { HUGE_GIB = 3, LONG_GIB = 1 };

static const char HUGE[] =
    "  - name: rows\n"
    "    source: {path: %s/rows, format: csv, on_erase: scrub, settle: 0ms}\n"
    "    time: {from: field, field: ts}\n"
    "    label: {field: y, type: int}\n"
    "  - name: blocks\n"
    "    source: {path: %s/blocks, format: binary, record_bytes: 4194304, on_erase: scrub,\n"
    "             settle: 0ms}\n"
    "    time: {from: mtime}\n"
    "    label: {offset: 0, type: i32}\n"
    "  - name: lines\n"
    "    source: {path: %s/lines, format: jsonl, on_erase: scrub, settle: 0ms}\n"
    "    time: {from: field, field: ts}\n"
    "    label: {field: y, type: int}\n";

static void make_huge(const char *name, const char *beginning, off_t gib)
{
    int fd = create(name);

    assert_int_equal(write(fd, beginning, strlen(beginning)), strlen(beginning));
    assert_int_equal(ftruncate(fd, gib << 30), 0);
    close(fd);
}

/* After 16 MiB of a line that is too long stands what would be a row, if it stood alone. */
static void make_long_line(void)
{
    WEIR_AUTO_BUF text = {0};

    weir_buf_append_text(&text, "ts,y\n1,5\n");
    weir_buf_reserve(&text, FORMAT_RECORD_MAX);
    memset(text.at + text.size, 'x', FORMAT_RECORD_MAX);
    text.size += FORMAT_RECORD_MAX;
    weir_buf_append_text(&text, "3,8\n4,9\nlate,9\n");
    write_bytes("rows/a.csv", (const char *)text.at, text.size);
}

static void huge_files_with_holes_are_read_in_bounds(void **state)
{
    struct msg_dataset_is found;

    (void)state;
    make_huge("blocks/a", "abcd", HUGE_GIB);
    make_huge("lines/a", "{\"ts\": 1, \"y\": 1}\n{\"ts\": 2, \"y\": 2}\n", LONG_GIB);
    make_long_line();
    assert_int_equal(storage_lab_declare(&lab, HUGE), WEIR_OK);
    found = storage_lab_await(&lab, "rows", 1);
    assert_int_equal(found.live, 2);
    assert_int_equal(found.quarantined, 2);
    assert_true(strstr(found.complaints.at[0], "a.csv:5") != NULL ||
                strstr(found.complaints.at[1], "a.csv:5"));
    found = storage_lab_await(&lab, "blocks", 1);
    assert_int_equal(found.live, HUGE_GIB * 256);
    assert_int_equal(found.quarantined, 0);
    found = storage_lab_await(&lab, "lines", 1);
    assert_int_equal(found.live, 2);
    assert_int_equal(found.quarantined, 1);
    assert_non_null(strstr(found.complaints.at[0], "a:3"));
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(each_shape_is_counted_and_what_is_refused_is_named),
        CASE(what_was_empty_or_half_a_header_is_taken_in_when_it_has_grown),
        CASE(links_in_a_circle_and_empty_sidecars_stop_nobody),
        CASE(huge_files_with_holes_are_read_in_bounds),
    };
    return storage_lab_run(&lab, "storage: shapes of data", tests, WEIR_COUNT(tests));
}
