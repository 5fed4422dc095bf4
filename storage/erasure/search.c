/* The search: see search.h. */
#include "storage/erasure/search.h"

#include "core/base/memory.h"
#include "storage/catalog/known.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20, PIECES_PER_STEP = 4, FILES_PER_STEP = 200, NAMED_MAX = 8 };

/* Paths relative to the data directory. */
struct paths {
    char **at;
    size_t count, capacity;
};

struct search {
    struct storage *storage;
    struct matcher *matcher;
    struct paths files;
    size_t at; /* in `files` */
    int fd;    /* the file being read, or -1 */
    uint8_t *piece;
    struct search_result result;
    size_t found_in;               /* 1 + the newest of `files` with a find */
    size_t files_found;            /* with finds */
    struct weir_buf finds, unread; /* for a person */

    /* What is known of the file being read. */
    struct dataset *dataset;
    struct stored_file file; /* without its path; */
    uint64_t number;         /* and its number in the dataset */
    bool is_known;           /* false: it is nobody's */
    enum weir_status status; /* of looking up positions */
    struct weir_error *err;
};

/* ---- which files ---- */

static bool is_skipped(const char *below, const char *name)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    return *below == '\0' && (strcmp(name, "postgres") == 0 || strcmp(name, "run") == 0 ||
                              strcmp(name, "secret") == 0);
}

static void add_path(struct paths *paths, char *path)
{
    paths->at = weir_grow(paths->at, paths->count, &paths->capacity, sizeof *paths->at);
    paths->at[paths->count++] = path;
}

static void free_paths(struct paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->at[i]);
    free(paths->at);
}

/* errno says why; what vanished meanwhile holds nothing. */
static void note_unread(struct search *search, const char *path)
{
    if (errno == ENOENT || errno == ENOTDIR)
        return;
    if (search->result.unread++ < NAMED_MAX)
        weir_buf_printf(&search->unread, "%s%s: %s", search->unread.size > 0 ? "; " : "",
                        *path ? path : ".", strerror(errno));
}

static void list_entry(struct search *search, struct paths *folders, DIR *directory,
                       const char *below, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s%s%s", below, *below ? "/" : "", name);
    struct stat found;

    if (fstatat(dirfd(directory), name, &found, AT_SYMLINK_NOFOLLOW) < 0)
        note_unread(search, path);
    else if (S_ISDIR(found.st_mode))
        add_path(folders, WEIR_TAKE(path));
    else if (S_ISREG(found.st_mode))
        add_path(&search->files, WEIR_TAKE(path));
}

static void list_folder(struct search *search, struct paths *folders, const char *below)
{
    WEIR_AUTO_FREE char *place = weir_format("%s/%s", search->storage->data_dir, below);
    DIR *directory = opendir(place);
    const struct dirent *entry;

    if (!directory) {
        note_unread(search, below);
        return;
    }
    while (errno = 0, (entry = readdir(directory)) != NULL) {
        if (!is_skipped(below, entry->d_name))
            list_entry(search, folders, directory, below, entry->d_name);
    }
    if (errno != 0)
        note_unread(search, below);
    closedir(directory);
}

static void list_all(struct search *search)
{
    struct paths folders = {0};

    add_path(&folders, weir_strdup(""));
    for (size_t i = 0; i < folders.count; i++) {
        WEIR_AUTO_FREE char *below = WEIR_TAKE(folders.at[i]);

        list_folder(search, &folders, below);
    }
    free_paths(&folders);
}

struct search *storage_search_new(struct storage *storage, const struct fingerprints *prints)
{
    struct search *search = weir_calloc(1, sizeof *search);

    search->storage = storage;
    search->matcher = storage_matcher_new(prints, &storage->secret);
    search->fd = -1;
    search->piece = weir_calloc(PIECE_BYTES, 1);
    list_all(search);
    return search;
}

void storage_search_free(struct search *search)
{
    if (!search)
        return;
    if (search->fd >= 0)
        close(search->fd);
    free_paths(&search->files);
    free(search->piece);
    weir_buf_fini(&search->finds);
    weir_buf_fini(&search->unread);
    storage_matcher_free(search->matcher);
    free(search);
}

/* ---- whose a place is ---- */

static enum weir_status identify(struct search *search, const char *path, struct weir_error *err)
{
    static const char PREFIX[] = "storage/";
    const char *name = path + sizeof PREFIX - 1;
    const char *slash;
    struct stored_file *file = NULL;
    enum weir_status status = WEIR_OK;

    search->dataset = NULL;
    search->is_known = false;
    if (strncmp(path, PREFIX, sizeof PREFIX - 1) != 0 || (slash = strchr(name, '/')) == NULL)
        return WEIR_OK;
    for (size_t i = 0; i < search->storage->catalog->count; i++) {
        struct dataset *dataset = search->storage->catalog->datasets[i];

        if (strlen(dataset->name) == (size_t)(slash - name) &&
            strncmp(dataset->name, name, (size_t)(slash - name)) == 0)
            search->dataset = dataset;
    }
    if (search->dataset &&
        (search->dataset->declaration->is_copied || search->dataset->declaration->is_mirrored))
        status = storage_known_find(search->dataset, slash + 1, &file, err);
    if (status != WEIR_OK || !file)
        return status;
    search->file = *file;
    search->file.path = NULL;
    search->number = storage_file_number(file);
    search->is_known = true;
    return WEIR_OK;
}

static bool is_inside_live(const struct search *search, const struct chunk *chunk, uint64_t offset,
                           size_t length)
{
    int64_t number = (int64_t)search->number;

    for (uint32_t i = 0; i < chunk->count; i++) {
        uint64_t first = (uint64_t)weir_column_at(&chunk->offsets, i);
        uint64_t end = first + (uint64_t)weir_column_at(&chunk->lengths, i);

        if (weir_column_at(&chunk->files, i) == number && offset >= first && offset + length <= end)
            return !storage_dataset_is_dead(search->dataset, chunk->block, chunk->first_row + i);
    }
    return false;
}

static bool is_live_place(struct search *search, uint64_t offset, size_t length)
{
    struct storage *storage = search->storage;
    const struct dataset *dataset = search->dataset;
    struct chunk_span span;

    if (!search->is_known)
        return false;
    if (dataset->declaration->format->is_one_sample)
        return search->file.samples > 0;
    span = storage_dataset_chunks_of(dataset, &search->file);
    for (size_t i = span.first; i < span.end; i++) {
        const struct chunk_ref *ref = &dataset->chunks[i];
        const struct chunk *chunk;

        search->status =
            storage_chunk_cache_get(storage->cache, storage->db, dataset, ref, &chunk, search->err);
        if (search->status != WEIR_OK)
            return false;
        if (is_inside_live(search, chunk, offset, length))
            return true;
    }
    return false;
}

/* Once a file. */
static void note_find(struct search *search)
{
    search->result.found++;
    if (search->found_in == search->at + 1)
        return;
    search->found_in = search->at + 1;
    if (search->files_found++ < NAMED_MAX)
        weir_buf_printf(&search->finds, "%s%s", search->finds.size > 0 ? ", " : "",
                        search->files.at[search->at]);
}

static void on_match(void *owner, uint64_t offset, size_t length)
{
    struct search *search = owner;

    if (search->status != WEIR_OK)
        return;
    if (is_live_place(search, offset, length))
        search->result.shared++;
    else
        note_find(search);
}

/* ---- pieces ---- */

/* False: it is gone, or noted as unread; or search->status. */
static bool open_next(struct search *search)
{
    WEIR_AUTO_FREE char *path =
        weir_format("%s/%s", search->storage->data_dir, search->files.at[search->at]);

    search->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (search->fd < 0) {
        note_unread(search, search->files.at[search->at]);
        return false;
    }
    storage_matcher_reset(search->matcher);
    search->status = identify(search, search->files.at[search->at], search->err);
    if (search->status == WEIR_OK)
        return true;
    close(search->fd);
    search->fd = -1;
    return false;
}

/* Passes over what was never written: segments have their full size from the start. */
static void pass_hole(struct search *search)
{
    off_t at = lseek(search->fd, 0, SEEK_CUR);
    off_t data = lseek(search->fd, at, SEEK_DATA);

    if (data < 0)
        data = lseek(search->fd, errno == ENXIO ? 0 : at, errno == ENXIO ? SEEK_END : SEEK_SET);
    if (data > at)
        storage_matcher_feed_zeros(search->matcher, (uint64_t)(data - at), on_match, search);
}

/* A piece of the open file; false at its end. */
static bool read_piece(struct search *search)
{
    ssize_t got;

    pass_hole(search);
    do {
        got = read(search->fd, search->piece, PIECE_BYTES);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        note_unread(search, search->files.at[search->at]);
    if (got <= 0)
        return false;
    storage_matcher_feed(search->matcher, weir_bytes(search->piece, (size_t)got), on_match, search);
    search->result.bytes += (uint64_t)got;
    return true;
}

enum weir_status storage_search_step(struct search *search, bool *ret_done, struct weir_error *err)
{
    size_t pieces = 0, files = 0;

    search->err = err;
    search->status = WEIR_OK;
    while (search->status == WEIR_OK && search->at < search->files.count &&
           pieces < PIECES_PER_STEP && files < FILES_PER_STEP) {
        if (search->fd < 0 && !open_next(search)) {
            search->at += search->status == WEIR_OK;
            files++;
            continue;
        }
        if (read_piece(search)) {
            pieces += lseek(search->fd, 0, SEEK_CUR) >= PIECE_BYTES;
            continue;
        }
        close(search->fd);
        search->fd = -1;
        search->at++;
        files++;
    }
    *ret_done = search->at == search->files.count;
    return search->status;
}

struct search_result storage_search_result(const struct search *search)
{
    return search->result;
}

char *storage_search_trouble(struct search *search)
{
    const struct search_result *result = &search->result;
    WEIR_AUTO_BUF text = {0};

    if (result->found == 0 && result->unread == 0)
        return NULL;
    if (result->found > 0)
        weir_buf_printf(&text, "erased content still stands in %zu files: %s%s",
                        search->files_found, weir_buf_text(&search->finds),
                        search->files_found > NAMED_MAX ? ", …" : "");
    if (result->unread > 0)
        weir_buf_printf(&text, "%s%llu files or folders could not be searched: %s%s",
                        result->found > 0 ? "; " : "", (unsigned long long)result->unread,
                        weir_buf_text(&search->unread), result->unread > NAMED_MAX ? "; …" : "");
    return weir_strdup(weir_buf_text(&text));
}
