/* One sample a file: the manifest is the hostile part. */
#include "storage/formats/manifest.h"
#include "tests/fuzz/format_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct format_fields FIELDS = {.time = {.from = FORMAT_MANIFEST},
                                                .label = {.from = FORMAT_MANIFEST},
                                                .subject = {.from = FORMAT_MANIFEST},
                                                .key = {.from = FORMAT_MANIFEST}};
    struct format_fuzz fuzz = {.size = size};
    const struct format_sink sink = {.owner = &fuzz, .refuse = format_fuzz_refuse};
    WEIR_AUTO(manifest) manifest = NULL;
    struct weir_error err;

    if (storage_manifest_read("manifest.csv", weir_bytes(data, size), &FIELDS, &sink, &manifest,
                              &err) == WEIR_OK)
        (void)storage_manifest_find(manifest, "a.txt");
    format_fuzz_run(format_find("files"), NULL, &FIELDS, weir_bytes(data, size));
    return 0;
}
