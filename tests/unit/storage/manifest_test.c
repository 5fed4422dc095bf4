/* Manifests: rows by path, broken rows alone refused. */
#include "storage/formats/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct format_fields ALL = {.time = {.from = FORMAT_MANIFEST},
                                         .label = {.from = FORMAT_MANIFEST},
                                         .subject = {.from = FORMAT_MANIFEST},
                                         .key = {.from = FORMAT_MANIFEST}};
static uint64_t refused_line;

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    (void)owner;
    refused_line = refusal->record;
}

static const struct format_sink SINK = {.refuse = on_refuse};

static void rows_are_found_by_path(void **state)
{
    WEIR_AUTO(manifest) manifest = NULL;
    struct weir_error err;
    const struct manifest_row *row;

    (void)state;
    assert_int_equal(
        storage_manifest_read("m.csv",
                              weir_bytes_of("time,path,subject,label,key\r\n"
                                            "2002-08-01,b.txt,\"O\"\"Hara, A\",spam,7\r\n"
                                            "2002-08-02,a.txt,x,ham,8\r\n"),
                              &ALL, &SINK, &manifest, &err),
        WEIR_OK);
    row = storage_manifest_find(manifest, "b.txt");
    assert_non_null(row);
    assert_true(weir_bytes_equal(row->subject, weir_bytes_of("O\"Hara, A")));
    assert_true(weir_bytes_equal(row->key, weir_bytes_of("7")));
    assert_null(storage_manifest_find(manifest, "c.txt"));
}

static void a_broken_row_is_refused_alone(void **state)
{
    WEIR_AUTO(manifest) manifest = NULL;
    struct weir_error err;

    (void)state;
    assert_int_equal(
        storage_manifest_read("m.csv",
                              weir_bytes_of("path,time,label,subject,key\na,1,ham,x,k\nb,2\n"
                                            "c,3,ham,x,l"),
                              &ALL, &SINK, &manifest, &err),
        WEIR_OK);
    assert_non_null(storage_manifest_find(manifest, "a"));
    assert_null(storage_manifest_find(manifest, "b"));
    assert_non_null(storage_manifest_find(manifest, "c"));
    assert_int_equal(refused_line, 3);
}

static void a_row_that_contradicts_an_earlier_one_is_refused(void **state)
{
    WEIR_AUTO(manifest) manifest = NULL;
    struct weir_error err;

    (void)state;
    refused_line = 0;
    assert_int_equal(
        storage_manifest_read("m.csv",
                              weir_bytes_of("path,time,label,subject,key\na,1,ham,x,k\n"
                                            "b,2,ham,x,l\na,1,ham,x,k\n"),
                              &ALL, &SINK, &manifest, &err),
        WEIR_OK);
    assert_int_equal(refused_line, 0); /* it says the same */
    storage_manifest_free(manifest);
    manifest = NULL;
    assert_int_equal(
        storage_manifest_read("m.csv",
                              weir_bytes_of("path,time,label,subject,key\na,1,ham,x,k\n"
                                            "b,2,ham,x,l\na,1,spam,x,k\nc,3,ham,x,m\n"),
                              &ALL, &SINK, &manifest, &err),
        WEIR_OK);
    assert_int_equal(refused_line, 4);
    assert_true(
        weir_bytes_equal(storage_manifest_find(manifest, "a")->label, weir_bytes_of("ham")));
}

static void only_the_columns_that_are_asked_for_must_be_there(void **state)
{
    static const struct format_fields TIME = {.time = {.from = FORMAT_MANIFEST}};
    WEIR_AUTO(manifest) manifest = NULL;
    struct weir_error err;

    (void)state;
    assert_int_equal(storage_manifest_read("m.csv", weir_bytes_of("path,time\na,1\n"), &TIME, &SINK,
                                           &manifest, &err),
                     WEIR_OK);
    assert_int_equal(storage_manifest_read("m.csv", weir_bytes_of("path,time\na,1\n"), &ALL, &SINK,
                                           &manifest, &err),
                     WEIR_INVALID);
    assert_non_null(strstr(err.text, "m.csv:1: found no column 'label'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_path),
        cmocka_unit_test(a_broken_row_is_refused_alone),
        cmocka_unit_test(a_row_that_contradicts_an_earlier_one_is_refused),
        cmocka_unit_test(only_the_columns_that_are_asked_for_must_be_there),
    };
    return cmocka_run_group_tests_name("storage: manifests", tests, NULL, NULL);
}
