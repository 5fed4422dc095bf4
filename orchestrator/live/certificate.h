/* Certificate and key of the page, from their files. */
#ifndef ORCHESTRATOR_LIVE_CERTIFICATE_H
#define ORCHESTRATOR_LIVE_CERTIFICATE_H

#include "core/base/bytes.h"
#include "core/base/error.h"

struct live_certificate {
    struct weir_buf certificate, key; /* PEM, as texts */
};

/* NOT_FOUND, IO, LIMIT; DENIED when others than the file's owner may read the key. */
enum weir_status orchestrator_live_certificate_read(const char *certificate, const char *key,
                                                    struct live_certificate *ret_certificate,
                                                    struct weir_error *err) WEIR_MUST_USE;
/* Wipes the key. */
void orchestrator_live_certificate_fini(struct live_certificate *certificate);

#endif
