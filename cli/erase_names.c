/* Subjects, keys and ids of an erasure: see erase_names.h. */
#include "cli/erase_names.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const LISTS[] = {"subjects", "keys", "ids"};
static const char *const COLUMNS[] = {"subject", "key", "id"};
enum { LIST_SUBJECTS, LIST_KEYS, LIST_IDS, LIST_COUNT, FIELDS_MAX = 64, INPUT_PIECE = 1 << 16 };

static bool read_id(const char *text, json_int_t *ret_id)
{
    char *end = NULL;

    errno = 0;
    *ret_id = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *ret_id >= 1;
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
static bool add(const struct erase_names *names, int list, const char *text, size_t line)
{
    json_int_t id = 0;

    if (list != LIST_IDS)
        return add_name(names, list, json_string(text), line);
    return read_id(text, &id) && add_name(names, list, json_integer(id), line);
}

/* ---- CSV ---- */

struct csv {
    const char *file;
    const char *at, *end;
    size_t line;              /* of what is read next */
    char *fields[FIELDS_MAX]; /* of the newest record; owned */
    size_t count;
    int list_of[FIELDS_MAX]; /* by column; -1: somebody else's */
    size_t columns;
};

static void clear(struct csv *csv)
{
    while (csv->count > 0)
        free(csv->fields[--csv->count]);
}

/* One field; *ret_more: another follows on the record. False for a quote that does not end. */
static bool read_field(struct csv *csv, struct weir_buf *field, bool *ret_more)
{
    bool is_quoted = csv->at < csv->end && *csv->at == '"';

    csv->at += is_quoted;
    for (; csv->at < csv->end; csv->at++) {
        bool is_quote = *csv->at == '"';
        bool is_doubled = is_quote && csv->at + 1 < csv->end && csv->at[1] == '"';

        if (is_quoted ? is_quote && !is_doubled : strchr(",\r\n", *csv->at) != NULL)
            break;
        csv->at += is_quoted && is_doubled;
        csv->line += *csv->at == '\n';
        weir_buf_append(field, csv->at, 1);
    }
    if (is_quoted && csv->at == csv->end)
        return false;
    csv->at += is_quoted;
    *ret_more = csv->at < csv->end && *csv->at == ',';
    csv->at += *ret_more;
    return *ret_more || csv->at == csv->end || *csv->at == '\r' || *csv->at == '\n';
}

static enum weir_status read_record(struct csv *csv, struct weir_error *err)
{
    size_t line = csv->line;
    bool more = true;

    clear(csv);
    while (more) {
        WEIR_AUTO_BUF field = {0};

        if (csv->count == FIELDS_MAX || !read_field(csv, &field, &more))
            return weir_fail(
                err, WEIR_INVALID,
                "%s:%zu: expected at most %d fields, separated by commas, with text in "
                "double quotes where it has commas itself",
                csv->file, line, FIELDS_MAX);
        csv->fields[csv->count++] = weir_strdup(weir_buf_text(&field));
    }
    while (csv->at < csv->end && (*csv->at == '\r' || *csv->at == '\n'))
        csv->line += *csv->at++ == '\n';
    return WEIR_OK;
}

static enum weir_status read_header(struct csv *csv, struct weir_error *err)
{
    size_t found = 0;
    enum weir_status status = read_record(csv, err);

    for (size_t i = 0; status == WEIR_OK && i < csv->count; i++) {
        csv->list_of[i] = -1;
        for (int list = 0; list < LIST_COUNT; list++) {
            if (strcmp(csv->fields[i], COLUMNS[list]) == 0)
                csv->list_of[i] = list;
        }
        found += csv->list_of[i] >= 0;
    }
    csv->columns = csv->count;
    if (status == WEIR_OK && found == 0)
        return weir_fail(err, WEIR_INVALID,
                         "%s:1: found no column subject, key or id, expected one in the header",
                         csv->file);
    return status;
}

static enum weir_status add_record(const struct csv *csv, size_t line,
                                   const struct erase_names *names, struct weir_error *err)
{
    if (csv->count != csv->columns)
        return weir_fail(err, WEIR_INVALID,
                         "%s:%zu: found %zu fields, expected %zu as in the header", csv->file, line,
                         csv->count, csv->columns);
    for (size_t i = 0; i < csv->count; i++) {
        if (csv->list_of[i] < 0 || csv->fields[i][0] == '\0')
            continue;
        if (!add(names, csv->list_of[i], csv->fields[i], line))
            return weir_fail(err, WEIR_INVALID, "%s:%zu: %s: expected %s", csv->file, line,
                             COLUMNS[csv->list_of[i]],
                             csv->list_of[i] == LIST_IDS ? "a sample number" : "UTF-8");
    }
    return WEIR_OK;
}

enum weir_status cli_erase_names_csv(const char *file, struct weir_bytes text,
                                     const struct erase_names *names, struct weir_error *err)
{
    const char *begin = (const char *)text.at;
    size_t mark = text.size >= 3 && memcmp(begin, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    struct csv csv = {.file = file, .at = begin + mark, .end = begin + text.size, .line = 1};
    enum weir_status status = WEIR_OK;

    if (memchr(begin, '\0', text.size) != NULL) /* a name that ends there would be another one's */
        return weir_fail(err, WEIR_INVALID, "%s: found a byte of zero, expected text", file);
    status = read_header(&csv, err);
    while (status == WEIR_OK && csv.at < csv.end) {
        size_t line = csv.line;

        status = read_record(&csv, err);
        if (status == WEIR_OK)
            status = add_record(&csv, line, names, err);
    }
    clear(&csv);
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
        size_t length = (size_t)((next ? next : end) - at);

        length -= length > 0 && at[length - 1] == '\r';
        if (memchr(at, '\0', length) != NULL ||
            (length > 0 && !add_name(names, LIST_SUBJECTS, json_stringn(at, length), line)))
            return weir_fail(err, WEIR_INVALID, "%s:%zu: expected a subject in UTF-8", file, line);
        at = next ? next + 1 : end;
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
        if (add(names, list, values->at[i], 0))
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
    if (status == WEIR_OK && options->subject_file)
        status = add_subject_file(options->subject_file, names, err);
    if (status == WEIR_OK && options->csv)
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
        if (ret_lines)
            *ret_lines = json_incref(names.lines);
    }
    cli_erase_names_fini(&names);
    return lists;
}
