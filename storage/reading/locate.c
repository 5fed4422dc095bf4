/* Answers to `locate`: the hot path, from memory. */
#include "storage/reading/serve.h"
#include "storage/reading/use_leases.h"
#include "storage/sums/sums.h"

#include "core/base/memory.h"

struct answer {
    struct sums *sums;
    uint32_t *states, *files;
    uint64_t *offsets, *lengths;
    int64_t *labels, *times;
    struct answer_file *found; /* may be there twice, if samples of others stand between its own */
    size_t file_count;
    const struct dataset *dataset; /* of the first sample that is known */
    struct answer_values values;
};

static void open_answer(struct answer *answer, struct weir_arena *arena, size_t count)
{
    *answer = (struct answer){
        .sums = answer->sums,
        .values = answer->values,
        .states = weir_arena_alloc(arena, count * sizeof(*answer->states) + 1),
        .files = weir_arena_alloc(arena, count * sizeof(*answer->files) + 1),
        .offsets = weir_arena_alloc(arena, count * sizeof(*answer->offsets) + 1),
        .lengths = weir_arena_alloc(arena, count * sizeof(*answer->lengths) + 1),
        .labels = weir_arena_alloc(arena, count * sizeof(*answer->labels) + 1),
        .times = weir_arena_alloc(arena, count * sizeof(*answer->times) + 1),
        .found = weir_arena_alloc(arena, count * sizeof(*answer->found) + 1),
    };
}

static void add(void *owner, uint32_t i, const struct located *found)
{
    struct answer *answer = owner;
    size_t last = answer->file_count - 1;

    answer->states[i] = storage_serve_state(answer->sums, found);
    if (answer->dataset == NULL)
        answer->dataset = found->dataset;
    if (answer->states[i] != WEIR_SAMPLE_LIVE)
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

enum weir_status storage_locate(const struct serving *serving, const struct msg_locate *asked,
                                struct weir_arena *arena, struct msg_located *ret,
                                struct weir_error *err)
{
    struct weir_u64s ids = asked->ids;
    struct answer answer;
    struct answer_files files;
    const struct declaration *declaration;
    enum weir_status status = storage_readable(serving->store, err);

    if (status != WEIR_OK)
        return status;
    if (ids.count > LOCATE_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT, "locate.ids: found %zu, expected at most %d", ids.count,
                         LOCATE_IDS_MAX);
    ids.count = storage_answer_values_open(serving->store, &asked->ids, arena, &answer.values);
    answer.sums = serving->sums;
    open_answer(&answer, arena, ids.count);
    status = storage_find_all(serving->store, &ids, arena, add, &answer, err);
    declaration = answer.dataset != NULL ? answer.dataset->declaration : NULL;
    files = storage_answer_files(answer.found, answer.file_count, arena);
    *ret = (struct msg_located){
        .epoch = storage_leases_epoch(serving->leases),
        .states = {answer.states, ids.count},
        .files = {answer.files, ids.count},
        .offsets = {answer.offsets, ids.count},
        .lengths = {answer.lengths, ids.count},
        .labels = {answer.labels, ids.count},
        .times = {answer.times, ids.count},
        .paths = files.paths,
        .layouts = files.layouts,
        .devices = files.devices,
        .inodes = files.inodes,
        .sizes = files.sizes,
        .mtimes = files.mtimes,
        .format = declaration != NULL ? declaration->format->name : "",
        .label_kind = declaration != NULL ? declaration->label_kind : 0,
        .ids = ids,
        .label_width = answer.values.width,
        .value_type = answer.values.type,
        .label_values = answer.values.all,
        .host = serving->host,
    };
    return status;
}
