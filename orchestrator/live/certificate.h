/* Certificate and key of the page, from their files. */
#ifndef ORCHESTRATOR_LIVE_CERTIFICATE_H
#define ORCHESTRATOR_LIVE_CERTIFICATE_H

#include "core/base/bytes.h"
#include "core/base/error.h"

#include <sys/stat.h>

struct live_certificate {
    struct weir_buf certificate, key; /* PEM, as texts */
};

/* NOT_FOUND, IO, LIMIT; DENIED when others than the file's owner may read the key. */
enum weir_status orchestrator_live_certificate_read(const char *certificate, const char *key,
                                                    struct live_certificate *ret_certificate,
                                                    struct weir_error *err) WEIR_MUST_USE;
/* Wipes the key. */
void orchestrator_live_certificate_fini(struct live_certificate *certificate);

/* The two files, to be looked at now and then for new ones in their place. */
struct live_certificate_files {
    char *certificate, *key;
    struct stat read[2],
        seen[2]; /* as they were when they were read last, and at the look before */
};

/* As they are now, which is how they are read; copies the paths. */
void orchestrator_live_certificate_files_init(struct live_certificate_files *files,
                                              const char *certificate, const char *key);
/* True once for each change, when the files are as they were at the look before: one of them comes after the other. */
bool orchestrator_live_certificate_files_look(struct live_certificate_files *files);
void orchestrator_live_certificate_files_fini(struct live_certificate_files *files);

#endif
