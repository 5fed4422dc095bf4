/* The search: see search.h. */
#include "storage/erasure/search.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "storage/catalog/known.h"
#include "storage/erasure/search_cache.h"
#include "storage/erasure/search_rows.h"
#include "storage/files/owned.h"
#include "storage/formats/text.h"
#include "storage/sql/queries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 1 << 18,
    ENTRIES_PER_STEP = 1000,
    NAMED_MAX = 8,
    REFERENCES_PER_QUERY = 1024,
};

/* Paths relative to the data directory; those of the cluster are absolute. */
struct paths {
    char **at;
    size_t count, capacity;
};

struct search {
    struct eraser *eraser;
    struct matcher *matcher;
    struct paths folders;   /* still to be gone through */
    DIR *directory;         /* being gone through; NULL: none */
    char *below;            /* … its path; "" is the data directory */
    char *path;             /* of the file being read; NULL: none */
    int fd;                 /* … or -1 */
    struct searched *place; /* … its place */
    uint8_t *piece;
    struct search_result result;
    struct search_finds finds;
    struct search_prints shared;
    struct weir_buf unread; /* for a person */

    /* Text that is kept: looked at when something was found. */
    size_t class_dataset, class_at; /* the next name of a class */
    int64_t reference;              /* after the one of this erasure */
    bool is_kept_known;

    /* The file being read. */
    struct dataset *dataset;
    struct stored_file file; /* without its path; */
    uint64_t number;         /* and its number in the dataset */
    bool is_known;           /* false: it is nobody's */
    struct search_cache cache;
    struct search_rows rows;
    enum weir_status status; /* of looking up positions */
    struct weir_error *err;
};

/* ---- which files ---- */

static bool is_skipped(const char *below, const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           (*below == '\0' && strcmp(name, "secret") == 0);
}

/* Allocated; `path` is below the data directory unless it is absolute. */
static char *place_of(const struct search *search, const char *path)
{
    return *path == '/' ? weir_strdup(path)
                        : weir_format("%s/%s", search->eraser->store->data_dir, path);
}

static bool is_cluster(const struct search *search, const char *path)
{
    return search->eraser->cluster != NULL && strcmp(path, search->eraser->cluster) == 0;
}

/* A folder below the data directory that is the cluster: it is searched as that. */
static bool is_cluster_itself(const struct search *search, const struct stat *folder)
{
    struct stat cluster;

    return search->eraser->cluster != NULL && *search->below != '/' &&
           stat(search->eraser->cluster, &cluster) == 0 && cluster.st_dev == folder->st_dev &&
           cluster.st_ino == folder->st_ino;
}

static void add_folder(struct search *search, char *path)
{
    struct paths *folders = &search->folders;

    folders->at = weir_grow(folders->at, folders->count, &folders->capacity, sizeof(*folders->at));
    folders->at[folders->count++] = path;
}

static void note_unread_because(struct search *search, const char *path, const char *why)
{
    WEIR_AUTO_FREE char *name = storage_printable(*path ? path : ".");

    if (search->result.unread++ < NAMED_MAX)
        weir_buf_printf(&search->unread, "%s%s: %s", search->unread.size > 0 ? "; " : "", name,
                        why);
}

/* errno says why; what vanished meanwhile holds nothing, but a server has its cluster. */
static void note_unread(struct search *search, const char *path)
{
    if ((errno == ENOENT || errno == ENOTDIR) && !is_cluster(search, path))
        return;
    note_unread_because(search, path, strerror(errno));
}

/* Whatever it leads to may have been Weir's own: somebody moved it to another disk. */
static void note_link(struct search *search, const char *path)
{
    WEIR_AUTO_FREE char *place = place_of(search, path);
    struct stat target;

    if (stat(place, &target) == 0 || (errno != ENOENT && errno != ENOTDIR))
        note_unread_because(search, path, "it is a link, and links are not followed");
}

static void leave(struct search *search)
{
    if (search->directory != NULL)
        closedir(search->directory);
    search->directory = NULL;
    free(search->below);
    search->below = NULL;
}

static void enter_next(struct search *search)
{
    WEIR_AUTO_FREE char *place = NULL;

    search->below = search->folders.at[--search->folders.count];
    place = place_of(search, search->below);
    search->directory = opendir(place);
    if (search->directory != NULL)
        return;
    note_unread(search, search->below);
    leave(search);
}

/* The write-ahead log and tablespaces may have been moved to other disks: links lead to them. */
static int flags_of(const struct search *search)
{
    size_t length = strlen(search->below);
    static const char SPACES[] = "/pg_tblspc";
    bool has_links = is_cluster(search, search->below) ||
                     (*search->below == '/' && length >= sizeof(SPACES) &&
                      strcmp(search->below + length - sizeof(SPACES) + 1, SPACES) == 0);

    return has_links ? 0 : AT_SYMLINK_NOFOLLOW;
}

/* The next entry of the folder, which may be a file to be searched: then it is search->path. */
static void look_further(struct search *search)
{
    const struct dirent *entry;
    WEIR_AUTO_FREE char *path = NULL;
    struct stat found;

    errno = 0;
    entry = readdir(search->directory);
    if (entry == NULL) {
        if (errno != 0)
            note_unread(search, search->below);
        leave(search);
        return;
    }
    if (is_skipped(search->below, entry->d_name))
        return;
    path = weir_format("%s%s%s", search->below, *search->below ? "/" : "", entry->d_name);
    if (fstatat(dirfd(search->directory), entry->d_name, &found, flags_of(search)) < 0)
        note_unread(search, path);
    else if (S_ISDIR(found.st_mode) && is_cluster_itself(search, &found))
        return;
    else if (S_ISDIR(found.st_mode))
        add_folder(search, WEIR_TAKE(path));
    else if (S_ISREG(found.st_mode))
        search->path = WEIR_TAKE(path);
    else if (S_ISLNK(found.st_mode))
        note_link(search, path);
}

struct search *storage_search_new(struct eraser *eraser, size_t prints)
{
    struct search *search = weir_calloc(1, sizeof(*search));

    search->eraser = eraser;
    search->matcher = storage_matcher_new(prints, &eraser->store->secret);
    search->fd = -1;
    search->piece = weir_calloc(PIECE_BYTES, 1);
    add_folder(search, weir_strdup(""));
    if (eraser->cluster != NULL)
        add_folder(search, weir_strdup(eraser->cluster));
    return search;
}

bool storage_search_warm(struct search *search)
{
    return storage_matcher_warm(search->matcher);
}

bool storage_search_add(struct search *search, const struct fingerprints *prints)
{
    return storage_matcher_add(search->matcher, prints);
}

static void close_file(struct search *search)
{
    if (search->fd >= 0)
        close(search->fd);
    storage_search_cache_close(&search->cache);
    storage_search_rows_clear(&search->rows);
    search->fd = -1;
    free(search->path);
    search->path = NULL;
}

void storage_search_free(struct search *search)
{
    if (search == NULL)
        return;
    close_file(search);
    leave(search);
    for (size_t i = 0; i < search->folders.count; i++)
        free(search->folders.at[i]);
    free(search->folders.at);
    weir_buf_fini(&search->unread);
    storage_finds_fini(&search->finds);
    storage_search_rows_fini(&search->rows);
    free(search->shared.at.at);
    free(search->piece);
    storage_matcher_free(search->matcher);
    free(search);
}

/* ---- whose a place is ---- */

static enum weir_status identify(struct search *search, const char *path, struct weir_error *err)
{
    static const char PREFIX[] = "storage/";
    const char *name = path + sizeof(PREFIX) - 1;
    const char *slash;
    struct stored_file *file = NULL;
    enum weir_status status = WEIR_OK;

    search->dataset = NULL;
    search->is_known = false;
    if (strncmp(path, PREFIX, sizeof(PREFIX) - 1) != 0 || (slash = strchr(name, '/')) == NULL)
        return WEIR_OK;
    for (size_t i = 0; i < search->eraser->store->catalog->count; i++) {
        struct dataset *dataset = search->eraser->store->catalog->datasets[i];

        if (strlen(dataset->name) == (size_t)(slash - name) &&
            strncmp(dataset->name, name, (size_t)(slash - name)) == 0)
            search->dataset = dataset;
    }
    if (search->dataset != NULL && storage_owns(search->dataset))
        status = storage_known_find(search->dataset, slash + 1, &file, err);
    if (status != WEIR_OK || file == NULL)
        return status;
    search->file = *file;
    search->file.path = NULL;
    search->number = storage_file_number(file);
    search->is_known = true;
    return WEIR_OK;
}

static bool is_live_place(struct search *search, uint64_t offset, size_t length)
{
    struct eraser *eraser = search->eraser;
    const struct dataset *dataset = search->dataset;
    struct search_rows_place place;
    bool is_live;

    if (search->cache.segment.table != NULL) {
        bool is_others;

        search->status = storage_search_cache_is_others(&search->cache, eraser->store, offset,
                                                        length, &is_others, search->err);
        return is_others;
    }
    if (!search->is_known)
        return false;
    if (dataset->declaration->format->is_one_sample)
        return search->file.samples > 0;
    place = (struct search_rows_place){.dataset = dataset,
                                       .span = storage_dataset_chunks_of(dataset, &search->file),
                                       .file = (int64_t)search->number,
                                       .offset = offset,
                                       .length = length};
    search->status =
        storage_search_rows_are_live(&search->rows, eraser->store, &place, &is_live, search->err);
    return is_live;
}

static void on_match(void *owner, uint64_t offset, size_t length, uint64_t print)
{
    struct search *search = owner;
    bool is_live;

    if (search->status != WEIR_OK)
        return;
    is_live = is_live_place(search, offset, length);
    search->result.shared += is_live;
    if (is_live)
        storage_search_note(&search->shared, print);
    else
        storage_finds_add(&search->finds, search->path, print);
}

/* ---- pieces ---- */

/* Without a descriptor: it is gone, or noted as unread. */
static void open_file(struct search *search)
{
    WEIR_AUTO_FREE char *path = place_of(search, search->path);

    search->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (search->fd < 0) {
        note_unread(search, search->path);
        return;
    }
    storage_matcher_reset(search->matcher);
    search->place =
        storage_search_place(&search->result.places, search->eraser->places, search->path);
    search->place->files++;
    storage_search_cache_open(&search->cache, search->eraser->store->data_dir, search->path);
    search->status = identify(search, search->path, search->err);
}

/* Passes over what was never written: segments have their full size from the start. Not beyond the end that the file
 * had before: it may grow meanwhile. Returns where it is. */
static off_t pass_hole(struct search *search)
{
    off_t at = lseek(search->fd, 0, SEEK_CUR), data;
    struct stat before;

    if (fstat(search->fd, &before) < 0)
        return at;
    data = lseek(search->fd, at, SEEK_DATA);
    if (data < 0)
        data = lseek(search->fd, errno == ENXIO && before.st_size > at ? before.st_size : at,
                     SEEK_SET);
    if (data > at)
        storage_matcher_feed_zeros(search->matcher, (uint64_t)(data - at), on_match, search);
    return data;
}

static ssize_t read_some(struct search *search, bool is_in_the_middle)
{
    ssize_t got;

    do {
        got = read(search->fd, search->piece, PIECE_BYTES);
    } while (got < 0 && errno == EINTR);
    if (got <= 0 || !is_in_the_middle || !weir_fault("storage.search.read"))
        return got;
    errno = EIO;
    return -1;
}

/* A piece of the open file; false at its end. */
static bool read_piece(struct search *search)
{
    ssize_t got = read_some(search, pass_hole(search) > 0);

    if (got < 0)
        note_unread(search, search->path);
    if (got <= 0)
        return false;
    storage_matcher_feed(search->matcher, weir_bytes(search->piece, (size_t)got), on_match, search);
    search->result.bytes += (uint64_t)got;
    search->place->bytes += (uint64_t)got;
    return true;
}

/* ---- text that is kept ---- */

static void on_kept(void *owner, uint64_t offset, size_t length, uint64_t print)
{
    struct search *search = owner;

    (void)offset;
    (void)length;
    storage_search_note(&search->shared, print);
}

static void look_at_text(struct search *search, const char *text)
{
    storage_matcher_reset(search->matcher);
    storage_matcher_feed(search->matcher, weir_bytes_of(text), on_kept, search);
}

/* The next name of a class; false when there is none. */
static bool look_at_class(struct search *search)
{
    const struct catalog *catalog = search->eraser->store->catalog;

    while (search->class_dataset < catalog->count &&
           search->class_at >= catalog->datasets[search->class_dataset]->class_count) {
        search->class_dataset++;
        search->class_at = 0;
    }
    if (search->class_dataset == catalog->count)
        return false;
    look_at_text(search, catalog->datasets[search->class_dataset]->classes[search->class_at++]);
    return true;
}

/* The next page of them. */
static void look_at_references(struct search *search)
{
    WEIR_AUTO(weir_rows) rows = NULL;

    search->status = DB_RUN(search->eraser->store->db, Q_erasure_references, &rows, search->err,
                            DB_I64(search->reference), DB_I64(REFERENCES_PER_QUERY));
    for (size_t i = 0; search->status == WEIR_OK && i < weir_rows_count(rows); i++) {
        look_at_text(search, weir_rows_text(rows, i, "reference"));
        search->reference = weir_rows_i64(rows, i, "number");
    }
    search->is_kept_known =
        search->status == WEIR_OK && weir_rows_count(rows) < REFERENCES_PER_QUERY;
}

/* False when all is judged. */
static bool judge_finds(struct search *search)
{
    uint64_t found = storage_finds_count(&search->finds);

    if (found > 0 && !search->is_kept_known) {
        if (!look_at_class(search))
            look_at_references(search);
        return true;
    }
    storage_id_list_sort(&search->shared.at);
    storage_finds_excuse(&search->finds, &search->shared.at);
    search->result.found = storage_finds_count(&search->finds);
    search->result.shared += found - search->result.found;
    return false;
}

/* One entry, or one piece of a file; false when all is searched. */
static bool go_on(struct search *search)
{
    if (search->path != NULL) {
        if (search->status == WEIR_OK && !read_piece(search))
            close_file(search);
        return true;
    }
    if (search->directory == NULL && search->folders.count == 0)
        return judge_finds(search);
    if (search->directory == NULL) {
        enter_next(search);
        return true;
    }
    look_further(search);
    if (search->path != NULL)
        open_file(search);
    if (search->fd < 0)
        close_file(search);
    return true;
}

enum weir_status storage_search_step(struct search *search, bool *ret_done, struct weir_error *err)
{
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;

    search->err = err;
    search->status = WEIR_OK;
    *ret_done = false;
    for (size_t i = 0; i < ENTRIES_PER_STEP && search->status == WEIR_OK && !*ret_done &&
                       weir_now_ms() < until_ms;
         i++)
        *ret_done = !go_on(search);
    return search->status;
}

struct search_result storage_search_result(const struct search *search)
{
    return search->result;
}

void storage_search_tell(const struct search *search, struct search_prints *found,
                         struct search_prints *shared)
{
    for (size_t i = 0; i < search->finds.count; i++)
        storage_id_list_add(&found->at, search->finds.at[i].print);
    for (size_t i = 0; i < search->shared.at.count; i++)
        storage_id_list_add(&shared->at, search->shared.at.at[i]);
    found->is_cut = found->is_cut || search->finds.beyond > 0;
    shared->is_cut = shared->is_cut || search->shared.is_cut;
}

char *storage_search_trouble(struct search *search)
{
    const struct search_result *result = &search->result;
    WEIR_AUTO_BUF text = {0};

    if (result->found == 0 && result->unread == 0)
        return NULL;
    if (result->found > 0) {
        weir_buf_append_text(&text, "erased content still stands ");
        storage_finds_print(&search->finds, &text);
    }
    if (result->unread > 0)
        weir_buf_printf(&text, "%s%llu files or folders could not be searched: %s%s",
                        result->found > 0 ? "; " : "", (unsigned long long)result->unread,
                        weir_buf_text(&search->unread), result->unread > NAMED_MAX ? "; …" : "");
    return weir_strdup(weir_buf_text(&text));
}
