/* Packed models. An odd first byte has the second one of two files made by the packer, so that what lies behind a right
 * header is reached. */
#include "core/base/memory.h"
#include "core/wire/model_pack.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_error err;
    WEIR_AUTO_BUF pack = {0};
    uint8_t header[WEIR_TAR_BLOCK];
    if (size == 0)
        return 0;
    if (data[0] % 2 == 1 && weir_model_pack_header("a/b", 0, header, &err) == WEIR_OK)
        weir_buf_append(&pack, header, sizeof(header));
    weir_buf_append(&pack, data + 1, size - 1);
    struct weir_model_pack_reader reader = {.pack = weir_buf_view(&pack)};
    enum weir_status status = WEIR_OK;
    while ((status = weir_model_pack_next(&reader, &err)) == WEIR_OK) {
        weir_require(reader.name[0] != '\0' && reader.name[0] != '/');
        weir_require(strstr(reader.name, "/../") == NULL && strncmp(reader.name, "../", 3) != 0);
        weir_require(reader.bytes.at >= pack.at &&
                     reader.bytes.at + reader.bytes.size <= pack.at + pack.size);
    }
    weir_require(status == WEIR_NOT_FOUND || status == WEIR_CORRUPT);
    return 0;
}
