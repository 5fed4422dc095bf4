/* The rows of a batch that are kept: see kept_rows.h. */
#include "preprocess/worker/kept_rows.h"

#include "core/base/clock.h"

void preprocess_kept_rows_fini(struct kept_rows *known)
{
    weir_buf_fini(&known->ids);
    weir_buf_fini(&known->places);
    weir_buf_fini(&known->is_known);
    *known = (struct kept_rows){0};
}

void preprocess_kept_tally_add(struct kept_tally *sum, const struct kept_tally *before,
                               const struct kept_tally *after)
{
    sum->hits += after->hits - before->hits;
    sum->misses += after->misses - before->misses;
    sum->damaged += after->damaged - before->damaged;
    sum->read_ns += after->read_ns - before->read_ns;
}

void preprocess_kept_rows_begin(struct kept_rows *known, struct kept *kept, uint64_t key,
                                const struct located_sample *samples, size_t count)
{
    known->kept = kept;
    known->key = key;
    known->spared_bytes = 0;
    known->taken = known->made = known->made_bytes = 0;
    known->is_used = kept != NULL && key != 0;
    if (!known->is_used)
        return;
    weir_buf_clear(&known->ids);
    weir_buf_clear(&known->places);
    weir_buf_reserve(&known->places, count * sizeof(struct kept_place) + 1);
    for (size_t i = 0; i < count; i++)
        weir_buf_append(&known->ids, &samples[i].id, sizeof(samples[i].id));
    known->is_used = preprocess_kept_find(kept, key, (const uint64_t *)(const void *)known->ids.at,
                                          count, (struct kept_place *)(void *)known->places.at);
}

static struct kept_place place_of(const struct kept_rows *known, size_t row)
{
    const struct kept_place *places = (const struct kept_place *)(const void *)known->places.at;
    return places[known->rows->samples[row]];
}

/* The clock is read for one row of so many, which stands for them. */
enum { LOADS_PER_CLOCK = 16 };

static bool load_timed(struct kept_rows *known, size_t row, struct weir_bytes *ret_row)
{
    int64_t begun_ns = weir_now_ns();
    bool is_good = preprocess_kept_load(known->kept, place_of(known, row), ret_row);
    known->tally.read_ns += LOADS_PER_CLOCK * (weir_now_ns() - begun_ns);
    return is_good;
}

static bool load(void *owner, size_t row, struct weir_bytes *ret_row)
{
    struct kept_rows *known = owner;
    return known->loads++ % LOADS_PER_CLOCK == 0
               ? load_timed(known, row, ret_row)
               : preprocess_kept_load(known->kept, place_of(known, row), ret_row);
}

static bool are_records(const struct kept_rows *known)
{
    return known->is_used && known->key == WEIR_CACHE_RECORDS;
}

/* Appends a record that is kept. Returns false when it is lost: it is no longer listed then. */
static bool append(struct kept_rows *known, struct kept_place *place, struct weir_buf *out)
{
    struct weir_bytes row;
    if (preprocess_kept_load(known->kept, *place, &row)) {
        weir_buf_reserve(out, row.size);
        if (preprocess_mapping_copy(&(struct mapping_range){row.at, row.size}, 1,
                                    out->at + out->size)) {
            out->size += row.size;
            known->taken++;
            return true;
        }
        preprocess_kept_give_up_shorter(known->kept);
    }
    place->segment = UINT32_MAX;
    return false;
}

bool preprocess_kept_rows_take(struct kept_rows *known, size_t place, uint64_t length,
                               struct weir_buf *out)
{
    if (!preprocess_kept_rows_has(known, place))
        return false;
    if (are_records(known))
        return append(known, (struct kept_place *)(void *)known->places.at + place, out);
    known->spared_bytes += length;
    return true;
}

void preprocess_kept_rows_add(struct kept_rows *known, uint64_t id, const struct weir_buf *out,
                              size_t before)
{
    if (!are_records(known))
        return;
    preprocess_kept_add(known->kept, id, known->key,
                        weir_bytes(out->at + before, out->size - before));
    known->made++;
    known->made_bytes += out->size - before;
}

const struct chain_kept *preprocess_kept_rows_at_cut(const struct kept_rows *known)
{
    return known != NULL && known->is_used && !are_records(known) ? &known->use : NULL;
}

static void keep(void *owner, size_t row, struct weir_bytes bytes)
{
    struct kept_rows *known = owner;
    preprocess_kept_add(known->kept, known->rows->ids[row], known->key, bytes);
}

void preprocess_kept_rows_place(struct kept_rows *known, const struct rows *rows)
{
    if (!known->is_used || are_records(known))
        return;
    known->rows = rows;
    weir_buf_clear(&known->is_known);
    weir_buf_reserve(&known->is_known, rows->count + 1);
    known->taken = 0;
    for (size_t i = 0; i < rows->count; i++) {
        known->is_known.at[i] = preprocess_kept_rows_has(known, rows->samples[i]);
        known->taken += known->is_known.at[i];
    }
    known->made = rows->count - known->taken;
    known->use = (struct chain_kept){
        .is_known = known->is_known.at, .load = load, .keep = keep, .owner = known};
}

int64_t preprocess_kept_rows_spent_ns(const struct chain *chain)
{
    int64_t ns = 0;
    for (size_t i = 0; i < preprocess_chain_cut_at(chain); i++)
        ns += preprocess_chain_cost(chain, i).spent_ns;
    return ns;
}

/* A byte of a record that comes from a bucket, at a gigabit a second: storage has waited for it, no operator. */
enum { RECORD_BYTE_NS = 8 };

void preprocess_kept_rows_settle(struct kept_rows *known, bool is_good, int64_t made_ns)
{
    if (!known->is_used)
        return;
    preprocess_kept_settle(known->kept, is_good,
                           are_records(known) ? (int64_t)known->made_bytes * RECORD_BYTE_NS
                                              : made_ns);
    known->tally.damaged += preprocess_kept_damaged(known->kept) - known->damaged_seen;
    known->damaged_seen = preprocess_kept_damaged(known->kept);
    if (!is_good)
        return;
    known->tally.hits += known->taken;
    known->tally.misses += known->made;
}
