/* Times as people and files write them: whatever is understood is written back to the same time. */
#include "core/base/clock.h"
#include "core/base/error.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t time_us, again;
    char text[WEIR_TIME_TEXT_MAX];
    if (!weir_time_parse((const char *)data, size, &time_us))
        return 0;
    weir_time_format(time_us, text);
    if (text[0] == '-' || strchr(text, '-') != text + 4)
        return 0; /* a zone moved it out of the years that have four digits */
    weir_require(weir_time_parse(text, strlen(text), &again));
    weir_require(again == time_us);
    return 0;
}
