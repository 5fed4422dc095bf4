/* Comparing blocks with their sums before something is done because of what they hold: see sums.h. */
#include "storage/sums/sums_state.h"

#include <stdlib.h>
#include <unistd.h>

void storage_sum_proof_begin(struct sums *sums, struct sum_proof *ret_proof)
{
    *ret_proof = (struct sum_proof){.sums = sums, .rows = {.db = sums->store->db}, .fd = -1};
}

static void close_file(struct sum_proof *proof)
{
    if (proof->fd >= 0)
        close(proof->fd);
    proof->fd = -1;
    proof->last = (struct block_at){0};
}

void storage_sum_proof_end(struct sum_proof *proof)
{
    close_file(proof);
    free(proof->buffer);
    proof->buffer = NULL;
}

static void move_to_file(struct sum_proof *proof, const struct dataset *dataset,
                         const struct stored_file *file)
{
    WEIR_AUTO_FREE char *path = NULL;

    if (proof->last.dataset == dataset->number && proof->last.file == storage_file_number(file))
        return;
    close_file(proof);
    path = storage_dataset_path(dataset, file);
    proof->fd = storage_sum_file_open(
        &(struct sum_file){.path = path, .device = file->device, .inode = file->inode});
}

/* Number of bytes of the block whose sum held when an erasure took it out; 0: none. */
static uint32_t length_when_opened(const struct sums *sums, const struct block_at *at)
{
    for (size_t i = 0; i < sums->open_count; i++) {
        if (storage_block_equal(&sums->open[i].at, at))
            return sums->open[i].length;
    }
    return 0;
}

/* Compares the bytes that the sum is of. */
static void compare(struct sum_proof *proof, const struct block_at *at,
                    const struct block_sum *known)
{
    struct sum_task task = {.at = *at, .known = *known};

    if (proof->buffer == NULL)
        proof->buffer = weir_calloc(1, SUM_BLOCK_BYTES);
    task.outcome = SUM_OTHER;
    if (proof->fd >= 0)
        storage_sum_task_read(&proof->sums->store->secret, proof->fd, proof->buffer, &task);
    proof->length = known->length;
    proof->verdict = task.outcome == SUM_GOOD ? SUMS_HOLD : SUMS_DIFFER;
}

static enum weir_status look_at(struct sum_proof *proof, const struct block_at *at,
                                struct weir_error *err)
{
    struct block_sum known = {0};
    enum weir_status status = storage_sum_rows_get(&proof->rows, at, &known, err);

    if (status != WEIR_OK)
        return status;
    if (known.length == SUM_DAMAGED) {
        proof->length = SUM_BLOCK_BYTES;
        proof->verdict = SUMS_DIFFER;
    } else if (known.is_unproven) {
        proof->length = SUM_BLOCK_BYTES;
        proof->verdict = SUMS_UNPROVEN;
    } else if (known.length == 0) {
        proof->length = length_when_opened(proof->sums, at);
        proof->verdict = SUMS_HOLD;
    } else {
        compare(proof, at, &known);
    }
    proof->last = *at;
    return WEIR_OK;
}

enum weir_status storage_sum_proof_of(struct sum_proof *proof, const struct dataset *dataset,
                                      const struct stored_file *file, struct format_range range,
                                      enum sum_verdict *ret_verdict, struct weir_error *err)
{
    struct block_at at = {dataset->number, storage_file_number(file),
                          range.offset / SUM_BLOCK_BYTES};
    uint64_t end = range.offset + range.length;
    enum weir_status status = WEIR_OK;

    *ret_verdict = SUMS_HOLD;
    if (!storage_sums_are_for(dataset))
        return WEIR_OK;
    move_to_file(proof, dataset, file);
    for (; status == WEIR_OK && at.block * SUM_BLOCK_BYTES < end; at.block++) {
        if (!storage_block_equal(&proof->last, &at))
            status = look_at(proof, &at, err);
        if (status == WEIR_OK && proof->verdict > *ret_verdict)
            *ret_verdict = proof->verdict;
        if (*ret_verdict == SUMS_HOLD && proof->length < storage_block_length(at.block, end))
            *ret_verdict = SUMS_NONE;
    }
    return status;
}

/* ---- moves ---- */

enum weir_status storage_sums_note_moved(struct sum_rows *rows, const struct dataset *dataset,
                                         const struct stored_file *file, struct weir_error *err)
{
    uint64_t extent = storage_sums_extent(dataset, file);
    struct block_at at = {dataset->number, storage_file_number(file), 0};
    enum weir_status status = WEIR_OK;

    for (; status == WEIR_OK && at.block * SUM_BLOCK_BYTES < extent; at.block++) {
        struct block_sum known;

        status = storage_sum_rows_get(rows, &at, &known, err);
        if (status == WEIR_OK &&
            (known.is_unproven || known.length < storage_block_length(at.block, extent)))
            status = storage_sum_rows_put(rows, &at, (struct block_sum){.is_unproven = true}, err);
    }
    return status;
}
