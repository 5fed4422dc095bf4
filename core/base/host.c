/* The host by the random number that Linux draws when it boots (proc(5): /proc/sys/kernel/random/boot_id), and by its
 * processors (/proc/cpuinfo). */
#include "core/base/host.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { BOOT_ID_BYTES_MAX = 256, PROCESSORS_BYTES_MAX = 1 << 24 };

uint64_t weir_host_id(void)
{
    WEIR_AUTO_BUF text = {0};
    uint64_t id = 0;
    if (weir_file_read("/proc/sys/kernel/random/boot_id", BOOT_ID_BYTES_MAX, &text, NULL) ==
        WEIR_OK)
        id = weir_hash64(weir_buf_view(&text), 0);
    return id != 0 ? id : weir_random_u64() | 1;
}

/* The value of the first line of that name; "" where there is none. */
static struct weir_bytes value_of(struct weir_buf *text, const char *name)
{
    const char *line = strstr(weir_buf_text(text), name);
    const char *value = line == NULL ? NULL : strchr(line, ':');
    return value == NULL ? weir_bytes_of("")
                         : weir_bytes_trim(weir_bytes(value + 1, strcspn(value + 1, "\n")));
}

char *weir_host_text(void)
{
    WEIR_AUTO_BUF text = {0};
    struct utsname system = {.sysname = "unknown"};
    (void)uname(&system);
    weir_ignore(
        weir_file_read("/proc/cpuinfo", PROCESSORS_BYTES_MAX, &text, NULL)); /* or unknown */
    struct weir_bytes processor = value_of(&text, "model name");
    return weir_format("%ld x %.*s, %s %s", sysconf(_SC_NPROCESSORS_ONLN),
                       processor.size > 0 ? (int)processor.size : (int)strlen(system.machine),
                       processor.size > 0 ? (const char *)processor.at : system.machine,
                       system.sysname, system.release);
}
