/* The columns of a dataset are those of its first file: others that have them in their order come in, all else stays
 * out, with one line. */
#include "tests/component/storage_lab.h"
#include "tests/component/storage_push_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char ROWS[] = "  - name: rows\n"
                           "    source: {path: %s, format: csv, settle: 0ms}\n"
                           "    time: {from: field, field: ts}\n"
                           "    label: {field: y}\n";
static const char NUMBERED[] = "  - name: rows\n"
                               "    source: {path: %s, format: csv, settle: 0ms, header: false,\n"
                               "             columns: [ts, y]}\n"
                               "    time: {from: field, field: ts}\n"
                               "    label: {field: y}\n";
static const char NAMELESS[] = "  - name: rows\n"
                               "    source: {path: %s, format: csv, settle: 0ms, header: false}\n"
                               "    time: {from: field, field: 1}\n";
static const char PEOPLE[] = "  - name: people\n"
                             "    source: {path: %s, format: csv, settle: 0ms, on_erase: scrub}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n";
static const char PUSHED[] = "  - name: table\n"
                             "    source: {push: true, format: csv}\n"
                             "    time: {from: field, field: ts}\n";

static struct storage_lab lab;

static void await(uint64_t live, uint64_t refused, const char *columns, const char *complaint)
{
    struct msg_dataset_is is = storage_lab_await_counts(&lab, "rows", live, refused);

    assert_string_equal(is.columns, columns);
    if (complaint == NULL)
        return;
    assert_int_equal(is.complaints.count, refused);
    if (strstr(is.complaints.at[0], complaint) == NULL)
        fail_msg("found '%s', expected '%s'", is.complaints.at[0], complaint);
}

static void files_with_other_columns_are_refused_with_one_line(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,user,\"y\"\r\n1,u,5\r\n");
    storage_lab_must_declare(&lab, ROWS);
    await(1, 0, "ts\nuser\ny\n", NULL);
    storage_lab_write(&lab, "b.csv", "ts,y,user\n2,6,u\n");
    await(1, 1, "ts\nuser\ny\n",
          "b.csv: line 1: found the columns ts,y,user, expected those of the dataset, in their "
          "order: ts,user,y; more may follow");
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    storage_lab_write(&lab, "c.csv", "ts,user,y,more\n3,u,7,x\n");
    await(2, 1, "ts\nuser\ny\n", NULL);
    storage_lab_write(&lab, "d.csv", "ts,y\n4,8\n");
    await(2, 2, "ts\nuser\ny\n", "d.csv: line 1: found the columns ts,y, expected");
}

/* A file that gives no sample says nothing about the others. */
static void the_first_sample_brings_the_columns(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,y,x\nsoon,5,1\n");
    storage_lab_write(&lab, "b.csv", "ts,y\n1,5\n");
    storage_lab_write(&lab, "c.csv", "");
    storage_lab_must_declare(&lab, ROWS);
    await(1, 1, "ts\ny\n", NULL);
}

static void columns_that_are_declared_are_compared_with_the_records(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a.csv", "1,5,x\n2,6,x\n");
    storage_lab_must_declare(&lab, NUMBERED);
    await(0, 1, "", "line 1: found 3 fields, expected 2 as in source.columns");
    storage_lab_write(&lab, "b.csv", "1,5\n2,6\n");
    await(2, 1, "ts\ny\n", NULL);
}

static void columns_without_names_are_counted(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a.csv", "1,5,x\n");
    storage_lab_must_declare(&lab, NAMELESS);
    await(1, 0, "\n\n\n", NULL);
    storage_lab_write(&lab, "b.csv", "2,5\n");
    await(2, 0, "\n\n\n", NULL);
}

/* A line in the place of a header may be a person's. */
static void a_line_that_is_no_header_is_not_told_of_people(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,user\n1,u\n");
    storage_lab_must_declare(&lab, PEOPLE);
    (void)storage_lab_await_counts(&lab, "people", 1, 0);
    storage_lab_write(&lab, "b.csv", "7,jane\n8,joe\n");
    is = storage_lab_await_counts(&lab, "people", 1, 1);
    assert_null(strstr(is.complaints.at[0], "jane"));
    storage_lab_write(&lab, "c.csv", "jane,ts,user\n8,8,joe\n");
    is = storage_lab_await_counts(&lab, "people", 1, 2);
    assert_null(strstr(is.complaints.at[0], "jane"));
    assert_non_null(strstr(is.complaints.at[0], "expected those of the dataset"));
}

/* The header of the only file is mended, and so is the dataset. */
static void a_file_that_is_replaced_brings_its_own_columns(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,usr,y\n1,u,5\n");
    storage_lab_must_declare(&lab, ROWS);
    await(1, 0, "ts\nusr\ny\n", NULL);
    storage_lab_write(&lab, "a.csv", "ts,user,y\n1,u,5\n2,u,6\n");
    await(2, 0, "ts\nuser\ny\n", NULL);
    storage_lab_write(&lab, "b.csv", "ts,usr,y\n3,u,5\n");
    await(2, 1, "ts\nuser\ny\n", "b.csv: line 1: found the columns ts,usr,y, expected");
    storage_lab_remove(&lab, "a.csv");
    await(0, 1, "ts\nuser\ny\n", NULL);
    storage_lab_write(&lab, "c.csv", "ts,y\n3,5\n");
    await(1, 1, "ts\ny\n", NULL);
}

/* A store of an older Weir does not know its columns. */
static void columns_that_were_not_kept_are_found_in_a_file(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,y\n");
    storage_lab_write(&lab, "b.csv", "ts,user,y\n1,u,5\n");
    storage_lab_must_declare(&lab, ROWS);
    await(1, 0, "ts\nuser\ny\n", NULL);
    storage_lab_stop(&lab);
    weir_test_postgres_sql(&lab.postgres, "UPDATE storage.dataset SET columns = ''");
    storage_lab_start(&lab);
    await(1, 0, "ts\nuser\ny\n", NULL);
    storage_lab_write(&lab, "c.csv", "ts,y\n2,6\n");
    await(1, 1, "ts\nuser\ny\n", "c.csv: line 1: found the columns ts,y, expected those");
}

static struct pushed push(uint64_t batch, const char *text)
{
    return storage_push_text(
        &lab, &(struct msg_push){.dataset = "table", .client = "a", .batch = batch}, text);
}

static void pushed_batches_have_the_columns_of_the_first(void **state)
{
    (void)state;
    assert_int_equal(storage_lab_declare(&lab, PUSHED), WEIR_OK);
    assert_int_equal(push(1, "ts,y\n1,10\n").answer.samples, 1);
    assert_int_equal(push(2, "y,ts\n20,2\n").status, WEIR_INVALID);
    assert_non_null(strstr(lab.err.text, "found the columns y,ts, expected those of the dataset"));
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_int_equal(push(2, "y,ts\n20,2\n").status, WEIR_INVALID);
    assert_int_equal(push(2, "ts,y\n2,20\n").answer.samples, 1);
    assert_string_equal(storage_lab_dataset(&lab, "table").columns, "ts\ny\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, files_with_other_columns_are_refused_with_one_line),
        STORAGE_CASE(&lab, the_first_sample_brings_the_columns),
        STORAGE_CASE(&lab, columns_that_are_declared_are_compared_with_the_records),
        STORAGE_CASE(&lab, columns_without_names_are_counted),
        STORAGE_CASE(&lab, a_line_that_is_no_header_is_not_told_of_people),
        STORAGE_CASE(&lab, a_file_that_is_replaced_brings_its_own_columns),
        STORAGE_CASE(&lab, columns_that_were_not_kept_are_found_in_a_file),
        STORAGE_CASE(&lab, pushed_batches_have_the_columns_of_the_first),
    };
    return storage_lab_run(&lab, "storage: columns", tests, WEIR_COUNT(tests));
}
