/* Files by kind, classes by folder, days by name: see folder.h. */
#include "cli/guessing/folder.h"

#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/config/written_time.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { FILES_MAX = 1000000 };

static const struct {
    const char *suffix;
    enum cli_guess_kind kind;
    const char *remedy; /* of kinds that are not looked into */
} SUFFIXES[] = {
    {".jpg", CLI_GUESS_JPEG, NULL},
    {".jpeg", CLI_GUESS_JPEG, NULL},
    {".png", CLI_GUESS_PNG, NULL},
    {".csv", CLI_GUESS_TABLES, NULL},
    {".tsv", CLI_GUESS_TABLES, NULL},
    {".tab", CLI_GUESS_TABLES, NULL},
    {".psv", CLI_GUESS_TABLES, NULL},
    {".data", CLI_GUESS_TABLES, NULL},
    {".jsonl", CLI_GUESS_LINES, NULL},
    {".ndjson", CLI_GUESS_LINES, NULL},
    {".json", CLI_GUESS_LINES, NULL},
    {".txt", CLI_GUESS_TEXTS, NULL},
    {".eml", CLI_GUESS_TEXTS, NULL},
    {".md", CLI_GUESS_TEXTS, NULL},
    {".html", CLI_GUESS_TEXTS, NULL},
    {".tar", CLI_GUESS_READABLE, "format: tar reads it"},
    {".tfrecord", CLI_GUESS_READABLE, "format: tfrecord reads it"},
    {".mds", CLI_GUESS_READABLE, "format: mds reads it"},
    {".bin", CLI_GUESS_READABLE, "format: binary reads records of a fixed size"},
    {".parquet", CLI_GUESS_FOREIGN,
     "tools/parquet_to_jsonl makes JSON lines of it (docs/guides/convert-parquet.md); then weir init "
     "--from those"},
    {".gz", CLI_GUESS_FOREIGN, "gunzip it, or compress it as .zst"},
    {".bz2", CLI_GUESS_FOREIGN, "bunzip2 it, or compress it as .zst"},
    {".xz", CLI_GUESS_FOREIGN, "unxz it, or compress it as .zst"},
    {".zip", CLI_GUESS_FOREIGN, "unzip it"},
    {".xlsx", CLI_GUESS_FOREIGN, "save it as CSV"},
    {".xls", CLI_GUESS_FOREIGN, "save it as CSV"},
};

static bool ends_in(const char *text, size_t size, const char *end)
{
    size_t tail = strlen(end);

    return size > tail && strncasecmp(text + size - tail, end, tail) == 0;
}

static struct cli_guess_file describe(char *path, uint64_t bytes)
{
    size_t size = strlen(path), end = size;
    struct cli_guess_file file = {.path = path, .bytes = bytes, .kind = CLI_GUESS_OTHER};

    if (ends_in(path, size, ".zst") || ends_in(path, size, ".zstd")) {
        file.is_compressed = true;
        end = (size_t)(strrchr(path, '.') - path);
    }
    file.suffix = path + end;
    for (size_t i = 0; i < WEIR_COUNT(SUFFIXES); i++) {
        if (ends_in(path, end, SUFFIXES[i].suffix)) {
            file.kind = SUFFIXES[i].kind;
            file.suffix = path + end - strlen(SUFFIXES[i].suffix);
        }
    }
    return file;
}

static void add_file(struct cli_guess_folder *folder, const char *path, uint64_t bytes)
{
    folder->files =
        weir_grow(folder->files, folder->count, &folder->capacity, sizeof(*folder->files));
    folder->files[folder->count++] = describe(weir_strdup(path), bytes);
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const struct cli_guess_file *)left)->path,
                  ((const struct cli_guess_file *)right)->path);
}

static enum weir_status walk(struct cli_guess_folder *folder, struct weir_error *err)
{
    char *roots[] = {folder->path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t skip = strlen(folder->path) + (ends_in(folder->path, strlen(folder->path), "/") ? 0 : 1);
    enum weir_status status = WEIR_OK;

    if (tree == NULL)
        return weir_fail(err, WEIR_IO, "%s: %s", folder->path, strerror(errno));
    for (FTSENT *entry = fts_read(tree); entry != NULL && status == WEIR_OK;
         entry = fts_read(tree)) {
        if (entry->fts_level > 0 && entry->fts_name[0] == '.')
            (void)fts_set(tree, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_F && folder->count == FILES_MAX)
            status = weir_fail(err, WEIR_LIMIT, "%s: more than %d files", folder->path, FILES_MAX);
        else if (entry->fts_info == FTS_F)
            add_file(folder, entry->fts_path + skip, (uint64_t)entry->fts_statp->st_size);
    }
    (void)fts_close(tree);
    if (folder->count > 0)
        qsort(folder->files, folder->count, sizeof(*folder->files), by_path);
    return status;
}

/* ---- what counts ---- */

static bool is_manifest(const struct cli_guess_file *file)
{
    return strcmp(file->path, "manifest.csv") == 0;
}

bool cli_guess_folder_counts(const struct cli_guess_folder *folder,
                             const struct cli_guess_file *file)
{
    return file->kind == folder->kind && !is_manifest(file);
}

/* Returns the kind with most bytes. */
static enum cli_guess_kind main_kind(const struct cli_guess_folder *folder)
{
    uint64_t bytes[CLI_GUESS_KINDS] = {0};
    size_t best = CLI_GUESS_OTHER;

    for (size_t i = 0; i < folder->count; i++)
        if (!is_manifest(&folder->files[i]))
            bytes[folder->files[i].kind] += folder->files[i].bytes;
    for (size_t kind = 0; kind < CLI_GUESS_OTHER; kind++)
        if (bytes[kind] > bytes[best] || (best == CLI_GUESS_OTHER && bytes[kind] > 0))
            best = kind;
    return (enum cli_guess_kind)best;
}

/* The folder of a path at a depth, from 1; NULL: it lies higher. */
static const char *folder_at(const char *path, unsigned depth, size_t *ret_size)
{
    const char *slash = strchr(path, '/');

    for (; slash != NULL && depth > 1; depth--) {
        path = slash + 1;
        slash = strchr(path, '/');
    }
    *ret_size = slash != NULL ? (size_t)(slash - path) : 0;
    return slash != NULL ? path : NULL;
}

static json_t *classes_at(const struct cli_guess_folder *folder, unsigned depth)
{
    json_t *classes = json_object();
    size_t size;

    for (size_t i = 0; i < folder->count; i++) {
        const char *name = folder_at(folder->files[i].path, depth, &size);

        if (name == NULL || !cli_guess_folder_counts(folder, &folder->files[i]))
            continue;
        WEIR_AUTO_FREE char *class = weir_strndup(name, size);
        json_int_t before = json_integer_value(json_object_get(classes, class));

        json_object_set_new(classes, class, json_integer(before + 1));
    }
    return classes;
}

/* True of parts of one set, which are no classes. */
static bool are_parts(const json_t *classes)
{
    static const char *const PARTS[] = {"train", "training", "test",       "testing",
                                        "val",   "valid",    "validation", "dev"};
    size_t parts = 0;

    for (size_t i = 0; i < WEIR_COUNT(PARTS); i++)
        parts += json_object_get(classes, PARTS[i]) != NULL ? 1 : 0;
    return parts == json_object_size(classes);
}

static void find_classes(struct cli_guess_folder *folder)
{
    enum { DEPTH_MAX = 4 };

    for (folder->depth = 1; folder->depth <= DEPTH_MAX; folder->depth++) {
        json_decref(folder->classes);
        folder->classes = classes_at(folder, folder->depth);
        if (json_object_size(folder->classes) >= 2 && !are_parts(folder->classes))
            return;
    }
}

/* Appends the suffix as a pattern that takes capitals, too, where files differ in that. */
static char *pattern_of(const struct cli_guess_folder *folder)
{
    const struct cli_guess_file *first = NULL;
    bool differ = false;

    for (size_t i = 0; i < folder->count; i++) {
        const struct cli_guess_file *file = &folder->files[i];

        if (!cli_guess_folder_counts(folder, file))
            continue;
        first = first != NULL ? first : file;
        differ = differ || strcmp(file->suffix, first->suffix) != 0;
    }
    if (folder->is_single)
        return weir_strdup(weir_path_name(first->path));
    if (!differ)
        return weir_format("*%s", first->suffix);
    return weir_strdup(folder->kind == CLI_GUESS_JPEG  ? "*.[jJ]*[gG]"
                       : folder->kind == CLI_GUESS_PNG ? "*.[pP][nN][gG]"
                                                       : "*");
}

static void leave_out(struct cli_guess_folder *folder, const struct cli_guess_file *file)
{
    if (folder->others++ == 0)
        folder->other = file->path;
}

static void settle(struct cli_guess_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++) {
        const struct cli_guess_file *file = &folder->files[i];

        folder->has_manifest = folder->has_manifest || is_manifest(file);
        if (!cli_guess_folder_counts(folder, file)) {
            if (!is_manifest(file))
                leave_out(folder, file);
            continue;
        }
        folder->counted++;
        folder->bytes += file->bytes;
        folder->is_compressed = folder->is_compressed || file->is_compressed;
    }
    find_classes(folder);
    folder->include = pattern_of(folder);
}

/* ---- odd ones ---- */

/* Shortens `prefix` to what the name begins with, too. */
static void meet(char **prefix, const char *name)
{
    size_t same = 0;

    if (*prefix == NULL)
        *prefix = weir_strdup(name);
    while ((*prefix)[same] != '\0' && (*prefix)[same] == name[same])
        same++;
    (*prefix)[same] = '\0';
}

/* Returns the beginning that the names of all files that count and are not odd have in common, and no odd one has; or
 * NULL. */
static char *prefix_of(const struct cli_guess_folder *folder)
{
    WEIR_AUTO_FREE char *prefix = NULL;

    for (size_t i = 0; i < folder->count; i++)
        if (cli_guess_folder_counts(folder, &folder->files[i]) && !folder->files[i].is_odd)
            meet(&prefix, weir_path_name(folder->files[i].path));
    if (prefix == NULL || *prefix == '\0' || strpbrk(prefix, "*?[\\") != NULL)
        return NULL;
    for (size_t i = 0; i < folder->count; i++)
        if (folder->files[i].is_odd &&
            strncmp(weir_path_name(folder->files[i].path), prefix, strlen(prefix)) == 0)
            return NULL;
    return WEIR_TAKE(prefix);
}

bool cli_guess_folder_leave_odd(struct cli_guess_folder *folder)
{
    char *prefix = prefix_of(folder);

    if (prefix == NULL)
        return false;
    for (size_t i = 0; i < folder->count; i++) {
        struct cli_guess_file *file = &folder->files[i];

        if (!file->is_odd)
            continue;
        file->kind = CLI_GUESS_OTHER;
        folder->counted--;
        leave_out(folder, file);
        folder->bytes -= file->bytes;
    }
    free(folder->include);
    folder->include = folder->counted == 1 ? prefix : weir_format("%s*", prefix);
    if (folder->counted > 1)
        free(prefix);
    return true;
}

static bool has_no_bytes(const struct cli_guess_folder *folder)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < folder->count; i++)
        bytes += folder->files[i].bytes;
    return folder->count > 0 && bytes == 0;
}

static enum weir_status fail_kind(const struct cli_guess_folder *folder, struct weir_error *err)
{
    for (size_t i = 0; i < folder->count; i++) {
        const struct cli_guess_file *file = &folder->files[i];

        for (size_t j = 0; file->kind == folder->kind && j < WEIR_COUNT(SUFFIXES); j++)
            if (SUFFIXES[j].remedy != NULL &&
                ends_in(file->path, strlen(file->path), SUFFIXES[j].suffix))
                return weir_fail(err, WEIR_INVALID,
                                 "%s/%s: weir init does not look into %s files: %s", folder->path,
                                 file->path, SUFFIXES[j].suffix, SUFFIXES[j].remedy);
    }
    if (has_no_bytes(folder))
        return weir_fail(err, WEIR_INVALID, "%s: found %s, without a byte in it, expected records",
                         folder->path, folder->count == 1 ? "one file" : "empty files");
    return weir_fail(err, WEIR_INVALID,
                     "%s: found %zu file%s, expected CSV, JSON lines, pictures (JPEG, PNG) or "
                     "texts by their names",
                     folder->path, folder->count, folder->count == 1 ? "" : "s");
}

/* A text file alone, or texts without folders of classes and without tables beside them, may be a table; so may files
 * of which no name says anything. */
static void reconsider_texts(struct cli_guess_folder *folder)
{
    bool are_texts = false, are_unknown = true;

    for (size_t i = 0; i < folder->count; i++) {
        are_texts = are_texts || strchr(folder->files[i].path, '/') != NULL ||
                    is_manifest(&folder->files[i]) || folder->files[i].kind == CLI_GUESS_TABLES ||
                    folder->files[i].kind == CLI_GUESS_LINES;
        are_unknown = are_unknown && folder->files[i].kind == CLI_GUESS_OTHER;
    }
    for (size_t i = 0; i < folder->count && !are_texts; i++)
        if (folder->files[i].kind == CLI_GUESS_TEXTS || are_unknown)
            folder->files[i].kind = CLI_GUESS_TABLES;
}

static enum weir_status list(const char *path, struct cli_guess_folder *folder,
                             struct weir_error *err)
{
    struct stat about;
    enum weir_status status = WEIR_OK;

    if (stat(path, &about) != 0)
        return weir_fail(err, WEIR_NOT_FOUND, "%s: %s", path, strerror(errno));
    folder->is_single = S_ISREG(about.st_mode);
    if (folder->is_single) {
        size_t above = (size_t)(weir_path_name(path) - path);

        folder->path = above > 0 ? weir_strndup(path, above > 1 ? above - 1 : 1) : weir_strdup(".");
        add_file(folder, weir_path_name(path), (uint64_t)about.st_size);
    } else {
        folder->path = weir_strdup(path);
        status = walk(folder, err);
    }
    if (status != WEIR_OK)
        return status;
    reconsider_texts(folder);
    folder->kind = main_kind(folder);
    if (folder->kind >= CLI_GUESS_READABLE)
        return fail_kind(folder, err);
    settle(folder);
    return WEIR_OK;
}

enum weir_status cli_guess_folder_list(const char *path, struct cli_guess_folder *ret_folder,
                                       struct weir_error *err)
{
    struct cli_guess_folder folder = {.classes = json_object()};
    enum weir_status status = list(path, &folder, err);

    if (status == WEIR_OK)
        *ret_folder = folder;
    else
        cli_guess_folder_fini(&folder);
    return status;
}

void cli_guess_folder_fini(struct cli_guess_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free(folder->files[i].path);
    free(folder->files);
    free(folder->path);
    free(folder->include);
    json_decref(folder->classes);
    *folder = (struct cli_guess_folder){0};
}

/* ---- days in names ---- */

/* Returns the place of a day in a name, or NULL. */
static const char *find_day(const char *name, const char *pattern, size_t size, int64_t *ret_us)
{
    for (const char *at = name; strlen(at) >= size; at++)
        if (weir_written_time_as(pattern, weir_bytes(at, size), ret_us) &&
            (at == name || at[-1] < '0' || at[-1] > '9') && (at[size] < '0' || at[size] > '9'))
            return at;
    return NULL;
}

/* Prefix and pattern, when all names of the files that count have the prefix before a day. */
static char *days_by(const struct cli_guess_folder *folder, const char *pattern, size_t size,
                     struct cli_guess_span *ret_span)
{
    const char *prefix = NULL;
    size_t length = 0;

    for (size_t i = 0; i < folder->count; i++) {
        const char *name = weir_path_name(folder->files[i].path), *day;
        int64_t time_us;

        if (!cli_guess_folder_counts(folder, &folder->files[i]))
            continue;
        day = find_day(name, pattern, size, &time_us);
        if (day == NULL || (prefix != NULL &&
                            ((size_t)(day - name) != length || strncmp(name, prefix, length) != 0)))
            return NULL;
        length = (size_t)(day - name);
        if (prefix == NULL)
            *ret_span = (struct cli_guess_span){time_us, time_us};
        prefix = name;
        ret_span->first_us = time_us < ret_span->first_us ? time_us : ret_span->first_us;
        ret_span->last_us = time_us > ret_span->last_us ? time_us : ret_span->last_us;
    }
    return prefix == NULL || memchr(prefix, '%', length) != NULL
               ? NULL
               : weir_format("%.*s%s", (int)length, prefix, pattern);
}

char *cli_guess_folder_days(const struct cli_guess_folder *folder, struct cli_guess_span *ret_span)
{
    static const struct {
        const char *pattern;
        size_t size;
    } DAYS[] = {{"%Y-%m-%d", 10}, {"%Y_%m_%d", 10}, {"%Y%m%d", 8}};
    char *pattern = NULL;

    for (size_t i = 0; i < WEIR_COUNT(DAYS) && pattern == NULL; i++)
        pattern = days_by(folder, DAYS[i].pattern, DAYS[i].size, ret_span);
    return pattern;
}
