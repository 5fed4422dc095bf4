/* Guessing what columns of unknown tables are: delimiter, header, times, roles. */
#include "cli/guessing/pipeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct example {
    const char *text;
    const char *time, *label, *numbers, *categories; /* "": none */
    const char *written;                             /* a part of the file that is written */
};

static const struct example EXAMPLES[] = {
    {"a,b,when,y\n1.5,u,2024-01-01,0\n2.5,v,2024-01-02,1\n3.5,u,2024-01-05,1\n", "when", "y", "a",
     "b", "time:   {from: field, field: when}"},
    {"0;1,5;x\n1;2,5;y\n1;7,0;x\n0;1,0;y\n", "", "c1", "c2", "c3",
     "header: false, columns: [c1, c2, c3]"},
    {"a;b;y\n1,5;1.234,5;0\n2;1.235,5;1\n-7,0;1.234,5;0\n", "", "y", "a", "b",
     "fields: [a], decimal: comma}"},
    {"a,b,y\n\"1,5\",x,0\n\"2,5\",y,1\n\"1,5\",y,1\n", "", "y", "", "a, b", "field: y"},
    {",b,y,\n0,1.5,0,\n1,2.5,1,\n2,1.25,0,\n", "", "y", "b", "", "fields: [b]"},
    {"day,b,,c,,y\n2024-01-01,1.5,,u,,0\n2024-01-02,2.5,,v,,1\n2024-01-04,1.25,,u,,1\n", "day", "y",
     "b", "c", "fields: [b]"},
    {"sold_at;t;y\n1704067200;3;0\n1704067300;5;1\n1704067500;4;0\n", "sold_at", "y", "", "t",
     "unit: s"},
    {"1\tone \"word\t2.5\n2\tother\t3.5\n5\tone \"word\t4.5\n9\tother\t8.0\n", "", "c3", "",
     "c1, c2", "quotes: none"},
    {"date,price\n20240131,3.5\n20240201,8.5\n20240301,9.5\n", "", "", "", "", NULL},
    {"date,size,price\n20240131,1.5,3.5\n20240201,2.5,8.5\n20240301,9.5,9.5\n", "date", "price",
     "size", "", "pattern: \"%Y%m%d\""},
    {"at,size,price\n1704067200123,1.5,3.5\n1704067300123,?,8.5\n1704077200123,9.5,9.5\n", "at",
     "price", "size", "", "unit: ms"},
    {"tijd,size,price\n1704067200.5,1.5,3.5\n1704067201.25,8.5,8.5\n1704077200,9.5,9.5\n", "tijd",
     "price", "size", "", "unit: s"},
    {"tijd,size,price\n1704067201.5,1.5,3.5\n1704067200.25,8.5,8.5\n1704077200,9.5,9.5\n", "",
     "price", "tijd, size", "", "from: record"},
    {"lane,logged,kind,note\n1.5,01-Oct-2023 10:00:00 +0545,u,x\n2.5,02-Oct-2023 10:00:00 +0545,v,\n"
     "4.5,05-Oct-2023 10:00:00 +0545,u,y\n",
     "logged", "kind", "lane", "note", "pattern: \"%d-%b-%Y %H:%M:%S %z\""},
    {"at,size,price\n2024-01-01,1.5,3.5\n2024-01-02,?,8.5\n2024-03-01,9.5,9.5\n", "at", "price",
     "size", "", "missing: [\"?\"]"},
    {"{\"ts\": \"1/31/24\", \"a\": {\"x\": 1}, \"class\": \"u\"}\n{\"ts\": \"2/1/24\", \"a\": {\"x\": 4}, "
     "\"class\": \"v\"}\n",
     "ts", "class", "a.x", "", "classes: [u, v]"},
    {"{\"user_id\": 9007199254740993, \"tags\": [\"a\", 7], \"x\": 1.5, \"parts\": [{}], \"v\": [1.5], \"y\": 0}\n"
     "{\"user_id\": 9007199254740995, \"tags\": [], \"x\": 2.5, \"a.b\": 7, \"v\": [2, 3], \"y\": 1}\n"
     "{\"user_id\": 9007199254740993, \"tags\": [\"b\"], \"x\": null, \"y\": 1}\n",
     "", "y", "x", "user_id, tags", "json_words, fields: [user_id, tags]}"},
    {"at,size,price\n2024-01-01,1.5,3.5\n2024-01-02,?,8.5\n2024-03-01,9.5,9.5\n", "at", "price",
     "size", "", "fill: nan}  # numbers\n    - {op: standardize}\n    - {op: fill_missing}"},
};

static const char *time_of(const struct cli_guess *guess)
{
    return guess->roles.time == SIZE_MAX ? "" : guess->table.columns[guess->roles.time].name;
}

static void check_columns(const struct cli_guess *guess, enum cli_guess_role role,
                          const char *expected)
{
    WEIR_AUTO_BUF found = {0};

    cli_guess_put_columns(guess, role, false, &found);
    assert_string_equal(weir_buf_text(&found), expected);
}

static void check_example(const struct example *example)
{
    WEIR_AUTO_BUF file = {0};
    struct cli_guess guess;
    struct weir_error err;
    enum weir_status status =
        cli_guess_look_at("data/some", weir_bytes_of(example->text), &guess, &err);

    if (example->written == NULL) {
        assert_int_equal(status, WEIR_INVALID);
        return;
    }
    assert_int_equal(status, WEIR_OK);
    assert_string_equal(time_of(&guess), example->time);
    assert_string_equal(guess.table.columns[guess.roles.label].name, example->label);
    check_columns(&guess, CLI_GUESS_NUMBER, example->numbers);
    check_columns(&guess, CLI_GUESS_CATEGORY, example->categories);
    cli_guess_write(&guess, "some", "", &file);
    if (strstr(weir_buf_text(&file), example->written) == NULL)
        fail_msg("found no '%s' in\n%s", example->written, weir_buf_text(&file));
    cli_guess_fini(&guess);
}

static void columns_have_the_roles_that_their_values_and_names_suggest(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(EXAMPLES); i++)
        check_example(&EXAMPLES[i]);
}

static void what_may_be_meant_otherwise_is_noted(void **state)
{
    static const struct {
        const char *text, *noted;
    } CASES[] = {
        {"when,b,y\nJan 01 2024 02:00 PM,1.5,0\nJan 02 2024 02:00 PM,2.5,1\nJan 09 2024 01:00 AM,3,1\n",
         "'when' is called like a time, and no single usual pattern reads all of it ('Jan 01 2024 "
         "02:00 PM'): time.pattern takes"},
        {"when,b,y\n2024-01-01,1.5,0\n02/01/2024,2.5,1\n1704067200,3,1\n",
         "('2024-01-01' and '02/01/2024'): time.pattern"},
        {"x,topic\n1.5,a\n2.5,a|b\n7,b\n2.5,a\n", "label 'a|b' is several in one"},
        {"x,class\n1.5,Win\n2.5,win \n7,Loss\n2.5,Loss\n", "labels 'Win' and 'win ' are alike"},
        {"Date,Time,x,y\n01/31/24,10:00,1.5,0\n01/30/24,10:00,2.5,1\n01/31/24,11:00,2,1\n",
         "the parts of a time are columns"},
        {"{\"user\": {\"id\": \"a\"}, \"x\": 1.5, \"y\": 0}\n{\"user\": {\"id\": \"b\"}, \"x\": 2.5, \"y\": 1}\n",
         "'user.id' seems to name people"},
        {"x,kind,note\n1.5,u,\n2.5,v,b\n4,u,c\n1.25,v,b\n", "is 'kind' to be learnt?"},
        {"buyer_email,x,y\na,1.5,0\nb,2.5,1\na,7,1\n", "'buyer_email' seems to name people"},
        {"stamp_ms,x,y\n-5000000000,1.5,0\n-40000,2.5,1\n900000000,7,1\n",
         "'stamp_ms' is called like a time, and its numbers (-5000000000 to 900000000) are no times"},
        {"a,b,y\n1.5,u,0\n2.5,v,1\n3,u,1\n4,v,1\n4.5,u,0\n5,v,0\n6,u,1\n7,v,0\n8,u,1\n9.5,u\n",
         "1 line is no record: expected as many fields"},
        {"{\"a.b\": 1, \"x\": 1.5, \"y\": 0}\n{\"x\": 2.5, \"y\": 1}\n", "a.b is b inside a"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct cli_guess guess;
        struct weir_error err;

        assert_int_equal(cli_guess_look_at("data/some", weir_bytes_of(CASES[i].text), &guess, &err),
                         WEIR_OK);
        json_t *notes = cli_guess_notes(&guess);
        char *look = json_dumps(json_object_get(notes, "look"), JSON_COMPACT);
        if (strstr(look, CASES[i].noted) == NULL)
            fail_msg("found no \"%s\" in %s", CASES[i].noted, look);
        free(look);
        json_decref(notes);
        cli_guess_fini(&guess);
    }
}

static void what_no_table_is_is_refused_with_a_remedy(void **state)
{
    static const struct {
        const char *text, *said;
    } CASES[] = {
        {"# of 2024\na,b\n1,2\n1,3\n", "line 1 is a comment"},
        {"+1 3:0.5 7:1.25\n-1 2:0.5\n", "as libsvm writes them"},
        {"one\nword\n", "in equal number"},
        {"\xff\xfe"
         "a,b",
         "in UTF-16"},
        {"{\n \"a\": [{}]\n}\n", "jq -c '.data[]'"},
        {"id,y\n7,0\n7,1\n7,0\n",
         "to learn 'y' from, expected another column of numbers, categories "
         "or text; there are id (always the same)"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct cli_guess guess;
        struct weir_error err;

        assert_int_equal(cli_guess_look_at("data/some", weir_bytes_of(CASES[i].text), &guess, &err),
                         WEIR_INVALID);
        assert_non_null(strstr(err.text, CASES[i].said));
    }
}

/* Numbers of people are none of ours: they are named, so that somebody may write them otherwise. */
static void numbers_with_signs_are_left_out_by_name(void **state)
{
    WEIR_AUTO_BUF text = {0};
    struct cli_guess guess;
    struct weir_error err;

    (void)state;
    weir_buf_append_text(&text, "price,rate,x,y\n");
    for (int i = 0; i < 60; i++)
        weir_buf_printf(&text, "\"$%d,200.50\",%d %%,%d.5,%d\n", i, i, i % 7, i % 2);
    assert_int_equal(cli_guess_look_at("data/some", weir_buf_view(&text), &guess, &err), WEIR_OK);
    json_t *notes = cli_guess_notes(&guess);
    char *guessed = json_dumps(json_object_get(notes, "guessed"), JSON_COMPACT);
    assert_non_null(strstr(guessed, "left out: price (numbers with signs, units or marks of"));
    assert_non_null(strstr(guessed, "1234.5), rate (numbers with signs"));
    free(guessed);
    json_decref(notes);
    cli_guess_fini(&guess);
}

/* Looks at a table of 300 records, of which the last has a label of its own. */
static void check_odd_label(const char *even, const char *odd, const char *last, const char *noted)
{
    WEIR_AUTO_BUF text = {0};
    struct cli_guess guess;
    struct weir_error err;

    weir_buf_append_text(&text, "x,y\n");
    for (int i = 0; i < 299; i++)
        weir_buf_printf(&text, "%d.5,%s\n", i % 7, i % 2 == 0 ? even : odd);
    weir_buf_printf(&text, "2.5,%s\n", last);
    assert_int_equal(cli_guess_look_at("data/some", weir_buf_view(&text), &guess, &err), WEIR_OK);
    json_t *notes = cli_guess_notes(&guess);
    char *look = json_dumps(json_object_get(notes, "look"), JSON_COMPACT);
    if ((strstr(look, "of the labels are") != NULL || strstr(look, "deviations") != NULL) !=
        (noted != NULL))
        fail_msg("%s", look);
    if (noted != NULL)
        assert_non_null(strstr(look, noted));
    free(look);
    json_decref(notes);
    cli_guess_fini(&guess);
}

static void labels_of_which_metrics_say_little_are_noted(void **state)
{
    (void)state;
    check_odd_label("1.25", "1.5", "1.75", NULL);
    check_odd_label("1.25", "1.5", "900",
                    "a label of 900 lies 17 standard deviations off the mean: is it one?");
    check_odd_label("0", "1", "1", NULL);
    check_odd_label("0", "0", "1",
                    "99.67 % of the labels are '0': whoever always says so has that");
}

static void what_is_no_table_is_refused_in_one_line(void **state)
{
    static const char *const TEXTS[] = {"",
                                        "just a line\n",
                                        "one\ntwo\nthree\n",
                                        "[{\"a\": 1}]\n",
                                        "{\"a\":\n1}\n",
                                        "Gr\366\337e,y\n1.5,0\n2.5,1\n1.7,0\n"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        struct cli_guess guess;
        struct weir_error err;

        assert_int_equal(cli_guess_look_at("x", weir_bytes_of(TEXTS[i]), &guess, &err),
                         WEIR_INVALID);
        assert_null(strchr(err.text, '\n'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_have_the_roles_that_their_values_and_names_suggest),
        cmocka_unit_test(what_may_be_meant_otherwise_is_noted),
        cmocka_unit_test(what_no_table_is_is_refused_with_a_remedy),
        cmocka_unit_test(numbers_with_signs_are_left_out_by_name),
        cmocka_unit_test(labels_of_which_metrics_say_little_are_noted),
        cmocka_unit_test(what_is_no_table_is_refused_in_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
