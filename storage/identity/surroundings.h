/* Variables that say who this process is to AWS, as its SDKs read them (AWS SDKs and Tools Reference Guide, "Settings
 * reference"), taken at once, since a thread looks at them. */
#ifndef WEIR_STORAGE_IDENTITY_SURROUNDINGS_H
#define WEIR_STORAGE_IDENTITY_SURROUNDINGS_H

#include "core/base/attributes.h"

/* NULL: not set, or empty. */
struct surroundings {
    char *key_id, *secret, *token;
    char *role, *token_file, *session_name, *region, *sts;
    char *profile, *credentials_file, *config_file, *home;
    char *container_path, *container_url, *container_token, *container_token_file;
    char *metadata, *metadata_disabled;
    char *ca;
};

void storage_surroundings_take(struct surroundings *surroundings);
void storage_surroundings_fini(struct surroundings *surroundings);

#endif
