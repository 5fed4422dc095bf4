/* Locations of the samples of one lease. */
#include "preprocess/worker/located.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "core/wire/tensor.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAME_FILE_LOOKS = 64, /* where there are more files, few chunks share one */
    SET_AHEAD = 64,       /* ids that are had come, for they lie at random places */
};

static struct preprocess_range positions_of(const struct located *located,
                                            const struct preprocess_plan *plan, uint64_t batch)
{
    return located->rank == LOCATED_WHOLE ? preprocess_positions(&plan->geometry, batch)
                                          : preprocess_slice(&plan->geometry, batch, located->rank);
}

/* Positions in the first `batches` batches of a group. */
static size_t positions_in(const struct located *located, const struct preprocess_plan *plan,
                           uint64_t first, uint64_t batches)
{
    size_t count = 0;
    for (uint64_t batch = first; batch < first + batches; batch++)
        count += positions_of(located, plan, batch).count;
    return count;
}

void preprocess_located_set(struct located *located, size_t end)
{
    const uint64_t *ids = located->set_ids, *indices = located->indices;
    if (ids == NULL)
        return;
    for (size_t i = located->set; i < end; i++) {
        if (i + SET_AHEAD < located->count)
            __builtin_prefetch(&ids[indices[i + SET_AHEAD]], 0, 2);
        located->samples[i] = (struct located_sample){
            .id = ids[indices[i]],
            .weight = located->set_weights != NULL ? located->set_weights[indices[i]] : 1,
        };
    }
    located->set = end;
}

/* Of each batch, the slice alone. */
static void take_slices(struct located *located, const struct preprocess_plan *plan,
                        struct preprocess_range batches)
{
    for (uint64_t i = 0; i < batches.count; i++) {
        struct preprocess_range all = preprocess_positions(&plan->geometry, batches.first + i);
        struct preprocess_range slice = positions_of(located, plan, batches.first + i);
        memmove(located->indices + located->count,
                located->indices + i * plan->geometry.batch_samples + (slice.first - all.first),
                slice.count * sizeof(*located->indices));
        located->count += slice.count;
    }
}

static void make_room(struct located *located, size_t room)
{
    if (room <= located->room)
        return;
    preprocess_located_fini(located);
    located->room = room;
    located->samples = weir_realloc(NULL, room, sizeof(*located->samples));
    located->indices = weir_realloc(NULL, room, sizeof(*located->indices));
    located->unknown = weir_realloc(NULL, room, sizeof(*located->unknown));
}

static void list_all(struct located *located)
{
    located->unknown_count = located->count;
    for (uint32_t i = 0; i < located->count; i++)
        located->unknown[i] = i;
}

void preprocess_located_begin(struct located *located, const struct preprocess_plan *plan,
                              uint64_t group, uint32_t rank)
{
    struct preprocess_range batches = preprocess_group(&plan->geometry, group);
    preprocess_located_end(located);
    make_room(located, batches.count * plan->geometry.batch_samples);
    located->rank = rank;
    preprocess_plan_group(plan, group, located->indices);
    if (preprocess_chain_reads_times(plan->chain))
        located->times = weir_realloc(NULL, located->room + 1, sizeof(*located->times));
    take_slices(located, plan, batches);
    located->set_ids = plan->set.ids;
    located->set_weights = plan->set.weights;
    list_all(located);
}

static void forget_files(struct located *located)
{
    for (size_t i = 0; i < located->file_count; i++)
        free((void *)(uintptr_t)located->files[i].path);
    free(located->files);
    located->files = NULL;
    located->file_count = located->file_capacity = 0;
}

void preprocess_located_end(struct located *located)
{
    forget_files(located);
    free(located->values);
    free(located->times);
    *located = (struct located){.samples = located->samples,
                                .indices = located->indices,
                                .unknown = located->unknown,
                                .room = located->room};
}

void preprocess_located_fini(struct located *located)
{
    preprocess_located_end(located);
    free(located->samples);
    free(located->indices);
    free(located->unknown);
    *located = (struct located){0};
}

void preprocess_located_clear(struct located *located)
{
    forget_files(located);
    located->known = located->unknown_count = 0;
}

void preprocess_located_forget(struct located *located)
{
    preprocess_located_set(located, located->count);
    preprocess_located_clear(located);
    list_all(located);
}

void preprocess_located_again(struct located *located)
{
    preprocess_located_forget(located);
    located->tries++;
}

bool preprocess_located_is_known(const struct located *located)
{
    return located->known == located->unknown_count;
}

static struct located_sample *unknown_at(const struct located *located, size_t i)
{
    return &located->samples[located->unknown[located->known + i]];
}

size_t preprocess_located_wanted(const struct located *located, uint64_t ids[LOCATE_IDS_MAX])
{
    size_t left = located->unknown_count - located->known;
    size_t count = left < LOCATE_IDS_MAX ? left : LOCATE_IDS_MAX;
    for (size_t i = 0; i < count; i++)
        ids[i] = unknown_at(located, i)->id;
    return count;
}

/* The answer names the ids it is for: they must be those asked for, from the first on. */
static bool is_requested(const struct located *located, const struct weir_u64s *ids)
{
    if (ids->count == 0 || ids->count > located->unknown_count - located->known ||
        ids->count > LOCATE_IDS_MAX)
        return false;
    for (size_t i = 0; i < ids->count; i++) {
        if (ids->at[i] != unknown_at(located, i)->id)
            return false;
    }
    return true;
}

static bool has_values(const struct located *located, const struct msg_located *answer)
{
    size_t bytes = weir_dtype_bytes((enum weir_dtype)answer->value_type);
    if (answer->label_width == 0)
        return true;
    return answer->label_width <= WEIR_LABEL_WIDTH_MAX &&
           (answer->value_type == WEIR_F32 || answer->value_type == WEIR_F64) &&
           (located->label_width == 0 || located->label_width == answer->label_width) &&
           answer->label_values.size == answer->ids.count * answer->label_width * bytes;
}

static bool is_consistent(const struct located *located, const struct msg_located *answer)
{
    size_t files = answer->paths.count, wanted = answer->ids.count;
    bool is_right = answer->states.count == wanted && answer->files.count == wanted &&
                    answer->offsets.count == wanted && answer->lengths.count == wanted &&
                    answer->labels.count == wanted &&
                    (located->times == NULL || answer->times.count == wanted) &&
                    answer->devices.count == files && answer->inodes.count == files &&
                    answer->sizes.count == files && answer->mtimes.count == files;
    for (size_t i = 0; is_right && i < wanted; i++) {
        bool is_live = answer->states.at[i] == WEIR_SAMPLE_LIVE;
        is_right = answer->states.at[i] < WEIR_SAMPLE_STATES &&
                   answer->lengths.at[i] <= LOCATED_LENGTH_MAX &&
                   (!is_live || answer->files.at[i] < files);
    }
    return is_right;
}

static void add_file(struct located *located, const struct file_about *about)
{
    located->files = weir_grow(located->files, located->file_count, &located->file_capacity,
                               sizeof(*located->files));
    located->files[located->file_count] = *about;
    located->files[located->file_count++].path = weir_strdup(about->path);
}

static void add_files(struct located *located, const struct msg_located *answer)
{
    for (size_t i = 0; i < answer->paths.count; i++)
        add_file(located, &(struct file_about){
                              .path = answer->paths.at[i],
                              .device = answer->devices.at[i],
                              .inode = answer->inodes.at[i],
                              .size = answer->sizes.at[i],
                              .mtime_ns = answer->mtimes.at[i],
                              .host = answer->host,
                          });
}

static bool is_same_file(const struct file_about *a, const struct file_about *b)
{
    return a->inode == b->inode && a->device == b->device && a->host == b->host &&
           a->size == b->size && a->mtime_ns == b->mtime_ns && strcmp(a->path, b->path) == 0;
}

uint32_t preprocess_located_file(struct located *located, const struct file_about *about)
{
    size_t looks = located->file_count < SAME_FILE_LOOKS ? located->file_count : SAME_FILE_LOOKS;
    for (size_t i = located->file_count; looks > 0; i--, looks--) {
        if (is_same_file(&located->files[i - 1], about))
            return (uint32_t)(i - 1);
    }
    add_file(located, about);
    return (uint32_t)(located->file_count - 1);
}

/* Numbers become f32, which is what a batch holds. */
static void take_numbers(const struct msg_located *answer, size_t from, size_t count, float *to)
{
    const uint8_t *at = answer->label_values.at;
    for (size_t i = 0; i < count && answer->value_type == WEIR_F64; i++) {
        double number;
        memcpy(&number, at + (from + i) * sizeof(number), sizeof(number));
        to[i] = (float)number;
    }
    if (answer->value_type == WEIR_F32)
        memcpy(to, at + from * sizeof(float), count * sizeof(float));
}

static void take_values(struct located *located, const struct msg_located *answer)
{
    size_t width = answer->label_width;
    if (width == 0)
        return;
    if (located->values == NULL)
        located->values = weir_calloc(located->count, width * sizeof(float));
    located->label_width = answer->label_width;
    for (size_t i = 0; i < answer->ids.count; i++) {
        float *to = located->values + located->unknown[located->known + i] * width;
        take_numbers(answer, i * width, width, to);
    }
}

const float *preprocess_located_values(const struct located *located,
                                       const struct located_sample *sample)
{
    return located->values + (size_t)(sample - located->samples) * located->label_width;
}

enum weir_status preprocess_located_take(struct located *located, const struct msg_located *answer,
                                         struct weir_error *err)
{
    size_t wanted = answer->ids.count;
    if (!is_requested(located, &answer->ids))
        return weir_fail(err, WEIR_INVALID,
                         "located: %zu ids that were not asked for, expected at most %zu, in the "
                         "order of the request",
                         wanted, located->unknown_count - located->known);
    if (!is_consistent(located, answer) || !has_values(located, answer))
        return weir_fail(err, WEIR_INVALID,
                         "located: columns differ in length, expected %zu of each", wanted);
    take_values(located, answer);
    uint32_t first_file = (uint32_t)located->file_count;
    add_files(located, answer);
    for (size_t i = 0; i < wanted; i++) {
        struct located_sample *sample = unknown_at(located, i);
        sample->state = (uint8_t)answer->states.at[i];
        sample->file = first_file + answer->files.at[i];
        sample->offset = answer->offsets.at[i];
        sample->length = answer->lengths.at[i] & LOCATED_LENGTH_MAX; /* as is_consistent() has it */
        sample->label = answer->labels.at[i];
        if (located->times != NULL)
            located->times[sample - located->samples] = answer->times.at[i];
    }
    located->known += wanted;
    located->label_kind = answer->label_kind;
    return WEIR_OK;
}

const struct located_sample *preprocess_located_batch(const struct located *located,
                                                      const struct preprocess_plan *plan,
                                                      uint64_t batch, size_t *ret_count)
{
    uint64_t group = preprocess_group_of(&plan->geometry, batch);
    struct preprocess_range batches = preprocess_group(&plan->geometry, group);
    *ret_count = positions_of(located, plan, batch).count;
    return located->samples + positions_in(located, plan, batches.first, batch - batches.first);
}
