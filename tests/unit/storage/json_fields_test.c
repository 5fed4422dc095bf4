/* Members of JSON objects: what is found, what is refused where; and another reader's opinion. */
#include "storage/formats/json_fields.h"

#include "core/base/rng.h"
#include "tests/support/format_run.h"

#include <jansson.h>

enum { DEPTH_MAX = 256 };

/* The value of member `name` of `text` as format_run.h writes it, or "column N: complaint". */
static void read(const char *text, const char *name, char *said, size_t size)
{
    static const struct format_fields NONE;
    struct json_fields members = storage_json_fields_new(&NONE);
    char value[FORMAT_RUN_TEXT];

    members.names[FORMAT_LABEL] = name;
    if (storage_json_fields_read(&members, weir_bytes_of(text))) {
        struct format_value found = storage_json_fields_value(&members, FORMAT_LABEL);

        format_run_value(&found, value);
        snprintf(said, size, "%s", value);
    } else {
        snprintf(said, size, "column %zu: %s", members.column, members.complaint);
    }
    storage_json_fields_fini(&members);
}

static void a_member_is_found_and_the_rest_is_checked(void **state)
{
    static const struct {
        const char *text, *name, *said;
    } CASES[] = {
        {"{\"a\":1}", "a", "i:1"},
        {" { \"b\" : [ {\"a\":2} , [] ] ,\t\"a\" : -7 } ", "a", "i:-7"},
        {"{\"a\":1}", "b", "-"},
        {"{\"a\":null}", "a", "-"},
        {"{\"a\":{\"b\":1}}", "a", "-"},
        {"{\"a\":true,\"b\":false}", "a", "true"},
        {"{\"a\":1.5e3}", "a", "f:1500"},
        {"{\"a\":-0}", "a", "i:0"},
        {"{\"a\":9223372036854775807}", "a", "i:9223372036854775807"},
        {"{\"a\":9223372036854775808}", "a", "u:9223372036854775808"},
        {"{\"a\":18446744073709551616}", "a", "t:18446744073709551616"},
        {"{\"a\":-9223372036854775809}", "a", "t:-9223372036854775809"},
        {"{\"a\":1e999}", "a", "t:1e999"},
        {"{\"a\":\"x\\n\\\"\\u00e9\\ud83d\\ude00\\/\"}", "a", "t:x\n\"\xc3\xa9\xf0\x9f\x98\x80/"},
        {"{\"\\u0061\":3}", "a", "i:3"},
        {"{\"u\":{\"id\":{\"n\":4}},\"id\":5}", "u.id.n", "i:4"},
        {"{\"u.id\":6}", "u.id", "i:6"},
        {"{\"user\":1,\"us\":{\"er\":2}}", "us.er", "i:2"},
        {"{\"a\":[1, 2.5,-3]}", "a", "l:1,2.5,-3"},
        {"{\"a\":[1,\"2\"]}", "a", "-"},
        {"{\"a\":[]}", "a", "-"},
        {"{\"\":{\"a\":1}}", "a", "-"},
        {"{\"a\\u0000b\":1,\"a\":2}", "a", "i:2"},
        {"{\"a\":1,\"a\":2}", "a", "column 13: found a declared field twice, expected it once"},
        {"{\"a\":1,\"a\":2}", "b", "-"},
        {"{\"a\":1", "a", "column 7: found broken JSON"},
        {"{\"a\":01}", "a", "column 7: found broken JSON"},
        {"{\"a\":1,}", "a", "column 8: found broken JSON"},
        {"{\"a\":tru}", "a", "column 6: found broken JSON"},
        {"{\"a\":\"x\ty\"}", "a", "column 8: found broken JSON"},
        {"{\"a\":\"\\ud800x\"}", "a", "column 9: found broken JSON"},
        {"{\"a\":\"\xff\"}", "a", "column 7: found text that is not UTF-8"},
        {"{\"a\":\"\xc0\xaf\"}", "a", "column 7: found text that is not UTF-8"},
        {"{\"a\":1}}", "a", "column 8: found more behind the JSON object"},
        {"[1]", "a", "column 1: found no JSON object"},
        {"", "a", "column 1: found no JSON object"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        char said[256];

        read(CASES[i].text, CASES[i].name, said, sizeof(said));
        if (strcmp(said, CASES[i].said) != 0)
            fail_msg("%s of %s: expected \"%s\", found \"%s\"", CASES[i].name, CASES[i].text,
                     CASES[i].said, said);
    }
}

static void nesting_has_a_limit(void **state)
{
    char text[2 * DEPTH_MAX + 64] = "{\"a\":", said[128];
    size_t size = strlen(text);

    (void)state;
    memset(text + size, '[', DEPTH_MAX - 1);
    memset(text + size + DEPTH_MAX - 1, ']', DEPTH_MAX - 1);
    text[size + 2 * (DEPTH_MAX - 1)] = '}';
    read(text, "b", said, sizeof(said));
    assert_string_equal(said, "-");
    memset(text + size, '[', DEPTH_MAX + 1);
    read(text, "b", said, sizeof(said));
    assert_non_null(strstr(said, "found JSON nested deeper than 256 levels"));
}

/* True for values that jansson refuses and we hand over as text, or the other way round. */
static bool is_known_difference(const json_error_t *theirs, const struct json_fields *ours)
{
    enum json_error_code code = json_error_code(theirs);

    return code == json_error_numeric_overflow ||
           (ours->complaint != NULL && strstr(ours->complaint, "twice"));
}

static void compare(const char *text, size_t size)
{
    static const struct format_fields NONE;
    struct json_fields members = storage_json_fields_new(&NONE);
    json_error_t where = {.line = 0};
    json_t *tree = json_loadb(text, size, JSON_ALLOW_NUL, &where);
    bool is_read;

    members.names[FORMAT_LABEL] = "a";
    is_read = storage_json_fields_read(&members, weir_bytes(text, size));
    if (is_read != json_is_object(tree) && !is_known_difference(&where, &members))
        fail_msg("%.*s: jansson says %s, we say %s", (int)size, text,
                 tree != NULL ? "fine" : where.text, is_read ? "fine" : members.complaint);
    if (is_read && json_is_string(json_object_get(tree, "a"))) {
        struct format_value value = storage_json_fields_value(&members, FORMAT_LABEL);

        assert_int_equal(value.text.size, json_string_length(json_object_get(tree, "a")));
        assert_memory_equal(value.text.at, json_string_value(json_object_get(tree, "a")),
                            value.text.size);
    }
    json_decref(tree);
    storage_json_fields_fini(&members);
}

static void jansson_agrees_about_what_is_json(void **state)
{
    static const char WHOLE[] = "{\"a\":\"\\u00e9\\n\xc3\xa9 plain text of some length\",\"b\":"
                                "[1,-2.5e-3,true,null,{\"c\":{}}],\"d\":{\"a\":\"\"},\"e\":0}";
    static const char SPICE[] = "\"\\{}[]:,0-.eE+tfnu \t\x01\x7f\x80\xc3\xa9\xed\xa0\xff";
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 4711);
    for (int round = 0; round < 200000; round++) {
        char text[sizeof(WHOLE)];
        size_t size = sizeof(WHOLE) - 1;

        memcpy(text, WHOLE, sizeof(text));
        for (uint64_t k = weir_rng_below(&rng, 4); k > 0; k--)
            text[weir_rng_below(&rng, size)] = SPICE[weir_rng_below(&rng, sizeof(SPICE) - 1)];
        if (weir_rng_below(&rng, 8) == 0)
            size = weir_rng_below(&rng, size);
        compare(text, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_and_the_rest_is_checked),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(jansson_agrees_about_what_is_json),
    };
    return cmocka_run_group_tests_name("storage: members of JSON", tests, NULL, NULL);
}
