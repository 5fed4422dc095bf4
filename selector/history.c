/* Bitmaps by block, and the sets they come from. */
#include "selector/history.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "core/wire/sample_set.h"
#include "selector/policies/policy.h"
#include "selector/queries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_WORDS = WEIR_BLOCK_ROWS / 64 };

static uint64_t block_of(uint64_t id)
{
    return id - weir_sample_row(id);
}

/* ---- bits ---- */

static void bits_fini(struct selector_bits *bits)
{
    for (size_t i = 0; i < bits->count; i++)
        free(bits->blocks[i].words);
    free(bits->blocks);
    *bits = (struct selector_bits){0};
}

/* Where the block is, or would be. */
static size_t bits_place(const struct selector_bits *bits, uint64_t first)
{
    size_t low = 0, high = bits->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bits->blocks[middle].first < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const uint64_t *bits_find(const struct selector_bits *bits, uint64_t first)
{
    size_t at = bits_place(bits, first);
    return at < bits->count && bits->blocks[at].first == first ? bits->blocks[at].words : NULL;
}

static uint64_t *bits_reach(struct selector_bits *bits, uint64_t first)
{
    size_t at = bits_place(bits, first);
    if (at < bits->count && bits->blocks[at].first == first)
        return bits->blocks[at].words;
    bits->blocks = weir_realloc(bits->blocks, bits->count + 1, sizeof *bits->blocks);
    memmove(bits->blocks + at + 1, bits->blocks + at, (bits->count - at) * sizeof *bits->blocks);
    bits->count++;
    bits->blocks[at] = (struct selector_bits_block){
        .first = first, .words = weir_calloc(BLOCK_WORDS, sizeof(uint64_t))};
    return bits->blocks[at].words;
}

static bool is_set(const uint64_t *words, uint64_t id)
{
    uint32_t row = weir_sample_row(id);
    return words && (words[row / 64] >> (row % 64) & 1);
}

/* How many of the ids from `at` on lie in one block. */
static size_t run_of(const uint64_t *ids, size_t count, size_t at)
{
    size_t end = at + 1;
    while (end < count && block_of(ids[end]) == block_of(ids[at]))
        end++;
    return end - at;
}

static void bits_add(struct selector_bits *bits, const uint64_t *ids, size_t count)
{
    for (size_t at = 0, run = 0; at < count; at += run) {
        run = run_of(ids, count, at);
        uint64_t *words = bits_reach(bits, block_of(ids[at]));
        for (size_t i = at; i < at + run; i++) {
            uint32_t row = weir_sample_row(ids[i]);
            words[row / 64] |= UINT64_C(1) << (row % 64);
        }
    }
}

/* ---- history ---- */

void selector_history_fini(struct selector_history *history)
{
    bits_fini(&history->used);
    bits_fini(&history->drawn);
    history->upto = 0;
}

static void add_draw(struct selector_bits *drawn, const uint64_t *ids, size_t count)
{
    WEIR_AUTO_FREE uint64_t *repeated = weir_calloc(count + 1, sizeof *repeated);
    size_t repeats = 0;
    for (size_t at = 0, run = 0; at < count; at += run) {
        run = run_of(ids, count, at);
        const uint64_t *words = bits_find(drawn, block_of(ids[at]));
        for (size_t i = at; i < at + run; i++)
            if (is_set(words, ids[i]))
                repeated[repeats++] = ids[i];
    }
    if (repeats == 0) {
        bits_add(drawn, ids, count);
        return;
    }
    bits_fini(drawn);
    bits_add(drawn, repeated, repeats);
}

void selector_history_add(struct selector_history *history, uint64_t trigger, const uint64_t *ids,
                          size_t count)
{
    bits_add(&history->used, ids, count);
    if (trigger > history->warmup)
        add_draw(&history->drawn, ids, count);
}

static enum weir_status add_file(struct selector_history *history, const char *data_dir,
                                 uint64_t trigger, const char *digest, struct weir_error *err)
{
    struct weir_sample_set set = {0};
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s.set", data_dir, digest);
    enum weir_status status = weir_sample_set_open(path, &set, err);
    if (status)
        return status;
    selector_history_add(history, trigger, set.ids, set.count);
    weir_sample_set_close(&set);
    return WEIR_OK;
}

enum weir_status selector_history_reach(struct selector_history *history, struct weir_db *db,
                                        const char *data_dir, const char *pipeline,
                                        uint64_t trigger, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    if (history->upto >= trigger)
        selector_history_fini(history);
    enum weir_status status = DB_RUN(db, Q_list_sets, &rows, err, DB_TEXT(pipeline),
                                     DB_I64(history->upto), DB_I64(trigger));
    for (size_t i = 0; !status && i < weir_rows_count(rows); i++)
        status = add_file(history, data_dir, (uint64_t)weir_rows_i64(rows, i, 0),
                          weir_rows_text(rows, i, 1), err);
    if (status) {
        selector_history_fini(history);
        return weir_error_wrap(err, status, "the earlier sets of pipeline '%s'", pipeline);
    }
    history->upto = trigger - 1;
    return WEIR_OK;
}

void selector_history_mark(const struct selector_history *history, const uint64_t *ids,
                           size_t count, uint8_t *past)
{
    for (size_t at = 0, run = 0; at < count; at += run) {
        run = run_of(ids, count, at);
        const uint64_t *used = bits_find(&history->used, block_of(ids[at]));
        const uint64_t *drawn = bits_find(&history->drawn, block_of(ids[at]));
        for (size_t i = at; i < at + run; i++)
            past[i] = (uint8_t)((is_set(used, ids[i]) ? SELECTION_USED : 0) |
                                (is_set(drawn, ids[i]) ? SELECTION_DRAWN : 0));
    }
}
