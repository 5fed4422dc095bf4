/* Keys in what others answer: programs and endpoints in JSON (AWS SDKs and Tools Reference Guide, "Process credential
 * provider", "Container credential provider", "IMDS credential provider"), the Security Token Service in XML (AWS STS
 * API Reference, "AssumeRoleWithWebIdentity"). Pure. */
#ifndef WEIR_STORAGE_IDENTITY_ANSWERS_H
#define WEIR_STORAGE_IDENTITY_ANSWERS_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "storage/identity/keys.h"

/* Both INVALID, with what is missing and never with what is there. `who` answered. */
enum weir_status storage_identity_read_json(const char *who, struct weir_bytes text,
                                            struct s3_credentials *ret_keys,
                                            struct weir_error *err) WEIR_MUST_USE;
enum weir_status storage_identity_read_xml(const char *who, struct weir_bytes text,
                                           struct s3_credentials *ret_keys,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
