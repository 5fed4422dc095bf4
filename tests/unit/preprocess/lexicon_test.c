/* Vocabularies out of files: whoever wrote them, they are read or refused with the place; and what was read once is
 * kept by the model, whatever becomes of the file. */
#include "preprocess/operators/text/lexicon.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/chain.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp_dir dir;

static int make_dir(void **state)
{
    (void)state;
    temp_dir_make(&dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_dir_remove(&dir);
    return 0;
}

static const char *write_file(const char *name, struct weir_bytes bytes)
{
    static char path[512];
    struct weir_error err;
    (void)snprintf(path, sizeof(path), "%s", temp_path(&dir, name));
    assert_int_equal(weir_file_write_atomic(path, bytes, &err), WEIR_OK);
    return path;
}

#define TEN "abcdefghij"
#define LONG                                                                                    \
    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN \
        TEN TEN TEN

static const struct {
    const char *text, *complaint;
} LINES[] = {
    {"", "v.txt: is empty"},
    {"a\nb\n\nc\n", "v.txt:3: token '' is empty"},
    {"a\nb\na\n", "v.txt:3: token 'a' stands there twice"},
    {"##a\na\n##a\n", "v.txt:3: token '##a' stands there twice"},
    {"a\n\xff\xfe\n", "v.txt:2: token '' is no UTF-8"},
    {LONG "\n", "v.txt:1: token '' has more than 256 bytes"},
};

static const struct {
    const char *text, *complaint;
} JSONS[] = {
    {"", "v.json:1: "},
    {"[1, 2]", "v.json:1: expected an object"},
    {"{}", "v.json:1: expected an object"},
    {"{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", "v.json:3: duplicate"},
    {"{\"a\": 1,\n\"b\": \n", "v.json:3: "},
    {"{\"a\": -1}", "v.json: token 'a' has no number of a token"},
    {"{\"a\": 1e3}", "v.json: token 'a' has no number of a token"},
    {"{\"a\": 4294967296}", "v.json: token 'a' has no number of a token"},
    {"{\"a b\": 1}", "v.json: token 'a b' is not written in the letters"},
    {"{\"\": 1}", "v.json: token '' is not written in the letters"},
    {"{\"" LONG "\": 1}", "v.json: token '' is not written in the letters"},
};

static const struct {
    const char *text, *complaint;
} MERGES[] = {
    {"a b\nb\n", "m.txt:2: merge 'b': expected two tokens with a blank between"},
    {"a  b\n", "m.txt:1: merge 'a  b': expected two tokens"},
    {"#version: 0.2\nab a\n", "m.txt:2: merge 'ab a': expected that both"},
    {"a c\n", "m.txt:1: merge 'a c': expected that both"},
    {"a b\na b\n", "m.txt:2: merge 'a b': stands there twice"},
};

static void expect_refused(enum weir_status status, const struct weir_error *err, const char *why)
{
    if (status != WEIR_INVALID || strstr(err->text, why) == NULL)
        fail_msg("found '%s', expected '%s'", status == WEIR_OK ? "ok" : err->text, why);
}

static void hostile_lines_are_refused_with_file_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(LINES); i++) {
        struct weir_error err;
        struct vocabulary lexicon = {0};
        const char *path = write_file("v.txt", weir_bytes_of(LINES[i].text));
        expect_refused(preprocess_lexicon_read_lines(path, &lexicon, &err), &err,
                       LINES[i].complaint);
        preprocess_vocabulary_fini(&lexicon);
    }
}

static void hostile_json_is_refused_with_the_token(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(JSONS); i++) {
        struct weir_error err;
        struct vocabulary lexicon = {0};
        const char *path = write_file("v.json", weir_bytes_of(JSONS[i].text));
        expect_refused(preprocess_lexicon_read_json(path, &lexicon, &err), &err,
                       JSONS[i].complaint);
        preprocess_vocabulary_fini(&lexicon);
    }
}

static void hostile_merges_are_refused_with_file_and_line(void **state)
{
    (void)state;
    struct weir_error err;
    struct vocabulary tokens = {0};
    const char *path = write_file("v.json", weir_bytes_of("{\"a\": 0, \"b\": 1, \"ab\": 2}"));
    assert_int_equal(preprocess_lexicon_read_json(path, &tokens, &err), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(MERGES); i++) {
        struct vocabulary merges = {0};
        path = write_file("m.txt", weir_bytes_of(MERGES[i].text));
        expect_refused(preprocess_lexicon_read_merges(path, &tokens, &merges, &err), &err,
                       MERGES[i].complaint);
        preprocess_vocabulary_fini(&merges);
    }
    preprocess_vocabulary_fini(&tokens);
}

static void what_is_sealed_is_checked_when_it_is_taken_up(void **state)
{
    (void)state;
    struct weir_error err;
    static const uint8_t NUMBER_TOO_HIGH[24] = {[4] = 1, [11] = 0x40, [16] = 'a'};
    static const uint8_t NO_PAIR[32] = {[12] = 1, [24] = 'a'};
    const struct preprocess_operator *wordpiece = operator_find("wordpiece");
    const struct preprocess_operator *bpe = operator_find("bpe");
    WEIR_AUTO_FREE void *one = weir_calloc(1, wordpiece->state_size);
    WEIR_AUTO_FREE void *other = weir_calloc(1, bpe->state_size);
    expect_refused(wordpiece->fit->load(one, weir_bytes(NUMBER_TOO_HIGH, 24), &err), &err,
                   "sealed");
    expect_refused(wordpiece->fit->load(one, weir_bytes(NUMBER_TOO_HIGH, 23), &err), &err,
                   "sealed");
    expect_refused(bpe->fit->load(other, weir_bytes(NO_PAIR, 32), &err), &err, "sealed");
    expect_refused(bpe->fit->load(other, weir_bytes(NO_PAIR, 7), &err), &err, "sealed");
    wordpiece->fini(one);
    bpe->fini(other);
}

static enum weir_status check_chain(const char *operators, struct weir_error *err)
{
    struct test_chain test = {0};
    test_chain_open(&test, operators);
    enum weir_status status = preprocess_chain_check_files(test.chain, err);
    test_chain_close(&test);
    return status;
}

static void files_outside_of_the_roots_or_in_weirs_own_folders_are_not_read(void **state)
{
    static const char *const VARIABLES[] = {"WEIR_ROOTS", "WEIR_CLOSED"};
    static const bool IS_READ[][2] = {{true, false}, {false, true}}; /* named there, not named */
    WEIR_AUTO_FREE char *path = weir_strdup(write_file("v.txt", weir_bytes_of("heron\n")));
    WEIR_AUTO_FREE char *link = weir_strdup(temp_path(&dir, "link.txt"));
    (void)state;
    assert_int_equal(symlink(path, link), 0);
    for (size_t i = 0; i < WEIR_COUNT(VARIABLES); i++) {
        for (size_t j = 0; j < 2; j++) {
            struct vocabulary lexicon = {0};
            struct weir_error err;
            enum weir_status status;
            setenv(VARIABLES[i], j == 0 ? dir.path : "/nowhere", 1);
            status = preprocess_lexicon_read_lines(link, &lexicon, &err);
            unsetenv(VARIABLES[i]);
            preprocess_vocabulary_fini(&lexicon);
            if (IS_READ[i][j])
                assert_int_equal(status, WEIR_OK);
            else
                expect_refused(status, &err, "link.txt: expected a file below one of `roots`");
        }
    }
}

static void a_token_that_an_option_names_must_be_there(void **state)
{
    (void)state;
    struct weir_error err;
    WEIR_AUTO_FREE char *path = weir_strdup(write_file("v.txt", weir_bytes_of("a\n[UNK]\n")));
    WEIR_AUTO_FREE char *good = weir_format("[{op: wordpiece, vocabulary: %s}]", path);
    WEIR_AUTO_FREE char *bad = weir_format("[{op: wordpiece, vocabulary: %s, end: '[SEP]'}]", path);
    assert_int_equal(check_chain(good, &err), WEIR_OK);
    expect_refused(check_chain(bad, &err), &err,
                   "preprocess.operators: wordpiece: end: found '[SEP]', expected a token");
    assert_int_equal(
        check_chain("[{op: bpe, vocabulary: /nowhere/v.json, merges: /nowhere/m.txt}]", &err),
        WEIR_NOT_FOUND);
    assert_string_equal(err.text, "test.yaml:1:24: preprocess.operators: bpe: /nowhere/v.json: "
                                  "cannot open: No such file or directory");
    WEIR_AUTO_FREE char *few = weir_format("[{op: bpe, vocabulary: %s, merges: %s}]",
                                           write_file("v.json", weir_bytes_of("{\"a\": 1}")), path);
    write_file("v.txt", weir_bytes_of("#version: 0.2\n"));
    expect_refused(check_chain(few, &err), &err, "no token for the byte 0x00");
}

/* Training that starts from a model keeps the numbers that its words have. */
static void a_model_passes_its_vocabulary_on(void **state)
{
    (void)state;
    struct weir_error err;
    struct test_chain first = {0}, next = {0};
    WEIR_AUTO_BUF fitted = {0};
    WEIR_AUTO_BUF again = {0};
    const struct weir_bytes row = weir_bytes_of("b a");
    WEIR_AUTO_FREE char *operators = weir_format(
        "[{op: wordpiece, vocabulary: %s}]", write_file("v.txt", weir_bytes_of("[UNK]\na\nb\n")));
    test_chain_open(&first, operators);
    assert_true(preprocess_chain_wants_fit(first.chain) &&
                !preprocess_chain_wants_samples(first.chain));
    assert_int_equal(preprocess_chain_fit_finish(first.chain, &fitted, &err), WEIR_OK);
    write_file("v.txt", weir_bytes_of("b\n[UNK]\n"));
    test_chain_open(&next, operators);
    assert_int_equal(preprocess_chain_fit_extend(next.chain, weir_buf_view(&fitted), &err),
                     WEIR_OK);
    assert_int_equal(preprocess_chain_fit_finish(next.chain, &again, &err), WEIR_OK);
    assert_true(weir_bytes_equal(weir_buf_view(&fitted), weir_buf_view(&again)));
    assert_int_equal(preprocess_chain_fit_load(next.chain, weir_buf_view(&again), &err), WEIR_OK);
    test_chain_run(&next, &row, 1);
    assert_int_equal(test_chain_ints(&next, 0)[0], 2);
    assert_int_equal(test_chain_ints(&next, 0)[1], 1);
    test_chain_close(&first);
    test_chain_close(&next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_lines_are_refused_with_file_and_line),
        cmocka_unit_test(hostile_json_is_refused_with_the_token),
        cmocka_unit_test(hostile_merges_are_refused_with_file_and_line),
        cmocka_unit_test(what_is_sealed_is_checked_when_it_is_taken_up),
        cmocka_unit_test(files_outside_of_the_roots_or_in_weirs_own_folders_are_not_read),
        cmocka_unit_test(a_token_that_an_option_names_must_be_there),
        cmocka_unit_test(a_model_passes_its_vocabulary_on),
    };
    return cmocka_run_group_tests_name("lexicon", tests, make_dir, remove_dir);
}
