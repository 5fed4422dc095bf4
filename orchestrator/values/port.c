/* See port.h. */
#include "orchestrator/values/port.h"

#include <stdlib.h>

bool orchestrator_port_read(const char *text, uint16_t *ret_port)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return false;
    unsigned long port = strtoul(text, &end, 10);
    *ret_port = (uint16_t)port;
    return *end == '\0' && port <= PORT_MAX;
}
