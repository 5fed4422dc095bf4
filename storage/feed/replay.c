/* Which replays are open, and what they answer: see replay.h. */
#include "storage/feed/feed_state.h"
#include "storage/feed/replay_state.h"

#include "core/base/bisect.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    REPLAYS_MAX = 64, /* open; the files of others stay */
    MAKING_MAX = 16,  /* of them, being made */
    REPLAY_ROWS_MAX = 65536,
    ANSWER_WITHIN_MS = 20,       /* what is not made by then is answered later */
    ASKED_LATELY_MS = 10 * 1000, /* those who await an order ask again sooner */
    UNUSED_MS = 3600 * 1000,
    LEFT_OVER_S = 24 * 3600,
};

struct replays {
    struct store *store;
    char *folder;
    struct replay at[REPLAYS_MAX];
    struct order_row *rows; /* WEIR_BLOCK_ROWS: of whichever replay is looked at */
    size_t rotation;        /* index of the one that has the next piece */
};

/* ---- life ---- */

typedef bool unwanted_fn(const char *name, const struct stat *found, uint32_t dataset);

bool storage_replay_is_left_over(const char *name, int64_t used_s, int64_t now_s)
{
    size_t size = strlen(name);

    return (size > 5 && strcmp(name + size - 5, ".part") == 0) || used_s < now_s - LEFT_OVER_S;
}

static bool is_left_over(const char *name, const struct stat *found, uint32_t dataset)
{
    (void)dataset;
    return storage_replay_is_left_over(name, found->st_mtime, weir_now_wall_us() / 1000000);
}

/* The same of those that may be being written. */
static bool is_unread(const char *name, const struct stat *found, uint32_t dataset)
{
    size_t size = strlen(name);

    return (size <= 5 || strcmp(name + size - 5, ".part") != 0) &&
           is_left_over(name, found, dataset);
}

static bool is_of(const char *name, const struct stat *found, uint32_t dataset)
{
    (void)found;
    return strtoul(name, NULL, 10) == dataset;
}

static void sweep(const struct replays *replays, unwanted_fn *is_unwanted, uint32_t dataset)
{
    DIR *directory = opendir(replays->folder);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        struct stat found;

        if (fstatat(dirfd(directory), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(found.st_mode) && is_unwanted(entry->d_name, &found, dataset))
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory != NULL)
        closedir(directory);
}

struct replays *storage_replays_new(struct store *store)
{
    struct replays *replays = weir_calloc(1, sizeof(*replays));

    replays->folder = weir_format("%s/replays", store->data_dir);
    replays->store = store;
    replays->rows = weir_calloc(WEIR_BLOCK_ROWS, sizeof(*replays->rows));
    sweep(replays, is_left_over, 0);
    return replays;
}

/* Frees the slot; its file stays. */
static void close_replay(struct replay *replay)
{
    storage_order_sort_free(replay->sort);
    storage_order_free(replay->order);
    storage_deaths_fini(&replay->deaths);
    free(replay->marks);
    free(replay->path);
    *replay = (struct replay){0};
}

static void drop_replay(struct replay *replay)
{
    if (replay->path != NULL)
        (void)unlink(replay->path);
    close_replay(replay);
}

void storage_replays_free(struct replays *replays)
{
    for (size_t i = 0; replays != NULL && i < REPLAYS_MAX; i++)
        close_replay(&replays->at[i]);
    if (replays == NULL)
        return;
    free(replays->rows);
    free(replays->folder);
    free(replays);
}

void storage_replays_drop(struct replays *replays, uint32_t dataset)
{
    for (size_t i = 0; i < REPLAYS_MAX; i++) {
        if (replays->at[i].dataset == dataset)
            close_replay(&replays->at[i]);
    }
    memset(replays->rows, 0, WEIR_BLOCK_ROWS * sizeof(*replays->rows));
    sweep(replays, is_of, dataset);
}

enum weir_status storage_replays_tidy(struct replays *replays, struct weir_error *err)
{
    struct store *store = replays->store;
    int64_t now_ms = weir_now_ms();
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < REPLAYS_MAX; i++) {
        struct replay *replay = &replays->at[i];
        const struct dataset *dataset = storage_catalog_at(store->catalog, replay->dataset);

        if (replay->dataset != 0 && (dataset == NULL || now_ms - replay->used_ms > UNUSED_MS))
            drop_replay(replay);
        else if (dataset != NULL && replay->order)
            (void)utimensat(AT_FDCWD, replay->path, NULL, 0);
        if (replay->dataset != 0)
            status = storage_feed_keep(store, dataset, replay->position, err);
    }
    sweep(replays, is_unread, 0);
    return status;
}

/* ---- making ---- */

/* The next to ask is told why; after that it is tried again. */
static void note_trouble(const struct dataset *dataset, struct replay *replay,
                         const struct weir_error *err)
{
    weir_log(WEIR_LOG_WARN, "replay order cannot be made", "dataset=%s position=%llu error=\"%s\"",
             dataset->name, (unsigned long long)replay->position, err->text);
    replay->trouble = *err;
}

static enum weir_status take_trouble(const struct replay *replay, struct weir_error *err)
{
    if (replay->trouble.status != WEIR_OK)
        *err = replay->trouble;
    return replay->trouble.status;
}

bool storage_replays_step(struct replays *replays)
{
    struct store *store = replays->store;

    for (size_t i = 0; i < REPLAYS_MAX; i++) {
        struct replay *replay = &replays->at[replays->rotation++ % REPLAYS_MAX];
        const struct dataset *dataset = storage_catalog_at(store->catalog, replay->dataset);
        struct weir_error err;

        if (dataset == NULL || replay->state == REPLAY_READY || replay->trouble.status != WEIR_OK)
            continue;
        if (storage_replay_make(store, dataset, replay, &err) != WEIR_OK)
            note_trouble(dataset, replay, &err);
        return true;
    }
    return false;
}

/* The slot of this replay, or the one that was not read for longest. An order that is awaited keeps its slot, or those
 * who ask for many would never have one; NULL: as many as can be made at a time do. */
static struct replay *slot_of(struct replays *replays, uint32_t dataset, uint64_t position)
{
    int64_t lately_ms = weir_now_ms() - ASKED_LATELY_MS;
    struct replay *oldest_made = NULL, *oldest_unmade = NULL;
    size_t unmade = 0;

    for (size_t i = 0; i < REPLAYS_MAX; i++) {
        struct replay *replay = &replays->at[i];
        bool is_made = replay->dataset == 0 || replay->state == REPLAY_READY;
        struct replay **oldest = is_made ? &oldest_made : &oldest_unmade;

        if (replay->dataset == dataset && replay->position == position)
            return replay;
        unmade += !is_made;
        if (!is_made && replay->is_awaited && replay->used_ms > lately_ms)
            continue;
        if (*oldest == NULL || replay->used_ms < (*oldest)->used_ms)
            *oldest = replay;
    }
    return unmade < MAKING_MAX ? oldest_made : oldest_unmade;
}

/* An order that makes room for another one leaves its file: whoever goes on with it opens it again. */
static void make_room(struct replay *replay)
{
    if (replay->state == REPLAY_READY)
        close_replay(replay);
    else
        drop_replay(replay);
}

static enum weir_status begin(struct replays *replays, const struct dataset *dataset,
                              uint64_t position, struct replay *replay, struct weir_error *err)
{
    enum weir_status status = weir_make_directories(replays->folder, 0700, err);

    make_room(replay);
    replay->rows = replays->rows;
    replay->position = position;
    replay->path = weir_format("%s/%u-%llu.order", replays->folder, dataset->number,
                               (unsigned long long)position);
    if (status == WEIR_OK)
        status = storage_replay_open(dataset, replay, err);
    if (status == WEIR_OK)
        status = storage_feed_keep(replays->store, dataset, position, err);
    if (status == WEIR_OK)
        replay->dataset = dataset->number;
    else
        close_replay(replay);
    return status;
}

/* The replay, READY; UNAVAILABLE while it is being made: then ask again. */
static enum weir_status get(struct replays *replays, const struct dataset *dataset,
                            uint64_t position, struct replay **ret_replay, struct weir_error *err)
{
    struct replay *replay = slot_of(replays, dataset->number, position);
    int64_t until_ms = weir_now_ms() + ANSWER_WITHIN_MS;
    enum weir_status status;

    if (replay == NULL)
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "dataset '%s': the order of its samples has to wait: %d others are "
                         "awaited already",
                         dataset->name, MAKING_MAX);
    if (replay->dataset != dataset->number || replay->position != position)
        status = begin(replays, dataset, position, replay, err);
    else
        status = take_trouble(replay, err);
    replay->used_ms = weir_now_ms();
    while (status == WEIR_OK && replay->state != REPLAY_READY && weir_now_ms() < until_ms)
        status = storage_replay_make(replays->store, dataset, replay, err);
    if (status != WEIR_OK) {
        drop_replay(replay);
        return status;
    }
    *ret_replay = replay;
    replay->is_awaited = replay->state != REPLAY_READY;
    if (!replay->is_awaited)
        return WEIR_OK;
    storage_pump(replays->store);
    return weir_fail(err, WEIR_UNAVAILABLE,
                     "dataset '%s': the order of its samples is being made: %.0f %%", dataset->name,
                     100 * storage_replay_progress(replay));
}

/* ---- answering ---- */

static uint64_t row_of(uint64_t id)
{
    return (uint64_t)weir_sample_block(id) << WEIR_ROW_BITS | weir_sample_row(id);
}

/* In samples that lie in order: a row at or before the first one after `after`. */
static uint64_t row_before(const struct replay *replay, const struct order_row *after)
{
    size_t low = 0, high = replay->mark_count;

    /* the first mark after it */
    WEIR_BISECT(low, high, middle, storage_order_compare(&replay->marks[middle], after) <= 0);
    return low > 0 ? row_of(replay->marks[low - 1].id) : 0;
}

/* The row to go on from: after the sample that was handed out last, if `after` is one. */
static enum weir_status find_row(struct store *store, const struct dataset *dataset,
                                 const struct replay *replay, const struct order_row *after,
                                 uint64_t *ret_row, struct weir_error *err)
{
    uint64_t before = row_before(replay, after);
    struct located found = {.state = WEIR_SAMPLE_GONE};
    enum weir_status status;

    *ret_row = before;
    if (weir_sample_dataset(after->id) != dataset->number || row_of(after->id) < before ||
        row_of(after->id) >= replay->end_row)
        return WEIR_OK;
    status = storage_find(store, after->id, &found, err);
    if (status == WEIR_OK && found.dataset != NULL && found.time == after->time)
        *ret_row = row_of(after->id) + 1;
    return status;
}

/* Some rows of an order, after `after`. */
struct page {
    struct order_row after;
    size_t limit, count;
    struct order_row *rows;
};

static enum weir_status read_in_place(struct store *store, const struct dataset *dataset,
                                      struct replay *replay, struct page *page,
                                      struct weir_error *err)
{
    uint64_t row = 0;
    enum weir_status status = find_row(store, dataset, replay, &page->after, &row, err);

    page->count = 0;
    while (status == WEIR_OK && row < replay->end_row && page->count < page->limit) {
        struct replay_piece piece = {.row = row, .limit = page->limit - page->count};

        status = storage_replay_rows(store, dataset, replay, &piece, err);
        for (size_t i = 0; status == WEIR_OK && i < piece.count; i++) {
            if (storage_order_compare(&replay->rows[i], &page->after) > 0)
                page->rows[page->count++] = replay->rows[i];
        }
        row = piece.row;
    }
    return status;
}

/* Less what was erased since the order was made. */
static void fill(const struct dataset *dataset, const struct page *page, struct weir_arena *arena,
                 struct msg_replay_is *answer)
{
    uint64_t *ids = weir_arena_alloc(arena, (page->count + 1) * sizeof(*ids));
    int64_t *times = weir_arena_alloc(arena, (page->count + 1) * sizeof(*times));
    int64_t *labels = weir_arena_alloc(arena, (page->count + 1) * sizeof(*labels));
    size_t count = 0;

    for (size_t i = 0; i < page->count; i++) {
        const struct order_row *row = &page->rows[i];

        if (storage_dataset_is_erased(dataset, weir_sample_block(row->id),
                                      weir_sample_row(row->id)))
            continue;
        ids[count] = row->id;
        times[count] = row->time;
        labels[count++] = row->label;
    }
    answer->ids = (struct weir_u64s){ids, count};
    answer->times = (struct weir_i64s){times, count};
    answer->labels = (struct weir_i64s){labels, count};
    answer->end = page->count < page->limit;
}

/* Goes on while all that was found is erased: an answer without samples is the end. */
static enum weir_status read_page(struct store *store, const struct dataset *dataset,
                                  struct replay *replay, struct page *page, struct weir_error *err)
{
    const struct order_row *last;
    bool is_over = false;
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && !is_over) {
        status = replay->order != NULL
                     ? storage_order_read(replay->order, &page->after, page->limit, page->rows,
                                          &page->count, err)
                     : read_in_place(store, dataset, replay, page, err);
        is_over = page->count < page->limit;
        last = page->count > 0 ? &page->rows[page->count - 1] : NULL;
        for (size_t i = 0; i < page->count && !is_over; i++)
            is_over = !storage_dataset_is_erased(dataset, weir_sample_block(page->rows[i].id),
                                                 weir_sample_row(page->rows[i].id));
        if (last != NULL && !is_over)
            page->after = *last;
    }
    return status;
}

enum weir_status storage_replay_read(struct replays *replays, const struct msg_replay_read *asked,
                                     struct weir_arena *arena, struct msg_replay_is *answer,
                                     struct weir_error *err)
{
    bool is_bounded = asked->limit > 0 && asked->limit < REPLAY_ROWS_MAX;
    struct page page = {.after = {.time = asked->after_time, .id = asked->after_id},
                        .limit = is_bounded ? asked->limit : REPLAY_ROWS_MAX};
    struct store *store = replays->store;
    const struct dataset *dataset;
    struct replay *replay = NULL;
    enum weir_status status = storage_ready(store, err);

    if (status != WEIR_OK)
        return status;
    dataset = storage_catalog_at(store->catalog, asked->dataset);
    if (dataset == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "no dataset %llu",
                         (unsigned long long)asked->dataset);
    page.rows = weir_arena_alloc(arena, page.limit * sizeof(*page.rows));
    status = get(replays, dataset, asked->position, &replay, err);
    if (status != WEIR_OK)
        return status;
    status = read_page(store, dataset, replay, &page, err);
    if (status == WEIR_OK)
        fill(dataset, &page, arena, answer);
    if (status != WEIR_CORRUPT)
        return status;
    drop_replay(replay);
    return weir_error_wrap(err, WEIR_UNAVAILABLE, "replay order of dataset '%s', made again",
                           dataset->name);
}
