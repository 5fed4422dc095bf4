/* See compressed.h. */
#include "storage/formats/compressed.h"

#include "core/base/utf8.h"

#include <string.h>

static const struct {
    struct weir_bytes magic;
    const char *found, *expected;
} COMPRESSED[] = {
    {{(const uint8_t *)"\x28\xb5\x2f\xfd", 4},
     "zstd",
     "it decompressed (zstd -d), or a name that ends in .zst or .zstd, and import: copy"},
    {{(const uint8_t *)"\x1f\x8b", 2}, "gzip", "it decompressed (gzip -d), or written with zstd"},
    {{(const uint8_t *)"BZh", 3}, "bzip2", "it decompressed (bzip2 -d), or written with zstd"},
    {{(const uint8_t *)"\xfd"
                       "7zXZ",
      5},
     "xz",
     "it decompressed (xz -d), or written with zstd"},
    {{(const uint8_t *)"PK\x03\x04", 4}, "zip", "what is in it as files (unzip)"},
};

enum weir_status storage_compressed_refuse(const char *what, struct weir_bytes head,
                                           struct weir_error *err)
{
    for (size_t i = 0; i < WEIR_COUNT(COMPRESSED); i++) {
        const struct weir_bytes magic = COMPRESSED[i].magic;

        if (head.size >= magic.size && memcmp(head.at, magic.at, magic.size) == 0)
            return weir_fail(err, WEIR_INVALID, "found %s compressed with %s, expected %s", what,
                             COMPRESSED[i].found, COMPRESSED[i].expected);
    }
    return WEIR_OK;
}

enum weir_status storage_text_refuse(const char *what, struct weir_bytes head,
                                     struct weir_error *err)
{
    if (weir_utf8_is_utf16(head))
        return weir_fail(err, WEIR_INVALID,
                         "found %s in UTF-16, expected UTF-8: iconv -f UTF-16 -t UTF-8 writes it",
                         what);
    if (head.size >= 4 && memcmp(head.at, "PAR1", 4) == 0)
        return weir_fail(err, WEIR_INVALID,
                         "found %s in Parquet, expected text: tools/parquet_to_jsonl makes JSON "
                         "lines of it",
                         what);
    return storage_compressed_refuse(what, head, err);
}
