/* Models that are directories: the same names and bytes make the same file, in whatever order they were written; links,
 * names that lead elsewhere, and archives that were not written so are refused. */
#include "core/base/memory.h"
#include "core/wire/model_pack.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
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

static void put(const char *name, struct weir_bytes bytes)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *path = weir_strdup(temp_path(&dir, name));
    WEIR_AUTO_FREE char *parent = weir_strndup(path, (size_t)(strrchr(path, '/') - path));
    assert_int_equal(weir_make_directories(parent, 0755, &err), WEIR_OK);
    assert_int_equal(weir_file_write_atomic(path, bytes, &err), WEIR_OK);
}

static enum weir_status pack(const char *name, struct weir_buf *out, struct weir_error *err)
{
    WEIR_AUTO_FREE char *from = weir_strdup(temp_path(&dir, name));
    WEIR_AUTO_FREE char *to = weir_strdup(temp_path(&dir, "packed"));
    enum weir_status status = weir_model_pack_write(from, to, err);
    weir_buf_clear(out);
    return status == WEIR_OK ? weir_file_read(to, 1 << 20, out, err) : status;
}

static void the_same_names_and_bytes_make_the_same_file_and_come_back(void **unused)
{
    (void)unused;
    static const char *const NAMES[] = {"weights.bin", "vocabulary/words.txt", "a/b/c/d", "empty",
                                        "vocabulary.txt"};
    char large[2048];
    struct weir_error err;
    WEIR_AUTO_BUF one = {0};
    WEIR_AUTO_BUF other = {0};
    memset(large, 'x', sizeof(large));
    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++) {
        for (size_t from = 0; from < 2; from++) {
            const char *name = NAMES[from == 0 ? i : WEIR_COUNT(NAMES) - 1 - i];
            WEIR_AUTO_FREE char *path = weir_format("%s/%s", from == 0 ? "one" : "other", name);
            put(path, strcmp(name, "empty") == 0 ? weir_bytes(NULL, 0)
                                                 : weir_bytes(large, 100 * strlen(name)));
        }
    }
    assert_int_equal(pack("one", &one, &err), WEIR_OK);
    assert_int_equal(chmod(temp_path(&dir, "other/empty"), 0700), 0);
    assert_int_equal(pack("other", &other, &err), WEIR_OK);
    assert_true(weir_bytes_equal(weir_buf_view(&one), weir_buf_view(&other)));
    assert_true(weir_model_pack_begins(weir_buf_view(&one)));
    WEIR_AUTO_FREE char *back = weir_strdup(temp_path(&dir, "back"));
    assert_int_equal(weir_model_pack_unpack(weir_buf_view(&one), back, &err), WEIR_OK);
    assert_int_equal(pack("back", &other, &err), WEIR_OK);
    assert_true(weir_bytes_equal(weir_buf_view(&one), weir_buf_view(&other)));
    assert_int_equal(weir_model_pack_unpack(weir_buf_view(&one), back, &err), WEIR_EXISTS);
    put("one/weights.bin", weir_bytes("y", 1));
    assert_int_equal(pack("one", &other, &err), WEIR_OK);
    assert_false(weir_bytes_equal(weir_buf_view(&one), weir_buf_view(&other)));
}

static void links_and_nothing_at_all_are_refused(void **unused)
{
    (void)unused;
    struct weir_error err;
    WEIR_AUTO_BUF out = {0};
    assert_int_equal(mkdir(temp_path(&dir, "none"), 0755), 0);
    assert_int_equal(pack("none", &out, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "expected a file in it"));
    put("linked/file", weir_bytes("x", 1));
    assert_int_equal(symlink("/etc/passwd", temp_path(&dir, "linked/link")), 0);
    assert_int_equal(pack("linked", &out, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "found 'link', expected files"));
    assert_int_equal(unlink(temp_path(&dir, "linked/link")), 0);
    assert_int_equal(mkfifo(temp_path(&dir, "linked/pipe"), 0600), 0);
    assert_int_equal(pack("linked", &out, &err), WEIR_INVALID);
}

static void names_are_plain_paths_of_a_bounded_length(void **unused)
{
    (void)unused;
    char name[300];
    uint8_t header[WEIR_TAR_BLOCK];
    struct weir_error err;
    static const char *const BAD[] = {"",    "/",    "/a",   "a/",        "a//b", ".",
                                      "./a", "a/..", "../a", "a/../../b", "a/./b"};
    for (size_t i = 0; i < WEIR_COUNT(BAD); i++)
        assert_int_equal(weir_model_pack_header(BAD[i], 0, header, &err), WEIR_INVALID);
    memset(name, 'a', sizeof(name));
    name[101] = '\0';
    assert_int_equal(weir_model_pack_header(name, 0, header, &err), WEIR_INVALID);
    name[50] = '/';
    assert_int_equal(weir_model_pack_header(name, 0, header, &err), WEIR_OK);
    assert_int_equal(weir_model_pack_header("..a/b..", 0, header, &err), WEIR_OK);
}

/* An archive of one file, and whatever `spoil` makes of it. */
static void make_archive(struct weir_buf *out)
{
    struct weir_error err;
    weir_buf_clear(out);
    weir_buf_reserve(out, 4 * (size_t)WEIR_TAR_BLOCK);
    memset(out->at, 0, 4 * (size_t)WEIR_TAR_BLOCK);
    out->size = 4 * (size_t)WEIR_TAR_BLOCK;
    assert_int_equal(weir_model_pack_header("file", 5, out->at, &err), WEIR_OK);
    memcpy(out->at + WEIR_TAR_BLOCK, "bytes", 5);
}

static void an_archive_that_was_not_written_so_is_refused_and_leaves_nothing(void **unused)
{
    (void)unused;
    struct weir_error err;
    WEIR_AUTO_BUF archive = {0};
    WEIR_AUTO_FREE char *to = weir_strdup(temp_path(&dir, "hostile"));
    make_archive(&archive);
    assert_int_equal(weir_model_pack_unpack(weir_buf_view(&archive), to, &err), WEIR_OK);
    assert_int_equal(weir_remove_tree(to, &err), WEIR_OK);
    for (size_t at = 0; at < archive.size; at++) {
        bool is_content = at >= WEIR_TAR_BLOCK && at < WEIR_TAR_BLOCK + 5;
        archive.at[at] ^= 0x11;
        if (!is_content)
            assert_int_equal(weir_model_pack_unpack(weir_buf_view(&archive), to, &err),
                             WEIR_CORRUPT);
        archive.at[at] ^= 0x11;
    }
    for (size_t size = 0; size < archive.size; size += 7)
        assert_int_equal(weir_model_pack_unpack(weir_bytes(archive.at, size), to, &err),
                         WEIR_CORRUPT);
    assert_int_not_equal(access(to, F_OK), 0);
}

static void files_that_follow_each_other_wrongly_are_refused(void **unused)
{
    (void)unused;
    static const char *const PAIRS[][2] = {{"b", "a"}, {"a", "a"}, {"a", "a/b"}};
    static const enum weir_status EXPECTED[] = {WEIR_CORRUPT, WEIR_CORRUPT, WEIR_IO};
    struct weir_error err;
    WEIR_AUTO_FREE char *to = weir_strdup(temp_path(&dir, "pair"));
    for (size_t i = 0; i < WEIR_COUNT(PAIRS); i++) {
        uint8_t archive[4 * WEIR_TAR_BLOCK] = {0};
        for (size_t p = 0; p < 2; p++)
            assert_int_equal(
                weir_model_pack_header(PAIRS[i][p], 0, archive + p * (size_t)WEIR_TAR_BLOCK, &err),
                WEIR_OK);
        assert_int_equal(weir_model_pack_unpack(weir_bytes(archive, sizeof(archive)), to, &err),
                         EXPECTED[i]);
        assert_int_not_equal(access(to, F_OK), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_names_and_bytes_make_the_same_file_and_come_back),
        cmocka_unit_test(links_and_nothing_at_all_are_refused),
        cmocka_unit_test(names_are_plain_paths_of_a_bounded_length),
        cmocka_unit_test(an_archive_that_was_not_written_so_is_refused_and_leaves_nothing),
        cmocka_unit_test(files_that_follow_each_other_wrongly_are_refused),
    };
    return cmocka_run_group_tests_name("model_pack", tests, make_dir, remove_dir);
}
