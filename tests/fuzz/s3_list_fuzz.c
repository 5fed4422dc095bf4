/* Listings of object stores: whatever is taken keeps its promises. */
#include "storage/objects/s3_list.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct s3_page page;
    struct weir_error err;
    struct s3_versions versions;
    char code[64];
    int64_t until_us = 0;

    storage_s3_error_code(weir_bytes(data, size), code);
    weir_require(strlen(code) < sizeof(code));
    if (storage_s3_lock_read(weir_bytes(data, size), arena, &until_us))
        weir_require(until_us != 0);
    if (storage_s3_versions_read(weir_bytes(data, size), "a", arena, &versions, &err) == WEIR_OK)
        weir_require(versions.count <= S3_PAGE_KEYS_MAX);
    if (storage_s3_page_read(weir_bytes(data, size), arena, &page, &err) != WEIR_OK)
        return 0;
    weir_require(page.count <= S3_PAGE_KEYS_MAX);
    for (size_t i = 0; i < page.count; i++) {
        weir_require(page.objects[i].key[0] && strlen(page.objects[i].key) <= S3_KEY_MAX);
        weir_require(strpbrk(page.objects[i].etag, "\r\n") == NULL);
        weir_require(i == 0 || strcmp(page.objects[i - 1].key, page.objects[i].key) < 0);
    }
    return 0;
}
