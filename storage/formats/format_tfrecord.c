/* Format `tfrecord`: TensorFlow's records, one after the other:
 *
 *     length u64 | masked CRC-32C of length u32 | data | masked CRC-32C of data u32
 *
 * The sample is the data. A wrong checksum of the data costs that record; a wrong one of the length, all
 * that follows: nothing says where the next record begins. */
#include "core/base/crc32c.h"
#include "storage/formats/example.h"
#include "storage/formats/format.h"

#include "core/base/memory.h"

#include <string.h>

enum { HEADER_BYTES = 12, FOOTER_BYTES = 4, DATA_MAX = FORMAT_RECORD_MAX - 16 };

static const struct cfg_key OPTIONS[] = {CFG_END};

/* One index run. */
struct run {
    const struct format_input *input;
    const struct format_fields *fields;
    const struct format_sink *sink;
    struct format_progress progress;
    bool wants_fields;
    double lists[FORMAT_ROLES][FORMAT_LIST_MAX];
};

static void refuse(struct run *run, const char *reason, bool is_tail)
{
    run->sink->refuse(run->sink->owner,
                      &(struct format_refusal){.offset = run->input->at + run->progress.consumed,
                                               .record = run->progress.record,
                                               .reason = reason,
                                               .is_tail = is_tail});
    run->progress.is_stuck = is_tail;
}

static bool is_zero(const uint8_t *at, size_t size)
{
    return size > 0 && at[0] == 0 && memcmp(at, at + 1, size - 1) == 0;
}

static void take_record(struct run *run, const uint8_t *at, size_t size)
{
    const uint8_t *data = at + HEADER_BYTES;
    struct format_range extent = {.offset = run->input->at + run->progress.consumed,
                                  .length = HEADER_BYTES + size + FOOTER_BYTES};
    struct format_sample sample = {.offset = extent.offset + HEADER_BYTES,
                                   .length = size,
                                   .record = run->progress.record,
                                   .extent = extent};

    if (size == 0)
        refuse(run, "found an empty record, expected bytes", false);
    else if (weir_crc32c_masked(weir_bytes(data, size)) != weir_get_u32(data + size))
        refuse(run, "found a wrong checksum of the data, expected that of what is there", false);
    else if (is_zero(data, size) && run->sink->scrubbed != NULL)
        run->sink->scrubbed(run->sink->owner, extent);
    else if (is_zero(data, size))
        return;
    else if (run->wants_fields &&
             !storage_example_read(weir_bytes(data, size), run->fields, run->lists, sample.each))
        refuse(run, "found no tf.train.Example, expected one", false);
    else
        run->sink->sample(run->sink->owner, &sample);
}

/* Takes the record at the beginning of `rest`; false when it is not all there, or nothing can follow. */
static bool step(struct run *run, struct weir_bytes rest)
{
    uint64_t left = run->input->size - run->input->at - run->progress.consumed;
    uint64_t size;

    if (rest.size < HEADER_BYTES && !run->input->is_last)
        return false;
    if (rest.size < HEADER_BYTES) {
        refuse(run, "found half a record at the end, expected the rest of it", true);
        return false;
    }
    size = weir_get_u64(rest.at);
    if (weir_crc32c_masked(weir_bytes(rest.at, 8)) != weir_get_u32(rest.at + 8)) {
        refuse(run,
               "found a wrong checksum of the length: where the next record begins cannot be told",
               true);
        return false;
    }
    if (left < HEADER_BYTES + FOOTER_BYTES || size > left - HEADER_BYTES - FOOTER_BYTES) {
        refuse(run, "found half a record at the end, expected the rest of it", true);
        return false;
    }
    if (size > DATA_MAX)
        refuse(run, "found a record beyond 16 MiB, expected less", false);
    else if (size > rest.size - HEADER_BYTES || rest.size - HEADER_BYTES - size < FOOTER_BYTES)
        return false;
    else
        take_record(run, rest.at, (size_t)size);
    run->progress.consumed += HEADER_BYTES + size + FOOTER_BYTES;
    run->progress.record++;
    return true;
}

static enum weir_status index_records(const struct format_input *input, const void *options,
                                      const struct format_fields *fields,
                                      const struct format_sink *sink,
                                      struct format_progress *ret_progress, struct weir_error *err)
{
    WEIR_AUTO_FREE struct run *run = weir_calloc(1, sizeof(*run));

    (void)options;
    (void)err;
    run->input = input;
    run->fields = fields;
    run->sink = sink;
    run->progress.record = input->record;
    for (int i = 0; i < FORMAT_ROLES; i++)
        run->wants_fields = run->wants_fields || fields->each[i].from == FORMAT_NAMED;
    while (run->progress.consumed < input->window.size &&
           step(run, weir_bytes(input->window.at + run->progress.consumed,
                                input->window.size - (size_t)run->progress.consumed)))
        ;
    *ret_progress = run->progress;
    return WEIR_OK;
}

/* The length stays, the data is zeros, and its checksum that of zeros. */
static void scrub(struct weir_bytes head, const void *options, uint8_t *extent, size_t size)
{
    size_t data = size - HEADER_BYTES - FOOTER_BYTES;

    (void)head;
    (void)options;
    memset(extent + HEADER_BYTES, 0, data);
    weir_put_u32(extent + HEADER_BYTES + data,
                 weir_crc32c_masked(weir_bytes(extent + HEADER_BYTES, data)));
}

static struct format_start start(struct weir_bytes head, uint64_t before, uint64_t payload)
{
    (void)head;
    (void)before;
    return (struct format_start){.at = payload - HEADER_BYTES};
}

const struct format storage_format_tfrecord = {
    .name = "tfrecord",
    .summary = "TensorFlow's records, checksums checked; fields are features of tf.train.Example",
    .options = OPTIONS,
    .gives = FORMAT_NAMED,
    .index = index_records,
    .scrub = scrub,
    .start = start,
};
