/* Comma-separated values from strangers. */
#include "tests/fuzz/format_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct format_fields FIELDS = {.time = {.from = FORMAT_NAMED, .name = "ts"},
                                                .subject = {.from = FORMAT_NAMED, .name = "user"},
                                                .key = {.from = FORMAT_NAMED, .name = "kind"}};
    static const void *options;

    if (options == NULL)
        options = format_fuzz_options(format_find("csv"), "{}");
    format_fuzz_run(format_find("csv"), options, &FIELDS, weir_bytes(data, size));
    return 0;
}
