/* Archives from strangers, read part by part and as a whole; a scrubbed sample stays readable. */
#include "tests/fuzz/format_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct format_fields FIELDS = {
        .time = {.from = FORMAT_NAMED, .name = "json.ts"},
        .label = {.from = FORMAT_NAMED, .name = "cls", .count = 2},
        .subject = {.from = FORMAT_NAMED, .name = "json.user.id"},
        .key = {.from = FORMAT_NAMED, .name = "__key__"}};
    static const struct format_fields NONE;
    static const void *part, *whole;

    if (part == NULL) {
        part = format_fuzz_options(format_find("tar"), "{sample: [jpg, png]}");
        whole = format_fuzz_options(format_find("tar"), "{}");
    }
    format_fuzz_run(format_find("tar"), part, &FIELDS, weir_bytes(data, size));
    format_fuzz_run(format_find("tar"), whole, &NONE, weir_bytes(data, size));
    return 0;
}
