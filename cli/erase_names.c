/* Subjects, keys and ids of an erasure: see erase_names.h. */
#include "cli/erase_names.h"

#include "core/base/csv.h"
#include "core/base/file.h"
#include "core/base/lines.h"
#include "core/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const LISTS[] = {"subjects", "keys", "ids"};
static const char *const COLUMNS[] = {"subject", "key", "id"};
enum { LIST_SUBJECTS, LIST_KEYS, LIST_IDS, LIST_COUNT, INPUT_PIECE = 1 << 16 };

static bool read_id(struct weir_bytes text, json_int_t *ret_id)
{
    char digits[24] = {0}, *end = NULL;

    if (text.size == 0 || text.size >= sizeof(digits))
        return false;
    memcpy(digits, text.at, text.size);
    errno = 0;
    *ret_id = strtoll(digits, &end, 10);
    return errno == 0 && end == digits + text.size && *ret_id >= 1;
}

static json_t *empty_lists(void)
{
    return json_pack("{s[],s[],s[]}", LISTS[LIST_SUBJECTS], LISTS[LIST_KEYS], LISTS[LIST_IDS]);
}

struct erase_names cli_erase_names_new(void)
{
    return (struct erase_names){.lists = empty_lists(), .lines = empty_lists()};
}

void cli_erase_names_fini(struct erase_names *names)
{
    json_decref(names->lists);
    json_decref(names->lines);
    *names = (struct erase_names){0};
}

/* Consumes `name`; false when it is NULL: no text in UTF-8. */
static bool add_name(const struct erase_names *names, int list, json_t *name, size_t line)
{
    return json_array_append_new(json_object_get(names->lists, LISTS[list]), name) == 0 &&
           json_array_append_new(json_object_get(names->lines, LISTS[list]),
                                 json_integer((json_int_t)line)) == 0;
}

/* False when the text is not UTF-8, or no number where one is expected. */
static bool add(const struct erase_names *names, int list, struct weir_bytes text, size_t line)
{
    json_int_t id = 0;

    if (list != LIST_IDS)
        return add_name(names, list, json_stringn((const char *)text.at, text.size), line);
    return read_id(text, &id) && add_name(names, list, json_integer(id), line);
}

/* ---- CSV ---- */

struct csv {
    const char *file;
    struct weir_bytes rest;
    size_t line; /* of the newest record */
    size_t next_line;
    int list_of[WEIR_CSV_FIELDS_MAX]; /* by column; -1: none of ours */
    size_t columns;
    struct weir_csv_record record; /* the newest */
};

static enum weir_status read_record(struct csv *csv, struct weir_error *err)
{
    const struct weir_csv_extent *extent = &csv->record.extent;

    if (weir_csv_read(csv->rest, WEIR_CSV_COMMAS, true, &csv->record) != WEIR_CSV_RECORD)
        return weir_fail(err, WEIR_INVALID,
                         "%s:%zu: expected at most %d fields, separated by commas, with text in "
                         "double quotes where it has commas, quotes or line breaks itself",
                         csv->file, csv->next_line, WEIR_CSV_FIELDS_MAX);
    csv->rest = weir_bytes(csv->rest.at + extent->size, csv->rest.size - extent->size);
    csv->line = csv->next_line;
    csv->next_line += extent->lines;
    return WEIR_OK;
}

/* The list that a column is for, or -1. */
static int find_list(struct weir_bytes column)
{
    for (int list = 0; list < LIST_COUNT; list++) {
        if (weir_bytes_equal(column, weir_bytes_of(COLUMNS[list])))
            return list;
    }
    return -1;
}

static enum weir_status read_header(struct csv *csv, struct weir_error *err)
{
    size_t found = 0;
    enum weir_status status = read_record(csv, err);

    if (status != WEIR_OK)
        return status;
    csv->columns = csv->record.count;
    for (size_t i = 0; i < csv->columns; i++) {
        csv->list_of[i] = find_list(csv->record.fields[i].raw);
        found += csv->list_of[i] >= 0;
    }
    return found > 0 ? WEIR_OK
                     : weir_fail(err, WEIR_INVALID,
                                 "%s:1: found no column subject, key or id, expected one in the "
                                 "header",
                                 csv->file);
}

static enum weir_status add_record(const struct csv *csv, const struct erase_names *names,
                                   struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};

    if (csv->record.count != csv->columns)
        return weir_fail(err, WEIR_INVALID,
                         "%s:%zu: found %zu fields, expected %zu as in the header", csv->file,
                         csv->line, csv->record.count, csv->columns);
    for (size_t i = 0; i < csv->columns; i++) {
        struct weir_csv_field field = csv->record.fields[i];
        int list = csv->list_of[i];

        if (list < 0 || field.raw.size == 0)
            continue;
        if (!add(names, list, weir_csv_value(field, &text), csv->line))
            return weir_fail(err, WEIR_INVALID, "%s:%zu: %s: expected %s", csv->file, csv->line,
                             COLUMNS[list], list == LIST_IDS ? "a sample number" : "UTF-8");
    }
    return WEIR_OK;
}

enum weir_status cli_erase_names_csv(const char *file, struct weir_bytes text,
                                     const struct erase_names *names, struct weir_error *err)
{
    size_t mark = weir_text_mark(text);
    WEIR_AUTO_FREE struct csv *csv = weir_calloc(1, sizeof(*csv));
    enum weir_status status;

    csv->file = file;
    csv->rest = weir_bytes(text.at + mark, text.size - mark);
    csv->next_line = 1;
    if (memchr(text.at, '\0', text.size) !=
        NULL) /* a name that ends there would be another one's */
        return weir_fail(err, WEIR_INVALID, "%s: found a byte of zero, expected text", file);
    status = read_header(csv, err);
    while (status == WEIR_OK && csv->rest.size > 0) {
        status = read_record(csv, err);
        if (status == WEIR_OK && csv->record.extent.length > 0)
            status = add_record(csv, names, err);
    }
    return status;
}

static enum weir_status add_csv(const char *file, const struct erase_names *names,
                                struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(file, CLI_CSV_BYTES_MAX, &text, err);

    return status == WEIR_OK ? cli_erase_names_csv(file, weir_buf_view(&text), names, err) : status;
}

/* ---- a file of subjects ---- */

static enum weir_status read_input(struct weir_buf *text, struct weir_error *err)
{
    ssize_t got = 1;

    while (got > 0 && text->size <= CLI_CSV_BYTES_MAX) {
        weir_buf_reserve(text, INPUT_PIECE);
        got = read(STDIN_FILENO, text->at + text->size, INPUT_PIECE);
        if (got < 0 && errno != EINTR)
            return weir_fail(err, WEIR_IO, "standard input: %s", strerror(errno));
        text->size += got > 0 ? (size_t)got : 0;
        got = got < 0 ? 1 : got;
    }
    return got == 0 ? WEIR_OK
                    : weir_fail(err, WEIR_LIMIT, "standard input: expected at most %d bytes",
                                CLI_CSV_BYTES_MAX);
}

/* Spaces belong to a subject; the end of a line does not. */
static enum weir_status add_lines(const char *file, struct weir_bytes text,
                                  const struct erase_names *names, struct weir_error *err)
{
    const char *at = (const char *)text.at, *end = at + text.size;

    for (size_t line = 1; at < end; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((next != NULL ? next : end) - at);

        length -= length > 0 && at[length - 1] == '\r';
        if (memchr(at, '\0', length) != NULL ||
            (length > 0 && !add_name(names, LIST_SUBJECTS, json_stringn(at, length), line)))
            return weir_fail(err, WEIR_INVALID, "%s:%zu: expected a subject in UTF-8", file, line);
        at = next != NULL ? next + 1 : end;
    }
    return WEIR_OK;
}

static enum weir_status add_subject_file(const char *file, const struct erase_names *names,
                                         struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    bool is_input = strcmp(file, "-") == 0;
    enum weir_status status =
        is_input ? read_input(&text, err) : weir_file_read(file, CLI_CSV_BYTES_MAX, &text, err);

    if (status == WEIR_OK && text.size > 0)
        status = add_lines(is_input ? "standard input" : file, weir_buf_view(&text), names, err);
    if (text.at != NULL)
        explicit_bzero(text.at, text.capacity);
    return status;
}

/* ---- options ---- */

static enum weir_status add_values(const struct weir_option_values *values, int list,
                                   const struct erase_names *names, struct weir_error *err)
{
    for (size_t i = 0; i < values->count; i++) {
        if (add(names, list, weir_bytes_of(values->at[i]), 0))
            continue;
        if (list != LIST_IDS)
            return weir_fail(err, WEIR_INVALID, "arguments are expected in UTF-8");
        return weir_fail(err, WEIR_INVALID, "--id: expected a sample number, found '%.40s'",
                         values->at[i]);
    }
    return WEIR_OK;
}

static enum weir_status check_count(const struct cli_options *options, const json_t *names,
                                    const char *command, struct weir_error *err)
{
    size_t least = options->drop_refused ? 0 : 1, most = options->each ? SIZE_MAX : CLI_NAMES_MAX;
    size_t count = 0;

    for (int list = 0; list < LIST_COUNT; list++)
        count += json_array_size(json_object_get(names, LISTS[list]));
    if (count >= least && count <= most)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_INVALID,
        "%s: expected 1 to %d of --subject VALUE, --key VALUE and --id N, a "
        "--subject-file FILE or a --csv FILE of them, found %zu%s",
        command, CLI_NAMES_MAX, count,
        count > 0 && strcmp(command, "erase request") == 0 ? "; --each takes any number" : "");
}

static enum weir_status read_names(const struct cli_call *call, const char *command,
                                   const struct erase_names *names, struct weir_error *err)
{
    const struct cli_options *options = &call->options;
    enum weir_status status = add_values(&options->subjects, LIST_SUBJECTS, names, err);

    if (status == WEIR_OK)
        status = add_values(&options->keys, LIST_KEYS, names, err);
    if (status == WEIR_OK)
        status = add_values(&options->ids, LIST_IDS, names, err);
    if (status == WEIR_OK && options->subject_file != NULL)
        status = add_subject_file(options->subject_file, names, err);
    if (status == WEIR_OK && options->csv != NULL)
        status = add_csv(options->csv, names, err);
    if (status == WEIR_OK)
        status = check_count(options, names->lists, command, err);
    return status;
}

json_t *cli_erase_names(const struct cli_call *call, const char *command, json_t **ret_lines,
                        struct weir_error *err)
{
    struct erase_names names = cli_erase_names_new();
    json_t *lists = NULL;

    if (read_names(call, command, &names, err) == WEIR_OK) {
        lists = json_incref(names.lists);
        if (ret_lines != NULL)
            *ret_lines = json_incref(names.lines);
    }
    cli_erase_names_fini(&names);
    return lists;
}
