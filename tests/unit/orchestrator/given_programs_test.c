/* Programs of the command line: how a command is split, where its files are looked for, and what is refused. */
#include "orchestrator/config/given_programs.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp_dir dir;

static int stand_in_a_folder(void **state)
{
    struct weir_error err;
    (void)state;
    temp_dir_make(&dir);
    static const char *const FILES[] = {"loop", "train.py", "with space"};
    for (size_t i = 0; i < WEIR_COUNT(FILES); i++) {
        const char *path = temp_path(&dir, FILES[i]);
        assert_int_equal(weir_file_write_atomic(path, weir_bytes_of("#!/bin/sh\n"), &err), WEIR_OK);
        assert_int_equal(chmod(path, i == 1 ? 0644 : 0755), 0);
    }
    assert_int_equal(setenv("PATH", "relative:/nowhere:/bin", 1), 0);
    return chdir(dir.path);
}

static int leave(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    temp_dir_remove(&dir);
    return 0;
}

/* The words of the only program, separated by |, without the folder. */
static char *words_of(const char *given)
{
    struct weir_error err;
    WEIR_AUTO(weir_yaml) programs = NULL;
    WEIR_AUTO_BUF out = {0};
    WEIR_AUTO_FREE char *here = realpath(dir.path, NULL);
    if (orchestrator_given_programs(&given, 1, NULL, &programs, &err) != WEIR_OK)
        return weir_strdup(err.text);
    const struct weir_yaml_node *command =
        weir_yaml_get(weir_yaml_value(weir_yaml_root(programs), 0), "command");
    for (size_t i = 0; i < weir_yaml_length(command); i++) {
        const char *word = weir_yaml_text(weir_yaml_at(command, i));
        bool is_here = strncmp(word, here, strlen(here)) == 0;
        weir_buf_printf(&out, "%s%s%s", i > 0 ? "|" : "", is_here ? "." : "",
                        is_here ? word + strlen(here) : word);
    }
    return weir_strdup(weir_buf_text(&out));
}

static void a_command_is_split_like_a_line_of_a_shell_and_its_files_are_found(void **unused)
{
    (void)unused;
    static const char *const CASES[][2] = {
        {"net=loop", "./loop"},
        {"net=./loop", "././loop"},
        {"net=/bin/sh train.py --width 64", "/bin/sh|./train.py|--width|64"},
        {"net=sh  -c\t'a \"b\" $HOME;' \"c d\"", "/bin/sh|-c|a \"b\" $HOME;|c d"},
        {"net='with space' a\\ b '' \"\\\"\"", "./with space|a b||\""},
        {"net=sh nothing.py", "/bin/sh|nothing.py"},
        {"net=sh '[a, {b: c}]' 'x: # y' 1", "/bin/sh|[a, {b: c}]|x: # y|1"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_FREE char *found = words_of(CASES[i][0]);
        assert_string_equal(found, CASES[i][1]);
    }
}

static void what_makes_no_program_is_refused_by_name(void **unused)
{
    (void)unused;
    static const char *const CASES[][2] = {
        {"loop",
         "--program: expected NAME=COMMAND, a name of letters, digits, _, . and -, found ''"},
        {"a b=loop",
         "--program: expected NAME=COMMAND, a name of letters, digits, _, . and -, found 'a b'"},
        {"net=", "--program net: expected a command after ="},
        {"net=  ", "--program net: expected a command after ="},
        {"net=sh 'a", "--program net: a quote is never closed"},
        {"net=train.py", "--program net: is no program that can be run"},
        {"net=nothing", "--program net: nothing is no program that can be run"},
        {"net=sh 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32",
         "--program net: expected at most 32 words"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_FREE char *found = words_of(CASES[i][0]);
        if (i == 5)
            assert_non_null(strstr(found, "/train.py is no program that can be run"));
        else
            assert_string_equal(found, CASES[i][1]);
    }
}

static void programs_of_the_system_file_stay_and_are_not_replaced(void **unused)
{
    (void)unused;
    struct weir_error err;
    WEIR_AUTO(weir_yaml) named = NULL;
    WEIR_AUTO(weir_yaml) programs = NULL;
    const char *const given[] = {"net=loop", "new=sh"};
    const char text[] = "loop: {command: [/bin/true, 'a: b'], env: {A: '1'}, memory: 1GiB}\n";
    assert_int_equal(weir_yaml_parse("s", weir_bytes_of(text), &named, &err), WEIR_OK);
    assert_int_equal(orchestrator_given_programs(given, 2, weir_yaml_root(named), &programs, &err),
                     WEIR_OK);
    const struct weir_yaml_node *root = weir_yaml_root(programs);
    assert_int_equal(weir_yaml_pairs(root), 3);
    const struct weir_yaml_node *loop = weir_yaml_get(root, "loop");
    assert_string_equal(weir_yaml_text(weir_yaml_get(weir_yaml_get(loop, "env"), "A")), "1");
    assert_string_equal(weir_yaml_text(weir_yaml_at(weir_yaml_get(loop, "command"), 1)), "a: b");
    assert_int_equal(weir_yaml_length(weir_yaml_get(weir_yaml_get(root, "new"), "modes")), 6);
    const char *again = "loop=sh";
    WEIR_AUTO(weir_yaml) none = NULL;
    assert_int_equal(orchestrator_given_programs(&again, 1, weir_yaml_root(named), &none, &err),
                     WEIR_INVALID);
    assert_string_equal(err.text,
                        "--program loop: the system file names it already: expected another name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_split_like_a_line_of_a_shell_and_its_files_are_found),
        cmocka_unit_test(what_makes_no_program_is_refused_by_name),
        cmocka_unit_test(programs_of_the_system_file_stay_and_are_not_replaced),
    };
    return cmocka_run_group_tests_name("given_programs", tests, stand_in_a_folder, leave);
}
