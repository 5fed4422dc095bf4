/* Every message decoder: the first byte picks the message, the rest is its encoding. Whatever is
 * taken must be encoded and decoded again to the same bytes. */
#include "core/wire/wire.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct weir_message_info *info, const void *message,
                             struct weir_arena *arena)
{
    WEIR_AUTO_BUF first = {0}, second = {0};
    void *again = weir_arena_alloc(arena, info->size);
    struct weir_error err;
    weir_message_pack(info->type, message, &first);
    weir_require(weir_message_unpack(info->type, weir_buf_view(&first), arena, again, &err) ==
                 WEIR_OK);
    weir_message_pack(info->type, again, &second);
    weir_require(weir_bytes_equal(weir_buf_view(&first), weir_buf_view(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct weir_message_info *info = weir_message_at(data[0] % weir_message_count());
    struct weir_error err;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    void *message = weir_arena_alloc(arena, info->size);
    if (weir_message_unpack(info->type, weir_bytes(data + 1, size - 1), arena, message, &err) ==
        WEIR_OK)
        check_round_trip(info, message, arena);
    else
        weir_require(strncmp(err.text, info->name, strlen(info->name)) == 0);
    return 0;
}
