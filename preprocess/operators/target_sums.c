/* Sums of labels by category and fold. */
#include "preprocess/operators/target_sums.h"

#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <stdlib.h>
#include <string.h>

void preprocess_target_sums_fini(struct target_sums *sums)
{
    preprocess_vocabulary_fini(&sums->categories);
    weir_buf_fini(&sums->sums);
}

void preprocess_target_sums_clear(struct target_sums *sums)
{
    sums->refused = sums->left_out = 0;
    memset(sums->all, 0, sizeof(sums->all));
    preprocess_vocabulary_clear(&sums->categories);
    weir_buf_clear(&sums->sums);
}

/* ---- finding ---- */

uint32_t preprocess_target_fold(const struct target_sums *sums, uint64_t id)
{
    return (uint32_t)(weir_mix64(id) % sums->folds);
}

static size_t stride(const struct target_sums *sums)
{
    return sums->folds * sizeof(struct target_sum);
}

/* The sums of the category of this number, one per fold. */
static struct target_sum *sum_at(const struct target_sums *sums, size_t entry)
{
    return (struct target_sum *)(void *)(sums->sums.at + entry * stride(sums));
}

struct target_sum *preprocess_target_sums_of(struct target_sums *sums, uint32_t column,
                                             struct weir_bytes category, size_t bytes_max)
{
    int64_t known = preprocess_vocabulary_find(&sums->categories, column, category);
    size_t bytes = sums->sums.size + stride(sums);
    const struct vocabulary_entry entry = {.column = column, .key = category};
    if (known != VOCABULARY_NONE)
        return sum_at(sums, (size_t)known);
    if (bytes > bytes_max ||
        !preprocess_vocabulary_count(&sums->categories, &entry, bytes_max - bytes))
        return NULL;
    weir_buf_reserve(&sums->sums, stride(sums));
    memset(sums->sums.at + sums->sums.size, 0, stride(sums));
    sums->sums.size = bytes;
    return sum_at(sums, preprocess_vocabulary_size(&sums->categories) - 1);
}

/* ---- merging ---- */

static uint64_t count_of(const struct target_sums *sums, const struct target_sum *category)
{
    uint64_t count = 0;
    for (uint32_t fold = 0; fold < sums->folds; fold++)
        count += category[fold].count;
    return count;
}

static void add_folds(const struct target_sums *sums, struct target_sum *to,
                      const struct target_sum *from)
{
    for (uint32_t fold = 0; fold < sums->folds; fold++) {
        to[fold].sum += from[fold].sum;
        to[fold].count += from[fold].count;
    }
}

void preprocess_target_sums_add(struct target_sums *sums, const struct target_sums *other,
                                size_t bytes_max)
{
    sums->refused += other->refused;
    sums->left_out += other->left_out;
    add_folds(sums, sums->all, other->all);
    for (size_t i = 0; i < preprocess_vocabulary_size(&other->categories); i++) {
        struct vocabulary_entry entry = preprocess_vocabulary_at(&other->categories, i);
        struct target_sum *to = preprocess_target_sums_of(sums, entry.column, entry.key, bytes_max);
        if (to != NULL)
            add_folds(sums, to, sum_at(other, i));
        else
            sums->left_out += count_of(other, sum_at(other, i));
    }
}

/* A category on its way to be kept. */
struct candidate {
    uint64_t count;
    size_t entry;
};

static int compare_commonest(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

void preprocess_target_sums_keep(struct target_sums *sums, size_t size)
{
    size_t count = preprocess_vocabulary_size(&sums->categories);
    if (count <= size)
        return;
    struct target_sums kept = {.folds = sums->folds, .columns = sums->columns};
    WEIR_AUTO_FREE struct candidate *candidates = weir_calloc(count, sizeof(*candidates));
    for (size_t i = 0; i < count; i++)
        candidates[i] = (struct candidate){count_of(sums, sum_at(sums, i)), i};
    qsort(candidates, count, sizeof(*candidates), compare_commonest);
    for (size_t i = 0; i < size; i++) {
        struct vocabulary_entry entry =
            preprocess_vocabulary_at(&sums->categories, candidates[i].entry);
        struct target_sum *to = preprocess_target_sums_of(&kept, entry.column, entry.key, SIZE_MAX);
        weir_require(to != NULL);
        memcpy(to, sum_at(sums, candidates[i].entry), stride(sums));
    }
    for (size_t i = size; i < count; i++)
        sums->left_out += candidates[i].count;
    preprocess_vocabulary_fini(&sums->categories);
    weir_buf_fini(&sums->sums);
    sums->categories = kept.categories;
    sums->sums = kept.sums;
}

/* ---- travelling ---- */

void preprocess_target_sums_pack(const struct target_sums *sums, struct weir_buf *out)
{
    const struct weir_buf *pool = &sums->categories.pool;
    weir_buf_append_u64(out, sums->refused);
    weir_buf_append_u64(out, sums->left_out);
    weir_buf_append(out, sums->all, stride(sums));
    weir_buf_append_u64(out, pool->size);
    weir_buf_append(out, pool->at, pool->size);
    weir_buf_append(out, sums->sums.at, sums->sums.size);
}

bool preprocess_target_sums_take(struct target_sums *sums, struct weir_bytes bytes)
{
    uint64_t size;
    struct weir_bytes all, pool;
    struct vocabulary *categories = &sums->categories;
    preprocess_target_sums_clear(sums);
    if (!weir_take_u64(&bytes, &sums->refused) || !weir_take_u64(&bytes, &sums->left_out) ||
        !weir_take(&bytes, stride(sums), &all) || !weir_take_u64(&bytes, &size) ||
        !weir_take(&bytes, size, &pool)) {
        preprocess_target_sums_clear(sums);
        return false;
    }
    memcpy(sums->all, all.at, all.size);
    weir_buf_append(&categories->pool, pool.at, pool.size);
    weir_buf_append(&sums->sums, bytes.at, bytes.size);
    if (preprocess_vocabulary_index(categories, sums->columns) &&
        bytes.size == preprocess_vocabulary_size(categories) * stride(sums))
        return true;
    preprocess_target_sums_clear(sums);
    return false;
}

/* ---- encoding ---- */

static struct target_sum plus(struct target_sum a, struct target_sum b)
{
    return (struct target_sum){a.sum + b.sum, a.count + b.count};
}

/* Sums of all folds but each, then of all: those before it and those after it, since a difference would lose digits. */
static void leave_out(uint32_t folds, const struct target_sum *of, struct target_sum *to)
{
    struct target_sum before = {0}, after = {0};
    for (uint32_t fold = 0; fold < folds; fold++) {
        to[fold] = before;
        before = plus(before, of[fold]);
    }
    to[folds] = before;
    for (uint32_t fold = folds; fold-- > 0;) {
        to[fold] = plus(to[fold], after);
        after = plus(after, of[fold]);
    }
}

static double encoding(struct target_sum of, struct target_sum all, double smooth)
{
    double mean = all.count > 0 ? all.sum / (double)all.count : 0;
    double weight = (double)of.count + smooth;
    return of.count > 0 ? (of.sum + smooth * mean) / weight : mean;
}

void preprocess_target_encodings(const struct target_sums *sums, double smooth, float *to)
{
    struct target_sum all[TARGET_FOLDS_MAX + 1], of[TARGET_FOLDS_MAX + 1];
    size_t count = preprocess_vocabulary_size(&sums->categories), width = sums->folds + 1;
    leave_out(sums->folds, sums->all, all);
    for (size_t i = 0; i <= count; i++) {
        memset(of, 0, sizeof(of));
        if (i < count)
            leave_out(sums->folds, sum_at(sums, i), of);
        for (size_t fold = 0; fold < width; fold++)
            to[i * width + fold] = (float)encoding(of[fold], all[fold], smooth);
    }
}
