/* Locations of the samples of whole chunks: see layouts.h. */
#include "preprocess/worker/layouts.h"

#include "core/base/index.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/column.h"
#include "core/wire/sample.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
    BLOCKS_MAX = 65536,
    RUN = 64,     /* samples that are found together */
    RECENT = 256, /* blocks that are found without a search */
};
#define NO_FILE UINT32_MAX

/* The columns of a chunk, in the order of located_chunks. */
enum place { STATES, FILES, OFFSETS, LENGTHS, LABELS, TIMES, PLACES };

/* State, file and length, which most samples of a chunk have in common. */
struct place_in_file {
    uint64_t state, file, length;
};

struct chunk {
    uint64_t first;
    uint32_t count;
    uint32_t label_kind;
    struct weir_column_view column[PLACES];
    uint8_t packed_column[PLACES];  /* those that are not computed alone … */
    uint8_t packed_columns;         /* … so many */
    bool is_even;                   /* all samples have … */
    struct place_in_file first_row; /* … what the first one has */
    uint64_t first_file;
    uint32_t file_count;
    struct file_about *files; /* paths are owned */
    uint32_t *file_at;        /* how the lease calls them; NO_FILE: not met yet */
    uint64_t lease;           /* newest lease that used it */
    int64_t used_ms;
    size_t bytes;
    LIST_ENTRY(chunk) in_block;
    uint8_t packed[]; /* and padding */
};

struct block {
    uint64_t number; /* id >> WEIR_ROW_BITS */
    uint32_t wanted; /* samples that were asked for one by one since */
    bool is_due;
    LIST_HEAD(, chunk) chunks;
};

struct dataset {
    uint64_t number;  /* 0: the slot is free */
    uint64_t edition; /* 0: not known */
    uint64_t lease;   /* newest lease that had it */
    size_t chunks;
};

struct layouts {
    size_t bytes_max, bytes;
    uint64_t lease;
    int64_t full_until_ms;        /* nothing is bought before, for there is no room */
    struct weir_index by_number;  /* of the blocks */
    struct block *recent[RECENT]; /* by the low bits of their numbers */
    struct block **blocks;
    size_t block_count, block_capacity;
    struct chunk **chunks;
    size_t chunk_count, chunk_capacity;
    struct dataset datasets[LAYOUTS_DATASETS_MAX];
    uint64_t asked[LAYOUTS_DATASETS_MAX];
    uint64_t due[LAYOUTS_REQUEST_MAX]; /* a sample of each chunk that is to be bought */
    size_t due_count;
};

struct layouts *preprocess_layouts_new(size_t bytes_max)
{
    struct layouts *layouts = weir_calloc(1, sizeof(*layouts));
    layouts->bytes_max = bytes_max;
    return layouts;
}

/* ---- blocks and datasets ---- */

static struct block *search_block(struct layouts *layouts, uint64_t number)
{
    uint64_t hash = weir_mix64(number);
    struct weir_index_search search = weir_index_search(&layouts->by_number, hash);
    uint32_t at;
    while (weir_index_next(&search, &at))
        if (layouts->blocks[at]->number == number)
            return layouts->blocks[at];
    struct block *block = weir_calloc(1, sizeof(*block));
    block->number = number;
    layouts->blocks = weir_grow(layouts->blocks, layouts->block_count, &layouts->block_capacity,
                                sizeof(struct block *));
    weir_index_add(&layouts->by_number, hash, (uint32_t)layouts->block_count);
    layouts->blocks[layouts->block_count++] = block;
    return block;
}

static struct block *block_of(struct layouts *layouts, uint64_t id)
{
    uint64_t number = id >> WEIR_ROW_BITS;
    struct block **recent = &layouts->recent[number % RECENT];
    if (*recent == NULL || (*recent)->number != number)
        *recent = search_block(layouts, number);
    return *recent;
}

static void free_chunk(struct chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->file_count; i++)
        free((void *)(uintptr_t)chunk->files[i].path);
    free(chunk->files);
    free(chunk->file_at);
    free(chunk);
}

static void drop_chunk(struct layouts *layouts, size_t index)
{
    struct chunk *chunk = layouts->chunks[index];
    LIST_REMOVE(chunk, in_block);
    for (size_t i = 0; i < LAYOUTS_DATASETS_MAX; i++)
        layouts->datasets[i].chunks -=
            layouts->datasets[i].number == weir_sample_dataset(chunk->first);
    layouts->chunks[index] = layouts->chunks[--layouts->chunk_count];
    layouts->bytes -= chunk->bytes;
    layouts->full_until_ms = 0;
    free_chunk(chunk);
}

static void drop_dataset(struct layouts *layouts, struct dataset *dataset)
{
    for (size_t i = layouts->chunk_count; i > 0; i--) {
        if (weir_sample_dataset(layouts->chunks[i - 1]->first) == dataset->number)
            drop_chunk(layouts, i - 1);
    }
    *dataset = (struct dataset){0};
}

void preprocess_layouts_clear(struct layouts *layouts)
{
    for (size_t i = 0; i < LAYOUTS_DATASETS_MAX; i++)
        drop_dataset(layouts, &layouts->datasets[i]);
    for (size_t i = 0; i < layouts->block_count; i++)
        free(layouts->blocks[i]);
    weir_index_clear(&layouts->by_number);
    memset(layouts->recent, 0, sizeof(layouts->recent));
    layouts->block_count = layouts->due_count = 0;
}

void preprocess_layouts_free(struct layouts *layouts)
{
    if (layouts == NULL)
        return;
    preprocess_layouts_clear(layouts);
    weir_index_fini(&layouts->by_number);
    free(layouts->blocks);
    free(layouts->chunks);
    free(layouts);
}

/* The dataset's slot, which it takes from one that this lease has not met; NULL: there is none. */
static struct dataset *dataset_of(struct layouts *layouts, uint64_t number)
{
    struct dataset *spare = NULL;
    for (size_t i = 0; number != 0 && i < LAYOUTS_DATASETS_MAX; i++) {
        struct dataset *dataset = &layouts->datasets[i];
        if (dataset->number == number)
            return dataset;
        if (dataset->lease != layouts->lease && (spare == NULL || dataset->lease < spare->lease))
            spare = dataset;
    }
    if (spare == NULL)
        return NULL;
    drop_dataset(layouts, spare);
    spare->number = number;
    return spare;
}

/* ---- filling in ---- */

static struct chunk *chunk_of(const struct block *block, uint64_t id)
{
    struct chunk *chunk;
    LIST_FOREACH (chunk, &block->chunks, in_block)
        if (id - chunk->first < chunk->count)
            return chunk;
    return NULL;
}

static void begin_chunk(struct layouts *layouts, struct chunk *chunk, int64_t now_ms)
{
    chunk->lease = layouts->lease;
    chunk->used_ms = now_ms;
    for (uint32_t i = 0; i < chunk->file_count; i++)
        chunk->file_at[i] = NO_FILE;
}

/* Block and chunk of a sample, as far as they are held. */
struct found {
    struct block *block; /* NULL: its dataset has no place here */
    struct chunk *chunk; /* NULL: not held */
};

static struct place_in_file read_row(const struct chunk *chunk, size_t row)
{
    return (struct place_in_file){
        .state = (uint64_t)weir_column_at(&chunk->column[STATES], row),
        .file = (uint64_t)weir_column_at(&chunk->column[FILES], row) - chunk->first_file,
        .length = (uint64_t)weir_column_at(&chunk->column[LENGTHS], row),
    };
}

/* False when the columns do not fit together: storage says it better one by one. */
static bool place(struct located *located, const struct chunk *chunk, struct located_sample *sample)
{
    size_t row = sample->id - chunk->first;
    struct place_in_file in = chunk->is_even ? chunk->first_row : read_row(chunk, row);
    if (in.state >= WEIR_SAMPLE_STATES || in.file >= chunk->file_count ||
        in.length > LOCATED_LENGTH_MAX)
        return false;
    if (chunk->file_at[in.file] == NO_FILE)
        chunk->file_at[in.file] = preprocess_located_file(located, &chunk->files[in.file]);
    *sample = (struct located_sample){
        .id = sample->id,
        .offset = (uint64_t)weir_column_at(&chunk->column[OFFSETS], row),
        .length = in.length & LOCATED_LENGTH_MAX,
        .state = in.state & UINT8_MAX,
        .label = weir_column_at(&chunk->column[LABELS], row),
        .weight = sample->weight,
        .file = chunk->file_at[in.file],
    };
    if (located->times != NULL)
        located->times[sample - located->samples] = weir_column_at(&chunk->column[TIMES], row);
    return true;
}

/* The dataset that the newest sample was of. */
static bool find_dataset_of(struct layouts *layouts, uint64_t id, struct dataset **last)
{
    uint64_t number = weir_sample_dataset(id);
    if (*last == NULL || (*last)->number != number)
        *last = dataset_of(layouts, number);
    if (*last != NULL)
        (*last)->lease = layouts->lease;
    return *last != NULL;
}

static void count_miss(struct layouts *layouts, struct block *block, uint64_t id, int64_t now_ms)
{
    if (++block->wanted < LAYOUTS_PRICE_IDS || block->is_due ||
        layouts->due_count == LAYOUTS_REQUEST_MAX || now_ms < layouts->full_until_ms)
        return;
    block->is_due = true;
    layouts->due[layouts->due_count++] = id;
}

static void forget_due(struct layouts *layouts)
{
    for (size_t i = 0; i < layouts->due_count; i++)
        block_of(layouts, layouts->due[i])->is_due = false;
    layouts->due_count = 0;
}

/* Finds the chunks of some samples, and has what lies in them come from memory: all at once. */
static void find_chunks(struct layouts *layouts, const struct located_sample *samples, size_t count,
                        struct found *found, int64_t now_ms)
{
    struct dataset *dataset = NULL;
    for (size_t i = 0; i < count; i++) {
        uint64_t id = samples[i].id;
        bool is_met = find_dataset_of(layouts, id, &dataset);
        struct block *block = is_met ? block_of(layouts, id) : NULL;
        struct chunk *chunk = is_met ? chunk_of(block, id) : NULL;
        found[i] = (struct found){block, chunk};
        if (chunk == NULL)
            continue;
        if (chunk->lease != layouts->lease)
            begin_chunk(layouts, chunk, now_ms);
        for (size_t c = 0; c < chunk->packed_columns; c++) {
            const struct weir_column_view *column = &chunk->column[chunk->packed_column[c]];
            __builtin_prefetch(column->body + (id - chunk->first) * column->bits / 8, 0, 2);
        }
    }
}

/* Fills in sample `i`, or lists it as unknown. */
static void fill_one(struct layouts *layouts, struct located *located, uint32_t i,
                     const struct found *found, int64_t now_ms)
{
    struct located_sample *sample = &located->samples[i];
    if (found->chunk != NULL && place(located, found->chunk, sample)) {
        located->label_kind = found->chunk->label_kind;
        return;
    }
    located->unknown[located->unknown_count++] = i;
    if (found->block != NULL)
        count_miss(layouts, found->block, sample->id, now_ms);
}

/* A few samples at a time go through all that there is to do, while they are in the cache. */
void preprocess_layouts_fill(struct layouts *layouts, struct located *located, int64_t now_ms)
{
    struct found found[RUN];
    if (layouts->block_count > BLOCKS_MAX)
        preprocess_layouts_clear(layouts);
    forget_due(layouts);
    layouts->lease++;
    preprocess_located_clear(located);
    for (size_t first = 0; first < located->count; first += RUN) {
        size_t count = located->count - first < RUN ? located->count - first : RUN;
        preprocess_located_set(located, first + count);
        find_chunks(layouts, located->samples + first, count, found, now_ms);
        for (size_t i = 0; i < count; i++)
            fill_one(layouts, located, (uint32_t)(first + i), &found[i], now_ms);
    }
}

bool preprocess_layouts_wanted(struct layouts *layouts, struct msg_locate_chunks *ret_request)
{
    size_t count = 0, held = 0;
    for (size_t i = 0; i < LAYOUTS_DATASETS_MAX; i++) {
        const struct dataset *dataset = &layouts->datasets[i];
        if (dataset->number == 0 || dataset->lease != layouts->lease)
            continue;
        layouts->asked[count++] = dataset->number;
        held += dataset->chunks;
    }
    *ret_request = (struct msg_locate_chunks){.datasets = {layouts->asked, count},
                                              .ids = {layouts->due, layouts->due_count}};
    return held > 0 || layouts->due_count > 0;
}

/* ---- taking in ---- */

static bool is_consistent(const struct msg_located_chunks *answer, struct weir_bytes columns)
{
    size_t chunks = answer->ids.count, files = answer->paths.count;
    uint64_t bytes = 0, described = 0;
    bool is_right = answer->editions.count == answer->datasets.count &&
                    answer->firsts.count == chunks && answer->counts.count == chunks &&
                    answer->bytes.count == chunks * PLACES && answer->label_kinds.count == chunks &&
                    answer->first_files.count == chunks && answer->file_counts.count == chunks &&
                    answer->devices.count == files && answer->inodes.count == files &&
                    answer->sizes.count == files && answer->mtimes.count == files;
    for (size_t i = 0; is_right && i < chunks; i++) {
        uint64_t last = answer->firsts.at[i] + answer->counts.at[i] - 1;
        described += answer->file_counts.at[i];
        is_right = answer->counts.at[i] == 0 ||
                   (answer->counts.at[i] <= WEIR_BLOCK_ROWS &&
                    answer->ids.at[i] - answer->firsts.at[i] < answer->counts.at[i] &&
                    answer->firsts.at[i] >> WEIR_ROW_BITS == last >> WEIR_ROW_BITS);
    }
    for (size_t i = 0; is_right && i < answer->bytes.count; i++)
        bytes += answer->bytes.at[i];
    return is_right && bytes == columns.size && described == files;
}

/* One that is there already, or another one where its rows are, is dropped. */
static void make_place(struct layouts *layouts, uint64_t first, uint64_t count)
{
    for (size_t i = layouts->chunk_count; i > 0; i--) {
        const struct chunk *chunk = layouts->chunks[i - 1];
        if (chunk->first < first + count && first < chunk->first + chunk->count)
            drop_chunk(layouts, i - 1);
    }
}

static bool make_room(struct layouts *layouts, size_t bytes, int64_t now_ms)
{
    for (size_t i = layouts->chunk_count; i > 0 && layouts->bytes + bytes > layouts->bytes_max;
         i--) {
        if (layouts->chunks[i - 1]->used_ms + LAYOUTS_IDLE_MS <= now_ms)
            drop_chunk(layouts, i - 1);
    }
    if (layouts->bytes + bytes <= layouts->bytes_max)
        return true;
    layouts->full_until_ms = now_ms + LAYOUTS_IDLE_MS;
    return false;
}

/* The i-th chunk of an answer, and where in it its columns and files are. */
struct offer {
    const struct msg_located_chunks *answer;
    size_t i;
    struct weir_bytes columns;
    size_t first_file;
};

static size_t file_bytes(const struct offer *offer)
{
    size_t count = offer->answer->file_counts.at[offer->i], bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += sizeof(struct file_about) + sizeof(uint32_t) +
                 strlen(offer->answer->paths.at[offer->first_file + i]) + 1;
    return bytes;
}

static void take_files(const struct offer *offer, struct chunk *chunk)
{
    const struct msg_located_chunks *answer = offer->answer;
    chunk->first_file = answer->first_files.at[offer->i];
    chunk->file_count = answer->file_counts.at[offer->i];
    chunk->files = weir_calloc(chunk->file_count + 1, sizeof(*chunk->files));
    chunk->file_at = weir_calloc(chunk->file_count + 1, sizeof(*chunk->file_at));
    for (size_t i = 0; i < chunk->file_count; i++) {
        size_t from = offer->first_file + i;
        chunk->files[i] = (struct file_about){
            .path = weir_strdup(answer->paths.at[from]),
            .device = answer->devices.at[from],
            .inode = answer->inodes.at[from],
            .size = answer->sizes.at[from],
            .mtime_ns = answer->mtimes.at[from],
            .host = answer->host,
        };
    }
}

static enum weir_status view_columns(const struct offer *offer, struct chunk *chunk,
                                     struct weir_error *err)
{
    const uint32_t *bytes = offer->answer->bytes.at + offer->i * PLACES;
    size_t at = 0;
    enum weir_status status = WEIR_OK;
    for (size_t c = 0; status == WEIR_OK && c < PLACES; c++) {
        status = weir_column_view(weir_bytes(chunk->packed + at, bytes[c]), chunk->count,
                                  &chunk->column[c], err);
        at += bytes[c];
    }
    return status;
}

static void list_packed(struct chunk *chunk)
{
    for (uint8_t c = 0; c < PLACES; c++) {
        if (chunk->column[c].bits > 0)
            chunk->packed_column[chunk->packed_columns++] = c;
    }
}

static bool is_constant(const struct weir_column_view *view)
{
    return view->bits == 0 && view->step == 0;
}

static enum weir_status make_chunk(const struct offer *offer, struct chunk **ret_chunk,
                                   struct weir_error *err)
{
    size_t bytes = sizeof(struct chunk) + offer->columns.size + WEIR_COLUMN_PADDING;
    struct chunk *chunk = weir_calloc(1, bytes);
    chunk->first = offer->answer->firsts.at[offer->i];
    chunk->count = offer->answer->counts.at[offer->i];
    chunk->label_kind = offer->answer->label_kinds.at[offer->i];
    chunk->bytes = bytes + file_bytes(offer);
    memcpy(chunk->packed, offer->columns.at, offer->columns.size);
    take_files(offer, chunk);
    enum weir_status status = view_columns(offer, chunk, err);
    if (status != WEIR_OK) {
        free_chunk(chunk);
        return status;
    }
    list_packed(chunk);
    chunk->first_row = read_row(chunk, 0);
    chunk->is_even = is_constant(&chunk->column[STATES]) && is_constant(&chunk->column[FILES]) &&
                     is_constant(&chunk->column[LENGTHS]);
    *ret_chunk = chunk;
    return WEIR_OK;
}

static void put(struct layouts *layouts, struct chunk *chunk, int64_t now_ms)
{
    struct dataset *dataset = dataset_of(layouts, weir_sample_dataset(chunk->first));
    if (dataset == NULL || dataset->edition == 0 || !make_room(layouts, chunk->bytes, now_ms)) {
        free_chunk(chunk);
        return;
    }
    struct block *block = block_of(layouts, chunk->first);
    chunk->used_ms = now_ms;
    LIST_INSERT_HEAD(&block->chunks, chunk, in_block);
    layouts->chunks = weir_grow(layouts->chunks, layouts->chunk_count, &layouts->chunk_capacity,
                                sizeof(struct chunk *));
    layouts->chunks[layouts->chunk_count++] = chunk;
    layouts->bytes += chunk->bytes;
    dataset->chunks++;
}

static void take_editions(struct layouts *layouts, const struct msg_located_chunks *answer,
                          bool *ret_is_changed)
{
    for (size_t i = 0; i < answer->datasets.count; i++) {
        struct dataset *dataset = dataset_of(layouts, answer->datasets.at[i]);
        if (dataset == NULL || dataset->edition == answer->editions.at[i])
            continue;
        drop_dataset(layouts, dataset);
        *dataset = (struct dataset){.number = answer->datasets.at[i],
                                    .edition = answer->editions.at[i],
                                    .lease = layouts->lease};
        *ret_is_changed = true;
    }
}

/* Whatever was said of it: it is paid for. */
static void settle(struct layouts *layouts, uint64_t id)
{
    struct block *block = block_of(layouts, id);
    block->wanted = 0;
    block->is_due = false;
    for (size_t i = layouts->due_count; i > 0; i--) {
        if (layouts->due[i - 1] >> WEIR_ROW_BITS == block->number)
            layouts->due[i - 1] = layouts->due[--layouts->due_count];
    }
}

static enum weir_status take_chunks(struct layouts *layouts,
                                    const struct msg_located_chunks *answer,
                                    struct weir_bytes columns, int64_t now_ms,
                                    struct weir_error *err)
{
    struct offer offer = {.answer = answer};
    enum weir_status status = WEIR_OK;
    for (; status == WEIR_OK && offer.i < answer->ids.count; offer.i++) {
        struct chunk *chunk = NULL;
        size_t size = 0;
        for (size_t c = 0; c < PLACES; c++)
            size += answer->bytes.at[offer.i * PLACES + c];
        offer.columns = weir_bytes(columns.at, size);
        columns = weir_bytes(columns.at + size, columns.size - size);
        settle(layouts, answer->ids.at[offer.i]);
        if (answer->counts.at[offer.i] > 0)
            status = make_chunk(&offer, &chunk, err);
        if (chunk != NULL) {
            make_place(layouts, chunk->first, chunk->count);
            put(layouts, chunk, now_ms);
        }
        offer.first_file += answer->file_counts.at[offer.i];
    }
    return status;
}

enum weir_status preprocess_layouts_take(struct layouts *layouts,
                                         const struct msg_located_chunks *answer,
                                         struct weir_bytes columns, int64_t now_ms,
                                         bool *ret_is_changed, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    *ret_is_changed = answer->ids.count > 0;
    if (!is_consistent(answer, columns))
        status = weir_fail(err, WEIR_INVALID,
                           "located_chunks: columns differ in length, expected %zu chunks of "
                           "%zu bytes together",
                           answer->ids.count, columns.size);
    if (status == WEIR_OK) {
        take_editions(layouts, answer, ret_is_changed);
        status = take_chunks(layouts, answer, columns, now_ms, err);
    }
    if (status != WEIR_OK)
        preprocess_layouts_clear(layouts);
    return status;
}
