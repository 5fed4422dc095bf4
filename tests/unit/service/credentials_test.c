/* Credentials that data sets may name: declared by the system file, for the hosts that it names, and handed on without
 * the secrets. */
#include "core/service/credentials.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char DECLARED[] =
    "credentials:\n"
    "  clicks: {hosts: [s3.example.org, \"127.0.0.1:9000\"], file: /etc/weir/clicks.key}\n"
    "  other: {hosts: minio.example.org, key_id_env: MINIO_ID, secret_env: MINIO_SECRET}\n"
    "  any: {hosts: [\"*\"]}\n";

static void hand_on(const char *text, bool is_local)
{
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    assert_int_equal(weir_yaml_parse("system.yaml", weir_bytes_of(text), &document, &err), WEIR_OK);
    const struct weir_yaml_node *section = weir_yaml_get(weir_yaml_root(document), "credentials");
    if (weir_credentials_check(section, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    weir_credentials_hand_on(section, is_local);
}

static enum weir_status find(const char *name, const char *endpoint, struct weir_error *err)
{
    struct weir_credentials found = {0};
    enum weir_status status = weir_credentials_find(name, endpoint, &found, err);
    weir_credentials_fini(&found);
    return status;
}

static void a_host_gets_what_is_declared_for_it_alone(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *endpoint;
        enum weir_status status;
    } CASES[] = {
        {"clicks", "https://s3.example.org", WEIR_OK},
        {"clicks", "https://S3.Example.ORG/", WEIR_OK},
        {"clicks", "http://127.0.0.1:9000", WEIR_OK},
        {"clicks", "http://127.0.0.1:9001", WEIR_DENIED},
        {"clicks", "https://s3.example.org:8443", WEIR_DENIED},
        {"clicks", "https://s3.example.org.evil.net", WEIR_DENIED},
        {"clicks", "https://s3.example.org@evil.net", WEIR_DENIED},
        {"clicks", "https://evil.net/s3.example.org", WEIR_DENIED},
        {"clicks", "https://evil.net?s3.example.org", WEIR_DENIED},
        {"other", "https://minio.example.org", WEIR_OK},
        {"other", "https://s3.example.org", WEIR_DENIED},
        {"any", "https://evil.net", WEIR_OK},
        {"environment", "https://s3.example.org", WEIR_INVALID},
        {"/etc/passwd", "https://s3.example.org", WEIR_INVALID},
    };
    hand_on(DECLARED, false);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        if (find(CASES[i].name, CASES[i].endpoint, &err) != CASES[i].status)
            fail_msg("%s to %s", CASES[i].name, CASES[i].endpoint);
    }
    struct weir_error err;
    assert_int_equal(find("clix", "https://s3.example.org", &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "found 'clix', expected one of those"));
    assert_non_null(strstr(err.text, "clicks, other, any"));
}

static void without_a_system_file_the_usual_variables_go_anywhere(void **unused)
{
    (void)unused;
    struct weir_error err;
    weir_credentials_hand_on(NULL, true);
    assert_int_equal(find("environment", "https://s3.example.org", &err), WEIR_OK);
    weir_credentials_hand_on(NULL, false);
    assert_int_equal(find("environment", "https://s3.example.org", &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "declares: none"));
}

static void variables_that_hold_secrets_are_known(void **unused)
{
    (void)unused;
    hand_on(DECLARED, false);
    assert_true(weir_credentials_use("MINIO_ID"));
    assert_true(weir_credentials_use("MINIO_SECRET"));
    assert_true(weir_credentials_use("AWS_SECRET_ACCESS_KEY"));
    assert_true(weir_credentials_use("AWS_SESSION_TOKEN"));
    assert_false(weir_credentials_use("HOME"));
    assert_false(weir_credentials_use("MINIO"));
}

static void mistakes_are_told_with_their_place(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *complaint;
    } CASES[] = {
        {"credentials: [a]\n", "credentials: expected NAME"},
        {"credentials: {a: {file: /x}}\n", "credentials.a: the key 'hosts' is missing"},
        {"credentials: {a: {hosts: []}}\n", "s.yaml:1:"},
        {"credentials: {a: {hosts: [\"https://x\"]}}\n",
         "credentials.a.hosts[0]: found 'https://x', expected HOST"},
        {"credentials: {a: {hosts: [\"u@x\"]}}\n", "found 'u@x'"},
        {"credentials: {a: {hosts: x, file: key}}\n",
         "credentials.a.file: found 'key', expected an absolute path"},
        {"credentials: {a: {hosts: x, ca: authority.pem}}\n",
         "credentials.a.ca: found 'authority.pem', expected an absolute path"},
        {"credentials: {a: {hosts: x, chain: true, profile: p}}\n",
         "credentials.a: expected one of chain, profile, file and variables"},
        {"credentials: {a: {hosts: x, file: /x, key_id_env: ID}}\n", "found 2"},
        {"credentials: {a: {hosts: x, secret: s}}\n", "credentials.a.secret: unknown key"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        WEIR_AUTO(weir_yaml) document = NULL;
        assert_int_equal(weir_yaml_parse("s.yaml", weir_bytes_of(CASES[i].text), &document, &err),
                         WEIR_OK);
        assert_int_equal(
            weir_credentials_check(weir_yaml_get(weir_yaml_root(document), "credentials"), &err),
            WEIR_INVALID);
        if (strstr(err.text, CASES[i].complaint) == NULL)
            fail_msg("%s\n  instead of %s", err.text, CASES[i].complaint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_gets_what_is_declared_for_it_alone),
        cmocka_unit_test(without_a_system_file_the_usual_variables_go_anywhere),
        cmocka_unit_test(variables_that_hold_secrets_are_known),
        cmocka_unit_test(mistakes_are_told_with_their_place),
    };
    return cmocka_run_group_tests_name("credentials", tests, NULL, NULL);
}
