/* Forms of Python functions by what they call: see snippets.h. */
#include "cli/modyn/snippets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { FLOATS_MAX = 1 << 24 };

/* A source has the form when all that it calls is in `calls`, the first of those is called, `says` stands in it and
 * `lacks` does not. */
static const struct {
    const char *form, *calls, *says, *lacks;
} FORMS[] = {
    {"picture", "open convert BytesIO bytes_parser_function", "Image", "["},
    {"record", "frombuffer long asarray bytes_parser_function", "int32", "reshape"},
    {"floats", "frombuffer from_numpy reshape catch_warnings simplefilter bytes_parser_function",
     "float32", "int32"},
    {"text", "str bytes_parser_function", "utf", "["},
    {"text", "decode bytes_parser_function", "return", "["},
    {"csv", "read_csv BytesIO to_numpy astype bytes_parser_function", "float32", "int32"},
    {"to_float", "to label_transformer_function", "float32", "*"},
    {"to_float", "float label_transformer_function", "return", "*"},
    {"argmax", "argmax evaluation_transformer_function", "-1", "+"},
    {"threshold", "ge sigmoid float evaluation_transformer_function", "0.5", "+"},
    {"sigmoid", "sigmoid float evaluation_transformer_function", "return", "+"},
};

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

static bool has_word(const char *words, const char *word, size_t size)
{
    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");

        if (length == size && strncmp(at, word, size) == 0)
            return true;
        at += length;
    }
    return false;
}

/* Passes over the comment at `at`, if one begins there. */
static const char *after_comment(const char *at)
{
    return *at == '#' ? at + strcspn(at, "\n") : at;
}

/* True when all calls are known, and the first known one is among them. */
static bool calls_only(const char *source, const char *calls)
{
    bool first_is_called = false;

    for (const char *at = source; *at != '\0';) {
        size_t size = 0;

        at = after_comment(at);
        while (is_word(at[size]))
            size++;
        if (size == 0) {
            at += *at != '\0' ? 1 : 0;
            continue;
        }
        if (at[size] == '(') {
            if (!has_word(calls, at, size))
                return false;
            first_is_called =
                first_is_called || (strcspn(calls, " ") == size && strncmp(calls, at, size) == 0);
        }
        at += size;
    }
    return first_is_called;
}

/* The source after its imports: they call nothing, and their names are no hint. */
static const char *body_of(const char *source)
{
    const char *def = strstr(source, "def ");

    return def != NULL ? def : source;
}

const char *cli_modyn_snippet(const char *source)
{
    const char *body = body_of(source);

    for (size_t i = 0; i < WEIR_COUNT(FORMS); i++)
        if (calls_only(body, FORMS[i].calls) && strstr(body, FORMS[i].says) != NULL &&
            strstr(body, FORMS[i].lacks) == NULL)
            return FORMS[i].form;
    return "";
}

/* The number after `before`, or 0. */
static unsigned number_after(const char *source, const char *before)
{
    const char *at = strstr(source, before);
    unsigned long number = at != NULL ? strtoul(at + strlen(before), NULL, 10) : 0;

    return number < FLOATS_MAX ? (unsigned)number : 0;
}

bool cli_modyn_snippet_record(const char *source, unsigned *ret_numbers, unsigned *ret_offset)
{
    unsigned cut = number_after(source, "[:");
    unsigned count = number_after(source, "count=");
    unsigned offset = number_after(source, "offset=");

    *ret_numbers = count > 0 ? count : cut / 4;
    *ret_offset = offset > 0 ? offset : cut;
    return *ret_numbers > 0 && *ret_offset >= 4 * *ret_numbers;
}

unsigned cli_modyn_snippet_floats(const char *source)
{
    const char *at = strstr(source, "reshape(");
    unsigned long product = at != NULL ? 1 : 0;

    for (at = at != NULL ? at + strlen("reshape(") : NULL;
         at != NULL && *at != ')' && *at != '\0';) {
        char *end;
        unsigned long number = strtoul(at, &end, 10);

        if (end == at || number == 0 || number > FLOATS_MAX / product)
            return 0;
        product *= number;
        at = end + strspn(end, ", ");
    }
    return (unsigned)product;
}
