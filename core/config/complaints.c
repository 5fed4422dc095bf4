/* A line is kept once: two readers of a section complain of it in the same words. */
#include "core/config/complaints.h"

#include <stdlib.h>
#include <string.h>

static bool has_line(const struct cfg_complaints *complaints, const char *line, size_t size)
{
    const uint8_t *lines = complaints->lines.at, *end;

    for (size_t at = 0; at < complaints->kept; at = (size_t)(end - lines) + 1) {
        end = memchr(lines + at, '\n', complaints->kept - at);
        if ((size_t)(end - lines) - at == size && memcmp(lines + at, line, size) == 0)
            return true;
    }
    return false;
}

/* Has the last line say how many there are beyond those that are kept. */
static void put_more(struct cfg_complaints *complaints)
{
    complaints->kept = complaints->lines.size;
    if (complaints->more > 0)
        weir_buf_printf(&complaints->lines, "… and %zu more\n", complaints->more);
}

static void add_line(struct cfg_complaints *complaints, const char *line, size_t size)
{
    complaints->lines.size = complaints->kept;
    if (complaints->more > 0 || complaints->kept > CFG_COMPLAINTS_BYTES) {
        complaints->more++;
    } else {
        weir_buf_append(&complaints->lines, line, size);
        weir_buf_append_text(&complaints->lines, "\n");
    }
    put_more(complaints);
}

void cfg_note_text(struct cfg_complaints *complaints, enum weir_status status, const char *lines)
{
    if (complaints->status == WEIR_OK)
        complaints->status = status;
    for (const char *line = lines; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (!has_line(complaints, line, size))
            add_line(complaints, line, size);
        line += size + (line[size] != '\0');
    }
}

bool cfg_note(struct cfg_complaints *complaints, enum weir_status status,
              const struct weir_error *err)
{
    if (status != WEIR_OK)
        cfg_note_text(complaints, status, err->text);
    return status == WEIR_OK;
}

void cfg_note_at(struct cfg_complaints *complaints, enum weir_status status,
                 const struct weir_yaml_node *node, const char *format, ...)
{
    WEIR_AUTO_BUF line = {0};
    va_list arguments;

    weir_yaml_place(node, &line);
    va_start(arguments, format);
    weir_buf_vprintf(&line, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < line.size; i++)
        line.at[i] = line.at[i] == '\n' ? ' ' : line.at[i];
    cfg_note_text(complaints, status, weir_buf_text(&line));
}

/* Values are quoted, or numbers. */
size_t cfg_reason_kind(const char *reason)
{
    const char *found = strstr(reason, "found ");

    return found != NULL ? (size_t)(found - reason) + strcspn(found, "'\"0123456789")
                         : strlen(reason);
}

/* ---- order ---- */

struct placed {
    unsigned long line, column;
    size_t at, size; /* in the text */
};

static struct placed place_of(const char *text, size_t at, const char *file)
{
    struct placed placed = {.at = at, .size = strcspn(text + at, "\n") + 1};
    size_t prefix = strlen(file);
    char *end = NULL;

    if (strncmp(text + at, file, prefix) != 0 || text[at + prefix] != ':')
        return placed;
    placed.line = strtoul(text + at + prefix + 1, &end, 10);
    placed.column = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;
    return placed;
}

static int compare_places(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

void cfg_complaints_sort(struct cfg_complaints *complaints, const char *file)
{
    WEIR_AUTO_BUF places = {0};
    struct weir_buf sorted = {0};
    struct placed last = {0};

    complaints->lines.size = complaints->kept;
    const char *text = weir_buf_text(&complaints->lines);
    for (size_t at = 0; text[at] != '\0';) {
        struct placed placed = place_of(text, at, file);
        if (placed.line == 0) {
            placed.line = last.line;
            placed.column = last.column;
        }
        last = placed;
        weir_buf_append(&places, &placed, sizeof(placed));
        at += placed.size;
    }
    struct placed *all = (struct placed *)(void *)places.at;
    size_t count = places.size / sizeof(*all);
    if (count > 1)
        qsort(all, count, sizeof(*all), compare_places);
    for (size_t i = 0; i < count; i++)
        weir_buf_append(&sorted, text + all[i].at, all[i].size);
    weir_buf_fini(&complaints->lines);
    complaints->lines = sorted;
    put_more(complaints);
}

/* ---- end ---- */

enum weir_status cfg_complaints_end(struct cfg_complaints *complaints, struct weir_error *err)
{
    static const char MORE[] = "\n… and more";
    const char *text = weir_buf_text(&complaints->lines);
    size_t size = 0;

    while (text[size] != '\0') {
        size_t next = size + strcspn(text + size, "\n") + 1;
        if (size > 0 && next + sizeof(MORE) > WEIR_ERROR_TEXT_MAX)
            break;
        size = next;
    }
    if (complaints->status == WEIR_OK)
        return WEIR_OK;
    return weir_fail(err, complaints->status, "%.*s%s", size > 0 ? (int)size - 1 : 0, text,
                     text[size] != '\0' ? MORE : "");
}

void cfg_complaints_fini(struct cfg_complaints *complaints)
{
    weir_buf_fini(&complaints->lines);
}
