/* One function a place: see chain.h. */
#include "storage/identity/chain.h"

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/http/libcurl.h"
#include "storage/identity/answers.h"
#include "storage/identity/credential_process.h"
#include "storage/identity/exchange.h"
#include "storage/identity/profile.h"

#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20, TOKEN_BYTES_MAX = 64 << 10 };

#define METADATA      "http://169.254.169.254"
#define METADATA_KEYS "/latest/meta-data/iam/security-credentials/"
#define CONTAINER     "http://169.254.170.2"

static const char METADATA_LIFE[] = "X-aws-ec2-metadata-token-ttl-seconds: 21600";

/* A question of the chain, while it is asked. */
struct asking {
    const struct surroundings *of;
    const char *profile; /* NULL: any place */
    struct weir_work *work;
    struct s3_credentials *keys; /* those found */
};

static enum weir_status is_not_there(const char *what, struct weir_error *err)
{
    return weir_fail(err, WEIR_NOT_FOUND, "no %s", what);
}

/* Without the white space around it. The caller's. */
static enum weir_status read_token(const char *path, char **ret_token, struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(path, TOKEN_BYTES_MAX, &text, err);

    if (status != WEIR_OK)
        return weir_fail(err, WEIR_INVALID, "the file of a token, %s, cannot be read", path);
    struct weir_bytes token = weir_bytes_trim(weir_buf_view(&text));
    *ret_token = weir_strndup((const char *)token.at, token.size);
    weir_buf_wipe(&text);
    return WEIR_OK;
}

/* ---- the environment ---- */

static enum weir_status of_environment(const struct asking *asking, struct weir_error *err)
{
    const struct surroundings *of = asking->of;

    if (of->key_id == NULL || of->secret == NULL)
        return is_not_there("keys in the environment", err);
    *asking->keys = (struct s3_credentials){
        .key_id = weir_strdup(of->key_id),
        .secret = weir_strdup(of->secret),
        .token = of->token != NULL ? weir_strdup(of->token) : NULL,
        .expires_us = INT64_MAX,
    };
    return WEIR_OK;
}

/* ---- a web identity ---- */

static void append_encoded(struct weir_buf *form, const char *name, const char *value)
{
    char *encoded = curl_easy_escape(NULL, value, (int)strlen(value));

    weir_buf_printf(form, "&%s=%s", name, encoded);
    curl_free(encoded);
}

static enum weir_status assume(const struct asking *asking, const char *role,
                               const char *token_file, struct weir_error *err)
{
    const struct surroundings *of = asking->of;
    WEIR_AUTO_FREE char *token = NULL;
    WEIR_AUTO_FREE char *usual = of->region != NULL
                                     ? weir_format("https://sts.%s.amazonaws.com/", of->region)
                                     : weir_strdup("https://sts.amazonaws.com/");
    WEIR_AUTO_BUF form = {0};
    WEIR_AUTO_BUF answer = {0};
    enum weir_status status = read_token(token_file, &token, err);

    if (status != WEIR_OK)
        return status;
    weir_buf_append_text(&form, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15");
    append_encoded(&form, "RoleArn", role);
    append_encoded(&form, "RoleSessionName", of->session_name != NULL ? of->session_name : "weir");
    append_encoded(&form, "WebIdentityToken", token);
    status = storage_identity_ask(&(struct exchange){.who = "the Security Token Service",
                                                     .method = "POST",
                                                     .url = of->sts != NULL ? of->sts : usual,
                                                     .form = weir_buf_text(&form),
                                                     .ca = of->ca},
                                  asking->work, &answer, err);
    if (status == WEIR_OK)
        status = storage_identity_read_xml("the Security Token Service", weir_buf_view(&answer),
                                           asking->keys, err);
    weir_buf_wipe(&form);
    weir_buf_wipe(&answer);
    return status;
}

static enum weir_status of_web_identity(const struct asking *asking, struct weir_error *err)
{
    const struct surroundings *of = asking->of;

    if (of->token_file == NULL || of->role == NULL)
        return is_not_there("web identity", err);
    return assume(asking, of->role, of->token_file, err);
}

/* ---- shared files ---- */

struct shared {
    struct weir_buf credentials, config;
    const char *profile;
};

/* A file that is not there says nothing. */
static void read_shared(const char *path, const char *home, const char *name, struct weir_buf *text)
{
    WEIR_AUTO_FREE char *usual = weir_format("%s/.aws/%s", home != NULL ? home : "", name);
    struct weir_error unseen;

    if (weir_file_read(path != NULL ? path : usual, FILE_BYTES_MAX, text, &unseen) != WEIR_OK)
        weir_buf_clear(text);
}

/* The value of the first of the two files that says it. */
static char *setting(const struct shared *shared, const char *key)
{
    char *value =
        storage_identity_profile(weir_buf_view(&shared->credentials), false, shared->profile, key);

    return value != NULL ? value
                         : storage_identity_profile(weir_buf_view(&shared->config), true,
                                                    shared->profile, key);
}

static bool says(const struct shared *shared, const char *key)
{
    WEIR_AUTO_FREE char *value = setting(shared, key);

    return value != NULL;
}

static enum weir_status of_program(const struct asking *asking, const char *command,
                                   struct weir_error *err)
{
    WEIR_AUTO_BUF answer = {0};
    enum weir_status status = storage_identity_run(command, asking->work, &answer, err);

    if (status == WEIR_OK)
        status = storage_identity_read_json("credential_process", weir_buf_view(&answer),
                                            asking->keys, err);
    weir_buf_wipe(&answer);
    return status;
}

static enum weir_status of_settings(const struct asking *asking, const struct shared *shared,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *command = setting(shared, "credential_process");
    WEIR_AUTO_FREE char *role = setting(shared, "role_arn");
    WEIR_AUTO_FREE char *token_file = setting(shared, "web_identity_token_file");

    if (role != NULL && token_file != NULL)
        return assume(asking, role, token_file, err);
    if (role == NULL && says(shared, "aws_access_key_id") &&
        says(shared, "aws_secret_access_key")) {
        *asking->keys = (struct s3_credentials){
            .key_id = setting(shared, "aws_access_key_id"),
            .secret = setting(shared, "aws_secret_access_key"),
            .token = setting(shared, "aws_session_token"),
            .expires_us = INT64_MAX,
        };
        return WEIR_OK;
    }
    if (command != NULL)
        return of_program(asking, command, err);
    return weir_fail(
        err, WEIR_INVALID,
        "profile '%s' says neither keys nor credential_process nor role_arn with "
        "web_identity_token_file; of any other kind: credential_process = aws configure "
        "export-credentials --format process --profile NAME",
        shared->profile);
}

static enum weir_status of_profile(const struct asking *asking, struct weir_error *err)
{
    const struct surroundings *of = asking->of;
    const char *named = asking->profile != NULL ? asking->profile : of->profile;
    struct shared shared = {.profile = named != NULL ? named : "default"};
    enum weir_status status;

    read_shared(of->credentials_file, of->home, "credentials", &shared.credentials);
    read_shared(of->config_file, of->home, "config", &shared.config);
    if (storage_identity_has_profile(weir_buf_view(&shared.credentials), false, shared.profile) ||
        storage_identity_has_profile(weir_buf_view(&shared.config), true, shared.profile))
        status = of_settings(asking, &shared, err);
    else
        status = named == NULL ? is_not_there("profile", err)
                               : weir_fail(err, WEIR_INVALID,
                                           "profile '%s' is in neither shared file", named);
    weir_buf_wipe(&shared.credentials);
    weir_buf_fini(&shared.credentials);
    weir_buf_fini(&shared.config);
    return status;
}

/* ---- the container ---- */

/* Over HTTP a token goes to this host, or to the two addresses that containers ask, alone. */
static bool may_be_asked(const char *url)
{
    static const char *const PLAIN[] = {
        "http://127.", "http://localhost",      "http://[::1]",
        CONTAINER,     "http://169.254.170.23", "http://[fd00:ec2::23]",
    };

    if (strncmp(url, "https://", strlen("https://")) == 0)
        return true;
    for (size_t i = 0; i < WEIR_COUNT(PLAIN); i++) {
        size_t size = strlen(PLAIN[i]);
        bool is_begin = i == 0;

        if (strncmp(url, PLAIN[i], size) == 0 &&
            (is_begin ? url[size + strspn(url + size, "0123456789.")] != '@' &&
                            strchr(":/", url[size + strspn(url + size, "0123456789.")]) != NULL
                      : strchr(":/", url[size]) != NULL))
            return strchr(url, '@') == NULL;
    }
    return false;
}

static enum weir_status of_container(const struct asking *asking, struct weir_error *err)
{
    const struct surroundings *of = asking->of;
    WEIR_AUTO_FREE char *url = NULL;
    WEIR_AUTO_FREE char *token = NULL;
    WEIR_AUTO_FREE char *header = NULL;
    WEIR_AUTO_BUF answer = {0};
    enum weir_status status = WEIR_OK;

    if (of->container_path == NULL && of->container_url == NULL)
        return is_not_there("container credentials", err);
    url = of->container_path != NULL ? weir_format(CONTAINER "%s", of->container_path)
                                     : weir_strdup(of->container_url);
    if (!may_be_asked(url))
        return weir_fail(
            err, WEIR_DENIED,
            "AWS_CONTAINER_CREDENTIALS_FULL_URI: expected https, or an address of this "
            "host or its containers");
    if (of->container_token_file != NULL)
        status = read_token(of->container_token_file, &token, err);
    else if (of->container_token != NULL)
        token = weir_strdup(of->container_token);
    if (status != WEIR_OK)
        return status;
    header = token != NULL ? weir_format("Authorization: %s", token) : NULL;
    status = storage_identity_ask(&(struct exchange){.who = "the container's endpoint",
                                                     .method = "GET",
                                                     .url = url,
                                                     .header = header,
                                                     .is_direct = true},
                                  asking->work, &answer, err);
    if (status == WEIR_OK)
        status = storage_identity_read_json("the container's endpoint", weir_buf_view(&answer),
                                            asking->keys, err);
    weir_buf_wipe(&answer);
    return status;
}

/* ---- the instance ---- */

static enum weir_status ask_instance(const struct asking *asking, const char *method,
                                     const char *path, const char *header, struct weir_buf *answer,
                                     struct weir_error *err)
{
    const char *base = asking->of->metadata != NULL ? asking->of->metadata : METADATA;
    size_t size = strlen(base);
    WEIR_AUTO_FREE char *url =
        weir_format("%.*s%s", (int)(size - (size > 0 && base[size - 1] == '/')), base, path);

    return storage_identity_ask(&(struct exchange){.who = "the instance's metadata",
                                                   .method = method,
                                                   .url = url,
                                                   .header = header,
                                                   .is_direct = true},
                                asking->work, answer, err);
}

/* IMDSv2: a token for the session, the name of the role, its keys. */
static enum weir_status of_instance(const struct asking *asking, struct weir_error *err)
{
    const char *disabled = asking->of->metadata_disabled;
    WEIR_AUTO_BUF answer = {0};
    WEIR_AUTO_FREE char *header = NULL;
    WEIR_AUTO_FREE char *path = NULL;

    if (disabled != NULL && strcasecmp(disabled, "true") == 0)
        return is_not_there("instance", err);
    enum weir_status status =
        ask_instance(asking, "PUT", "/latest/api/token", METADATA_LIFE, &answer, err);
    if (status == WEIR_OK) {
        header = weir_format("X-aws-ec2-metadata-token: %s", weir_buf_text(&answer));
        status = ask_instance(asking, "GET", METADATA_KEYS, header, &answer, err);
    }
    if (status == WEIR_OK) {
        const char *role = weir_buf_text(&answer);

        path = weir_format(METADATA_KEYS "%.*s", (int)strcspn(role, "\r\n"), role);
        status = ask_instance(asking, "GET", path, header, &answer, err);
    }
    if (status == WEIR_OK)
        status = storage_identity_read_json("the instance's metadata", weir_buf_view(&answer),
                                            asking->keys, err);
    weir_buf_wipe(&answer);
    return status;
}

/* ---- all of them ---- */

typedef enum weir_status place_fn(const struct asking *asking, struct weir_error *err);

static place_fn *const PLACES[] = {of_environment, of_web_identity, of_profile, of_container,
                                   of_instance};

enum weir_status storage_identity_resolve(const struct surroundings *surroundings,
                                          const char *profile, struct weir_work *work,
                                          struct s3_credentials *ret_keys, struct weir_error *err)
{
    const struct asking asking = {surroundings, profile, work, ret_keys};
    enum weir_status status = WEIR_NOT_FOUND;

    if (profile != NULL)
        return of_profile(&asking, err);
    for (size_t i = 0; i < WEIR_COUNT(PLACES) && status == WEIR_NOT_FOUND; i++)
        status = PLACES[i](&asking, err);
    if (status == WEIR_NOT_FOUND)
        weir_fail(err, status,
                  "no keys: neither the environment, a web identity, a profile, a container nor an "
                  "instance gives any");
    return status;
}
