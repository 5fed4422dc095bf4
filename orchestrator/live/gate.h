/* Checks of a request before it is answered, by its headers. Pure. */
#ifndef ORCHESTRATOR_LIVE_GATE_H
#define ORCHESTRATOR_LIVE_GATE_H

#include <stdbool.h>

/* True for a Host header that names the loopback, on whatever port. Somebody else's name that leads here is a page of
 * theirs, which would read this one (DNS rebinding). NULL: false. */
bool orchestrator_live_is_loopback_name(const char *host);
/* True for a Sec-Fetch-Site header of this page or of no page at all. NULL, of a client that is no browser: true. */
bool orchestrator_live_is_own_site(const char *site);
/* True for an Accept-Encoding header that has gzip (RFC 9110, 12.5.3). NULL: false. */
bool orchestrator_live_takes_gzip(const char *encodings);

#endif
