/* Bytes of files that storage owns, compared with the sums of their blocks. */
#include "storage/doctor/doctor_state.h"
#include "storage/sums/sums.h"

#include "core/base/memory.h"

#include <inttypes.h>

/* Rows that were looked up hold until a sum changes. */
static struct sum_rows *rows_of(struct doctor *doctor)
{
    uint64_t edition = storage_sums_edition(doctor->examined.sums);

    if (doctor->sums == NULL)
        doctor->sums = weir_calloc(1, sizeof(*doctor->sums));
    if (doctor->sums->db == NULL || doctor->sums_edition != edition)
        *doctor->sums = (struct sum_rows){.db = doctor->examined.store->db};
    doctor->sums_edition = edition;
    return doctor->sums;
}

static void say(struct doctor *doctor, const struct stored_file *file, const struct block_at *at,
                uint32_t length)
{
    uint64_t from = at->block * SUM_BLOCK_BYTES;

    doctor->is_reported = true;
    storage_doctor_say_file(doctor, DOCTOR_BYTES, DOCTOR_WRONG, file,
                            weir_format("bytes %" PRIu64 " to %" PRIu64
                                        " are not what was written there",
                                        from, from + length),
                            weir_strdup("the bytes whose checksum was kept"));
}

static enum weir_status check_block(struct doctor *doctor, const struct stored_file *file,
                                    const struct block_at *at, struct weir_bytes bytes,
                                    struct weir_error *err)
{
    uint64_t extent = storage_sums_extent(storage_doctor_dataset(doctor), file);
    uint32_t length = storage_block_length(at->block, extent);
    struct block_sum known = {0};
    enum weir_status status = storage_sum_rows_get(rows_of(doctor), at, &known, err);

    if (status != WEIR_OK)
        return status;
    if (known.length == SUM_DAMAGED) {
        say(doctor, file, at, length);
        return WEIR_OK;
    }
    doctor->unproven += known.is_unproven;
    if (known.length < length)
        doctor->unsummed++;
    if (known.length == 0)
        return WEIR_OK;
    doctor->summed++;
    if (known.length > bytes.size ||
        storage_block_sum(&doctor->examined.store->secret, at,
                          weir_bytes(bytes.at, known.length)) != known.sum)
        say(doctor, file, at, known.length);
    return WEIR_OK;
}

enum weir_status storage_doctor_sums(struct doctor *doctor, const struct stored_file *file,
                                     uint64_t from, struct weir_bytes bytes, struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    uint64_t extent = storage_sums_extent(dataset, file);
    struct block_at at = {dataset->number, storage_file_number(file), from / SUM_BLOCK_BYTES};
    enum weir_status status = WEIR_OK;

    for (size_t done = 0; status == WEIR_OK && done < bytes.size && from + done < extent;
         done += SUM_BLOCK_BYTES, at.block++) {
        size_t left = bytes.size - done;

        status = check_block(
            doctor, file, &at,
            weir_bytes(bytes.at + done, left < SUM_BLOCK_BYTES ? left : SUM_BLOCK_BYTES), err);
    }
    return status;
}
