/* The examples that AWS publishes ("Signature Calculations for the Authorization Header", Amazon S3 API
 * Reference): the same requests must get the same signatures. */
#include "storage/objects/s3_sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char key_id[] = "AKIAIOSFODNN7EXAMPLE";
static char secret[] = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
static const struct s3_credentials CREDENTIALS = {.key_id = key_id, .secret = secret};

static const struct {
    struct s3_request request;
    const char *signature;
} EXAMPLES[] = {
    {{.path = "/test.txt", .query = "", .range = "bytes=0-9"},
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {{.method = "PUT",
      .path = "/test%24file.text",
      .query = "",
      .sha256 = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      .also = (const char *const[]){"x-amz-storage-class: REDUCED_REDUNDANCY",
                                    "date: Fri, 24 May 2013 00:00:00 GMT", NULL}},
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {{.path = "/", .query = "lifecycle="},
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {{.path = "/", .query = "max-keys=2&prefix=J"},
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
};

static struct s3_request complete(const struct s3_request *example)
{
    struct s3_request request = *example;

    request.method = request.method != NULL ? request.method : "GET";
    request.host = "examplebucket.s3.amazonaws.com";
    request.region = "us-east-1";
    storage_s3_date(1369353600000000, request.date);
    return request;
}

static void sign(const struct s3_request *request, const struct s3_credentials *credentials,
                 char hex[S3_SIGNATURE_TEXT])
{
    struct s3_signing_key key;
    uint8_t signature[S3_SIGNATURE_BYTES];

    storage_s3_signing_key(request, credentials, &key);
    storage_s3_signature(request, credentials, &key, signature);
    weir_hex(signature, sizeof(signature), hex);
}

static void published_requests_have_their_published_signatures(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++) {
        struct s3_request request = complete(&EXAMPLES[i].request);
        char signature[S3_SIGNATURE_TEXT];

        assert_string_equal(request.date, "20130524T000000Z");
        sign(&request, &CREDENTIALS, signature);
        assert_string_equal(signature, EXAMPLES[i].signature);
    }
}

static void the_authorization_names_key_scope_and_headers(void **state)
{
    struct s3_request request = complete(&EXAMPLES[0].request);
    WEIR_AUTO_BUF header = {0};

    (void)state;
    storage_s3_authorization(&request, &CREDENTIALS, &header);
    assert_string_equal(
        weir_buf_text(&header),
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

/* "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)", its example. */
static void the_published_query_has_its_published_signature(void **state)
{
    struct s3_request request =
        complete(&(struct s3_request){.path = "/test.txt", .in_query = true});
    char signature[S3_SIGNATURE_TEXT];
    WEIR_AUTO_BUF query = {0};

    (void)state;
    storage_s3_query(&request, &CREDENTIALS, 86400, &query);
    assert_string_equal(
        weir_buf_text(&query),
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2F"
        "us-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&"
        "X-Amz-SignedHeaders=host");
    request.query = weir_buf_text(&query);
    sign(&request, &CREDENTIALS, signature);
    assert_string_equal(signature,
                        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

static void a_query_has_the_token_of_a_session_and_names_the_headers_that_are_signed(void **state)
{
    static char token[] = "to/ken+=";
    const struct s3_credentials of_session = {.key_id = key_id, .secret = secret, .token = token};
    struct s3_request request = complete(&(struct s3_request){
        .path = "/a", .range = "bytes=0-9", .if_match = "\"e\"", .in_query = true});
    WEIR_AUTO_BUF query = {0};

    (void)state;
    storage_s3_query(&request, &of_session, 2, &query);
    assert_string_equal(
        weir_buf_text(&query),
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2F"
        "us-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=2&"
        "X-Amz-Security-Token=to%2Fken%2B%3D&X-Amz-SignedHeaders=host%3Bif-match%3Brange");
}

static void keys_are_encoded_byte_by_byte(void **state)
{
    WEIR_AUTO_BUF out = {0};

    (void)state;
    storage_s3_encode("a b+c/~(ü)=.txt", true, &out);
    storage_s3_encode("/", false, &out);
    assert_string_equal(weir_buf_text(&out), "a%20b%2Bc/~%28%C3%BC%29%3D.txt%2F");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_requests_have_their_published_signatures),
        cmocka_unit_test(the_authorization_names_key_scope_and_headers),
        cmocka_unit_test(the_published_query_has_its_published_signature),
        cmocka_unit_test(a_query_has_the_token_of_a_session_and_names_the_headers_that_are_signed),
        cmocka_unit_test(keys_are_encoded_byte_by_byte),
    };
    return cmocka_run_group_tests_name("s3: signatures", tests, NULL, NULL);
}
