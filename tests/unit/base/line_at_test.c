/* Lines of records in their files. */
#include "core/base/line_at.h"

#include "core/base/attributes.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_line_is_told_where_one_begins_and_only_there(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        uint64_t offset, line;
    } CASES[] = {
        {"a,b\n1,2\n3,4\n", 12, 4, 2},
        {"a,b\n1,2\n3,4\n", 12, 8, 3},
        {"a,b\n1,2\n3,4\n", 12, 5, 0},
        {"a,b\n1,2\n3,4\n", 12, 0, 0},
        {"a,b\n1,2\n3,4\n", 12, 40, 0},
        {"a\0b\n1,2\n", 8, 4, 0},
        {"\n\n\n", 3, 3, 4},
    };
    struct temp_dir dir;

    (void)state;
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        char path[512];
        FILE *file;

        snprintf(path, sizeof(path), "%s/f", dir.path);
        file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(CASES[i].text, 1, CASES[i].size, file), CASES[i].size);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(weir_line_at(path, CASES[i].offset), CASES[i].line);
    }
    assert_int_equal(weir_line_at("/nowhere/at/all", 7), 0);
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_told_where_one_begins_and_only_there),
    };
    return cmocka_run_group_tests_name("line_at", tests, NULL, NULL);
}
