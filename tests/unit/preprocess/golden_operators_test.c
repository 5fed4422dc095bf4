/* Operators against another truth: what NumPy, Python's datetime or its integers made of the same rows
 * (golden/tabular.py writes golden/tabular.txt; times.py and ids.py theirs), and published algorithms written down
 * once more in Python (golden/text.py writes golden/text.txt and its vocabularies, golden/words.py golden/words.txt).
 * A case is a line `operators:` (a YAML list), lines `row:` (payloads), where not all rows pass a line `flags:` (what
 * becomes of each: OPERATOR_ROW_…), and a line named by an element type: all numbers of the first tensor, or the one
 * that a line `tensor:` before numbers, of the rows that pass. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "preprocess/operators/numeric.h"
#include "tests/support/chain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GOLDEN "tests/unit/preprocess/golden/"

enum { GOLDEN_BYTES_MAX = 1 << 20, ROWS_MAX = 64 };

struct golden {
    struct weir_bytes operators;
    struct weir_bytes row[ROWS_MAX];
    size_t rows, tensor;
    struct weir_bytes flags;         /* empty: all rows pass */
    struct weir_bytes type, numbers; /* set: the case is complete */
};

/* f32 holds some 7 digits, and two units in the last place are granted. */
static bool is_near(double found, double expected)
{
    return found == expected || fabs(found - expected) <= 2.5e-7 * fabs(expected);
}

static void compare(const struct column *out, const struct golden *golden, const char *operators)
{
    WEIR_AUTO_BUF text = {0};
    weir_buf_append(&text, golden->numbers.at, golden->numbers.size);
    const char *at = weir_buf_text(&text);
    char *end = NULL;
    size_t unit = weir_dtype_bytes(out->about.type), count = out->values.size / unit;
    for (size_t i = 0; i < count; i++, at = end) {
        bool is_same =
            out->about.type == WEIR_I64
                ? weir_element_get_integer(WEIR_I64, out->values.at, i) == strtoll(at, &end, 10)
                : is_near(weir_element_get(out->about.type, out->values.at, i), strtod(at, &end));
        assert_ptr_not_equal(at, end);
        if (!is_same)
            fail_msg("%s: number %zu is %.9g, expected %.*s", operators, i,
                     weir_element_get(out->about.type, out->values.at, i), (int)(end - at), at);
    }
    assert_int_equal(strspn(at, " "), strlen(at));
}

static void expect_flags(const uint8_t *flags, const struct golden *golden, const char *operators)
{
    for (size_t i = 0; i < golden->rows; i++) {
        int expected = golden->flags.size > 2 * i ? golden->flags.at[2 * i] - '0' : OPERATOR_ROW_OK;
        if (flags[i] != expected)
            fail_msg("%s: row %zu (%.*s) is %d, expected %d", operators, i,
                     (int)golden->row[i].size, (const char *)golden->row[i].at, flags[i], expected);
    }
}

static void run(const struct golden *golden)
{
    struct test_chain test = {0};
    WEIR_AUTO_FREE char *operators =
        weir_format("%.*s", (int)golden->operators.size, (const char *)golden->operators.at);
    test_chain_open(&test, operators);
    if (preprocess_chain_wants_fit(test.chain))
        test_chain_fit(&test, golden->row, golden->rows);
    test_chain_run(&test, golden->row, golden->rows);
    expect_flags(test.failed, golden, operators);
    struct column *out = preprocess_chain_output(test.chain, golden->tensor);
    preprocess_column_drop_rows(out, golden->rows, test.failed);
    assert_true(weir_bytes_equal(golden->type, weir_bytes_of(weir_dtype_name(out->about.type))));
    compare(out, golden, operators);
    test_chain_close(&test);
}

/* One line of the file: "key: value". */
static void take_line(struct golden *golden, struct weir_bytes line)
{
    const uint8_t *colon = memchr(line.at, ':', line.size);
    if (colon == NULL)
        return;
    struct weir_bytes key = weir_bytes(line.at, (size_t)(colon - line.at));
    struct weir_bytes value = weir_bytes(colon + 2, line.size - key.size - 2);
    if (weir_bytes_equal(key, weir_bytes_of("operators"))) {
        *golden = (struct golden){.operators = value, .tensor = golden->tensor};
    } else if (weir_bytes_equal(key, weir_bytes_of("row"))) {
        assert_true(golden->rows < ROWS_MAX);
        golden->row[golden->rows++] = value;
    } else if (weir_bytes_equal(key, weir_bytes_of("tensor"))) {
        golden->tensor = (size_t)(value.at[0] - '0');
    } else if (weir_bytes_equal(key, weir_bytes_of("flags"))) {
        golden->flags = value;
    } else {
        golden->type = key;
        golden->numbers = value;
    }
}

/* Returns how many cases the file has. */
static size_t run_file(const char *path)
{
    struct weir_error err;
    WEIR_AUTO_BUF file = {0};
    struct golden golden = {0};
    size_t cases = 0;
    assert_int_equal(weir_file_read(path, GOLDEN_BYTES_MAX, &file, &err), WEIR_OK);
    for (size_t at = 0; at < file.size;) {
        const uint8_t *newline = memchr(file.at + at, '\n', file.size - at);
        assert_non_null(newline);
        size_t size = (size_t)(newline - (file.at + at));
        take_line(&golden, weir_bytes(file.at + at, size));
        if (golden.numbers.at != NULL) {
            run(&golden);
            golden.numbers.at = NULL;
            golden.tensor = 0;
            cases++;
        }
        at += size + 1;
    }
    return cases;
}

static void operators_agree_with_numpy(void **state)
{
    (void)state;
    assert_true(run_file(GOLDEN "tabular.txt") > 20);
}

static void tokens_are_those_of_the_published_algorithms(void **state)
{
    (void)state;
    assert_int_equal(run_file(GOLDEN "text.txt"), 10);
}

static void parts_of_a_time_are_those_of_python(void **state)
{
    (void)state;
    assert_int_equal(run_file(GOLDEN "times.txt"), 10);
}

static void ids_are_what_python_makes_of_them(void **state)
{
    (void)state;
    assert_int_equal(run_file(GOLDEN "ids.txt"), 6);
}

static void words_are_what_python_makes_of_hostile_rows(void **state)
{
    (void)state;
    assert_int_equal(run_file(GOLDEN "words.txt"), 15);
}

int main(void)
{
    if (chdir(WEIR_SOURCE_DIR) != 0) /* where the paths of vocabularies start */
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_agree_with_numpy),
        cmocka_unit_test(tokens_are_those_of_the_published_algorithms),
        cmocka_unit_test(parts_of_a_time_are_those_of_python),
        cmocka_unit_test(ids_are_what_python_makes_of_them),
        cmocka_unit_test(words_are_what_python_makes_of_hostile_rows),
    };
    return cmocka_run_group_tests_name("golden operators", tests, NULL, NULL);
}
