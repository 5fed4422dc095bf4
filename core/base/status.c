/* Names of the statuses, expanded from their list. */
#include "core/base/status.h"

bool weir_status_is_known(uint32_t number)
{
    switch (number) {
#define X(name, its_number) case its_number:
        WEIR_STATUS_LIST(X)
#undef X
        return true;
    default:
        return false;
    }
}

const char *weir_status_name(enum weir_status status)
{
    switch (status) {
#define X(name, number) \
    case WEIR_##name:   \
        return #name;
        WEIR_STATUS_LIST(X)
#undef X
    }
    return "UNKNOWN";
}
