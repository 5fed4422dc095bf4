/* The host by the random number that Linux draws when it boots (proc(5): /proc/sys/kernel/random/boot_id). */
#include "core/base/host.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/rng.h"

enum { BOOT_ID_BYTES_MAX = 256 };

uint64_t weir_host_id(void)
{
    WEIR_AUTO_BUF text = {0};
    uint64_t id = 0;
    if (weir_file_read("/proc/sys/kernel/random/boot_id", BOOT_ID_BYTES_MAX, &text, NULL) ==
        WEIR_OK)
        id = weir_hash64(weir_buf_view(&text), 0);
    return id != 0 ? id : weir_random_u64() | 1;
}
