/* The list of keys in Postgres, and its changes. */
#include "orchestrator/keys/keys.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAST_MAX = 10000
}; /* keys that were made for something and have ended, whose rows are kept */

struct keys {
    struct context *context;
    struct weir_rpc_server *server;
    struct weir_keyring keyring; /* as it is committed */
    bool is_stale;               /* unless a commit of unknown outcome came about */
    struct keys_spreading spreading;
    struct keys_log log;
};

/* ---- the list ---- */

/* Of the rows as they are, in a transaction or not. */
static enum weir_status load(const struct keys *keys, struct weir_keyring *ret_keyring,
                             struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(weir_rows) number = NULL;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    enum weir_status status = DB_RUN(keys->context->db, Q_keys_in_force, &rows, err);
    if (status == WEIR_OK)
        status = DB_RUN(keys->context->db, Q_keyring_number, &number, err);
    if (status != WEIR_OK)
        return status;
    size_t count = weir_rows_count(rows);
    const char **publics = weir_arena_alloc(arena, (count + 1) * sizeof(*publics));
    const char **names = weir_arena_alloc(arena, (count + 1) * sizeof(*names));
    const char **tenants = weir_arena_alloc(arena, (count + 1) * sizeof(*tenants));
    uint32_t *roles = weir_arena_alloc(arena, (count + 1) * sizeof(*roles));
    for (size_t i = 0; i < count; i++) {
        publics[i] = weir_rows_text(rows, i, "public_key");
        names[i] = weir_rows_text(rows, i, "name");
        tenants[i] = weir_rows_text(rows, i, "tenant");
        roles[i] = weir_role_of_name(weir_rows_text(rows, i, "role"));
    }
    const struct msg_keys_set set = {(uint64_t)weir_rows_i64(number, 0, "number"),
                                     {publics, count},
                                     {names, count},
                                     {roles, count},
                                     {tenants, count}};
    *ret_keyring = (struct weir_keyring){.number = 0};
    return weir_keyring_set(ret_keyring, &set, err);
}

static void take(struct keys *keys, struct weir_keyring *keyring)
{
    weir_keyring_fini(&keys->keyring);
    keys->keyring = *keyring;
    keys->is_stale = false;
    orchestrator_keys_spread(&keys->spreading);
}

static enum weir_status refresh(struct keys *keys, struct weir_error *err)
{
    struct weir_keyring keyring = {.number = 0};
    enum weir_status status = keys->is_stale ? load(keys, &keyring, err) : WEIR_OK;
    if (status == WEIR_OK && keys->is_stale)
        take(keys, &keyring);
    return status;
}

/* A change of the rows; `ret_changed` stays true unless everything is so already. */
typedef enum weir_status change_fn(const struct keys *keys, const void *what, bool *ret_changed,
                                   struct weir_error *err);

static enum weir_status change_rows(const struct keys *keys, change_fn *change, const void *what,
                                    struct weir_keyring *ret_keyring, bool *ret_changed,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = change(keys, what, ret_changed, err);
    if (status != WEIR_OK || !*ret_changed)
        return status;
    status = DB_RUN(keys->context->db, Q_keyring_next, &rows, err);
    if (status == WEIR_OK)
        status = load(keys, ret_keyring, err); /* what every service will check */
    if (status == WEIR_OK && weir_fault("keys.change"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault keys.change");
    return status;
}

static enum weir_status change(struct keys *keys, change_fn *fn, const void *what,
                               struct weir_error *err)
{
    struct weir_keyring keyring = {.number = 0};
    bool changed = true;
    enum weir_status status = refresh(keys, err);
    if (status == WEIR_OK)
        status = weir_db_begin(keys->context->db, err);
    if (status != WEIR_OK)
        return status;
    status = change_rows(keys, fn, what, &keyring, &changed, err);
    if (status == WEIR_OK && changed) {
        status = weir_db_commit(keys->context->db, err);
        keys->is_stale = status != WEIR_OK;
    } else {
        weir_db_rollback(keys->context->db);
    }
    if (status == WEIR_OK && changed) {
        (void)weir_fault("keys.changed"); /* committed: only death can come between */
        take(keys, &keyring);
    } else {
        weir_keyring_fini(&keyring);
    }
    return status;
}

/* A change that nobody has ordered. */
static enum weir_status change_logged(struct keys *keys, change_fn *fn, const void *what,
                                      const char *kind, const char *name, struct weir_error *err)
{
    int64_t order = 0;
    enum weir_status status = keys->log.begin(keys->log.owner, kind, name, &order, err);
    if (status != WEIR_OK)
        return status;
    status = change(keys, fn, what, err);
    keys->log.end(keys->log.owner, order, status);
    return status;
}

/* ---- letting in ---- */

struct newcomer {
    const struct keys_order *order;
    const char *public_key;
};

static enum weir_status check_role(const struct keys_order *order, struct weir_error *err)
{
    bool has_tenant = order->tenant[0] != '\0';
    if ((order->role & WEIR_ROLES_KEYED) == 0 || (order->role & (order->role - 1)) != 0)
        return weir_fail(err, WEIR_INVALID,
                         "key '%.64s': expected a role of trainer, worker, operator, submitter, "
                         "privacy or viewer",
                         order->name);
    if (has_tenant && (order->role & (WEIR_ROLE_OPERATOR | WEIR_ROLE_PRIVACY)) != 0)
        return weir_fail(err, WEIR_INVALID, "key '%.64s': a key of role %s is for all tenants",
                         order->name, weir_role_name(order->role));
    return WEIR_OK;
}

/* EXISTS or DENIED when the public key has been seen. */
static enum weir_status check_unknown(const struct keys *keys, const char *name,
                                      const char *public_key, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(keys->context->db, Q_key_known, &rows, err, DB_TEXT(public_key));
    if (status != WEIR_OK || weir_rows_count(rows) == 0)
        return status;
    if (weir_rows_bool(rows, 0, "is_revoked"))
        return weir_fail(err, WEIR_DENIED,
                         "key '%.64s': this pair was revoked, as that of '%s': make another one",
                         name, weir_rows_text(rows, 0, "name"));
    return weir_fail(err, WEIR_EXISTS, "key '%.64s': this pair is that of '%s' already", name,
                     weir_rows_text(rows, 0, "name"));
}

static enum weir_status add(const struct keys *keys, const struct newcomer *newcomer,
                            struct weir_error *err)
{
    const struct keys_order *order = newcomer->order;
    enum weir_status status = check_unknown(keys, order->name, newcomer->public_key, err);
    if (status != WEIR_OK)
        return status;
    return DB_RUN(keys->context->db, Q_key_add, NULL, err, DB_TEXT(order->name),
                  DB_TEXT(weir_role_name(order->role)), DB_TEXT(order->tenant),
                  DB_TEXT(newcomer->public_key), DB_TEXT(order->made_for),
                  DB_I64(weir_now_wall_us()));
}

static bool is_the_same(const struct weir_rows *row, const struct newcomer *newcomer)
{
    const struct keys_order *order = newcomer->order;
    return strcmp(weir_rows_text(row, 0, "public_key"), newcomer->public_key) == 0 &&
           strcmp(weir_rows_text(row, 0, "role"), weir_role_name(order->role)) == 0 &&
           strcmp(weir_rows_text(row, 0, "tenant"), order->tenant) == 0;
}

static enum weir_status change_allowed(const struct keys *keys, const void *what, bool *ret_changed,
                                       struct weir_error *err)
{
    const struct newcomer *newcomer = what;
    const char *name = newcomer->order->name;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = check_role(newcomer->order, err);
    if (status == WEIR_OK)
        status = DB_RUN(keys->context->db, Q_key_named, &rows, err, DB_TEXT(name));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return add(keys, newcomer, err);
    *ret_changed = false;
    if (is_the_same(rows, newcomer))
        return WEIR_OK;
    return weir_fail(err, WEIR_EXISTS,
                     "key '%.64s' is there already, with another pair, role or tenant: weir keys "
                     "rotate %.64s gives it another pair",
                     name, name);
}

enum weir_status orchestrator_keys_allow(struct keys *keys, const struct keys_order *order,
                                         const char *public_key, struct weir_error *err)
{
    return change(keys, change_allowed, &(struct newcomer){order, public_key}, err);
}

/* ---- ending ---- */

static enum weir_status find(const struct keys *keys, const char *name, struct weir_rows **ret_rows,
                             struct weir_error *err)
{
    enum weir_status status = DB_RUN(keys->context->db, Q_key_named, ret_rows, err, DB_TEXT(name));
    if (status == WEIR_OK && weir_rows_count(*ret_rows) == 0)
        status =
            weir_fail(err, WEIR_NOT_FOUND,
                      "key '%.64s': none of that name is let in; weir keys list shows them", name);
    return status;
}

static enum weir_status end(const struct keys *keys, const char *name, struct weir_error *err)
{
    return DB_RUN(keys->context->db, Q_key_revoke, NULL, err, DB_TEXT(name),
                  DB_I64(weir_now_wall_us()));
}

static enum weir_status change_revoked(const struct keys *keys, const void *what, bool *ret_changed,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    (void)ret_changed;
    enum weir_status status = find(keys, what, &rows, err);
    return status == WEIR_OK ? end(keys, what, err) : status;
}

enum weir_status orchestrator_keys_revoke(struct keys *keys, const char *name,
                                          struct weir_error *err)
{
    return change(keys, change_revoked, name, err);
}

struct rotation {
    const char *name, *public_key;
};

static enum weir_status change_rotated(const struct keys *keys, const void *what, bool *ret_changed,
                                       struct weir_error *err)
{
    const struct rotation *rotation = what;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = find(keys, rotation->name, &rows, err);
    if (status != WEIR_OK)
        return status;
    *ret_changed = strcmp(weir_rows_text(rows, 0, "public_key"), rotation->public_key) != 0;
    if (!*ret_changed)
        return WEIR_OK;
    const struct keys_order order = {
        .name = rotation->name,
        .role = (enum weir_role)weir_role_of_name(weir_rows_text(rows, 0, "role")),
        .tenant = weir_rows_text(rows, 0, "tenant"),
        .made_for = weir_rows_text(rows, 0, "made_for"),
    };
    status = end(keys, rotation->name, err);
    return status == WEIR_OK ? add(keys, &(struct newcomer){&order, rotation->public_key}, err)
                             : status;
}

enum weir_status orchestrator_keys_rotate(struct keys *keys, const char *name,
                                          const char *public_key, struct weir_error *err)
{
    return change(keys, change_rotated, &(struct rotation){name, public_key}, err);
}

/* ---- keys that end with what they were made for ---- */

static enum weir_status change_ended(const struct keys *keys, const void *what, bool *ret_changed,
                                     struct weir_error *err)
{
    const char *made_for = what;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(keys->context->db, Q_keys_revoke_for, &rows, err,
                                     DB_TEXT(made_for), DB_I64(weir_now_wall_us()));
    if (status != WEIR_OK)
        return status;
    *ret_changed = weir_rows_count(rows) > 0;
    return DB_RUN(keys->context->db, Q_keys_prune, NULL, err, DB_I64(PAST_MAX));
}

enum weir_status orchestrator_keys_end(struct keys *keys, const char *made_for,
                                       struct weir_error *err)
{
    weir_require(made_for[0] != '\0');
    return change_logged(keys, change_ended, made_for, "keys_end", made_for, err);
}

/* An earlier try that was killed may have left a key whose secret nobody has. */
static enum weir_status change_issued(const struct keys *keys, const void *what, bool *ret_changed,
                                      struct weir_error *err)
{
    const struct newcomer *newcomer = what;
    const struct keys_order *order = newcomer->order;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(keys->context->db, Q_key_named, &rows, err, DB_TEXT(order->name));
    bool is_earlier = status == WEIR_OK && weir_rows_count(rows) > 0 &&
                      order->made_for[0] != '\0' &&
                      strcmp(weir_rows_text(rows, 0, "made_for"), order->made_for) == 0;
    if (is_earlier)
        status = end(keys, order->name, err);
    return status == WEIR_OK ? change_allowed(keys, newcomer, ret_changed, err) : status;
}

static enum weir_status write_pass(const struct keys *keys, const struct keys_order *order,
                                   const struct weir_pair *pair, const char *path,
                                   struct weir_error *err)
{
    struct weir_pass pass = {.platform = weir_strdup(orchestrator_keys_address(keys)),
                             .name = weir_strdup(order->name),
                             .role = order->role,
                             .pair = *pair};
    enum weir_status status = WEIR_OK;
    if (unlink(path) != 0 && errno != ENOENT) /* of an earlier try */
        status = weir_fail(err, WEIR_IO, "%s: cannot remove: %s", path, strerror(errno));
    if (status == WEIR_OK)
        status = weir_pass_write(path, &pass, err);
    weir_pass_fini(&pass);
    return status;
}

enum weir_status orchestrator_keys_issue(struct keys *keys, const struct keys_order *order,
                                         const char *path, struct weir_error *err)
{
    struct weir_pair pair;
    if (orchestrator_keys_address(keys) == NULL)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "key '%.64s': this platform listens to its own host alone: start it with "
                         "--listen tcp://HOST:PORT",
                         order->name);
    enum weir_status status = weir_pair_draw(&pair, err);
    if (status != WEIR_OK)
        return status;
    status = change_logged(keys, change_issued, &(struct newcomer){order, pair.public},
                           "keys_issue", order->name, err);
    if (status == WEIR_OK)
        status = write_pass(keys, order, &pair, path, err);
    weir_pair_fini(&pair);
    return status;
}

/* ---- looking ---- */

enum weir_status orchestrator_keys_role(const struct keys *keys, const char *name,
                                        enum weir_role *ret_role, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = find(keys, name, &rows, err);
    if (status == WEIR_OK)
        *ret_role = (enum weir_role)weir_role_of_name(weir_rows_text(rows, 0, "role"));
    return status;
}

const char *orchestrator_keys_address(const struct keys *keys)
{
    return weir_rpc_keyed_address(keys->server);
}

uint64_t orchestrator_keys_number(const struct keys *keys)
{
    return keys->keyring.number;
}

bool orchestrator_keys_look(const struct keys *keys,
                            struct keys_holder_view ret_holders[KEYS_HOLDERS])
{
    bool all = true;
    for (size_t i = 0; i < KEYS_HOLDERS; i++) {
        const struct keys_holder *holder = &keys->spreading.holders[i];
        ret_holders[i] =
            (struct keys_holder_view){holder->name, holder->noted >= keys->keyring.number};
        all = all && ret_holders[i].has_noted;
    }
    return all;
}

/* ---- life ---- */

enum weir_status orchestrator_keys_open(struct context *context, struct weir_rpc_server *server,
                                        struct keys **ret_keys, struct weir_error *err)
{
    WEIR_AUTO(keys) keys = weir_calloc(1, sizeof(*keys));
    keys->context = context;
    keys->server = server;
    keys->spreading =
        (struct keys_spreading){.context = context, .server = server, .keyring = &keys->keyring};
    enum weir_status status = load(keys, &keys->keyring, err);
    if (status != WEIR_OK)
        return status;
    orchestrator_keys_spread_begin(&keys->spreading);
    *ret_keys = WEIR_TAKE(keys);
    return WEIR_OK;
}

void orchestrator_keys_log_to(struct keys *keys, const struct keys_log *log)
{
    keys->log = *log;
}

void orchestrator_keys_close(struct keys *keys)
{
    if (keys == NULL)
        return;
    orchestrator_keys_spread_end(&keys->spreading);
    weir_keyring_fini(&keys->keyring);
    free(keys);
}
