/* Python of Modyn's files, told by what it calls. */
#include "cli/modyn/snippets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_function_has_a_form_when_it_calls_nothing_else(void **state)
{
    static const struct {
        const char *source, *form;
    } CASES[] = {
        {"def bytes_parser_function(b):\n  return Image.open(BytesIO(b)).convert(\"RGB\")\n",
         "picture"},
        {"def bytes_parser_function(b):\n  return Image.open(BytesIO(b)).convert(\"RGB\").rotate(3)\n",
         ""},
        {"import subprocess\ndef bytes_parser_function(b):\n  return str(b, 'utf-8')\n", "text"},
        {"def bytes_parser_function(b):\n  return b.decode()  # run() no more\n", "text"},
        {"def bytes_parser_function(b):\n  return str(b, 'utf-8')[:9]\n", ""},
        {"def bytes_parser_function(b):\n  system('rm'); return b.decode()\n", ""},
        {"def bytes_parser_function(b):\n  return np.frombuffer(b, dtype=np.float32).reshape(3, 8, 8)\n",
         "floats"},
        {"def label_transformer_function(x):\n  return x.to(torch.float32)\n", "to_float"},
        {"def label_transformer_function(x):\n  return 2 * x.to(torch.float32)\n", ""},
        {"def evaluation_transformer_function(o):\n  return torch.argmax(o, dim=-1)\n", "argmax"},
        {"def evaluation_transformer_function(o):\n  return torch.ge(torch.sigmoid(o), 0.5)\n",
         "threshold"},
        {"", ""},
        {"((((", ""},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        assert_string_equal(cli_modyn_snippet(CASES[i].source), CASES[i].form);
}

static void sizes_are_read_or_not_there(void **state)
{
    unsigned numbers, offset;

    (void)state;
    assert_true(cli_modyn_snippet_record("frombuffer(x, count=13), frombuffer(x, offset=52)",
                                         &numbers, &offset));
    assert_int_equal(numbers, 13);
    assert_int_equal(offset, 52);
    assert_true(cli_modyn_snippet_record("a = x[:20]; b = x[20:]", &numbers, &offset));
    assert_int_equal(numbers, 5);
    assert_false(cli_modyn_snippet_record("frombuffer(x)", &numbers, &offset));
    assert_int_equal(cli_modyn_snippet_floats("a.reshape(3, 32, 32)"), 3072);
    assert_int_equal(cli_modyn_snippet_floats("a.reshape(3, n)"), 0);
    assert_int_equal(cli_modyn_snippet_floats("a.reshape(99999999, 99999999)"), 0);
    assert_int_equal(cli_modyn_snippet_floats("a.reshape(2, 9223372036854775809)"), 0);
    assert_int_equal(cli_modyn_snippet_floats("a.reshape("), 1);
    assert_int_equal(cli_modyn_snippet_floats("a"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_has_a_form_when_it_calls_nothing_else),
        cmocka_unit_test(sizes_are_read_or_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
