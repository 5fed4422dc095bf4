/* Directory manifests of chunks: what is packed comes back, damage is noticed. */
#include "storage/file_group.h"

#include "core/base/memory.h"

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

static void files_come_back_as_they_were(void **state)
{
    WEIR_AUTO(file_group) group = build();
    WEIR_AUTO(file_group) back = NULL;
    WEIR_AUTO_BUF packed = {0};
    struct weir_error err;

    (void)state;
    storage_file_group_pack(group, &packed);
    assert_int_equal(storage_file_group_unpack(weir_buf_view(&packed), 2, &back, &err), WEIR_OK);
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
    struct weir_error err;

    (void)state;
    storage_file_group_pack(group, &packed);
    for (size_t size = 0; size < packed.size; size++) {
        struct file_group *back = NULL;

        assert_int_equal(storage_file_group_unpack(weir_bytes(packed.at, size), 2, &back, &err),
                         WEIR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back_as_they_were),
        cmocka_unit_test(a_cut_group_is_corrupt_wherever_it_is_cut),
    };
    return cmocka_run_group_tests_name("storage: file groups", tests, NULL, NULL);
}
