/* Where samples are: the hot path, answered from memory. */
#include "storage/reading/serve.h"

#include "core/base/memory.h"

/* A file of the answer. It may be there twice, if samples of others stand between its own. */
struct answer_file {
    const struct dataset *dataset;
    const struct stored_file *file;
};

struct answer {
    uint32_t *states, *files;
    uint64_t *offsets, *lengths;
    int64_t *labels, *times;
    struct answer_file *found;
    size_t file_count;
    const struct dataset *dataset; /* of the first sample that is known */
    struct answer_values values;
};

static void open_answer(struct answer *answer, struct weir_arena *arena, size_t count)
{
    *answer = (struct answer){
        .values = answer->values,
        .states = weir_arena_alloc(arena, count * sizeof *answer->states + 1),
        .files = weir_arena_alloc(arena, count * sizeof *answer->files + 1),
        .offsets = weir_arena_alloc(arena, count * sizeof *answer->offsets + 1),
        .lengths = weir_arena_alloc(arena, count * sizeof *answer->lengths + 1),
        .labels = weir_arena_alloc(arena, count * sizeof *answer->labels + 1),
        .times = weir_arena_alloc(arena, count * sizeof *answer->times + 1),
        .found = weir_arena_alloc(arena, count * sizeof *answer->found + 1),
    };
}

static void add(void *owner, uint32_t i, const struct located *found)
{
    struct answer *answer = owner;
    size_t last = answer->file_count - 1;

    answer->states[i] = found->state;
    if (!answer->dataset)
        answer->dataset = found->dataset;
    if (found->state != WEIR_SAMPLE_LIVE)
        return;
    if (answer->file_count == 0 || answer->found[last].file != found->file) {
        last = answer->file_count++;
        answer->found[last] = (struct answer_file){found->dataset, found->file};
    }
    answer->files[i] = (uint32_t)last;
    answer->offsets[i] = found->offset;
    answer->lengths[i] = found->length;
    answer->labels[i] = found->label;
    answer->times[i] = found->time;
    storage_answer_values_put(&answer->values, i, found);
}

/* What the answer says of the files. */
static void describe_files(const struct answer *answer, struct weir_arena *arena,
                           struct msg_located *ret)
{
    size_t count = answer->file_count;
    const char **paths = weir_arena_alloc(arena, count * sizeof *paths + 1);
    uint64_t *layouts = weir_arena_alloc(arena, count * sizeof *layouts + 1);
    uint64_t *devices = weir_arena_alloc(arena, count * sizeof *devices + 1);
    uint64_t *inodes = weir_arena_alloc(arena, count * sizeof *inodes + 1);
    uint64_t *sizes = weir_arena_alloc(arena, count * sizeof *sizes + 1);
    int64_t *mtimes = weir_arena_alloc(arena, count * sizeof *mtimes + 1);

    for (size_t i = 0; i < count; i++) {
        const struct dataset *dataset = answer->found[i].dataset;
        const struct stored_file *file = answer->found[i].file;

        paths[i] = dataset->declaration->is_remote
                       ? ""
                       : weir_arena_format(arena, "%s/%s",
                                           dataset->declaration->is_copied ? dataset->copies
                                                                           : dataset->root,
                                           file->path);
        layouts[i] = file->layout;
        devices[i] = file->device;
        inodes[i] = file->inode;
        sizes[i] = file->size;
        mtimes[i] = file->mtime_ns;
    }
    ret->paths = (struct weir_strs){paths, count};
    ret->layouts = (struct weir_u64s){layouts, count};
    ret->devices = (struct weir_u64s){devices, count};
    ret->inodes = (struct weir_u64s){inodes, count};
    ret->sizes = (struct weir_u64s){sizes, count};
    ret->mtimes = (struct weir_i64s){mtimes, count};
}

enum weir_status storage_locate(struct storage *storage, const struct msg_locate *asked,
                                struct weir_arena *arena, struct msg_located *ret,
                                struct weir_error *err)
{
    struct weir_u64s ids = asked->ids;
    struct answer answer;
    const struct declaration *declaration;
    enum weir_status status = storage_ready(storage, err);

    if (status != WEIR_OK)
        return status;
    if (ids.count > LOCATE_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT, "locate.ids: found %zu, expected at most %d", ids.count,
                         LOCATE_IDS_MAX);
    ids.count = storage_answer_values_open(storage, &asked->ids, arena, &answer.values);
    open_answer(&answer, arena, ids.count);
    status = storage_find_all(storage, &ids, arena, add, &answer, err);
    declaration = answer.dataset ? answer.dataset->declaration : NULL;
    *ret = (struct msg_located){
        .epoch = storage_erasure_epoch(storage->erasure),
        .states = {answer.states, ids.count},
        .files = {answer.files, ids.count},
        .offsets = {answer.offsets, ids.count},
        .lengths = {answer.lengths, ids.count},
        .labels = {answer.labels, ids.count},
        .times = {answer.times, ids.count},
        .format = declaration ? declaration->format->name : "",
        .label_kind = declaration ? declaration->label_kind : 0,
        .ids = ids,
        .label_width = answer.values.width,
        .value_type = answer.values.type,
        .label_values = answer.values.all,
    };
    describe_files(&answer, arena, ret);
    return status;
}
