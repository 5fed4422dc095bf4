/* Making pairs, and ordering what becomes of keys. */
#include "cli/keys.h"

#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/older.h"
#include "cli/platform.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/rpc/pass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A pass on its way to whoever shall have it. */
struct making {
    const struct cli_call *call;
    struct cli_platform *platform;
    const char *topic;
    struct weir_pass pass;
    char *path;    /* its future path; "-": standard output */
    char *written; /* where it was written; NULL: nowhere yet */
};

static void making_fini(struct making *making)
{
    weir_pass_fini(&making->pass);
    free(making->path);
    free(making->written);
}

static bool goes_to_output(const struct making *making)
{
    return strcmp(making->path, "-") == 0;
}

/* ---- what the platform says ---- */

static const json_t *find_key(const json_t *list, const char *name)
{
    const json_t *keys = json_object_get(list, "keys");
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (strcmp(cli_text(json_array_get(keys, i), "name"), name) == 0)
            return json_array_get(keys, i);
    return NULL;
}

/* A key that is rotated keeps its role. */
static enum weir_status find_role(struct making *making, const json_t *list, const char *name,
                                  struct weir_error *err)
{
    const json_t *key = find_key(list, name);
    if (making->pass.role != 0)
        return WEIR_OK;
    making->pass.role = (enum weir_role)weir_role_of_name(cli_text(key, "role"));
    if (key != NULL)
        return WEIR_OK;
    return weir_fail(err, WEIR_NOT_FOUND,
                     "key '%.64s': none of that name is let in; weir keys list shows them", name);
}

static enum weir_status ask_platform(struct making *making, const char *name,
                                     struct weir_error *err)
{
    json_t *list = NULL;
    enum weir_status status =
        cli_platform_open(&making->call->options.place, &making->platform, err);
    if (status == WEIR_OK)
        status = cli_platform_request(making->platform, "keys_list", NULL, &list, err);
    if (status == WEIR_OK)
        status = cli_add_older(making->platform, "keys_list", NULL, "keys", list, err);
    const char *address = cli_text(list, "platform");
    if (status == WEIR_OK && address[0] == '\0')
        status = weir_fail(err, WEIR_UNSUPPORTED,
                           "%s: this platform listens to its own host alone, where nobody needs a "
                           "key: start it with orchestrator serve --listen tcp://HOST:PORT",
                           making->call->command->words);
    if (status == WEIR_OK)
        status = find_role(making, list, name, err);
    if (status == WEIR_OK) {
        making->pass.platform = weir_strdup(address);
        making->pass.name = weir_strdup(name);
    }
    json_decref(list);
    return status;
}

/* ---- the file ---- */

/* Printed when the key is let in: whoever reads it can use it at once. */
static void print_pass(const struct weir_pass *pass)
{
    WEIR_AUTO_BUF text = {0};
    weir_pass_print(pass, &text);
    (void)fwrite(text.at, 1, text.size, stdout);
    weir_buf_wipe(&text);
}

static enum weir_status write_pass(struct making *making, bool replaces, struct weir_error *err)
{
    if (goes_to_output(making))
        return WEIR_OK;
    WEIR_AUTO_FREE char *to =
        replaces ? weir_format("%s.new", making->path) : weir_strdup(making->path);
    enum weir_status status = weir_pass_write(to, &making->pass, err);
    if (status == WEIR_OK)
        making->written = WEIR_TAKE(to);
    return status;
}

/* The file of a key that was refused is of no use; that of one whose order was not answered may be. */
static enum weir_status give_up(struct making *making, enum weir_status status,
                                struct weir_error *err)
{
    bool is_unknown = status == WEIR_TIMEOUT || status == WEIR_UNAVAILABLE || status == WEIR_STALE;
    if (making->written == NULL)
        return status;
    if (is_unknown)
        return weir_error_wrap(err, status,
                               "%s stays: weir keys list --json tells whether its key is let in",
                               making->written);
    (void)unlink(making->written);
    return status;
}

static enum weir_status place(const struct making *making, struct weir_error *err)
{
    if (making->written == NULL || strcmp(making->written, making->path) == 0 ||
        rename(making->written, making->path) == 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_IO, "%s: cannot be renamed to %s, where the key now ends: %s",
                     making->written, making->path, strerror(errno));
}

/* ---- the order ---- */

static json_t *order_json(const struct making *making)
{
    const char *tenant = making->call->options.tenant;
    return json_pack("{ss,ss,ss,ss}", "name", making->pass.name, "role",
                     weir_role_name(making->pass.role), "tenant", tenant == NULL ? "" : tenant,
                     "public", making->pass.pair.public);
}

static enum weir_status order(struct making *making, json_t **ret_answer, struct weir_error *err)
{
    json_t *arguments = order_json(making);
    enum weir_status status = WEIR_OK;
    if (arguments == NULL)
        status = weir_fail(err, WEIR_INVALID, "arguments are expected in UTF-8");
    else
        status = cli_platform_request(making->platform, making->topic, arguments, ret_answer, err);
    json_decref(arguments);
    return status == WEIR_OK ? place(making, err) : give_up(making, status, err);
}

static enum weir_status make(struct making *making, const char *name, bool replaces,
                             json_t **ret_answer, struct weir_error *err)
{
    const char *file = making->call->options.file;
    making->path = file != NULL ? weir_strdup(file) : weir_format("%s.key", name);
    if (goes_to_output(making) && making->call->options.json)
        return weir_fail(err, WEIR_INVALID,
                         "-o - prints the key, and --json the answer: one of them");
    enum weir_status status = ask_platform(making, name, err);
    if (status == WEIR_OK)
        status = weir_pair_draw(&making->pass.pair, err);
    if (status == WEIR_OK)
        status = write_pass(making, replaces, err);
    if (status == WEIR_OK)
        status = order(making, ret_answer, err);
    if (status != WEIR_OK)
        return status;
    if (goes_to_output(making))
        print_pass(&making->pass);
    json_object_set_new(*ret_answer, "role", json_string(weir_role_name(making->pass.role)));
    json_object_set_new(*ret_answer, "file", json_string(making->path));
    return WEIR_OK;
}

static enum weir_status read_role(const char *word, enum weir_role *ret_role,
                                  struct weir_error *err)
{
    *ret_role = (enum weir_role)weir_role_of_name(word);
    if (*ret_role != 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "expected a role of trainer, worker, operator, submitter, privacy or viewer, "
                     "found '%.40s'",
                     word);
}

enum weir_status cli_answer_keys_new(const struct cli_call *call, json_t **ret_answer,
                                     struct weir_error *err)
{
    struct making making = {.call = call, .topic = "keys_allow"};
    enum weir_status status = read_role(call->operands[0], &making.pass.role, err);
    if (status == WEIR_OK)
        status = make(&making, call->operands[1], false, ret_answer, err);
    making_fini(&making);
    cli_platform_close(making.platform);
    return status;
}

enum weir_status cli_answer_keys_rotate(const struct cli_call *call, json_t **ret_answer,
                                        struct weir_error *err)
{
    struct making making = {.call = call, .topic = "keys_rotate"};
    enum weir_status status = make(&making, call->operands[0], true, ret_answer, err);
    making_fini(&making);
    cli_platform_close(making.platform);
    return status;
}

/* ---- arguments ---- */

json_t *cli_arguments_keys_list(const struct cli_call *call, struct weir_error *err)
{
    (void)err;
    return json_pack("{sb}", "all", call->options.all);
}

json_t *cli_arguments_keys_allow(const struct cli_call *call, struct weir_error *err)
{
    enum weir_role role;
    const char *tenant = call->options.tenant;
    if (read_role(call->operands[0], &role, err) != WEIR_OK)
        return NULL; /* the status travels in err */
    if (!weir_key_is_one(call->operands[2])) {
        weir_ignore(weir_fail(err, WEIR_INVALID,
                              "keys allow: expected a public key of 40 characters, found '%.48s'",
                              call->operands[2]));
        return NULL; /* the status travels in err */
    }
    return cli_arguments_finish(json_pack("{ss,ss,ss,ss}", "role", call->operands[0], "name",
                                          call->operands[1], "public", call->operands[2], "tenant",
                                          tenant == NULL ? "" : tenant),
                                true, err);
}

json_t *cli_arguments_keys_revoke(const struct cli_call *call, struct weir_error *err)
{
    return cli_arguments_finish(json_pack("{ss}", "name", call->operands[0]), true, err);
}

json_t *cli_arguments_audit(const struct cli_call *call, struct weir_error *err)
{
    const char *since = call->options.since;
    int64_t time_us = 0;
    if (since == NULL || weir_time_parse(since, strlen(since), &time_us))
        return json_pack("{sb,ss}", "verify", call->options.verify, "since",
                         since == NULL ? "" : since);
    weir_ignore(weir_fail(err, WEIR_INVALID,
                          "--since: expected a time such as 2002-12-01 or 2002-12-01T12:00:00Z, "
                          "found '%.40s'",
                          since));
    return NULL; /* the status travels in err */
}

/* ---- the audit log ---- */

static int64_t newest_of(const json_t *records)
{
    size_t count = json_array_size(records);
    return count == 0 ? 0 : cli_number(json_array_get(records, count - 1), "number");
}

enum weir_status cli_follow_audit(struct cli_platform *platform, const struct cli_call *call,
                                  json_t **answer, struct weir_error *err)
{
    json_t *all = json_object_get(*answer, "records");
    enum weir_status status = WEIR_OK;
    size_t added = json_array_size(all);
    while (status == WEIR_OK && !call->options.verify && added > 0) {
        const char *since = call->options.since == NULL ? "" : call->options.since;
        json_t *which = json_pack("{sI,ss}", "after", (json_int_t)newest_of(all), "since", since);
        json_t *page = NULL;
        status = cli_platform_request(platform, "audit", which, &page, err);
        json_decref(which);
        added = json_array_size(json_object_get(page, "records"));
        if (status == WEIR_OK)
            json_array_extend(all, json_object_get(page, "records"));
        json_decref(page);
    }
    return status;
}
