/* Reading: see preview.h. */
#include "storage/preview/preview.h"

#include "core/base/file.h"
#include "core/base/lines.h"
#include "core/base/memory.h"
#include "storage/files/expand.h"
#include "storage/files/file_window.h"
#include "storage/files/listing.h"
#include "storage/files/source.h"
#include "storage/preview/beginning.h"
#include "storage/scanning/file_job.h"
#include "storage/scanning/said.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { OTHERS_TOLD_MAX = 3 };

const struct weir_yaml_node *storage_preview_place(const struct preview *preview, const char *key)
{
    const struct weir_yaml_node *node = weir_yaml_get(preview->node, key);

    return node != NULL ? node : preview->node;
}

/* As the pipeline file names it, so that a person finds it from where they stand. */
static char *name_of(const struct preview *preview, const char *path)
{
    WEIR_AUTO_FREE char *name = weir_format("%s/%s", preview->declared.source.path, path);

    return storage_printable(name);
}

/* Of a bucket all that is at hand is the copies. */
static struct dataset *make_dataset(struct preview *preview)
{
    struct dataset *dataset = weir_calloc(1, sizeof(*dataset));
    char resolved[PATH_MAX];
    const char *path =
        preview->declared.is_mirrored ? preview->scratch : preview->declared.source.path;

    dataset->number = 1;
    dataset->name = weir_strdup(preview->declared.name);
    dataset->declaration = &preview->declared;
    dataset->root = weir_strdup(realpath(path, resolved) != NULL ? resolved : path);
    dataset->copies = preview->scratch != NULL ? weir_strdup(preview->scratch) : NULL;
    storage_dataset_name_classes(dataset);
    return dataset;
}

/* ---- columns ---- */

/* Complains of the first file that is wrong in this way. */
static void complain_of_file(struct preview *preview, const char *path, const char *key,
                             const char *reason)
{
    WEIR_AUTO_FREE char *name = name_of(preview, path);
    WEIR_AUTO_FREE char *line = weir_format("\n%s: %s\n", key, reason);

    if (strstr(weir_buf_text(&preview->told), line) != NULL)
        return;
    weir_buf_append_text(&preview->told, line);
    cfg_note_at(&preview->of_files, WEIR_INVALID, storage_preview_place(preview, key),
                "%s.%s: %s: %s", preview->path, key, name, reason);
}

/* Columns are looked for one by one, so that all that are missing are said. */
static bool has_columns(struct preview *preview, const char *path, const struct format_input *input)
{
    const struct declaration *d = &preview->declared;
    bool has_all = true;

    for (int i = 0; i < FORMAT_ROLES; i++) {
        const char *role = STORAGE_FORMAT_ROLE_NAMES[i];
        WEIR_AUTO_BUF columns = {0};
        struct format_fields fields = {0};
        struct weir_error err;

        fields.each[i] = d->fields.each[i];
        if (fields.each[i].from == FORMAT_NOWHERE ||
            d->format->columns(input, d->options, &fields, &columns, &err) == WEIR_OK)
            continue;
        has_all = false;
        complain_of_file(preview, path, role, err.text);
    }
    return has_all;
}

/* True for a line with what often stands between columns. */
static bool has_delimiter(struct weir_bytes line)
{
    bool has = false;

    for (size_t i = 0; i < line.size; i++)
        has = has || (line.at[i] != 0 && strchr(";\t|,", line.at[i]) != NULL);
    return has;
}

/* True when a field that is declared is called so. */
static bool is_declared(const struct declaration *d, const char *name)
{
    size_t length = strcspn(name, "\n");

    for (int i = 0; i < FORMAT_ROLES; i++) {
        const struct format_field *field = &d->fields.each[i];

        if (field->from == FORMAT_NAMED && strlen(field->name) == length &&
            memcmp(name, field->name, length) == 0)
            return true;
    }
    return false;
}

static bool declares_any(const struct declaration *d)
{
    for (int i = 0; i < FORMAT_ROLES; i++)
        if (d->fields.each[i].from == FORMAT_NAMED)
            return true;
    return false;
}

/* True of a single column that nobody has declared, also when the file is read once more without its declaration. */
static bool is_no_table(struct preview *preview, const char *name)
{
    const struct declaration *d = &preview->declared;

    preview->has_no_table |= declares_any(d) && !is_declared(d, name);
    return preview->has_no_table;
}

/* True when a column is called like a fraction or a time, and none like a field that is declared: it is a record.
 * Columns without names are called 1, 2, 3. */
static bool is_record(const struct declaration *d, const char *names)
{
    bool has_value = false;

    for (const char *name = names; *name; name += strcspn(name, "\n") + 1) {
        const char *number = name + (strchr("+-", *name) != NULL ? 1 : 0);
        size_t digits = strspn(number, "0123456789");

        has_value = has_value || (digits > 0 && strchr("-.:/", number[digits]) != NULL);
        if (is_declared(d, name))
            return false;
    }
    return has_value;
}

/* Reads the names of the columns, which count whether those that are declared are among them or not. False, with a
 * complaint, when there are none: then it is of no use to look for one after the other. */
static bool read_columns(struct preview *preview, const char *path,
                         const struct format_input *input)
{
    static const struct format_fields NONE;
    const struct declaration *d = &preview->declared;
    WEIR_AUTO_BUF columns = {0};
    struct weir_error err;
    enum weir_status status = d->format->columns(input, d->options, &NONE, &columns, &err);
    const char *names = weir_buf_text(&columns);
    bool is_single = columns.size > 0 && strchr(names, '\n') == names + columns.size - 1;
    struct weir_bytes line = weir_bytes(input->head.at, weir_line(input->head));

    if (status == WEIR_OK && memchr(input->head.at, '\n', input->head.size) == NULL &&
        memchr(input->head.at, '\r', input->head.size) != NULL)
        status = weir_fail(&err, WEIR_INVALID,
                           "line 1: found lines that end with CR alone, expected a line feed");
    else if (status == WEIR_OK && is_single && has_delimiter(line))
        status = weir_fail(&err, WEIR_INVALID,
                           "line 1: found a single column, '%.*s', expected several: "
                           "source.delimiter says what stands between them",
                           (int)columns.size - 1, names);
    else if (status == WEIR_OK && is_single && is_no_table(preview, names))
        status = weir_fail(&err, WEIR_INVALID,
                           "line 1: found a single column, '%.*s', which is none of those that are "
                           "declared: is it a table?",
                           (int)columns.size - 1, names);
    else if (status == WEIR_OK && is_record(d, names))
        status = weir_fail(&err, WEIR_INVALID,
                           "line 1: found a record, expected names of columns: source.header: "
                           "false and source.columns name them where the file does not");
    if (status != WEIR_OK)
        complain_of_file(preview, path, "source", err.text);
    else if (preview->dataset->columns == NULL && columns.size > 0)
        preview->dataset->columns = weir_strdup(names);
    return status == WEIR_OK;
}

static enum weir_status open_listed(const struct preview *preview, const struct listed *listed,
                                    int *ret_fd, struct weir_error *err)
{
    if (!preview->declared.is_copied)
        return storage_source_open(preview->dataset, listed->path, &listed->stat, ret_fd, err);
    *ret_fd = weir_open_beneath(preview->dataset->copies, listed->path, O_RDONLY);
    return *ret_fd >= 0 ? WEIR_OK : weir_fail(err, WEIR_IO, "%s", strerror(errno));
}

/* True when the file has the columns that are declared, as far as it can be read. */
static bool check_columns(struct preview *preview, const struct listed *listed)
{
    WEIR_AUTO_FD int fd = -1;
    WEIR_AUTO_BUF head = {0};
    struct weir_error err;
    const struct format *format = preview->declared.format;
    uint64_t size = (uint64_t)listed->stat.st_size;

    if (format->columns == NULL || open_listed(preview, listed, &fd, &err) != WEIR_OK ||
        storage_head_read(format, fd, size, &head, &err) != WEIR_OK)
        return true; /* its reading will say so */
    const struct format_input input = {.head = weir_buf_view(&head), .size = size};

    return read_columns(preview, listed->path, &input) &&
           has_columns(preview, listed->path, &input);
}

/* ---- files ---- */

static struct intake intake_of(struct preview *preview, const struct listed *listed)
{
    return (struct intake){.dataset = preview->dataset,
                           .batch = preview->batch,
                           .secret = &preview->secret,
                           .erased = &preview->erased,
                           .mtime_us = weir_mtime_us(&listed->stat),
                           .ctime_ns = weir_ctime_ns(&listed->stat)};
}

static void refuse_file(struct preview *preview, const char *path, const char *reason)
{
    struct stored_file *file = storage_batch_file(preview->batch, path);
    struct intake intake = {.dataset = preview->dataset, .batch = preview->batch, .file = file};

    storage_intake_refuse_file(&intake, reason);
}

static void read_one_sample(struct preview *preview, const struct listed *listed)
{
    const struct declaration *d = &preview->declared;
    struct intake intake = intake_of(preview, listed);
    const struct format_sink sink = storage_intake_sink(&intake);
    const struct format_input input = {.size = (uint64_t)listed->stat.st_size, .is_last = true};
    struct format_progress progress;
    struct weir_error err;
    struct said said = {0};

    storage_said_of(preview->dataset, preview->manifest, listed->path, &said);
    intake.file = storage_batch_file(preview->batch, listed->path);
    intake.file->size = input.size;
    intake.row = said.row;
    if (said.complaint != NULL)
        storage_intake_refuse_file(&intake, said.complaint);
    else if (d->format->index(&input, d->options, &d->fields, &sink, &progress, &err) != WEIR_OK)
        storage_intake_refuse_file(&intake, err.text);
    preview->part++;
    storage_said_fini(&said);
    storage_intake_fini(&intake);
}

static void pass_over(struct preview *preview, const char *path, const char *why)
{
    WEIR_AUTO_FREE char *name = name_of(preview, path);

    preview->is_whole = false;
    preview->passed_over++;
    cfg_note_at(preview->complaints, WEIR_OK, storage_preview_place(preview, "source"),
                "%s.source: %s: its records were not looked at: %s", preview->path, name, why);
}

/* The bytes that are there of a copy of a beginning; 0: all of the file is. */
static size_t cut_of(const struct preview *preview, const struct listed *listed)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", preview->dataset->copies, listed->path);
    struct stat found = {.st_size = 0};

    (void)stat(path, &found);
    return found.st_size < listed->stat.st_size ? (size_t)found.st_size : 0;
}

/* The first window of records, larger if not one fits; a line that is longer still is not read to its end. A copy has
 * no more than the first window. */
static void read_records(struct preview *preview, const struct listed *listed)
{
    struct stored_file *file = storage_batch_file(preview->batch, listed->path);
    struct file_job job = {.intake = intake_of(preview, listed), .is_new = true};
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    bool is_copy = preview->declared.is_copied, is_done = false;
    uint64_t size = (uint64_t)listed->stat.st_size;
    uint64_t cut = is_copy ? cut_of(preview, listed) : 0;

    file->size = size;
    storage_file_job_begin(&job, file, &listed->stat);
    job.is_copied = true;
    job.intake.blanks = INTAKE_BLANKS_NOTHING;
    if (cut > 0)
        job.window_bytes = cut;
    while (status == WEIR_OK && !is_done && file->indexed == 0 && job.passed == 0 &&
           (cut == 0 || job.window_bytes == cut))
        status = storage_file_job_step(&job, &is_done, &err);
    if (status == WEIR_DENIED)
        storage_intake_refuse_file(&job.intake, err.text);
    if (is_copy && !is_done && file->indexed == 0)
        pass_over(preview, listed->path, "its first 1 MiB hold no whole record");
    else if (job.passed > 0)
        storage_intake_refuse_file(&job.intake, "found a line beyond 16 MiB, expected less");
    storage_intake_finish(&job.intake);
    preview->is_whole = preview->is_whole && is_done;
    preview->part += file->indexed;
    storage_file_job_end(&job);
}

bool storage_preview_expands(const struct preview *preview, const char *path)
{
    return preview->declared.source.import == 1 && storage_is_compressed(preview->dataset, path);
}

const char *storage_preview_folder(const struct preview *preview, const char *path)
{
    return preview->bucket != NULL || storage_preview_expands(preview, path)
               ? preview->dataset->copies
               : preview->dataset->root;
}

static void read_copied_records(struct preview *preview, const struct listed *listed)
{
    preview->declared.is_copied = true;
    if (check_columns(preview, listed))
        read_records(preview, listed);
    preview->declared.is_copied = false;
}

static void read_compressed(struct preview *preview, const struct listed *listed)
{
    WEIR_AUTO_FD int fd = -1;
    struct weir_error err;
    struct listed expanded = *listed;
    uint64_t size = 0;

    if (preview->scratch == NULL) {
        pass_over(preview, listed->path,
                  "it is compressed, and there is no folder to expand it in");
        return;
    }
    WEIR_AUTO_FREE char *copy = weir_format("%s/%s", preview->dataset->copies, listed->path);
    enum weir_status status =
        storage_source_open(preview->dataset, listed->path, &listed->stat, &fd, &err);

    if (status == WEIR_OK)
        status = storage_beginning_expand(fd, (uint64_t)listed->stat.st_size, copy, &size, &err);
    expanded.stat.st_size = (off_t)size;
    if (status == WEIR_OK)
        read_copied_records(preview, &expanded);
    else if (status == WEIR_INVALID || status == WEIR_DENIED)
        refuse_file(preview, listed->path, err.text);
    else
        pass_over(preview, listed->path, err.text);
}

void storage_preview_read_copy(struct preview *preview, const struct listed *listed)
{
    preview->files++;
    if (listed->kind == LISTED_UNREADABLE)
        refuse_file(preview, listed->path, listed->reason);
    else if (preview->declared.format->is_one_sample)
        read_one_sample(preview, listed);
    else
        read_copied_records(preview, listed);
}

static void read_file(struct preview *preview, const struct listed *listed)
{
    preview->files++;
    if (listed->kind == LISTED_UNREADABLE) {
        refuse_file(preview, listed->path, listed->reason);
    } else if (preview->declared.format->is_one_sample) {
        read_one_sample(preview, listed);
    } else if (storage_preview_expands(preview, listed->path)) {
        read_compressed(preview, listed);
    } else if (check_columns(preview, listed)) {
        read_records(preview, listed);
    }
}

/* ---- the source ---- */

static void pass_folder(void *owner, const char *folder, int fd)
{
    (void)owner;
    (void)folder;
    (void)fd;
}

/* Returns what a file adds to the source: 0 where that says nothing of its number of samples. */
static uint64_t share_of(const struct preview *preview, const struct listed *listed)
{
    if (listed->kind != LISTED_FILE || storage_preview_expands(preview, listed->path))
        return 0;
    return preview->declared.format->is_one_sample ? 1 : (uint64_t)listed->stat.st_size;
}

/* A way through the files of a folder. */
struct walk {
    struct preview *preview;
    size_t counted, total; /* total: of an earlier way */
    bool is_known;         /* what each adds to the source */
    bool has_ended;        /* there are no more files */
};

static enum weir_status walk_files(struct walk *walk,
                                   void (*visit)(struct walk *walk, const struct listed *listed),
                                   struct weir_error *err)
{
    struct scope scope = {0};
    struct listed listed = {0};
    enum weir_status status = WEIR_OK;

    storage_scope_add_all(&scope);
    storage_scope_seal(&scope);
    struct listing *listing =
        storage_listing_new(walk->preview->dataset, &scope, pass_folder, NULL);

    for (walk->counted = 0;
         status == WEIR_OK && listed.kind != LISTED_END && walk->counted < PREVIEW_COUNTED_MAX;) {
        status = storage_listing_next(listing, &listed, err);
        if (status != WEIR_OK || listed.kind == LISTED_NOTHING || listed.kind == LISTED_END)
            continue;
        visit(walk, &listed);
        walk->counted++;
    }
    walk->has_ended = listed.kind == LISTED_END;
    storage_listing_free(listing);
    storage_scope_fini(&scope);
    return status;
}

static void pass_file(struct walk *walk, const struct listed *listed)
{
    (void)walk;
    (void)listed;
}

/* The first ones of many samples; of one sample such that are spread over all, as those of a class, or of a day, lie
 * together. */
static bool is_looked_at(const struct walk *walk)
{
    size_t next = walk->counted + 1, max = PREVIEW_SAMPLES_MAX;

    if (!walk->preview->declared.format->is_one_sample)
        return walk->counted < PREVIEW_FILES_MAX;
    return walk->total <= max || next * max / walk->total > walk->counted * max / walk->total;
}

static void look_at_file(struct walk *walk, const struct listed *listed)
{
    struct preview *preview = walk->preview;
    uint64_t share = share_of(preview, listed);

    if (is_looked_at(walk))
        read_file(preview, listed);
    else
        preview->is_whole = false;
    preview->all += share;
    walk->is_known = walk->is_known && (share > 0 || listed->stat.st_size == 0);
}

/* Reads some files, and counts over all. */
static enum weir_status walk_folder(struct preview *preview, struct weir_error *err)
{
    struct walk walk = {.preview = preview, .is_known = true};
    enum weir_status status = WEIR_OK;

    if (preview->declared.format->is_one_sample)
        status = walk_files(&walk, pass_file, err);
    walk.total = walk.counted;
    if (status == WEIR_OK)
        status = walk_files(&walk, look_at_file, err);
    preview->is_whole = preview->is_whole && walk.has_ended;
    if (!walk.is_known || !walk.has_ended || preview->passed_over > 0)
        preview->all = 0;
    return status;
}

bool storage_preview_tell_other(size_t told, const char *path, struct weir_buf *out)
{
    weir_buf_printf(out, told < OTHERS_TOLD_MAX ? "%s%s" : " …", told > 0 ? ", " : "", path);
    return told < OTHERS_TOLD_MAX;
}

static void tell_others(const struct preview *preview, struct weir_buf *out)
{
    struct declaration all = preview->declared;
    struct dataset whole = *preview->dataset;
    struct scope scope = {0};
    struct listed listed = {0};
    struct weir_error err;
    size_t told = 0;
    bool is_room = true;

    all.source.include = "*";
    whole.declaration = &all;
    storage_scope_add_all(&scope);
    storage_scope_seal(&scope);
    struct listing *listing = storage_listing_new(&whole, &scope, pass_folder, NULL);

    while (is_room && listed.kind != LISTED_END &&
           storage_listing_next(listing, &listed, &err) == WEIR_OK) {
        if (listed.kind == LISTED_FILE && !storage_listing_wants(preview->dataset, listed.path))
            is_room = storage_preview_tell_other(told++, listed.path, out);
    }
    storage_listing_free(listing);
    storage_scope_fini(&scope);
}

void storage_preview_others(const struct preview *preview, struct weir_buf *out)
{
    if (preview->bucket != NULL)
        storage_preview_objects_others(preview, out);
    else
        tell_others(preview, out);
}

static enum weir_status walk(struct preview *preview, struct weir_error *err)
{
    return preview->bucket != NULL ? storage_preview_objects_walk(preview, err)
                                   : walk_folder(preview, err);
}

static enum weir_status read_manifest(struct preview *preview, struct weir_error *err)
{
    const char *name = preview->declared.source.manifest;
    struct manifest_rows rows = {preview->batch, name};
    const struct format_sink sink = storage_said_sink(&rows);
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", preview->dataset->root, name);
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(path, MANIFEST_BYTES_MAX, &text, err);

    if (status == WEIR_NOT_FOUND && access(preview->dataset->root, F_OK) == 0)
        return weir_fail(err, WEIR_INVALID, "%s/%s: is not there, expected the manifest",
                         preview->declared.source.path, name);
    if (status != WEIR_OK)
        return status;
    status = storage_manifest_read(name, weir_buf_view(&text), &preview->declared.fields, &sink,
                                   &preview->manifest, err);
    return status == WEIR_OK
               ? status
               : weir_error_wrap(err, WEIR_INVALID, "%s", preview->declared.source.path);
}

void storage_preview_read(struct preview *preview, const struct declaration *declaration)
{
    struct weir_error err;
    enum weir_status status = WEIR_OK;

    preview->declared = *declaration;
    preview->declared.is_copied = preview->declared.is_remote = false;
    preview->is_whole = true;
    preview->dataset = make_dataset(preview);
    preview->batch = storage_batch_new(preview->dataset);
    if (preview->declared.is_mirrored)
        status = storage_preview_objects_open(preview, &err);
    if (status == WEIR_OK && preview->bucket != NULL && preview->declared.wants_manifest)
        status = storage_preview_objects_manifest(preview, &err);
    if (status == WEIR_OK && preview->declared.wants_manifest)
        status = read_manifest(preview, &err);
    if (status == WEIR_OK)
        status = walk(preview, &err);
    preview->is_whole = preview->is_whole && status == WEIR_OK;
    cfg_note_text(preview->complaints,
                  storage_preview_bears(preview) ? WEIR_OK : preview->of_files.status,
                  weir_buf_text(&preview->of_files.lines));
    bool is_absent = !preview->declared.is_mirrored && status == WEIR_NOT_FOUND &&
                     access(preview->dataset->root, F_OK) != 0 && errno == ENOENT;
    bool is_out_of_reach = preview->declared.is_mirrored && status != WEIR_INVALID;
    if (status == WEIR_OK || is_absent) /* storage_folder_check() has said so */
        return;
    preview->passed_over += is_out_of_reach;
    cfg_note_at(preview->complaints, is_out_of_reach ? WEIR_OK : WEIR_INVALID,
                storage_preview_place(preview, "source"), "%s.source: %s%s", preview->path,
                is_out_of_reach ? "the bucket was not looked at: " : "", err.text);
}

bool storage_preview_bears(const struct preview *preview)
{
    return preview->is_lenient && (preview->batch->row_count > 0 || preview->passed_over > 0);
}

void storage_preview_read_bare(struct preview *preview)
{
    struct declaration *d = &preview->declared;
    struct weir_error err;

    d->fields = (struct format_fields){0};
    d->time_from = TIME_FROM_MTIME;
    d->label_kind = WEIR_LABEL_NONE;
    d->wants_manifest = d->wants_sidecar = d->awaits_label = false;
    d->updates = NULL;
    preview->files = 0;
    preview->part = preview->all = 0;
    preview->is_whole = preview->is_bare = true;
    storage_batch_free(preview->batch);
    preview->batch = storage_batch_new(preview->dataset);
    weir_ignore(walk(preview, &err)); /* it has been said */
}

void storage_preview_fini(struct preview *preview)
{
    weir_buf_fini(&preview->told);
    cfg_complaints_fini(&preview->of_files);
    storage_batch_free(preview->batch);
    storage_manifest_free(preview->manifest);
    storage_dataset_free(preview->dataset);
    storage_preview_objects_close(preview);
}
