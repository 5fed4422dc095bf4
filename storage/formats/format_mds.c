/* Format `mds`: Mosaic's shards; compressed ones arrive here expanded (expand.h). A shard says
 * itself what it holds; index.json is not needed:
 *
 *     count u32 | offsets u32 x (count + 1) | JSON of the columns | samples
 *
 * and a sample is the sizes (u32) of its columns of variable size, then all columns, one after the other. The
 * payload is one column (`sample: image`), or the whole sample. */
#include "storage/formats/format.h"
#include "storage/formats/json_fields.h"
#include "storage/formats/mds_shard.h"

#include "core/base/memory.h"

#include <stdio.h>
#include <string.h>

struct mds_options {
    const char *sample;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct mds_options, sample,
             .doc = "the column that is the payload; without it the whole sample, as the shard "
                    "holds it"),
    CFG_END,
};

/* One index run. */
struct run {
    const struct format_input *input;
    const struct format_fields *fields;
    const struct format_sink *sink;
    struct mds_shard shard;
    int payload;                       /* column, -1: all */
    int columns[FORMAT_ROLES];         /* -1: none */
    const char *members[FORMAT_ROLES]; /* of the JSON in that column; NULL: all of it */
    struct json_fields json[FORMAT_ROLES];
    double lists[FORMAT_ROLES][FORMAT_LIST_MAX];
};

/* A field names a column, or a column of JSON and a member of it: meta.user.id. */
static enum weir_status find_column(struct run *run, enum format_role role, struct weir_error *err)
{
    const struct format_field *field = &run->fields->each[role];
    const char *dot;

    run->columns[role] = -1;
    if (field->from != FORMAT_NAMED)
        return WEIR_OK;
    run->columns[role] = storage_mds_shard_find(&run->shard, field->name, strlen(field->name));
    dot = strchr(field->name, '.');
    if (run->columns[role] < 0 && dot != NULL) {
        run->columns[role] =
            storage_mds_shard_find(&run->shard, field->name, (size_t)(dot - field->name));
        run->members[role] = dot + 1;
    }
    if (run->columns[role] < 0)
        return weir_fail(err, WEIR_INVALID, "found no column '%s' among %zu, expected it",
                         field->name, run->shard.count);
    return WEIR_OK;
}

static enum weir_status prepare(struct run *run, const struct mds_options *options,
                                struct weir_error *err)
{
    enum weir_status status =
        storage_mds_shard_read(run->input->head, run->input->size, &run->shard, err);

    for (int i = 0; status == WEIR_OK && i < FORMAT_ROLES; i++)
        status = find_column(run, (enum format_role)i, err);
    run->payload = -1;
    if (status != WEIR_OK || options->sample == NULL)
        return status;
    run->payload = storage_mds_shard_find(&run->shard, options->sample, strlen(options->sample));
    if (run->payload < 0)
        return weir_fail(err, WEIR_INVALID, "found no column '%s' among %zu, expected the payload",
                         options->sample, run->shard.count);
    return WEIR_OK;
}

static bool read_value(struct run *run, enum format_role role, const struct weir_bytes *columns,
                       struct format_value *ret_value)
{
    const struct format_field *field = &run->fields->each[role];
    int column = run->columns[role];
    struct json_fields *json = &run->json[role];

    *ret_value = (struct format_value){.kind = FORMAT_ABSENT};
    if (column < 0)
        return true;
    if (run->members[role] == NULL)
        return storage_mds_value(run->shard.columns[column].encoding, columns[column], field,
                                 run->lists[role], ret_value);
    json->names[role] = run->members[role];
    if (!storage_json_fields_read(json, columns[column]))
        return false;
    *ret_value = storage_json_fields_value(json, role);
    return true;
}

static void refuse(const struct run *run, uint64_t number, const char *reason)
{
    run->sink->refuse(run->sink->owner, &(struct format_refusal){
                                            .offset = storage_mds_shard_offset(&run->shard, number),
                                            .record = number,
                                            .reason = reason});
}

static void take_sample(struct run *run, uint64_t number, struct weir_bytes bytes)
{
    struct format_range extent = {storage_mds_shard_offset(&run->shard, number), bytes.size};
    struct format_sample sample = {
        .offset = extent.offset, .length = extent.length, .record = number, .extent = extent};
    struct weir_bytes columns[MDS_COLUMNS_MAX];

    if (!storage_mds_shard_split(&run->shard, bytes, columns)) {
        refuse(run, number,
               "found columns that do not fill the sample, expected their sizes right");
        return;
    }
    if (storage_mds_shard_is_scrubbed(&run->shard, columns)) {
        if (run->sink->scrubbed != NULL)
            run->sink->scrubbed(run->sink->owner, extent);
        return;
    }
    if (run->payload >= 0) {
        sample.offset += (uint64_t)(columns[run->payload].at - bytes.at);
        sample.length = columns[run->payload].size;
    }
    if (sample.length == 0) {
        refuse(run, number, "found an empty payload, expected bytes");
        return;
    }
    for (int i = 0; i < FORMAT_ROLES; i++) {
        if (!read_value(run, (enum format_role)i, columns, &sample.each[i])) {
            refuse(run, number, "found a field that is not what its column's encoding says");
            return;
        }
    }
    run->sink->sample(run->sink->owner, &sample);
}

/* From the sample that begins at the window, as long as samples end inside. */
static void index_samples(struct run *run, struct format_progress *progress)
{
    const struct format_input *input = run->input;

    for (; progress->record < run->shard.samples; progress->record++) {
        uint64_t begin = storage_mds_shard_offset(&run->shard, progress->record);
        uint64_t end = storage_mds_shard_offset(&run->shard, progress->record + 1);

        if (end - begin > FORMAT_RECORD_MAX)
            refuse(run, progress->record, "found a sample beyond 16 MiB, expected less");
        else if (end - input->at > input->window.size)
            break;
        else
            take_sample(run, progress->record,
                        weir_bytes(input->window.at + (begin - input->at), (size_t)(end - begin)));
        progress->consumed = end - input->at;
    }
    if (progress->record == run->shard.samples)
        progress->consumed = input->size - input->at;
}

static enum weir_status index_file(const struct format_input *input, const void *options,
                                   const struct format_fields *fields,
                                   const struct format_sink *sink,
                                   struct format_progress *ret_progress, struct weir_error *err)
{
    WEIR_AUTO_FREE struct run *run = weir_calloc(1, sizeof(*run));
    struct format_progress progress = {.record = input->record};
    enum weir_status status;

    run->input = input;
    run->fields = fields;
    run->sink = sink;
    status = prepare(run, options, err);
    if (status != WEIR_OK)
        return status;
    if (input->at == 0) { /* to the first sample; what is searched for again begins here too */
        progress.record = 0;
        progress.consumed = run->shard.data;
    }
    if (progress.record > run->shard.samples ||
        storage_mds_shard_offset(&run->shard, progress.record) < input->at)
        return weir_fail(err, WEIR_INVALID, "found other offsets than before, expected a new file");
    if (progress.consumed <= input->window.size)
        index_samples(run, &progress);
    for (int i = 0; i < FORMAT_ROLES; i++)
        storage_json_fields_fini(&run->json[i]);
    *ret_progress = progress;
    return WEIR_OK;
}

static uint64_t head_bytes(struct weir_bytes head)
{
    return storage_mds_shard_head_bytes(head);
}

/* Sizes stay. JSON becomes 0, so that it still is JSON; all else zeros. */
static void scrub(struct weir_bytes head, const void *options, uint8_t *extent, size_t size)
{
    struct weir_bytes columns[MDS_COLUMNS_MAX];
    struct mds_shard shard;
    struct weir_error err;

    (void)options;
    if (storage_mds_shard_read(head, UINT32_MAX, &shard, &err) != WEIR_OK ||
        !storage_mds_shard_split(&shard, weir_bytes(extent, size), columns)) {
        memset(extent, 0, size);
        return;
    }
    for (size_t i = 0; i < shard.count; i++) {
        uint8_t *at = extent + (columns[i].at - extent);

        if (columns[i].size == 0)
            continue;
        memset(at, shard.columns[i].encoding == MDS_JSON ? ' ' : 0, columns[i].size);
        if (shard.columns[i].encoding == MDS_JSON)
            at[0] = '0';
    }
}

/* The payload may be a column of its sample. */
static struct format_start start(struct weir_bytes head, uint64_t before, uint64_t payload)
{
    struct format_start found = {0};

    (void)before;
    if (storage_mds_shard_locate(head, payload, &found.record))
        found.at = storage_mds_shard_begin(head, found.record);
    return found;
}

const struct format storage_format_mds = {
    .name = "mds",
    .summary = "Mosaic's shards, raw or with import: copy compressed; fields are columns, or "
               "members of JSON in them; an index.json beside them is passed over",
    .options = OPTIONS,
    .options_size = sizeof(struct mds_options),
    .gives = FORMAT_NAMED,
    .passes_over =
        "index.json", /* each shard describes itself; hashes end with the first erasure */
    .head_bytes = head_bytes,
    .index = index_file,
    .scrub = scrub,
    .start = start,
};
