/* Listings: what a store says is read exactly; what no store would say is refused. */
#include "storage/objects/s3_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OBJECT(key, etag, size)                                                                    \
    "<Contents><Key>" key "</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified><ETag>" etag \
    "</ETag><Size>" size "</Size><StorageClass>STANDARD</StorageClass></Contents>"
#define PAGE(inner)                                                                                  \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"x\"><Name>b</Name>" inner \
    "</ListBucketResult>"
#define END "<IsTruncated>false</IsTruncated>"

static struct weir_arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = weir_arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    weir_arena_free(arena);
    return 0;
}

static enum weir_status read_page(const char *xml, struct s3_page *page)
{
    struct weir_error err;

    return storage_s3_page_read(weir_bytes_of(xml), arena, page, &err);
}

static void a_page_is_read_as_it_is(void **state)
{
    struct s3_page page;

    (void)state;
    assert_int_equal(read_page(PAGE("<IsTruncated>true</IsTruncated>"
                                    "<NextContinuationToken>a&amp;b</NextContinuationToken>" OBJECT(
                                        "p/a%20b%2B%C3%BC", "&quot;e1&quot;", "0")
                                        OBJECT("p/c+d", "&#34;e2&#34;", "18446744073709551615")),
                               &page),
                     WEIR_OK);
    assert_int_equal(page.count, 2);
    assert_string_equal(page.objects[0].key, "p/a b+ü");
    assert_string_equal(page.objects[0].etag, "\"e1\"");
    assert_int_equal(page.objects[0].size, 0);
    assert_int_equal(page.objects[0].modified_us, 1255369830000000);
    assert_string_equal(page.objects[1].key, "p/c d");
    assert_true(page.objects[1].size == UINT64_MAX);
    assert_string_equal(page.next, "a&b");
}

static void an_empty_bucket_is_a_page(void **state)
{
    struct s3_page page;

    (void)state;
    assert_int_equal(read_page(PAGE(END), &page), WEIR_OK);
    assert_int_equal(page.count, 0);
    assert_null(page.next);
}

static void what_is_no_page_is_refused(void **state)
{
    static const char *const CASES[] = {
        "",
        "<html>hello</html>",
        "<ListBucketResult><Name>b</Name>",
        PAGE(""),
        PAGE("<IsTruncated>true</IsTruncated>"),
        PAGE("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"),
        PAGE(END OBJECT("b", "e", "1") OBJECT("a", "e", "1")),
        PAGE(END OBJECT("a", "e", "1") OBJECT("a", "e", "1")),
        PAGE(END OBJECT("", "e", "1")),
        PAGE(END OBJECT("a%00b", "e", "1")),
        PAGE(END OBJECT("a%zz", "e", "1")),
        PAGE(END OBJECT("a%2", "e", "1")),
        PAGE(END OBJECT("a", "e", "-1")),
        PAGE(END OBJECT("a", "e", "99999999999999999999")),
        PAGE(END OBJECT("a", "e\r\nX: y", "1")),
        PAGE(END OBJECT("a", "&unknown;", "1")),
        PAGE(END "<Contents><Key>a</Key><Size>1</Size></Contents>"),
        "<!DOCTYPE x [<!ENTITY a \"b\">]>" PAGE(END),
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct s3_page page;

        if (read_page(CASES[i], &page) != WEIR_CORRUPT)
            fail_msg("taken: %s", CASES[i]);
    }
}

static void a_page_cut_at_any_byte_is_refused(void **state)
{
    static const char WHOLE[] = PAGE(END OBJECT("a", "e", "1") OBJECT("b", "e", "2"));

    (void)state;
    for (size_t size = 0; size < strlen(WHOLE); size++) {
        WEIR_AUTO_FREE char *cut = weir_strndup(WHOLE, size);
        struct s3_page page;

        assert_int_equal(read_page(cut, &page), WEIR_CORRUPT);
    }
}

static void too_many_or_too_long_keys_are_refused(void **state)
{
    WEIR_AUTO_BUF many = {0};
    WEIR_AUTO_BUF lengthy = {0};
    struct s3_page page;

    (void)state;
    weir_buf_append_text(&many, "<ListBucketResult>" END);
    for (int i = 0; i <= S3_PAGE_KEYS_MAX; i++)
        weir_buf_printf(&many, OBJECT("k%05d", "e", "1"), i);
    weir_buf_append_text(&many, "</ListBucketResult>");
    assert_int_equal(read_page(weir_buf_text(&many), &page), WEIR_CORRUPT);
    weir_buf_printf(&lengthy, PAGE(END OBJECT("%0*d", "e", "1")), S3_KEY_MAX + 1, 1);
    assert_int_equal(read_page(weir_buf_text(&lengthy), &page), WEIR_CORRUPT);
}

#define VERSION(key, id, latest)                                                \
    "<Version><Key>" key "</Key><VersionId>" id "</VersionId><IsLatest>" latest \
    "</IsLatest><ETag>&quot;e&quot;</ETag></Version>"
#define MARKER(key, id)                              \
    "<DeleteMarker><Key>" key "</Key><VersionId>" id \
    "</VersionId><IsLatest>true</IsLatest></DeleteMarker>"
#define VERSIONS(inner) "<ListVersionsResult xmlns=\"x\">" inner "</ListVersionsResult>"

static void versions_of_the_key_alone_are_read(void **state)
{
    struct s3_versions found;
    struct weir_error err;

    (void)state;
    assert_int_equal(
        storage_s3_versions_read(weir_bytes_of(VERSIONS(MARKER("a%20b", "m+/=") VERSION(
                                     "a%20b", "1&amp;2", "false") VERSION("a%20bc", "3", "true"))),
                                 "a b", arena, &found, &err),
        WEIR_OK);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.at[0].id, "1&2");
    assert_string_equal(found.at[0].etag, "\"e\"");
    assert_false(found.at[0].is_latest);
    assert_string_equal(found.at[1].id, "m+/=");
    assert_null(found.at[1].etag);
    assert_true(found.at[1].is_latest);
}

static void what_is_no_list_of_versions_is_refused(void **state)
{
    static const char *const CASES[] = {
        "",
        PAGE(END),
        "<ListVersionsResult>" VERSION("a", "1", "true"),
        "<!DOCTYPE x>" VERSIONS(""),
        VERSIONS("<Version><Key>a</Key></Version>"),
        VERSIONS("<DeleteMarker><Key>a</Key></DeleteMarker>"),
        VERSIONS("<Version><Key>a</Key><IsLatest>true</IsLatest></Version>"),
        VERSIONS(VERSION("a%zz", "1", "true")),
        VERSIONS(VERSION("a", "&unknown;", "true")),
    };
    struct s3_versions found;
    struct weir_error err;
    WEIR_AUTO_BUF many = {0};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        if (storage_s3_versions_read(weir_bytes_of(CASES[i]), "a", arena, &found, &err) !=
            WEIR_CORRUPT)
            fail_msg("taken: %s", CASES[i]);
    }
    weir_buf_append_text(&many, "<ListVersionsResult>");
    for (int i = 0; i <= S3_PAGE_KEYS_MAX; i++)
        weir_buf_append_text(&many, MARKER("a", "1"));
    weir_buf_append_text(&many, "</ListVersionsResult>");
    assert_int_equal(
        storage_s3_versions_read(weir_bytes_of(weir_buf_text(&many)), "a", arena, &found, &err),
        WEIR_CORRUPT);
}

static void a_lock_tells_its_end(void **state)
{
    static const char WHOLE[] =
        "<Retention xmlns=\"x\"><Mode>COMPLIANCE</Mode><RetainUntilDate>2031-05-06T07:08:09Z"
        "</RetainUntilDate></Retention>";
    int64_t until_us = 0;

    (void)state;
    assert_true(storage_s3_lock_read(weir_bytes_of(WHOLE), arena, &until_us));
    assert_int_equal(until_us, 1935817689000000);
    assert_false(storage_s3_lock_read(weir_bytes_of("<Retention></Retention>"), arena, &until_us));
    assert_false(storage_s3_lock_read(
        weir_bytes_of("<Error><Code>NoSuchObjectLockConfiguration</Code></Error>"), arena,
        &until_us));
    assert_false(storage_s3_lock_read(weir_bytes(WHOLE, sizeof(WHOLE) / 2), arena, &until_us));
}

static void the_code_of_an_error_is_letters_alone(void **state)
{
    char code[64];

    (void)state;
    storage_s3_error_code(weir_bytes_of("<Error><Code>SignatureDoesNotMatch</Code></Error>"), code);
    assert_string_equal(code, "SignatureDoesNotMatch");
    storage_s3_error_code(weir_bytes_of("<Code>a\nb</Code>"), code);
    assert_string_equal(code, "a");
    storage_s3_error_code(weir_bytes_of("nothing"), code);
    assert_string_equal(code, "");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_page_is_read_as_it_is),
        CASE(an_empty_bucket_is_a_page),
        CASE(what_is_no_page_is_refused),
        CASE(a_page_cut_at_any_byte_is_refused),
        CASE(too_many_or_too_long_keys_are_refused),
        CASE(versions_of_the_key_alone_are_read),
        CASE(what_is_no_list_of_versions_is_refused),
        CASE(a_lock_tells_its_end),
        CASE(the_code_of_an_error_is_letters_alone),
    };
    return cmocka_run_group_tests_name("s3: listings", tests, NULL, NULL);
}
