/* From a pushed payload to rows of a batch and bytes of a segment: see push_batch.h. Only records that
 * are taken get into the segment, so that it holds nothing but samples. */
#include "storage/push/push_batch.h"

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/lines.h"
#include "core/base/memory.h"
#include "storage/catalog/table_columns.h"
#include "storage/intake/intake.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is expected of clients ---- */

static const char *option(const struct dataset *dataset, const char *key, const char *fallback)
{
    const char *text = weir_yaml_text(weir_yaml_get(dataset->declaration->source_node, key));

    return text != NULL ? text : fallback;
}

void storage_push_describe(const struct dataset *dataset, struct msg_pushed *message)
{
    message->format = dataset->declaration->format->name;
    message->record_bytes = strtoull(option(dataset, "record_bytes", "0"), NULL, 10);
    message->delimiter = option(dataset, "delimiter", ",");
    message->unquoted = weir_str_equal(option(dataset, "quotes", "double"), "none");
    message->headless = weir_str_equal(option(dataset, "header", "true"), "false");
}

/* ---- the head ---- */

struct first_record {
    bool is_found;
    uint64_t offset;
};

static void note_first(struct first_record *first, uint64_t offset)
{
    if (!first->is_found)
        first->offset = offset;
    first->is_found = true;
}

static void first_sample(void *owner, const struct format_sample *sample)
{
    note_first(owner, sample->offset);
}

static void first_refusal(void *owner, const struct format_refusal *refusal)
{
    note_first(owner, refusal->offset);
}

/* Lines before the first record that hold nothing are no head. */
static struct weir_bytes trim(struct weir_bytes head)
{
    size_t at = 0, end = 0;
    size_t size;

    while ((size = weir_line(weir_bytes(head.at + at, head.size - at))) > 0) {
        if (!weir_line_is_blank(weir_chomp(weir_bytes(head.at + at, size))))
            end = at + size;
        at += size;
    }
    return weir_bytes(head.at, end);
}

/* Returns the part of a payload that formats see as the beginning of a file. */
static struct weir_bytes beginning_of(struct weir_bytes payload)
{
    return weir_bytes(payload.at, payload.size < FORMAT_HEAD_MAX ? payload.size : FORMAT_HEAD_MAX);
}

enum weir_status storage_push_head(const struct dataset *dataset, struct weir_bytes beginning,
                                   struct weir_bytes *ret_head, struct weir_error *err)
{
    const struct declaration *d = dataset->declaration;
    struct weir_bytes start = beginning_of(beginning);
    struct first_record first = {.is_found = false};
    const struct format_sink sink = {
        .owner = &first, .sample = first_sample, .refuse = first_refusal};
    const struct format_input input = {
        .head = start,
        .window = start,
        .record = d->format->counts_lines ? 1 : 0,
        .size = beginning.size,
        .is_last = start.size == beginning.size,
    };
    struct format_progress progress;
    enum weir_status status =
        d->format->index(&input, d->options, &d->fields, &sink, &progress, err);

    if (status == WEIR_OK)
        status = storage_table_columns_check(dataset, start, beginning.size, err);
    if (status != WEIR_OK)
        return status;
    *ret_head = trim(weir_bytes(beginning.at,
                                first.is_found ? (size_t)first.offset : (size_t)progress.consumed));
    return WEIR_OK;
}

/* ---- staging ---- */

struct staging {
    struct push_group *group;
    struct push_answer *answer;
    struct weir_bytes payload;
    struct intake intake;
    struct format_sink sink; /* of the intake */
    uint64_t records;
};

static void on_refusing(void *listener, uint64_t record, const char *reason)
{
    struct push_answer *answer = listener;

    answer->refused++;
    if (answer->reason_count == PUSH_REASONS_MAX)
        return;
    answer->reason_count++;
    weir_buf_printf(&answer->reasons, "%llu %s\n", (unsigned long long)record, reason);
}

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    struct staging *staging = owner;
    struct format_refusal final = *refusal;

    final.is_tail = false; /* nothing will complete it: a batch ends where it ends */
    staging->records++;
    staging->sink.refuse(staging->sink.owner, &final);
}

static void refuse_length(struct staging *staging, const struct format_sample *sample)
{
    char reason[96];

    snprintf(reason, sizeof(reason), "found a record of %llu bytes, expected at most %d",
             (unsigned long long)sample->length, FORMAT_RECORD_MAX);
    on_refuse(staging, &(struct format_refusal){
                           .offset = sample->offset, .record = sample->record, .reason = reason});
}

static void on_sample(void *owner, const struct format_sample *sample)
{
    struct staging *staging = owner;
    struct push_group *group = staging->group;
    struct format_sample placed = *sample;
    uint64_t before = group->file->samples;

    if (sample->length > FORMAT_RECORD_MAX) {
        refuse_length(staging, sample);
        return;
    }
    placed.offset = group->target->used + group->bytes.size;
    staging->intake.window_at = placed.offset - sample->offset;
    staging->records++;
    staging->sink.sample(staging->sink.owner, &placed);
    if (group->file->samples == before)
        return;
    weir_buf_append(&group->bytes, staging->payload.at + sample->offset, sample->length);
    if (group->dataset->declaration->format->ends_with_newline)
        weir_buf_append(&group->bytes, "\n", 1);
}

static enum weir_status index_payload(struct staging *staging, struct weir_error *err)
{
    const struct declaration *d = staging->group->dataset->declaration;
    struct weir_bytes payload = staging->payload;
    const struct format_sink sink = {.owner = staging, .sample = on_sample, .refuse = on_refuse};
    const struct format_input input = {
        .head = beginning_of(payload),
        .window = payload,
        .record = d->format->counts_lines ? 1 : 0,
        .size = payload.size,
        .is_last = true,
        .is_full = true,
    };
    struct format_progress progress;

    return d->format->index(&input, d->options, &d->fields, &sink, &progress, err);
}

static struct intake intake_for(struct push_group *group, struct push_batch *batch)
{
    const struct store *store = group->tools->store;

    return (struct intake){
        .dataset = group->dataset,
        .batch = group->batch,
        .secret = &store->secret,
        .erased = &store->erased,
        .file = group->file,
        .mtime_us = weir_now_wall_us(),
        .window = weir_frames_at(&batch->frames, 0),
        .head = weir_frames_at(&batch->frames, 0),
        .refusing = on_refusing,
        .listener = &batch->answer,
        .refused = REFUSALS_LISTED_MAX - PUSH_REASONS_MAX,
    };
}

enum weir_status storage_push_stage(struct push_group *group, struct push_batch *batch,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *origin =
        weir_format("push %s, batch %llu", batch->client, (unsigned long long)batch->answer.number);
    struct staging staging = {.group = group,
                              .answer = &batch->answer,
                              .payload = weir_frames_at(&batch->frames, 0),
                              .intake = intake_for(group, batch)};
    uint64_t before = group->file->samples;
    enum weir_status status;

    staging.intake.origin = origin;
    staging.sink = storage_intake_sink(&staging.intake);
    status = index_payload(&staging, err);
    if (status != WEIR_OK && staging.records > 0) { /* what came before it is taken */
        on_refusing(&batch->answer, 0, err->text);
        storage_intake_refuse_file(&staging.intake, err->text);
        status = WEIR_OK;
        staging.records++;
    }
    storage_intake_finish(&staging.intake);
    storage_intake_fini(&staging.intake);
    batch->answer.samples = group->file->samples - before;
    if (batch->answer.samples > 0)
        storage_table_columns_adopt(group->dataset, beginning_of(staging.payload),
                                    staging.payload.size);
    batch->answer.left_out = staging.records - batch->answer.samples - batch->answer.refused;
    return status;
}
