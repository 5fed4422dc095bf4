/* Rows in the segments of the cache: see kept_store.h. */
#include "preprocess/worker/kept_store.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEX = 16,
    REBUILD_DIVISOR = 2, /* one row in so many is dead */
    LARGE_BYTES = 16 << 10,
    TOGETHER = 32, /* rows are looked for */
};

static char *path_of(const struct kept_store *store, uint64_t number)
{
    return weir_format("%s/%016lx" WEIR_CACHE_SUFFIX, store->folder, number);
}

static const uint8_t *packed_entry(const struct kept_store *store, struct kept_place place)
{
    return store->segments[place.segment].mapping.at + WEIR_CACHE_TABLE_AT +
           (size_t)place.row * WEIR_CACHE_ENTRY_BYTES;
}

/* The entry of a row, as it is mapped: only within a watch. */
static struct weir_cache_segment_entry entry_at(const struct kept_store *store,
                                                struct kept_place place)
{
    return weir_cache_entry_at(packed_entry(store, place), 0);
}

/* ---- segments that go ---- */

static void let_go(struct kept_store *store, struct kept_segment *segment)
{
    if (!segment->is_live)
        return;
    preprocess_mapping_close(&segment->mapping);
    segment->is_live = false;
    store->live--;
    store->dead_rows += segment->count;
}

static void remove_damaged(struct kept_store *store, uint64_t number)
{
    WEIR_AUTO_FREE char *path = path_of(store, number);
    store->damaged++;
    weir_log(WEIR_LOG_WARN, "segment of the cache is damaged, its rows are made again",
             "segment=%016lx", number);
    (void)unlink(path);
}

static void give_up(struct kept_store *store, struct kept_segment *segment)
{
    let_go(store, segment);
    remove_damaged(store, segment->number);
}

void preprocess_kept_store_give_up_shorter(struct kept_store *store)
{
    for (size_t i = 0; i < store->count; i++) {
        struct kept_segment *segment = &store->segments[i];
        struct stat about;
        WEIR_AUTO_FREE char *path = path_of(store, segment->number);
        if (segment->is_live &&
            (stat(path, &about) != 0 || (uint64_t)about.st_size < segment->mapping.size))
            give_up(store, segment);
    }
}

void preprocess_kept_store_forget(struct kept_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        let_go(store, &store->segments[i]);
    store->count = store->dead_rows = 0;
    weir_index_clear(&store->numbers);
    preprocess_kept_index_fini(&store->index);
    weir_buf_fini(&store->expanded);
}

void preprocess_kept_store_fini(struct kept_store *store)
{
    preprocess_kept_store_forget(store);
    free(store->segments);
    weir_index_fini(&store->numbers);
    free(store->folder);
    *store = (struct kept_store){0};
}

/* ---- finding ---- */

struct finding {
    struct kept_store *store;
    uint64_t key;
    const uint64_t *ids;
    size_t count;
    struct kept_place *places;
};

/* The search for the row of a sample. */
struct seeking {
    struct kept_search search;
    struct kept_place place; /* possible place of the sample; segment UINT32_MAX: there is none */
};

/* Goes on to the next place. */
static void seek(const struct kept_store *store, struct seeking *seeking)
{
    while (kept_search_next(&store->index, &seeking->search, &seeking->place)) {
        if (store->segments[seeking->place.segment].is_live)
            return;
    }
    seeking->place.segment = UINT32_MAX;
}

static bool is_sought(const struct finding *finding, struct kept_place place, uint64_t id)
{
    struct weir_cache_segment_entry entry = entry_at(finding->store, place);
    return entry.id == id && entry.key == finding->key;
}

/* Finds a few rows, of which each waits for memory twice: for its slot of the index, and its entry in a table. All are
 * had come before the first is waited for. */
static void find_some(const struct finding *finding, size_t first, size_t count)
{
    struct seeking seeking[TOGETHER];
    const struct kept_store *store = finding->store;
    for (size_t i = 0; i < count; i++) {
        seeking[i].search = kept_search(&store->index, finding->ids[first + i]);
        kept_search_prefetch(&store->index, &seeking[i].search);
    }
    for (size_t i = 0; i < count; i++) {
        seek(store, &seeking[i]);
        if (seeking[i].place.segment != UINT32_MAX)
            __builtin_prefetch(packed_entry(store, seeking[i].place));
    }
    for (size_t i = 0; i < count; i++) {
        while (seeking[i].place.segment != UINT32_MAX &&
               !is_sought(finding, seeking[i].place, finding->ids[first + i]))
            seek(store, &seeking[i]);
        finding->places[first + i] = seeking[i].place;
    }
}

/* Has the disk read on while the rows before are worked on: large rows one by one, in the order of the batch; of small
 * ones all of a segment, now and then, for others of it are soon wanted. */
static void read_ahead(struct kept_store *store, struct kept_place place)
{
    struct kept_segment *segment = &store->segments[place.segment];
    struct weir_cache_segment_entry entry = entry_at(store, place);
    if (entry.stored >= LARGE_BYTES)
        preprocess_mapping_read_ahead(&segment->mapping, entry.offset, entry.stored);
    else if (!segment->is_used)
        preprocess_mapping_read_ahead(&segment->mapping, 0, segment->mapping.size);
    segment->is_used = true;
}

static void find_all(void *owner)
{
    const struct finding *finding = owner;
    for (size_t first = 0; first < finding->count; first += TOGETHER) {
        size_t left = finding->count - first, count = left < TOGETHER ? left : TOGETHER;
        find_some(finding, first, count);
        for (size_t i = first; i < first + count; i++) {
            if (finding->places[i].segment != UINT32_MAX)
                read_ahead(finding->store, finding->places[i]);
        }
    }
}

void preprocess_kept_store_find(struct kept_store *store, uint64_t key, const uint64_t *ids,
                                size_t count, struct kept_place *ret_places)
{
    struct finding finding = {store, key, ids, count, ret_places};
    while (!preprocess_mapping_watch(find_all, &finding))
        preprocess_kept_store_give_up_shorter(store);
}

/* ---- loading ---- */

struct loading {
    struct kept_store *store;
    struct kept_place place;
    struct weir_bytes row;
    bool is_whole;
};

static struct weir_bytes stored_at(const struct kept_store *store, struct kept_place place,
                                   const struct weir_cache_segment_entry *entry)
{
    const struct mapping *mapping = &store->segments[place.segment].mapping;
    const uint8_t *at = mapping_at(mapping, entry->offset, entry->stored);
    return weir_bytes(at, at != NULL ? entry->stored : 0);
}

static void load(void *owner)
{
    struct loading *loading = owner;
    struct kept_store *store = loading->store;
    struct weir_cache_segment_entry entry = entry_at(store, loading->place);
    loading->is_whole = weir_cache_row_read(&entry, stored_at(store, loading->place, &entry),
                                            &store->expanded, &loading->row);
}

bool preprocess_kept_store_load(struct kept_store *store, struct kept_place place,
                                struct weir_bytes *ret_row)
{
    struct kept_segment *segment = &store->segments[place.segment];
    struct loading loading = {.store = store, .place = place};
    if (segment->is_live && preprocess_mapping_watch(load, &loading) && loading.is_whole) {
        *ret_row = loading.row;
        return true;
    }
    if (segment->is_live)
        give_up(store, segment);
    return false;
}

/* ---- segments that come ---- */

static void add_rows(void *owner)
{
    struct kept_store *store = owner;
    for (uint32_t i = 0; i < store->count; i++) {
        for (uint32_t row = 0; store->segments[i].is_live && row < store->segments[i].count;
             row++) {
            struct kept_place place = {i, row};
            preprocess_kept_index_add(&store->index, entry_at(store, place).id, place);
        }
    }
}

/* Makes the index again, without segments that are gone, and with room for `more` rows. */
static void rebuild(struct kept_store *store, size_t more)
{
    size_t rows = more, left = 0;
    weir_index_clear(&store->numbers);
    for (size_t i = 0; i < store->count; i++) {
        if (!store->segments[i].is_live)
            continue;
        store->segments[left] = store->segments[i];
        rows += store->segments[left].count;
        weir_index_add(&store->numbers, store->segments[left].number, (uint32_t)left);
        left++;
    }
    store->count = left;
    store->dead_rows = 0;
    preprocess_kept_index_begin(&store->index, rows);
    if (preprocess_mapping_watch(add_rows, store))
        return;
    preprocess_kept_store_give_up_shorter(store);
    rebuild(store, more);
}

static struct kept_segment *find_segment(struct kept_store *store, uint64_t number)
{
    struct weir_index_search search = weir_index_search(&store->numbers, number);
    uint32_t entry;
    while (weir_index_next(&search, &entry)) {
        if (store->segments[entry].number == number && store->segments[entry].is_live)
            return &store->segments[entry];
    }
    return NULL;
}

static void add_segment(struct kept_store *store, uint64_t number,
                        const struct weir_cache_segment *opened)
{
    struct kept_segment segment = {
        .number = number, .count = (uint32_t)opened->count, .is_live = true, .is_seen = true};
    if (store->live == KEPT_SEGMENTS_MAX ||
        !preprocess_mapping_open(&segment.mapping, opened->fd, opened->bytes))
        return;
    if (!preprocess_kept_index_fits(&store->index, opened->count) ||
        store->count == KEPT_SEGMENTS_MAX)
        rebuild(store, opened->count);
    store->segments =
        weir_grow(store->segments, store->count, &store->capacity, sizeof(*store->segments));
    uint32_t at = (uint32_t)store->count++;
    store->segments[at] = segment;
    store->live++;
    weir_index_add(&store->numbers, number, at);
    for (uint32_t row = 0; row < segment.count; row++) {
        struct weir_cache_segment_entry entry = weir_cache_entry_at(opened->table, row);
        preprocess_kept_index_add(&store->index, entry.id, (struct kept_place){at, row});
    }
}

/* Its writer may have slept through an erasure. */
static bool erase_unknown(const char *path, const struct weir_cache_segment *segment,
                          const struct kept_erased *erased)
{
    struct weir_cache_erased sum = {0};
    struct weir_error err;
    return segment->epoch >= erased->epoch ||
           weir_cache_segment_erase(path, erased->is_erased, erased->owner, &sum, &err) == WEIR_OK;
}

static void take_up(struct kept_store *store, uint64_t number, const struct kept_erased *erased)
{
    struct weir_error err;
    struct weir_cache_segment segment = {.fd = -1};
    WEIR_AUTO_FREE char *path = path_of(store, number);
    enum weir_status status = weir_cache_segment_open(path, false, &segment, &err);
    if (status == WEIR_CORRUPT)
        remove_damaged(store, number);
    if (status == WEIR_OK && erase_unknown(path, &segment, erased))
        add_segment(store, number, &segment);
    weir_cache_segment_close(&segment);
}

static bool read_number(const char *name, uint64_t *ret_number)
{
    char *end;
    *ret_number = strtoull(name, &end, HEX);
    return end == name + HEX && strcmp(end, WEIR_CACHE_SUFFIX) == 0;
}

void preprocess_kept_store_scan(struct kept_store *store, const struct kept_erased *erased)
{
    DIR *directory = opendir(store->folder);
    const struct dirent *entry = NULL;
    uint64_t number;
    for (size_t i = 0; i < store->count; i++)
        store->segments[i].is_seen = false;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (!read_number(entry->d_name, &number))
            continue;
        struct kept_segment *known = find_segment(store, number);
        if (known != NULL)
            known->is_seen = true;
        else
            take_up(store, number, erased);
    }
    if (directory != NULL)
        (void)closedir(directory);
    for (size_t i = 0; i < store->count; i++) {
        if (!store->segments[i].is_seen)
            let_go(store, &store->segments[i]);
    }
    if (store->dead_rows > store->index.count / REBUILD_DIVISOR)
        rebuild(store, 0);
}

void preprocess_kept_store_note_use(struct kept_store *store)
{
    for (size_t i = 0; i < store->count; i++) {
        struct kept_segment *segment = &store->segments[i];
        WEIR_AUTO_FREE char *path = path_of(store, segment->number);
        if (segment->is_live && segment->is_used)
            (void)utimensat(AT_FDCWD, path, NULL, 0);
        segment->is_used = false;
    }
}
