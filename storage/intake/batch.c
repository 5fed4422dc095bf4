/* Staging of a batch: see batch.h. Its commit is in batch_commit.c. */
#include "storage/chunks/label_values.h"
#include "storage/files/owned.h"
#include "storage/intake/batch_stage.h"

#include "core/base/memory.h"
#include "core/base/require.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROWS_AT_LEAST = 1024 };

#define MAKE_ROOM(list) \
    ((list).at = weir_grow((list).at, (list).count, &(list).capacity, sizeof(*(list).at)))

struct batch *storage_batch_new(struct dataset *dataset)
{
    struct batch *batch = weir_calloc(1, sizeof(*batch));

    batch->dataset = dataset;
    return batch;
}

/* Files that did not come to be committed are no longer in the group. */
static void leave_group(struct batch *batch)
{
    struct file_group *group = batch->continued;

    while (group != NULL && group->count > batch->continued_from) {
        struct stored_file *file = &group->files[--group->count];

        free(file->path);
        *file = (struct stored_file){0};
    }
    if (group != NULL) {
        group->is_taking = false;
        storage_file_group_reorder(group);
    }
    batch->continued = NULL;
}

void storage_batch_keep_files(struct batch *batch)
{
    if (batch->continued != NULL)
        batch->continued->is_taking = false;
    batch->continued = NULL;
}

void storage_batch_clear(struct batch *batch)
{
    leave_group(batch);
    for (size_t i = 0; i < batch->groups.count; i++) {
        if (batch->groups.at[i]->number > 0) /* the dataset owns it */
            batch->groups.at[i]->is_touched = false;
        else
            storage_file_group_free(batch->groups.at[i]);
    }
    for (size_t i = 0; i < batch->refusals.count; i++) {
        free(batch->refusals.at[i].path);
        free(batch->refusals.at[i].place);
        free(batch->refusals.at[i].reason);
    }
    for (size_t i = 0; i < batch->withdrawals.count; i++)
        free(batch->withdrawals.at[i].path);
    batch->groups.count = batch->segments.count = batch->subjects.count = 0;
    batch->keys.count = 0;
    batch->replaced.count = 0;
    batch->identifier = NULL;
    batch->kills.count = batch->refusals.count = batch->withdrawals.count = 0;
    batch->met.count = batch->blocked.count = batch->refused_names.count = 0;
    batch->row_count = batch->file_count = 0;
    weir_buf_clear(&batch->values);
    batch->open = NULL;
    batch->also = NULL;
}

static void free_columns(struct batch *batch)
{
    if (batch->row_capacity == 0)
        return;
    for (int i = 0; i < BATCH_COLUMNS; i++)
        munmap(batch->columns[i], batch->row_capacity * sizeof(int64_t));
    munmap(batch->subjects.at, batch->row_capacity * sizeof(*batch->subjects.at));
    munmap(batch->keys.at, batch->row_capacity * sizeof(*batch->keys.at));
}

void storage_batch_free(struct batch *batch)
{
    if (batch == NULL)
        return;
    storage_batch_clear(batch);
    free_columns(batch);
    weir_buf_fini(&batch->values);
    free(batch->groups.at);
    free(batch->segments.at);
    free(batch->replaced.at);
    free(batch->kills.at);
    free(batch->refusals.at);
    free(batch->withdrawals.at);
    free(batch->refused_names.at);
    free(batch->met.at);
    free(batch->blocked.at);
    free(batch);
}

static struct file_group *stage_group(struct batch *batch, size_t capacity)
{
    struct file_group *group = storage_file_group_new(capacity);

    group->is_touched = true;
    MAKE_ROOM(batch->groups);
    batch->groups.at[batch->groups.count++] = group;
    return group;
}

static void touch_group(struct batch *batch, struct file_group *group)
{
    if (group->is_touched)
        return;
    group->is_touched = true;
    MAKE_ROOM(batch->groups);
    batch->groups.at[batch->groups.count++] = group;
}

/* The group that takes the next file: the dataset's last one as long as it has few. */
static struct file_group *open_group(struct batch *batch)
{
    bool is_one_sample = batch->dataset->declaration->format->is_one_sample;
    struct file_group *group =
        batch->open != NULL ? NULL : storage_dataset_open_group(batch->dataset);

    if (group == NULL)
        return stage_group(batch, is_one_sample ? FILE_GROUP_MAX : FILE_GROUP_GROWING);
    group->is_taking = true;
    batch->continued = group;
    batch->continued_from = group->count;
    touch_group(batch, group);
    return group;
}

struct stored_file *storage_batch_file(struct batch *batch, const char *path)
{
    struct stored_file *file;

    if (batch->open == NULL || batch->open->count == batch->open->capacity)
        batch->open = open_group(batch);
    file = &batch->open->files[batch->open->count++];
    file->path = weir_strdup(path);
    file->group = batch->open;
    file->layout = 1;
    batch->file_count++;
    return file;
}

void storage_batch_touch(struct batch *batch, struct stored_file *file)
{
    batch->file_count += !file->group->is_touched;
    touch_group(batch, file->group);
}

/* A million rows need 70 MB: pages move to where there is room, nothing is copied or wiped. */
static void *grow_rows(const struct batch *batch, void *at, size_t rows, size_t size)
{
    void *grown = at == NULL ? mmap(NULL, rows * size, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                             : mremap(at, batch->row_capacity * size, rows * size, MREMAP_MAYMOVE);

    weir_require(grown != MAP_FAILED); /* out of memory */
    return grown;
}

/* Pages that nothing is written to cost nothing. */
static void grow_columns(struct batch *batch, size_t more)
{
    size_t rows = 2 * batch->row_capacity + more;

    if (more <= batch->row_capacity - batch->row_count)
        return;
    rows += ROWS_AT_LEAST - rows % ROWS_AT_LEAST; /* whole pages */
    for (int i = 0; i < BATCH_COLUMNS; i++)
        batch->columns[i] = grow_rows(batch, batch->columns[i], rows, sizeof(int64_t));
    batch->subjects.at = grow_rows(batch, batch->subjects.at, rows, sizeof(*batch->subjects.at));
    batch->keys.at = grow_rows(batch, batch->keys.at, rows, sizeof(*batch->keys.at));
    batch->row_capacity = rows;
}

void storage_batch_room(struct batch *batch, size_t count, int64_t *ret_columns[BATCH_COLUMNS])
{
    grow_columns(batch, count);
    for (int i = 0; i < BATCH_COLUMNS; i++)
        ret_columns[i] = batch->columns[i] + batch->row_count;
}

const struct batch_segment *storage_batch_segment(const struct batch *batch, uint64_t row)
{
    size_t low = 0, high = batch->segments.count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (batch->segments.at[middle].first > row)
            high = middle;
        else
            low = middle;
    }
    return &batch->segments.at[low];
}

void storage_batch_add_rows(struct batch *batch, struct stored_file *file, size_t count)
{
    size_t last = batch->segments.count;

    if (last == 0 || batch->segments.at[last - 1].file != file) {
        MAKE_ROOM(batch->segments);
        batch->segments.at[batch->segments.count++] =
            (struct batch_segment){.file = file, .first = batch->row_count};
        last++;
    }
    batch->segments.at[last - 1].count += count;
    batch->row_count += count;
    file->samples += count;
    storage_batch_touch(batch, file);
}

void storage_batch_row(struct batch *batch, struct stored_file *file, const struct batch_row *row)
{
    size_t at = batch->row_count;

    grow_columns(batch, ROWS_AT_LEAST);
    batch->columns[BATCH_TIME][at] = row->time;
    batch->columns[BATCH_LABEL][at] = row->label;
    batch->columns[BATCH_OFFSET][at] = (int64_t)row->offset;
    batch->columns[BATCH_LENGTH][at] = (int64_t)row->length;
    if (row->has_subject)
        batch->subjects.at[batch->subjects.count++] =
            (struct sorted_run_entry){.hash = row->subject, .id = at};
    if (row->has_key)
        batch->keys.at[batch->keys.count++] = (struct sorted_run_entry){.hash = row->key, .id = at};
    if (row->values != NULL)
        weir_buf_append(&batch->values, row->values,
                        storage_declaration_value_bytes(batch->dataset->declaration));
    storage_batch_add_rows(batch, file, 1);
}

void storage_batch_kill(struct batch *batch, struct stored_file *file, enum weir_change_kind kind)
{
    MAKE_ROOM(batch->kills);
    batch->kills.at[batch->kills.count++] = (struct batch_kill){.file = file, .kind = kind};
    file->state = kind == WEIR_CHANGE_REMOVED ? FILE_REMOVED : FILE_REPLACED;
    storage_batch_touch(batch, file);
}

void storage_batch_refuse(struct batch *batch, const struct batch_refusal *refusal)
{
    struct staged_refusal *staged;

    MAKE_ROOM(batch->refusals);
    staged = &batch->refusals.at[batch->refusals.count++];
    staged->path = weir_strdup(refusal->path);
    staged->place = weir_strdup(refusal->place);
    staged->reason = weir_strdup(refusal->reason);
    staged->count = refusal->count;
    staged->is_tail = refusal->is_tail;
    staged->is_blocked = refusal->is_blocked;
}

void storage_batch_refused_name(struct batch *batch, const struct stored_file *file, uint64_t hash)
{
    if (!storage_mirrors(batch->dataset))
        return;
    MAKE_ROOM(batch->refused_names);
    batch->refused_names.at[batch->refused_names.count++] =
        (struct staged_name){.file = file, .hash = hash};
}

void storage_batch_withdraw(struct batch *batch, const char *path, bool all)
{
    MAKE_ROOM(batch->withdrawals);
    batch->withdrawals.at[batch->withdrawals.count++] =
        (struct batch_withdrawal){.path = weir_strdup(path), .all = all};
}

void storage_batch_block(struct batch *batch, uint64_t hash)
{
    struct blocked_hash *blocked = storage_dataset_blocked(batch->dataset, hash);

    if (blocked == NULL) {
        storage_dataset_block(batch->dataset, hash, false);
        MAKE_ROOM(batch->blocked);
        batch->blocked.at[batch->blocked.count++] = hash;
        blocked = storage_dataset_blocked(batch->dataset, hash);
    }
    if (storage_blocked_is_met(blocked))
        return;
    blocked->word |= 1;
    MAKE_ROOM(batch->met);
    batch->met.at[batch->met.count++] = hash;
}

void storage_batch_returned(struct batch *batch)
{
    batch->dataset->accounts.returned++;
}

void storage_batch_also(struct batch *batch, storage_batch_also_fn *also, void *owner)
{
    batch->also = also;
    batch->also_owner = owner;
}

size_t storage_batch_rows(const struct batch *batch)
{
    return batch->row_count;
}

void storage_batch_identify(struct batch *batch, struct key_identifier *identifier)
{
    batch->identifier = identifier;
}

bool storage_batch_is_full(const struct batch *batch)
{
    const struct declaration *d = batch->dataset->declaration;
    size_t rows_max = batch->dataset->updates != NULL          ? BATCH_UPDATES_MAX
                      : d->keep != KEEP_ALL || d->awaits_label ? BATCH_COMPARED_MAX
                                                               : BATCH_ROWS_MAX;

    return batch->file_count >= BATCH_FILES_MAX || batch->row_count >= rows_max ||
           batch->refusals.count >= BATCH_FILES_MAX ||
           batch->refused_names.count >= BATCH_ROWS_MAX || batch->values.size >= BATCH_VALUES_BYTES;
}

bool storage_batch_is_empty(const struct batch *batch)
{
    return batch->groups.count == 0 && batch->refusals.count == 0 && batch->met.count == 0 &&
           batch->withdrawals.count == 0;
}
