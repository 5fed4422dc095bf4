/* Replay orders. An odd first byte asks for right checksums, so that what lies after them is reached. */
#include "core/base/hash.h"
#include "storage/feed/order.h"
#include "tests/fuzz/scratch_folder.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    FOOTER_BYTES = 80,
    DIGEST_BYTES = 16,
    NUMBERS = 8,
    PAGES = 6,
    DIRECTORY = 7,
    ROWS_MAX = 100,
    READS_MAX = 1000
};
#define MAGIC UINT64_C(0x31726564726f7765)

static const struct order_inputs INPUTS = {.dataset = 1, .position = 2, .rows = 3, .erased = 4};

/* The footer's inputs and digest, and the sum of the first page. */
static void repair(struct weir_buf *file)
{
    uint8_t *footer = file->at + file->size - FOOTER_BYTES;
    const uint64_t inputs[] = {MAGIC, INPUTS.dataset, INPUTS.position, INPUTS.rows, INPUTS.erased};
    for (size_t i = 0; i < WEIR_COUNT(inputs); i++)
        weir_put_u64(footer + 8 * i, inputs[i]);
    uint64_t directory = weir_get_u64(footer + 8 * DIRECTORY);
    if (directory > file->size - FOOTER_BYTES)
        return;
    if (directory > 8)
        weir_put_u64(file->at, weir_hash64(weir_bytes(file->at + 8, (size_t)directory - 8), MAGIC));
    struct weir_digest digest = weir_digest_of(
        weir_bytes(file->at + directory, file->size - (size_t)directory - DIGEST_BYTES));
    memcpy(footer + 8 * NUMBERS, digest.bytes, sizeof(digest.bytes));
}

/* Page after page, as a replay walks. */
static void walk(struct order *order)
{
    struct order_row rows[ROWS_MAX], after = {.time = INT64_MIN};
    struct weir_error err;
    size_t count = 1;
    for (int reads = 0; reads < READS_MAX && count > 0; reads++) {
        if (storage_order_read(order, &after, ROWS_MAX, rows, &count, &err) != WEIR_OK)
            return;
        weir_require(count <= ROWS_MAX);
        for (size_t i = 0; i < count; i++) {
            after = rows[i];
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct order *order = NULL;
    struct weir_error err;
    WEIR_AUTO_BUF bytes = {0};
    if (size == 0)
        return 0;
    weir_buf_append(&bytes, data + 1, size - 1);
    if (data[0] % 2 == 1 && bytes.size >= FOOTER_BYTES)
        repair(&bytes);
    WEIR_AUTO_FREE char *place = weir_format("%s/order", scratch_folder());
    scratch_write(place, weir_buf_view(&bytes));
    if (storage_order_open(place, &INPUTS, &order, &err) == WEIR_OK) {
        walk(order);
        storage_order_free(order);
    }
    return 0;
}
