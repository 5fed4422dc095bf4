/* Format `tar`: what tar(1) and Python's tarfile write is read as they read it, and what is no sample is
 * refused by name of the reason. */
#include "core/base/memory.h"
#include "storage/formats/tar_member.h"
#include "tests/support/format_run.h"
#include "tests/support/temp_dir.h"

static struct format_run run;

static void index_whole(struct weir_bytes file)
{
    static const struct format_fields KEY = {.key = {.from = FORMAT_NAMED, .name = "__key__"}};
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_FREE void *options =
        format_run_options(format_find("tar"), &KEY, "{sample: jpg}", &document);

    format_run(&run, format_find("tar"), options, &KEY, file, 700);
    assert_int_equal(run.status, WEIR_OK);
}

static void put(struct weir_buf *out, const char *name, char type, const char *content)
{
    static const uint8_t ZEROS[TAR_BLOCK];
    size_t size = strlen(content), at = out->size;
    unsigned sum;

    weir_buf_append(out, ZEROS, TAR_BLOCK);
    storage_tar_header_write(out->at + at, name, size);
    sum = (unsigned)strtoul((const char *)out->at + at + 148, NULL, 8) - '0' + (uint8_t)type;
    out->at[at + 156] = (uint8_t)type;
    snprintf((char *)out->at + at + 148, 8, "%06o", sum);
    weir_buf_append(out, content, size);
    weir_buf_append(out, ZEROS, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static void end(struct weir_buf *out)
{
    static const uint8_t ZEROS[2 * TAR_BLOCK];

    weir_buf_append(out, ZEROS, sizeof(ZEROS));
}

/* Two parts that no window holds together, a third, and a sample after. */
static void a_sample_beyond_the_limit_is_refused_once(void **state)
{
    WEIR_AUTO_BUF file = {0};
    WEIR_AUTO_FREE char *large = malloc((9 << 20) + 1);

    (void)state;
    assert_non_null(large);
    memset(large, 'x', 9 << 20);
    large[9 << 20] = '\0';
    put(&file, "1.png", '0', large);
    put(&file, "1.seg", '0', large);
    put(&file, "1.wav", '0', large);
    put(&file, "1.jpg", '0', "no sample of its own");
    put(&file, "2.jpg", '0', "one");
    end(&file);
    index_whole(weir_buf_view(&file));
    assert_int_equal(run.refused, 1);
    assert_int_equal(run.refusals[0].offset, 0);
    assert_string_equal(run.refusals[0].reason, "found a sample beyond 16 MiB, expected less");
    assert_int_equal(run.count, 1);
    assert_string_equal(run.samples[0].values[FORMAT_KEY], "t:2");
    assert_int_equal(run.samples[0].record, 1);
}

static const struct {
    const char *name, *content;
    char type;
    const char *complaint;
} REFUSED[] = {
    {"/etc/1.jpg", "x", '0', "found an absolute name"},
    {"../1.jpg", "x", '0', "found a name with '..'"},
    {"a/../1.jpg", "x", '0', "found a name with '..'"},
    {"1.jpg", "", '2', "found a symbolic link"},
    {"1.jpg", "", '1', "found a hard link"},
    {"1.jpg", "", '3', "found a device"},
    {"1.jpg", "x", 'S', "found a sparse file"},
    {"1.jpg", "x", 'Z', "found a member of an unknown kind"},
    {"README", "x", '0', "found a name without a sample and a part"},
    {".hidden", "x", '0', "found a name without a sample and a part"},
    {"1.txt", "x", '0', "found no part that 'sample' names"},
    {"1.jpg", "", '0', "found an empty part"},
};

static void what_is_no_sample_is_refused_and_the_next_one_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(REFUSED); i++) {
        WEIR_AUTO_BUF file = {0};

        put(&file, REFUSED[i].name, REFUSED[i].type, REFUSED[i].content);
        put(&file, "good.jpg", '0', "picture");
        end(&file);
        index_whole(weir_buf_view(&file));
        assert_int_equal(run.count, 1);
        assert_string_equal(run.samples[0].values[FORMAT_KEY], "t:good");
        assert_int_equal(run.refused, 1);
        if (strstr(run.refusals[0].reason, REFUSED[i].complaint) == NULL)
            fail_msg("%s: %s", REFUSED[i].name, run.refusals[0].reason);
    }
}

static void folders_are_nobodys_sample(void **state)
{
    WEIR_AUTO_BUF file = {0};

    (void)state;
    put(&file, "./", '5', "");
    put(&file, "./1.jpg", '0', "a");
    put(&file, "./2.jpg", '0', "b");
    put(&file, "./2.jpg", '0', "b");
    end(&file);
    index_whole(weir_buf_view(&file));
    assert_int_equal(run.count, 1);
    assert_int_equal(run.refused, 1);
    assert_non_null(strstr(run.refusals[0].reason, "two parts with one extension"));
}

static void the_newest_sample_waits_until_the_archive_is_ended(void **state)
{
    WEIR_AUTO_BUF file = {0};

    (void)state;
    put(&file, "1.jpg", '0', "a");
    put(&file, "2.jpg", '0', "b");
    index_whole(weir_buf_view(&file));
    assert_int_equal(run.count, 1);
    assert_int_equal(run.indexed, 2 * TAR_BLOCK);
    assert_true(run.refusals[0].is_tail);
    end(&file);
    index_whole(weir_buf_view(&file));
    assert_int_equal(run.count, 2);
    assert_int_equal(run.refused, 0);
    assert_int_equal(run.indexed, 4 * TAR_BLOCK); /* tar -r goes on here */
}

static void a_broken_header_costs_what_follows_and_says_so(void **state)
{
    WEIR_AUTO_BUF file = {0};

    (void)state;
    put(&file, "1.jpg", '0', "a");
    put(&file, "2.jpg", '0', "b");
    end(&file);
    file.at[2 * TAR_BLOCK] ^= 1;
    index_whole(weir_buf_view(&file));
    assert_int_equal(run.count, 1);
    assert_int_equal(run.refused, 1);
    assert_non_null(strstr(run.refusals[0].reason, "where the next member begins cannot be told"));
}

/* ---- what others write ---- */

/* Prints "key offset size" of every .jpg, in order, as Python's tarfile sees it. */
static const char LIST[] = "import sys, tarfile\n"
                           "for m in tarfile.open(sys.argv[1], 'r:'):\n"
                           "    if m.isreg() and m.name.endswith('.jpg'):\n"
                           "        print(m.name[:-4], m.offset_data, m.size)\n";
static const char TREE[] =
    "import os, sys\n"
    "long = 'd' * 60 + '/' + 'e' * 60\n"
    "for folder in ('a', 'a b/\\u00e9', long if sys.argv[2] != 'v7' else 'c'):\n"
    "    os.makedirs(os.path.join(sys.argv[1], folder))\n"
    "    for n in range(5):\n"
    "        name = 'n' * (50 if folder == long else 1) + str(n)\n"
    "        if sys.argv[2] in ('gnu', 'posix') and n == 4: name = 'm' * 160\n"
    "        base = os.path.join(sys.argv[1], folder, name)\n"
    "        open(base + '.jpg', 'wb').write(b'x' * (n * 300 + 1))\n"
    "        open(base + '.cls', 'w').write(str(n))\n";

static bool shell(const char *format, ...) WEIR_PRINTF(1, 2);
static bool shell(const char *format, ...)
{
    char command[8192];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    return system(command) == 0; // NOLINT(cert-env33-c): a test, fixed programs
}

static void read_whole(const char *path, struct weir_buf *out)
{
    uint8_t block[4096];
    FILE *file = fopen(path, "rb");
    size_t got;

    assert_non_null(file);
    while ((got = fread(block, 1, sizeof(block), file)) > 0)
        weir_buf_append(out, block, got);
    fclose(file);
}

static void compare_with(struct weir_bytes archive, char *listed)
{
    size_t at = 0;
    char *rest = NULL;

    index_whole(archive);
    assert_int_equal(run.refused, 0);
    for (char *line = strtok_r(listed, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char said[FORMAT_RUN_TEXT], *numbers = strrchr(line, ' ');
        unsigned long long offset, size;

        *numbers = '\0';
        numbers = strrchr(line, ' ');
        offset = strtoull(numbers + 1, NULL, 10);
        size = strtoull(numbers + 1 + strlen(numbers + 1) + 1, NULL, 10);
        *numbers = '\0';
        snprintf(said, sizeof(said), "t:%s", line);
        assert_true(at < run.count);
        assert_string_equal(run.samples[at].values[FORMAT_KEY], said);
        assert_int_equal(run.samples[at].payload.offset, offset);
        assert_int_equal(run.samples[at].payload.length, size);
        at++;
    }
    assert_int_equal(run.count, at);
    assert_true(at >= 15);
}

static void archives_of_tar_are_read_as_python_reads_them(void **state)
{
    static const char *const KINDS[] = {"v7", "ustar", "gnu", "posix"};
    struct temp_dir dir;

    (void)state;
    if (!shell("tar --version >/dev/null 2>&1 && python3 --version >/dev/null 2>&1"))
        skip();
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(KINDS); i++) {
        WEIR_AUTO_BUF archive = {0}, listed = {0};
        WEIR_AUTO_FREE char *path = weir_format("%s/%s.tar", dir.path, KINDS[i]);
        WEIR_AUTO_FREE char *list = weir_format("%s/%s.txt", dir.path, KINDS[i]);

        assert_true(shell("python3 -c \"%s\" %s/%s %s", TREE, dir.path, KINDS[i], KINDS[i]));
        assert_true(shell("tar --sort=name --format=%s -C %s/%s -cf %s .", KINDS[i], dir.path,
                          KINDS[i], path));
        assert_true(shell("PYTHONIOENCODING=utf-8 python3 -c \"%s\" %s > %s", LIST, path, list));
        read_whole(path, &archive);
        read_whole(list, &listed);
        (void)weir_buf_text(&listed);
        compare_with(weir_buf_view(&archive), (char *)listed.at);
    }
    temp_dir_remove(&dir);
}

/* Whatever way tar keeps the holes, it is a sample that cannot be read, and one. */
static void a_sparse_file_is_refused_with_its_other_parts(void **state)
{
    static const char *const KINDS[] = {"gnu", "posix --sparse-version=0.1",
                                        "posix --sparse-version=1.0"};
    struct temp_dir dir;

    (void)state;
    if (!shell("tar --version >/dev/null 2>&1"))
        skip();
    temp_dir_make(&dir);
    assert_true(
        shell("cd %s && truncate -s 1M 1.jpg && echo x >>1.jpg && echo 1 | tee 1.cls >2.cls && "
              "echo y >2.jpg",
              dir.path));
    for (size_t i = 0; i < WEIR_COUNT(KINDS); i++) {
        WEIR_AUTO_BUF archive = {0};
        WEIR_AUTO_FREE char *path = weir_format("%s/%zu.tar", dir.path, i);

        assert_true(shell("cd %s && tar -S --format=%s -cf %s 1.cls 1.jpg 2.cls 2.jpg", dir.path,
                          KINDS[i], path));
        read_whole(path, &archive);
        index_whole(weir_buf_view(&archive));
        assert_int_equal(run.refused, 1);
        assert_non_null(strstr(run.refusals[0].reason, "found a sparse file"));
        assert_int_equal(run.count, 1);
        assert_string_equal(run.samples[0].values[FORMAT_KEY], "t:2");
    }
    temp_dir_remove(&dir);
}

static void tar_reads_what_an_erasure_leaves(void **state)
{
    WEIR_AUTO_BUF file = {0};
    struct temp_dir dir;
    WEIR_AUTO_FREE char *path = NULL;
    FILE *out;

    (void)state;
    if (!shell("tar --version >/dev/null 2>&1"))
        skip();
    for (char c = '1'; c <= '3'; c++) {
        char name[] = "x.jpg";

        name[0] = c;
        put(&file, name, '0', "picture of somebody");
    }
    end(&file);
    index_whole(weir_buf_view(&file));
    format_run_scrub(format_find("tar"), NULL, weir_buf_view(&file), file.at, &run.samples[1]);
    index_whole(weir_buf_view(&file));
    assert_int_equal(run.count, 2);
    assert_int_equal(run.scrubbed, 1);
    temp_dir_make(&dir);
    path = weir_format("%s/erased.tar", dir.path);
    out = fopen(path, "wb");
    assert_int_equal(fwrite(file.at, 1, file.size, out), file.size);
    assert_int_equal(fclose(out), 0);
    assert_true(shell("test \"$(tar -tf %s | tr '\\n' ' ')\" = '1.jpg .weir/erased 3.jpg '", path));
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_beyond_the_limit_is_refused_once),
        cmocka_unit_test(what_is_no_sample_is_refused_and_the_next_one_found),
        cmocka_unit_test(folders_are_nobodys_sample),
        cmocka_unit_test(the_newest_sample_waits_until_the_archive_is_ended),
        cmocka_unit_test(a_broken_header_costs_what_follows_and_says_so),
        cmocka_unit_test(archives_of_tar_are_read_as_python_reads_them),
        cmocka_unit_test(a_sparse_file_is_refused_with_its_other_parts),
        cmocka_unit_test(tar_reads_what_an_erasure_leaves),
    };
    return cmocka_run_group_tests_name("storage: tar", tests, NULL, NULL);
}
