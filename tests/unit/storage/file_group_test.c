/* Directory manifests of chunks: what is packed comes back, damage is noticed. */
#include "storage/catalog/file_group.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct file_group *build(void)
{
    struct file_group *group = storage_file_group_new(2);

    group->count = 2;
    group->files[0] = (struct stored_file){.path = weir_strdup("a/b.txt"),
                                           .size = 12,
                                           .mtime_ns = -5,
                                           .inode = 77,
                                           .layout = 2,
                                           .first_id = UINT64_C(1) << 44,
                                           .last_id = (UINT64_C(1) << 44) + 5,
                                           .samples = 1,
                                           .is_complete = true};
    group->files[1] = (struct stored_file){.state = FILE_ERASED, .prefix_hash = UINT64_MAX};
    return group;
}

static enum weir_status unpack(struct weir_bytes packed, size_t count,
                               struct file_group **ret_group)
{
    struct weir_error err;

    return storage_file_group_unpack(packed, FILE_GROUP_DIFFERENCES, count, ret_group, &err);
}

static void files_come_back_as_they_were(void **state)
{
    WEIR_AUTO(file_group) group = build();
    WEIR_AUTO(file_group) back = NULL;
    WEIR_AUTO_BUF packed = {0};

    (void)state;
    storage_file_group_pack(group, &packed);
    assert_int_equal(unpack(weir_buf_view(&packed), 2, &back), WEIR_OK);
    assert_string_equal(back->files[0].path, "a/b.txt");
    assert_int_equal(back->files[0].mtime_ns, -5);
    assert_int_equal(back->files[0].layout, 2);
    assert_true(back->files[0].last_id == (UINT64_C(1) << 44) + 5);
    assert_true(back->files[0].is_complete);
    assert_null(back->files[1].path);
    assert_int_equal(back->files[1].state, FILE_ERASED);
    assert_true(back->files[1].prefix_hash == UINT64_MAX);
    assert_ptr_equal(back->files[1].group, back);
}

static void a_cut_group_is_corrupt_wherever_it_is_cut(void **state)
{
    WEIR_AUTO(file_group) group = build();
    WEIR_AUTO_BUF packed = {0};

    (void)state;
    storage_file_group_pack(group, &packed);
    for (size_t size = 0; size < packed.size; size++) {
        struct file_group *back = NULL;

        assert_int_equal(unpack(weir_bytes(packed.at, size), 2, &back), WEIR_CORRUPT);
    }
}

/* Any value of any field. */
static uint64_t any_word(struct weir_rng *rng)
{
    uint64_t word = weir_rng_next(rng);

    return weir_rng_below(rng, 4) ? word >> weir_rng_below(rng, 64) : 0;
}

static void any_values_come_back(void **state)
{
    enum { COUNT = 1000 };
    WEIR_AUTO(file_group) group = storage_file_group_new(COUNT);
    WEIR_AUTO(file_group) back = NULL;
    WEIR_AUTO_BUF packed = {0};
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 5);
    for (; group->count < COUNT; group->count++) {
        struct stored_file *file = &group->files[group->count];

        *file = (struct stored_file){
            .size = any_word(&rng),
            .mtime_ns = (int64_t)any_word(&rng),
            .device = any_word(&rng),
            .inode = any_word(&rng),
            .source_inode = any_word(&rng),
            .layout = any_word(&rng),
            .first_id = any_word(&rng),
            .last_id = any_word(&rng),
            .samples = any_word(&rng),
            .indexed = any_word(&rng),
            .records = any_word(&rng),
            .prefix_hash = any_word(&rng),
            .scrubbed_ns = (int64_t)any_word(&rng),
            .state = (enum file_state)weir_rng_below(&rng, 4),
            .is_complete = weir_rng_below(&rng, 2),
            .is_unlisted = weir_rng_below(&rng, 2),
        };
        if (weir_rng_below(&rng, 5))
            file->path = weir_format("dir/%llx", (unsigned long long)any_word(&rng));
    }
    storage_file_group_pack(group, &packed);
    assert_int_equal(unpack(weir_buf_view(&packed), COUNT, &back), WEIR_OK);
    for (size_t i = 0; i < COUNT; i++) {
        struct stored_file was = group->files[i], is = back->files[i];

        assert_true(weir_str_equal(was.path, is.path));
        was.path = is.path = NULL;
        was.group = is.group = NULL;
        assert_memory_equal(&was, &is, offsetof(struct stored_file, state));
        assert_int_equal(was.state, is.state);
        assert_int_equal(was.is_complete, is.is_complete);
        assert_int_equal(was.is_unlisted, is.is_unlisted);
    }
}

/* A folder of files that came over days, in no order of their times, with labels from a manifest. */
static void an_entry_takes_16_bytes_beyond_its_path(void **state)
{
    enum { COUNT = FILE_GROUP_MAX };
    WEIR_AUTO(file_group) group = storage_file_group_new(COUNT);
    WEIR_AUTO_BUF packed = {0};
    struct weir_rng rng;
    size_t paths = 0;

    (void)state;
    weir_rng_init(&rng, 6);
    for (; group->count < COUNT; group->count++) {
        struct stored_file *file = &group->files[group->count];

        *file = (struct stored_file){
            .path = weir_format("2002/08/mail-%06zu.txt", group->count),
            .size = 500 + weir_rng_below(&rng, 100000),
            .mtime_ns = (1030000000 + (int64_t)weir_rng_below(&rng, 864000)) * INT64_C(1000000000),
            .device = 65025,
            .inode = 5000000 + weir_rng_below(&rng, 100000),
            .layout = 1,
            .first_id = (UINT64_C(1) << 44) + group->count,
            .last_id = (UINT64_C(1) << 44) + group->count,
            .samples = 1,
            .prefix_hash = weir_rng_next(&rng) & UINT32_MAX,
            .is_complete = true,
        };
        file->source_inode = file->inode;
        paths += strlen(file->path);
    }
    storage_file_group_pack(group, &packed);
    assert_true(packed.size < paths + 16 * COUNT);
    assert_true(packed.size < 22 * COUNT); /* and paths share their beginnings */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back_as_they_were),
        cmocka_unit_test(any_values_come_back),
        cmocka_unit_test(an_entry_takes_16_bytes_beyond_its_path),
        cmocka_unit_test(a_cut_group_is_corrupt_wherever_it_is_cut),
    };
    return cmocka_run_group_tests_name("storage: file groups", tests, NULL, NULL);
}
