/* Mosaic's shards from strangers, read column by column and as a whole. */
#include "tests/fuzz/format_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct format_fields FIELDS = {
        .time = {.from = FORMAT_NAMED, .name = "at"},
        .label = {.from = FORMAT_NAMED, .name = "text", .count = 2},
        .subject = {.from = FORMAT_NAMED, .name = "meta.who"}};
    static const struct format_fields NONE;
    static const void *column, *whole;

    if (column == NULL) {
        column = format_fuzz_options(format_find("mds"), "{sample: text}");
        whole = format_fuzz_options(format_find("mds"), "{}");
    }
    format_fuzz_run(format_find("mds"), column, &FIELDS, weir_bytes(data, size));
    format_fuzz_run(format_find("mds"), whole, &NONE, weir_bytes(data, size));
    return 0;
}
