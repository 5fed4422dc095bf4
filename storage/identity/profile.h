/* Settings of a profile in the shared files ~/.aws/credentials and ~/.aws/config (AWS SDKs and Tools Reference Guide,
 * "Shared config and credentials files"). Pure. */
#ifndef WEIR_STORAGE_IDENTITY_PROFILE_H
#define WEIR_STORAGE_IDENTITY_PROFILE_H

#include "core/base/bytes.h"

#include <stdbool.h>

/* The value of `key` in the section of profile `name`, which the config file calls [profile NAME]. The caller's; NULL:
 * it is not said. The first wins, where it is said twice. */
char *storage_identity_profile(struct weir_bytes text, bool is_config, const char *name,
                               const char *key) WEIR_MUST_USE;
/* True when there is such a section. */
bool storage_identity_has_profile(struct weir_bytes text, bool is_config, const char *name);

#endif
