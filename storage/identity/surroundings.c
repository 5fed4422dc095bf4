/* Variables by their names: see surroundings.h. */
#include "storage/identity/surroundings.h"

#include "core/base/memory.h"

#include <sodium.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t at;
} NAMES[] = {
#define NAME(name_, member)                          \
    {                                                \
        name_, offsetof(struct surroundings, member) \
    }
    NAME("AWS_ACCESS_KEY_ID", key_id),
    NAME("AWS_SECRET_ACCESS_KEY", secret),
    NAME("AWS_SESSION_TOKEN", token),
    NAME("AWS_ROLE_ARN", role),
    NAME("AWS_WEB_IDENTITY_TOKEN_FILE", token_file),
    NAME("AWS_ROLE_SESSION_NAME", session_name),
    NAME("AWS_REGION", region),
    NAME("AWS_ENDPOINT_URL_STS", sts),
    NAME("AWS_PROFILE", profile),
    NAME("AWS_SHARED_CREDENTIALS_FILE", credentials_file),
    NAME("AWS_CONFIG_FILE", config_file),
    NAME("HOME", home),
    NAME("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", container_path),
    NAME("AWS_CONTAINER_CREDENTIALS_FULL_URI", container_url),
    NAME("AWS_CONTAINER_AUTHORIZATION_TOKEN", container_token),
    NAME("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", container_token_file),
    NAME("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata),
    NAME("AWS_EC2_METADATA_DISABLED", metadata_disabled),
    NAME("AWS_CA_BUNDLE", ca),
#undef NAME
};

static char **member(struct surroundings *surroundings, size_t i)
{
    return (char **)((char *)surroundings + NAMES[i].at);
}

void storage_surroundings_take(struct surroundings *surroundings)
{
    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++) {
        const char *value = getenv(NAMES[i].name);

        *member(surroundings, i) = value != NULL && *value ? weir_strdup(value) : NULL;
    }
}

void storage_surroundings_fini(struct surroundings *surroundings)
{
    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++) {
        char *value = *member(surroundings, i);

        if (value != NULL)
            sodium_memzero(value, strlen(value));
        free(value);
    }
    *surroundings = (struct surroundings){0};
}
