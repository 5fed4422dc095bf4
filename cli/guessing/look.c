/* From a path to what lies there: see look.h. */
#include "cli/guessing/look.h"

#include "cli/guessing/pieces.h"
#include "core/base/lines.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    FILES_READ_MAX = 32, /* of more, so many are read, evenly spaced */
    BYTES_READ_MAX = 64 << 20,
};

/* ---- tables ---- */

/* The first byte that is no blank says which of both it is. */
static bool is_json(struct weir_bytes head)
{
    head = weir_bytes_trim(head);
    return head.size > 0 && head.at[0] == '{';
}

static enum weir_status begin(struct cli_guess *guess, struct weir_bytes head, const char *path,
                              struct weir_error *err)
{
    struct weir_bytes text = weir_bytes_trim(head);
    enum weir_status status = WEIR_OK;

    guess->table.is_json = is_json(head);
    if (weir_utf8_is_utf16(text))
        return weir_fail(err, WEIR_INVALID,
                         "%s: found text in UTF-16, expected UTF-8: iconv -f UTF-16 -t UTF-8 "
                         "writes it",
                         path);
    if (text.size > 0 && text.at[0] == '[')
        return weir_fail(
            err, WEIR_INVALID,
            "%s: found one JSON array, expected one object a line: jq -c '.[]' FILE.json "
            "> FILE.jsonl",
            path);
    if (!guess->table.is_json)
        status = cli_guess_csv_begin(&guess->table, head, err);
    return status == WEIR_OK ? WEIR_OK : weir_error_wrap(err, status, "%s", path);
}

static void read_piece(struct cli_guess *guess, struct weir_bytes piece, bool begins_file,
                       bool is_last)
{
    if (guess->table.is_json)
        cli_guess_lines_read(&guess->table, piece, is_last);
    else if (!cli_guess_csv_read(&guess->table, piece, begins_file, is_last))
        guess->odd_files++;
}

static enum weir_status read_file(struct cli_guess *guess, struct cli_guess_file *file,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", guess->folder.path, file->path);
    struct cli_guess_pieces pieces;
    size_t odd = guess->odd_files;
    enum weir_status status = cli_guess_pieces_read(path, file->is_compressed, &pieces, err);

    if (status != WEIR_OK)
        return status;
    size_t mark = weir_text_mark(weir_buf_view(&pieces.head));
    const struct weir_bytes head = weir_bytes(pieces.head.at + mark, pieces.head.size - mark);
    if (guess->table.count == 0)
        status = begin(guess, head, path, err);
    if (status == WEIR_OK) {
        read_piece(guess, head, true, pieces.is_whole);
        guess->is_whole = guess->is_whole && pieces.is_whole;
    }
    file->is_odd = odd < guess->odd_files;
    if (status == WEIR_OK && !file->is_odd)
        read_piece(guess, weir_buf_view(&pieces.tail), false, true);
    cli_guess_pieces_fini(&pieces);
    return status;
}

/* The largest file first: what it is counts. */
static struct cli_guess_file *largest(const struct cli_guess_folder *folder)
{
    struct cli_guess_file *best = NULL;

    for (size_t i = 0; i < folder->count; i++)
        if (cli_guess_folder_counts(folder, &folder->files[i]) &&
            (best == NULL || folder->files[i].bytes > best->bytes))
            best = &folder->files[i];
    return best;
}

static enum weir_status read_files(struct cli_guess *guess, struct weir_error *err)
{
    struct cli_guess_folder *folder = &guess->folder;
    struct cli_guess_file *first = largest(folder);
    size_t step = folder->counted / FILES_READ_MAX + 1, met = 0;
    enum weir_status status = read_file(guess, first, err);

    for (size_t i = 0; i < folder->count && status == WEIR_OK; i++) {
        struct cli_guess_file *file = &folder->files[i];

        if (!cli_guess_folder_counts(folder, file) || file == first)
            continue;
        if ((met++ % step == 0 || met + 1 == folder->counted) &&
            guess->table.bytes < BYTES_READ_MAX)
            status = read_file(guess, file, err);
        else
            guess->is_whole = false;
    }
    if (guess->odd_files > 0 && step == 1 && cli_guess_folder_leave_odd(folder))
        guess->odd_files = 0;
    return status;
}

static void estimate_rows(struct cli_guess *guess)
{
    double a_row =
        guess->table.rows > 0 ? (double)guess->table.bytes / (double)guess->table.rows : 1;

    guess->rows =
        guess->is_whole ? guess->table.rows : (uint64_t)((double)guess->folder.bytes / a_row);
}

static enum weir_status look_at_columns(struct cli_guess *guess, const char *path,
                                        struct weir_error *err)
{
    enum weir_status status;

    estimate_rows(guess);
    if (guess->table.rows < 2)
        return weir_fail(err, WEIR_INVALID, "%s: found %lu records, expected more to guess from%s",
                         path, guess->table.rows,
                         guess->table.is_json
                             ? ", one JSON object a line: jq -c '.[]' writes the values of one "
                               "object so, jq -c '.data[]' those of its member data"
                             : "");
    status = cli_guess_roles_find(&guess->table, &guess->roles, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "%s", path);
    if (guess->roles.time != SIZE_MAX)
        guess->span = guess->roles.span;
    else
        guess->days = cli_guess_folder_days(&guess->folder, &guess->span);
    return WEIR_OK;
}

/* ---- a sample a file ---- */

static enum weir_status look_at_manifest(struct cli_guess *guess, struct weir_error *err)
{
    char path[] = "manifest.csv";
    struct cli_guess_file manifest = {.path = path};
    enum weir_status status = read_file(guess, &manifest, err);

    for (size_t i = 0; status == WEIR_OK && i < guess->table.count; i++) {
        const struct cli_guess_column *column = &guess->table.columns[i];

        if (strcmp(column->name, "time") == 0 && cli_guess_column_form(column) == 0)
            guess->span = column->span[0];
        if (strcmp(column->name, "label") == 0)
            guess->folder.classes = json_incref(column->distinct);
    }
    return status;
}

static enum weir_status look_at_samples(struct cli_guess *guess, const char *path,
                                        struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    guess->rows = guess->folder.counted;
    if (guess->folder.has_manifest) {
        json_decref(guess->folder.classes);
        guess->folder.classes = NULL;
        status = look_at_manifest(guess, err);
    } else {
        guess->days = cli_guess_folder_days(&guess->folder, &guess->span);
    }
    if (status != WEIR_OK || json_object_size(guess->folder.classes) >= 2)
        return status;
    return weir_fail(err, WEIR_INVALID,
                     "%s: found %zu files and %zu classes, expected a folder for each class, or a "
                     "manifest.csv beside the files with the columns path,time,label",
                     path, guess->folder.counted, json_object_size(guess->folder.classes));
}

/* ---- both ---- */

static enum weir_status look(const char *path, struct cli_guess *guess, struct weir_error *err)
{
    enum weir_status status = cli_guess_folder_list(path, &guess->folder, err);

    if (status != WEIR_OK)
        return status;
    guess->is_table =
        guess->folder.kind == CLI_GUESS_TABLES || guess->folder.kind == CLI_GUESS_LINES;
    if (!guess->is_table)
        return look_at_samples(guess, path, err);
    status = read_files(guess, err);
    return status == WEIR_OK ? look_at_columns(guess, path, err) : status;
}

static enum weir_status conclude(enum weir_status status, struct cli_guess *guess,
                                 struct cli_guess *ret_guess)
{
    guess->has_time = guess->span.first_us < guess->span.last_us;
    if (status == WEIR_OK)
        *ret_guess = *guess;
    else
        cli_guess_fini(guess);
    return status;
}

enum weir_status cli_guess_look(const char *path, struct cli_guess *ret_guess,
                                struct weir_error *err)
{
    struct cli_guess guess = {.is_whole = true, .roles = {.time = SIZE_MAX, .subject = SIZE_MAX}};

    return conclude(look(path, &guess, err), &guess, ret_guess);
}

enum weir_status cli_guess_look_at(const char *path, struct weir_bytes text,
                                   struct cli_guess *ret_guess, struct weir_error *err)
{
    struct cli_guess guess = {.is_whole = true, .is_table = true};
    enum weir_status status = begin(&guess, text, path, err);

    guess.folder = (struct cli_guess_folder){.path = weir_strdup(path),
                                             .kind = CLI_GUESS_TABLES,
                                             .counted = 1,
                                             .bytes = text.size,
                                             .include = weir_strdup("*.csv")};
    if (status == WEIR_OK) {
        read_piece(&guess, text, true, true);
        status = look_at_columns(&guess, path, err);
    }
    return conclude(status, &guess, ret_guess);
}

void cli_guess_fini(struct cli_guess *guess)
{
    cli_guess_folder_fini(&guess->folder);
    cli_guess_table_fini(&guess->table);
    cli_guess_roles_fini(&guess->roles);
    free(guess->days);
}
