/* Writing sorted runs: see sorted_run_writer.h. */
#include "storage/keys/sorted_run_writer.h"

#include <stdlib.h>
#include <string.h>

void storage_sorted_run_writer_init(struct sorted_run_writer *writer, uint64_t count,
                                    unsigned filter_bits, size_t filter_bytes_max)
{
    memset(writer, 0, sizeof(*writer));
    if (count / 8 * filter_bits <= filter_bytes_max)
        storage_sorted_run_filter_init(&writer->filter, count, filter_bits);
}

void storage_sorted_run_writer_fini(struct sorted_run_writer *writer)
{
    weir_buf_fini(&writer->bytes);
    free(writer->sizes.at);
    weir_buf_fini(&writer->fences);
    storage_sorted_run_filter_fini(&writer->filter);
}

static void write_segment(struct sorted_run_writer *writer, const struct sorted_run_entry *entries,
                          size_t count)
{
    uint8_t fence[sizeof(uint32_t)];

    weir_put_u32(fence, (uint32_t)(entries[0].hash >> 32));
    weir_buf_append(&writer->fences, fence, sizeof(fence));
    storage_id_list_add(&writer->sizes,
                        storage_sorted_run_segment_pack(entries, count, &writer->bytes));
    writer->count += count;
    for (size_t i = 0; writer->filter.blocks > 0 && i < count; i++)
        storage_sorted_run_filter_add(&writer->filter, entries[i].hash);
}

void storage_sorted_run_writer_add(struct sorted_run_writer *writer,
                                   const struct sorted_run_entry *entries, size_t count)
{
    while (count > 0) {
        size_t room = SORTED_RUN_SEGMENT_ENTRIES - writer->pending_count;
        size_t here = count < room ? count : room;

        memcpy(writer->pending + writer->pending_count, entries, here * sizeof(*entries));
        writer->pending_count += here;
        entries += here;
        count -= here;
        if (writer->pending_count == SORTED_RUN_SEGMENT_ENTRIES)
            storage_sorted_run_writer_end(writer);
    }
}

void storage_sorted_run_writer_end(struct sorted_run_writer *writer)
{
    if (writer->pending_count > 0)
        write_segment(writer, writer->pending, writer->pending_count);
    writer->pending_count = 0;
}

void storage_sorted_run_writer_take(struct sorted_run_writer *writer)
{
    writer->taken += writer->sizes.count;
    writer->sizes.count = 0;
    weir_buf_clear(&writer->bytes);
}
