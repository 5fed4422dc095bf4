/* Files with secrets: who may read them, what they say, what is made when. */
#include "core/rpc/pass.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct lab {
    struct temp_dir dir;
    char *path;
};

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    temp_dir_make(&lab->dir);
    lab->path = weir_format("%s/key", lab->dir.path);
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    temp_dir_remove(&lab->dir);
    free(lab->path);
    free(lab);
    return 0;
}

static struct weir_pass make_pass(void)
{
    struct weir_pass pass = {.name = weir_strdup("rosa"), .role = WEIR_ROLE_OPERATOR};
    struct weir_pair platform;
    assert_int_equal(weir_pair_draw(&platform, NULL), WEIR_OK);
    assert_int_equal(weir_pair_draw(&pass.pair, NULL), WEIR_OK);
    pass.platform = weir_format("tcp://10.0.0.1:5800#%s", platform.public);
    return pass;
}

static void a_pass_is_read_as_it_was_written_and_never_replaced(void **state)
{
    struct lab *lab = *state;
    struct weir_pass pass = make_pass(), read = {0};
    struct stat about;
    assert_int_equal(weir_pass_write(lab->path, &pass, NULL), WEIR_OK);
    assert_int_equal(stat(lab->path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(weir_pass_read(lab->path, &read, NULL), WEIR_OK);
    assert_string_equal(read.platform, pass.platform);
    assert_string_equal(read.name, "rosa");
    assert_int_equal(read.role, WEIR_ROLE_OPERATOR);
    assert_memory_equal(&read.pair, &pass.pair, sizeof(pass.pair));
    assert_int_equal(weir_pass_write(lab->path, &pass, NULL), WEIR_EXISTS);
    weir_pass_fini(&pass);
    weir_pass_fini(&read);
}

static void a_pass_that_others_may_read_is_refused(void **state)
{
    struct lab *lab = *state;
    struct weir_pass pass = make_pass(), read = {0};
    struct weir_error err;
    assert_int_equal(weir_pass_write(lab->path, &pass, NULL), WEIR_OK);
    for (mode_t mode = 01; mode <= 040; mode <<= 1) {
        assert_int_equal(chmod(lab->path, 0600 | mode), 0);
        assert_int_equal(weir_pass_read(lab->path, &read, &err), WEIR_DENIED);
        assert_non_null(strstr(err.text, "chmod 600"));
    }
    assert_int_equal(weir_pass_read(lab->dir.path, &read, &err), WEIR_DENIED);
    assert_int_equal(weir_pass_read("/nowhere", &read, &err), WEIR_NOT_FOUND);
    weir_pass_fini(&pass);
}

static enum weir_status read_text(const struct lab *lab, const char *text, struct weir_error *err)
{
    struct weir_pass read = {0};
    assert_int_equal(weir_file_write_atomic(lab->path, weir_bytes_of(text), NULL), WEIR_OK);
    assert_int_equal(chmod(lab->path, 0600), 0);
    enum weir_status status = weir_pass_read(lab->path, &read, err);
    weir_pass_fini(&read);
    return status;
}

static void what_is_wrong_is_named_by_its_place_and_the_secret_by_nothing(void **state)
{
    static const struct {
        const char *text, *complaint;
    } WRONG[] = {
        {"", "platform is missing"},
        {"name: \"a\"\nhoney: 1\n", ":2:1: unknown key"},
        {"name: a\n  name: b\n", ":2:3: the key is there twice"},
        {"name\n", ":1:1: expected"},
        {"secret: \"SWORDFISH\n", ":1:8: expected a text"},
        {"secret: \n", ":1:8: expected a text"},
        {"platform: a\nname: b\nrole: king\npublic: c\nsecret: SWORDFISH\n", "found 'king'"},
        {"platform: a\nname: b\nrole: worker\npublic: c\nsecret: SWORDFISH\n",
         "public: expected 40"},
    };
    struct lab *lab = *state;
    struct weir_error err;
    for (size_t i = 0; i < WEIR_COUNT(WRONG); i++) {
        assert_int_equal(read_text(lab, WRONG[i].text, &err), WEIR_INVALID);
        assert_non_null(strstr(err.text, WRONG[i].complaint));
        assert_null(strstr(err.text, "SWORDFISH"));
    }
}

static void a_secret_of_another_key_is_noticed(void **state)
{
    struct lab *lab = *state;
    struct weir_pass pass = make_pass(), read = {0};
    struct weir_pair other;
    struct weir_error err;
    assert_int_equal(weir_pair_draw(&other, NULL), WEIR_OK);
    memcpy(pass.pair.secret, other.secret, sizeof(other.secret));
    assert_int_equal(weir_pass_write(lab->path, &pass, NULL), WEIR_OK);
    assert_int_equal(weir_pass_read(lab->path, &read, &err), WEIR_INVALID);
    assert_null(strstr(err.text, other.secret));
    weir_pass_fini(&pass);
}

static void a_public_key_is_no_option_of_a_command(void **state)
{
    (void)state;
    enum { DRAWS = 1000 }; /* one in 82 would begin with '-' by chance */
    struct weir_pair pair;
    for (size_t i = 0; i < DRAWS; i++) {
        assert_int_equal(weir_pair_draw(&pair, NULL), WEIR_OK);
        assert_true(weir_pair_fits(&pair));
        assert_int_not_equal(pair.public[0], '-');
    }
    weir_pair_fini(&pair);
}

static void a_comment_and_other_quotes_are_fine(void **state)
{
    struct lab *lab = *state;
    struct weir_pass pass = make_pass();
    char text[1024];
    snprintf(text, sizeof(text),
             "# of rosa\n\nplatform: '%s'\nname: rosa \nrole: operator\npublic: '%s'\nsecret: "
             "\"%s\"",
             pass.platform, pass.pair.public, pass.pair.secret);
    assert_int_equal(read_text(lab, text, NULL), WEIR_OK);
    weir_pass_fini(&pass);
}

static void services_have_ports_in_a_row(void **state)
{
    struct weir_pass pass = make_pass();
    const char *key = strchr(pass.platform, '#');
    static const char *const SERVICES[] = {"orchestrator", "storage", "selector", "dispatcher"};
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(SERVICES); i++) {
        char expected[100];
        WEIR_AUTO_FREE char *address = NULL, *elsewhere = NULL;
        assert_int_equal(weir_pass_address(&pass, NULL, SERVICES[i], &address, NULL), WEIR_OK);
        snprintf(expected, sizeof(expected), "tcp://10.0.0.1:%zu%s", 5800 + i, key);
        assert_string_equal(address, expected);
        assert_int_equal(weir_pass_address(&pass, "tcp://[::1]:9", SERVICES[i], &elsewhere, NULL),
                         WEIR_OK);
        snprintf(expected, sizeof(expected), "tcp://[::1]:%zu%s", 9 + i, key);
        assert_string_equal(elsewhere, expected);
    }
    static const char *const NOWHERE[] = {"",          "tcp://a",       "tcp://a:",  "tcp://a:0",
                                          "tcp://a:x", "tcp://a:65533", "ipc://a:1", "tcp://a:-1"};
    for (size_t i = 0; i < WEIR_COUNT(NOWHERE); i++) {
        char *address = NULL;
        assert_int_equal(weir_pass_address(&pass, NOWHERE[i], "dispatcher", &address, NULL),
                         WEIR_INVALID);
        assert_null(address);
    }
    weir_pass_fini(&pass);
}

/* ---- the platform's own pair ---- */

static size_t count_files(const struct lab *lab)
{
    size_t count = 0;
    DIR *dir = opendir(lab->dir.path);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void the_pair_is_made_once_and_is_the_same_for_all_who_make_it_at_once(void **state)
{
    enum { RACERS = 6 };
    struct lab *lab = *state;
    struct weir_pair pair, again;
    pid_t racers[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i] = fork();
        if (racers[i] == 0) {
            bool is_there = weir_pair_keep(lab->path, &pair, NULL) == WEIR_OK &&
                            weir_pair_keep(lab->path, &again, NULL) == WEIR_OK;
            _exit(is_there && strcmp(pair.public, again.public) == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < RACERS; i++) {
        int how;
        assert_int_equal(waitpid(racers[i], &how, 0), racers[i]);
        assert_int_equal(how, 0);
    }
    assert_int_equal(weir_pair_keep(lab->path, &pair, NULL), WEIR_OK);
    assert_true(weir_pair_fits(&pair));
    assert_int_equal(count_files(lab), 1);
}

static void a_pair_that_is_damaged_or_open_to_others_is_not_used(void **state)
{
    struct lab *lab = *state;
    struct weir_pair pair;
    struct weir_error err;
    assert_int_equal(weir_file_write_atomic(lab->path, weir_bytes_of("public: \"x\"\n"), NULL),
                     WEIR_OK);
    assert_int_equal(chmod(lab->path, 0600), 0);
    assert_int_equal(weir_pair_keep(lab->path, &pair, &err), WEIR_CORRUPT);
    assert_int_equal(chmod(lab->path, 0640), 0);
    assert_int_equal(weir_pair_keep(lab->path, &pair, &err), WEIR_DENIED);
    assert_string_equal(pair.secret, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define PASS(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        PASS(a_pass_is_read_as_it_was_written_and_never_replaced),
        PASS(a_pass_that_others_may_read_is_refused),
        PASS(what_is_wrong_is_named_by_its_place_and_the_secret_by_nothing),
        PASS(a_secret_of_another_key_is_noticed),
        PASS(a_public_key_is_no_option_of_a_command),
        PASS(a_comment_and_other_quotes_are_fine),
        PASS(services_have_ports_in_a_row),
        PASS(the_pair_is_made_once_and_is_the_same_for_all_who_make_it_at_once),
        PASS(a_pair_that_is_damaged_or_open_to_others_is_not_used),
    };
    return cmocka_run_group_tests_name("pass", tests, NULL, NULL);
}
