/* TensorFlow's records from strangers. The checksums are made right first, which a fuzzer would never guess. */
#include "core/base/crc32c.h"
#include "tests/fuzz/format_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void repair(uint8_t *at, size_t size, uint8_t *crc_at)
{
    uint32_t crc = weir_crc32c(weir_bytes(at, size));

    weir_put_u32(crc_at, (crc >> 15 | crc << 17) + 0xa282ead8u);
}

/* Repairs checksums where lengths allow; the first byte of the input is not of the file. */
static void repair_all(uint8_t *at, size_t left)
{
    while (left >= 16) {
        uint64_t size = weir_get_u64(at);

        repair(at, 8, at + 8);
        if (size > left - 16)
            return;
        repair(at + 12, (size_t)size, at + 12 + size);
        at += size + 16;
        left -= (size_t)size + 16;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct format_fields FIELDS = {
        .time = {.from = FORMAT_NAMED, .name = "ts"},
        .label = {.from = FORMAT_NAMED, .name = "kind", .count = 2},
        .subject = {.from = FORMAT_NAMED, .name = "user"}};
    WEIR_AUTO_BUF file = {0};

    format_fuzz_run(format_find("tfrecord"), NULL, &FIELDS, weir_bytes(data, size));
    if (size == 0)
        return 0;
    weir_buf_append(&file, data, size);
    repair_all(file.at + 1, size - 1);
    format_fuzz_run(format_find("tfrecord"), NULL, &FIELDS, weir_buf_view(&file));
    return 0;
}
