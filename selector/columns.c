/* A small table of blocks, least recently used out first. */
#include "selector/columns.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_BYTES = 24 };

static void release(struct selector_columns *columns, size_t index)
{
    struct selector_column_block *block = &columns->blocks[index];
    columns->bytes -= block->count * ROW_BYTES;
    free(block->memory); /* NOLINT(clang-analyzer-unix.Malloc): the last block is another one */
    *block = columns->blocks[--columns->count];
}

void selector_columns_fini(struct selector_columns *columns)
{
    while (columns->count > 0)
        release(columns, columns->count - 1);
    free(columns->blocks);
    *columns = (struct selector_columns){0};
}

static size_t find(const struct selector_columns *columns, uint64_t first)
{
    size_t i = 0;
    while (i < columns->count && columns->blocks[i].first != first)
        i++;
    return i;
}

const struct selector_column_block *selector_columns_get(struct selector_columns *columns,
                                                         uint64_t first, uint32_t rows)
{
    size_t index = find(columns, first);
    if (index == columns->count || columns->blocks[index].rows < rows)
        return NULL;
    columns->blocks[index].used = ++columns->clock;
    return &columns->blocks[index];
}

static void make_room(struct selector_columns *columns, size_t bytes)
{
    while (columns->count > 0 && columns->bytes + bytes > SELECTOR_COLUMNS_BYTES_MAX) {
        size_t oldest = 0;
        for (size_t i = 1; i < columns->count; i++)
            if (columns->blocks[i].used < columns->blocks[oldest].used)
                oldest = i;
        release(columns, oldest);
    }
}

void selector_columns_put(struct selector_columns *columns,
                          const struct selector_column_block *block)
{
    selector_columns_drop(columns, block->first);
    make_room(columns, block->count * ROW_BYTES);
    columns->blocks = weir_realloc(columns->blocks, columns->count + 1, sizeof *columns->blocks);
    uint64_t *memory = weir_calloc(3 * block->count + 1, sizeof *memory);
    int64_t *times = (int64_t *)(memory + block->count);
    int64_t *labels = times + block->count;
    if (block->count > 0) {
        memcpy(memory, block->ids, block->count * sizeof *memory);
        memcpy(times, block->times, block->count * sizeof *times);
        memcpy(labels, block->labels, block->count * sizeof *labels);
    }
    struct selector_column_block *kept = &columns->blocks[columns->count++];
    *kept = *block;
    kept->ids = memory;
    kept->times = times;
    kept->labels = labels;
    kept->memory = memory;
    kept->used = ++columns->clock;
    columns->bytes += block->count * ROW_BYTES;
}

void selector_columns_drop(struct selector_columns *columns, uint64_t id)
{
    size_t index = find(columns, id - weir_sample_row(id));
    if (index < columns->count)
        release(columns, index);
}
