/* Passes, and the addresses that follow from them. */
#include "core/rpc/pass.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "core/rpc/keys.h"
#include "core/rpc/secret_file.h"

#include <stdlib.h>
#include <string.h>

enum { PLATFORM, NAME, ROLE, PUBLIC, SECRET, FIELDS, PORT_MAX = 65535, DECIMAL = 10 };

void weir_pass_fini(struct weir_pass *pass)
{
    free(pass->platform);
    free(pass->name);
    weir_pair_fini(&pass->pair);
    *pass = (struct weir_pass){.platform = NULL};
}

/* ---- the file ---- */

static enum weir_status check(const char *path, const struct weir_secret_field *fields,
                              struct weir_error *err)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].value == NULL)
            return weir_fail(err, WEIR_INVALID, "%s: %s is missing", path, fields[i].key);
    if (weir_role_of_name(fields[ROLE].value) == 0)
        return weir_fail(err, WEIR_INVALID,
                         "%s: role: expected trainer, worker, operator, submitter, privacy or "
                         "viewer, found '%.20s'",
                         path, fields[ROLE].value);
    for (size_t i = PUBLIC; i <= SECRET; i++)
        if (!weir_key_is_one(fields[i].value))
            return weir_fail(err, WEIR_INVALID, "%s: %s: expected %d characters of Z85", path,
                             fields[i].key, WEIR_KEY_CHARACTERS);
    return WEIR_OK;
}

static void take(struct weir_secret_field *fields, struct weir_pass *ret_pass)
{
    *ret_pass = (struct weir_pass){
        .platform = fields[PLATFORM].value,
        .name = fields[NAME].value,
        .role = (enum weir_role)weir_role_of_name(fields[ROLE].value),
    };
    fields[PLATFORM].value = fields[NAME].value = NULL;
    memcpy(ret_pass->pair.public, fields[PUBLIC].value, sizeof(ret_pass->pair.public));
    memcpy(ret_pass->pair.secret, fields[SECRET].value, sizeof(ret_pass->pair.secret));
}

enum weir_status weir_pass_read(const char *path, struct weir_pass *ret_pass,
                                struct weir_error *err)
{
    struct weir_secret_field fields[FIELDS] = {
        {.key = "platform"}, {.key = "name"}, {.key = "role"}, {.key = "public"}, {.key = "secret"},
    };
    enum weir_status status = weir_secret_file_read(path, fields, FIELDS, err);
    if (status != WEIR_OK)
        return status;
    status = check(path, fields, err);
    if (status == WEIR_OK)
        take(fields, ret_pass);
    weir_secret_fields_fini(fields, FIELDS);
    if (status != WEIR_OK || weir_pair_fits(&ret_pass->pair))
        return status;
    weir_pass_fini(ret_pass);
    return weir_fail(err, WEIR_INVALID, "%s: public: expected the key that belongs to the secret",
                     path);
}

void weir_pass_print(const struct weir_pass *pass, struct weir_buf *out)
{
    weir_secret_field_print("platform", pass->platform, out);
    weir_secret_field_print("name", pass->name, out);
    weir_secret_field_print("role", weir_role_name(pass->role), out);
    weir_secret_field_print("public", pass->pair.public, out);
    weir_secret_field_print("secret", pass->pair.secret, out);
}

enum weir_status weir_pass_write(const char *path, const struct weir_pass *pass,
                                 struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    weir_pass_print(pass, &text);
    enum weir_status status = weir_secret_file_make(path, weir_buf_view(&text), err);
    weir_buf_wipe(&text);
    return status;
}

/* ---- addresses ---- */

unsigned weir_service_port(const char *service)
{
    static const char *const IN_A_ROW[] = {"orchestrator", "storage", "selector", "dispatcher"};
    unsigned number = 0;
    while (number < WEIR_COUNT(IN_A_ROW) && strcmp(IN_A_ROW[number], service) != 0)
        number++;
    weir_require(number < WEIR_COUNT(IN_A_ROW));
    return number;
}

/* The port at the end of an endpoint, which ends there; 0: it has none. */
static unsigned long cut_port(char *endpoint)
{
    char *colon = strrchr(endpoint, ':'), *end = NULL;
    if (!weir_keys_are_needed(endpoint) || colon == strchr(endpoint, ':'))
        return 0;
    unsigned long port = colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, DECIMAL) : 0;
    *colon = '\0';
    return end != NULL && *end == '\0' ? port : 0;
}

enum weir_status weir_pass_address(const struct weir_pass *pass, const char *platform,
                                   const char *service, char **ret_address, struct weir_error *err)
{
    const char *address = platform != NULL ? platform : pass->platform;
    const char *key = weir_keys_of(address);
    WEIR_AUTO_FREE char *host = weir_keys_endpoint(address);
    WEIR_AUTO_FREE char *endpoint = weir_strdup(host);
    unsigned long port = cut_port(host) + weir_service_port(service);
    if (key == NULL)
        key = weir_keys_of(pass->platform);
    if (key == NULL || port == weir_service_port(service) || port > PORT_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "%.200s: expected where the platform is, tcp://HOST:PORT#KEY", endpoint);
    *ret_address = weir_format("%s:%lu#%s", host, port, key);
    return WEIR_OK;
}
