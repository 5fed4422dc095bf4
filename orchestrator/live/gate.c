/* Headers of requests: see gate.h. */
#include "orchestrator/live/gate.h"

#include "core/base/memory.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LOOPBACK_NET = 127 };

bool orchestrator_live_is_loopback_name(const char *host)
{
    struct in_addr v4;
    if (host == NULL)
        return false;
    size_t size = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    WEIR_AUTO_FREE char *name = weir_strndup(host, size);
    if (strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0)
        return true;
    return inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == LOOPBACK_NET;
}

bool orchestrator_live_is_own_site(const char *site)
{
    return site == NULL || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

/* Of "gzip;q=0.5" all after the name. */
static bool is_refused(const char *parameters)
{
    const char *weight = strchr(parameters, '=');
    return weight != NULL && strtod(weight + 1, NULL) <= 0;
}

bool orchestrator_live_takes_gzip(const char *encodings)
{
    bool takes = false;
    while (encodings != NULL && *encodings != '\0') {
        encodings += strspn(encodings, " \t,");
        size_t size = strcspn(encodings, ",");
        WEIR_AUTO_FREE char *one = weir_strndup(encodings, size);
        size_t name = strcspn(one, "; \t");
        if (name == strlen("gzip") && strncasecmp(one, "gzip", name) == 0)
            takes = !is_refused(one + name);
        encodings += size;
    }
    return takes;
}
