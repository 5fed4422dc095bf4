/* Command lines as arguments of topics: what is sent, and what is refused before anything is started. */
#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/erase_names.h"
#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cli/command_line.h"

#include <cmocka.h>

/* The arguments that the command line `text` leads to; NULL with the reason in `err`. */
static json_t *arguments_of(const char *text, struct weir_error *err)
{
    struct command_line line;
    struct cli_call call;
    assert_int_equal(command_line_read(&line, text, &call, err), WEIR_OK);
    json_t *arguments = call.command->arguments(&call, err);
    cli_call_fini(&call);
    return arguments;
}

static void options_become_members(void **state)
{
    static const struct {
        const char *line, *json;
    } CASES[] = {
        {"models list", "{}"},
        {"models list --pipeline p", "{\"pipeline\": \"p\"}"},
        {"models show m-1", "{\"model\": \"m-1\"}"},
        {"models diff m-1 m-2", "{\"model\": \"m-1\", \"other\": \"m-2\"}"},
        {"models export m-1 --to /a/b", "{\"model\": \"m-1\"}"},
        {"models export m-1 --format file", "{\"model\": \"m-1\", \"format\": \"file\"}"},
        {"models lineage m-1", "{\"model\": \"m-1\"}"},
        {"models lineage --id 5 --id 17592186044416", "{\"ids\": [5, 17592186044416]}"},
        {"models lineage --erasure 2", "{\"erasure\": 2}"},
        {"erase plan --id 5", "{\"ids\": [5], \"keys\": [], \"subjects\": []}"},
        {"erase plan --subject a --key k --dataset d",
         "{\"dataset\": \"d\", \"ids\": [], \"keys\": [\"k\"], \"subjects\": [\"a\"]}"},
        {"sets", "{}"},
        {"sets --pipeline p", "{\"pipeline\": \"p\"}"},
        {"feed list d", "{\"dataset\": \"d\"}"},
        {"feed forget d c", "{\"consumer\": \"c\", \"dataset\": \"d\"}"},
        {"erase status 3", "{\"erasure\": 3}"},
        {"erase verify 3", "{\"erasure\": 3}"},
        {"erase verify --all", "{}"},
        {"predict --model m --from 2002-12-01 --to 2003-01-01T00:00:00Z --limit 5",
         "{\"limit\": 5, \"model\": \"m\", \"from\": \"2002-12-01\", \"to\": "
         "\"2003-01-01T00:00:00Z\"}"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        json_t *found = arguments_of(CASES[i].line, &err);
        json_t *expected = json_loads(CASES[i].json, 0, NULL);
        assert_non_null(expected);
        assert_true(json_equal(found, expected));
        json_decref(found);
        json_decref(expected);
    }
}

static void a_request_carries_a_uuid_of_its_own(void **state)
{
    struct weir_error err;
    (void)state;
    const char *text = "erase request --subject a@b --subject c --id 9 --dataset d --reference r-1";
    json_t *one = arguments_of(text, &err), *other = arguments_of(text, &err);
    const char *uuid = cli_text(one, "uuid");
    assert_int_equal(strlen(uuid), 36);
    assert_int_equal(uuid[14], '4');
    assert_string_not_equal(uuid, cli_text(other, "uuid"));
    assert_int_equal(json_array_size(json_object_get(one, "subjects")), 2);
    assert_string_equal(json_string_value(json_array_get(json_object_get(one, "subjects"), 0)),
                        "a@b");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(one, "ids"), 0)), 9);
    assert_string_equal(cli_text(one, "dataset"), "d");
    assert_string_equal(cli_text(one, "reference"), "r-1");
    assert_null(json_object_get(one, "allow_none"));
    json_decref(one);
    json_decref(other);
    one = arguments_of("erase request --subject a --allow-none", &err);
    assert_true(json_is_true(json_object_get(one, "allow_none")));
    assert_null(json_object_get(one, "drop_refused"));
    json_decref(one);
}

static void an_order_to_drop_what_was_refused_needs_no_name(void **state)
{
    struct weir_error err;
    (void)state;
    json_t *one = arguments_of("erase request --drop-refused --dataset d", &err);
    assert_true(json_is_true(json_object_get(one, "drop_refused")));
    assert_string_equal(cli_text(one, "dataset"), "d");
    assert_int_equal(json_array_size(json_object_get(one, "subjects")), 0);
    json_decref(one);
}

static void a_csv_names_subjects_keys_and_ids(void **state)
{
    static const struct {
        const char *text, *expected; /* the lists, or the complaint */
        const char *lines;
    } CASES[] = {
        {"subject\na@b\n", "{\"ids\":[],\"keys\":[],\"subjects\":[\"a@b\"]}",
         "{\"ids\":[],\"keys\":[],\"subjects\":[2]}"},
        {"id,note,key\r\n7,x,k 1\r\n,,k2\r\n9,,",
         "{\"ids\":[7,9],\"keys\":[\"k 1\",\"k2\"],\"subjects\":[]}",
         "{\"ids\":[2,4],\"keys\":[2,3],\"subjects\":[]}"},
        {"\xef\xbb\xbfsubject,key\n\"Doe, \"\"J\"\"\nJr\",1\n,2\n",
         "{\"ids\":[],\"keys\":[\"1\",\"2\"],\"subjects\":[\"Doe, \\\"J\\\"\\nJr\"]}",
         "{\"ids\":[],\"keys\":[2,4],\"subjects\":[2]}"},
        {"", "f.csv:1: found no column subject, key or id, expected one in the header", NULL},
        {"name\na\n", "f.csv:1: found no column subject, key or id, expected one in the header",
         NULL},
        {"id\n1\nx\n", "f.csv:3: id: expected a sample number", NULL},
        {"subject\n\xff\n", "f.csv:2: subject: expected UTF-8", NULL},
        {"subject,key\na\n", "f.csv:2: found 1 fields, expected 2 as in the header", NULL},
        {"subject\n\"a\n",
         "f.csv:2: expected at most 4096 fields, separated by commas, with text in "
         "double quotes where it has commas, quotes or line breaks itself",
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        struct erase_names names = cli_erase_names_new();
        enum weir_status status =
            cli_erase_names_csv("f.csv", weir_bytes_of(CASES[i].text), &names, &err);
        WEIR_AUTO_FREE char *lists = json_dumps(names.lists, JSON_COMPACT | JSON_SORT_KEYS);
        WEIR_AUTO_FREE char *lines = json_dumps(names.lines, JSON_COMPACT | JSON_SORT_KEYS);
        assert_string_equal(status == WEIR_OK ? lists : err.text, CASES[i].expected);
        if (status == WEIR_OK)
            assert_string_equal(lines, CASES[i].lines);
        cli_erase_names_fini(&names);
    }
}

/* Cut there, it would be somebody else's name. */
static void a_csv_with_a_byte_of_zero_names_nobody(void **state)
{
    static const char FILE_TEXT[] = "subject\n\"ana\0beth\"\n";
    struct erase_names names = cli_erase_names_new();
    struct weir_error err;
    (void)state;
    assert_int_equal(
        cli_erase_names_csv("f.csv", weir_bytes(FILE_TEXT, sizeof(FILE_TEXT) - 1), &names, &err),
        WEIR_INVALID);
    assert_string_equal(err.text, "f.csv: found a byte of zero, expected text");
    assert_int_equal(json_array_size(json_object_get(names.lists, "subjects")), 0);
    cli_erase_names_fini(&names);
}

static void bad_values_are_refused_in_these_words(void **state)
{
    static const struct {
        const char *line, *text;
    } CASES[] = {
        {"erase request",
         "erase request: expected 1 to 65536 of --subject VALUE, --key VALUE and --id N, a "
         "--subject-file FILE or a --csv FILE of them, found 0"},
        {"erase request --id x", "--id: expected a sample number, found 'x'"},
        {"erase request --id 1x", "--id: expected a sample number, found '1x'"},
        {"erase request --id 0", "--id: expected a sample number, found '0'"},
        {"erase request --id 99999999999999999999",
         "--id: expected a sample number, found '99999999999999999999'"},
        {"erase status one",
         "expected the number of an erasure, found 'one'; weir erase list shows them"},
        {"models lineage", "models lineage: expected a model, or --id or --erasure"},
        {"erase verify", "erase verify: expected the number of an erasure, or --all"},
        {"erase verify 3 --all", "erase verify: expected the number of an erasure, or --all"},
        {"erase plan",
         "erase plan: expected 1 to 65536 of --subject VALUE, --key VALUE and --id N, "
         "a --subject-file FILE or a --csv FILE of them, found 0"},
        {"predict --from yesterday", "--from: expected a time such as 2002-12-01 or "
                                     "2002-12-01T12:00:00Z, found 'yesterday'"},
        {"predict --to 2002-13-01", "--to: expected a time such as 2002-12-01 or "
                                    "2002-12-01T12:00:00Z, found '2002-13-01'"},
        {"predict --limit 0", "--limit: expected a number from 1 to 100000, found '0'"},
        {"predict --model \xff", "arguments are expected in UTF-8"},
        {"erase request --subject \xff", "arguments are expected in UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        assert_null(arguments_of(CASES[i].line, &err));
        assert_int_equal(err.status, WEIR_INVALID);
        assert_string_equal(err.text, CASES[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_become_members),
        cmocka_unit_test(a_request_carries_a_uuid_of_its_own),
        cmocka_unit_test(an_order_to_drop_what_was_refused_needs_no_name),
        cmocka_unit_test(a_csv_names_subjects_keys_and_ids),
        cmocka_unit_test(a_csv_with_a_byte_of_zero_names_nobody),
        cmocka_unit_test(bad_values_are_refused_in_these_words),
    };
    return cmocka_run_group_tests_name("cli arguments", tests, NULL, NULL);
}
