/* Raising errors and adding context to them. Texts are composed in a buffer of their own first, because the arguments
 * may well be the text that is being replaced. */
#include "core/base/error.h"

#include "core/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char CUT[] = "...";

/* `written` is what snprintf() wanted to write: shows a reader that the text goes on. */
static void mark_cut(char text[WEIR_ERROR_TEXT_MAX], int written)
{
    if (written < WEIR_ERROR_TEXT_MAX)
        return;
    size_t size =
        weir_utf8_cut(weir_bytes(text, WEIR_ERROR_TEXT_MAX - 1), WEIR_ERROR_TEXT_MAX - sizeof(CUT));
    memcpy(text + size, CUT, sizeof(CUT));
}

/* A text may quote whatever came from outside, and goes to databases and people: what is no character, or a control
 * character, becomes '?'. */
static void make_readable(char *text)
{
    weir_utf8_repair(text);
    for (; *text != '\0'; text++) {
        uint8_t byte = (uint8_t)*text;
        if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f)
            *text = '?';
    }
}

enum weir_status weir_error_raise(struct weir_error *err, enum weir_status status, const char *file,
                                  int line, const char *format, ...)
{
    char text[WEIR_ERROR_TEXT_MAX];
    va_list args;

    if (err == NULL)
        return status;
    va_start(args, format);
    int written = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mark_cut(text, written);
    make_readable(text);

    err->status = status;
    err->file = file;
    err->line = line;
    memcpy(err->text, text, sizeof(text));
    return status;
}

enum weir_status weir_error_wrap(struct weir_error *err, enum weir_status status,
                                 const char *format, ...)
{
    char context[WEIR_ERROR_TEXT_MAX];
    char text[WEIR_ERROR_TEXT_MAX];
    va_list args;

    if (err == NULL)
        return status;
    va_start(args, format);
    mark_cut(context, vsnprintf(context, sizeof(context), format, args));
    va_end(args);
    mark_cut(text, snprintf(text, sizeof(text), "%s: %s", context, err->text));
    make_readable(text);

    err->status = status;
    memcpy(err->text, text, sizeof(text));
    return status;
}
