/* Sidecars of one-sample files: members of a JSON object, and a whole text. */
#include "storage/files/sidecar.h"
#include "tests/fuzz/scratch_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_inside(struct weir_bytes part, const struct sidecar *sidecar)
{
    return part.size <= sidecar->text.size + 1;
}

static void check(const struct format_fields *fields, const char *root, const char *path)
{
    struct declaration declaration = {.fields = *fields};
    struct dataset dataset = {.declaration = &declaration, .root = (char *)(uintptr_t)root};
    struct sidecar sidecar = {0};
    struct weir_error err;
    declaration.source.sidecar = ".json";
    if (storage_sidecar_read(&dataset, path, &sidecar, &err) == WEIR_OK) {
        for (int i = 0; i < FORMAT_ROLES; i++)
            weir_require(is_inside(sidecar.row.each[i], &sidecar));
    }
    storage_sidecar_fini(&sidecar);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct format_fields MEMBERS = {
        .time = {.from = FORMAT_SIDECAR, .name = "ts"},
        .label = {.from = FORMAT_SIDECAR, .name = "cls"},
        .subject = {.from = FORMAT_SIDECAR, .name = "user.id"},
        .key = {.from = FORMAT_SIDECAR, .name = "id"}};
    static const struct format_fields WHOLE = {.label = {.from = FORMAT_SIDECAR}};
    WEIR_AUTO_FREE char *place = weir_format("%s/a.json", scratch_folder());
    scratch_write(place, weir_bytes(data, size));
    check(&MEMBERS, scratch_folder(), "a.jpg");
    check(&WHOLE, scratch_folder(), "a.jpg");
    return 0;
}
