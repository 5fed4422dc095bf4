/* Keys of whoever comes from elsewhere: made, let in, revoked; each with a role, and of a tenant if it is somebody's.
 * The list lies in Postgres. A change is committed before anybody hears of it, and then told to every service of the
 * platform, again after each of its starts, until it has noted it. A process that has not heard yet lets nobody in that
 * it did not let in before.
 *
 * A secret passes here only where a process of the platform makes a pair itself (orchestrator_keys_issue): it goes to
 * its file, and is wiped. People make theirs where they are, and send the public half. */
#ifndef ORCHESTRATOR_KEYS_KEYS_H
#define ORCHESTRATOR_KEYS_KEYS_H

#include "core/rpc/keyring.h"
#include "core/rpc/pass.h"
#include "orchestrator/context/context.h"
#include "orchestrator/keys/spreading.h"

struct keys;

/* A key that is to be let in. */
struct keys_order {
    const char *name;
    enum weir_role role;
    const char *tenant;   /* "": all */
    const char *made_for; /* group or run that it ends with ("group 3"); "": none */
};

/* Reads the list. `server` is that of the orchestrator itself; borrowed, as the context is. */
enum weir_status orchestrator_keys_open(struct context *context, struct weir_rpc_server *server,
                                        struct keys **ret_keys,
                                        struct weir_error *err) WEIR_MUST_USE;
void orchestrator_keys_close(struct keys *keys);
WEIR_DEFINE_AUTO(keys, orchestrator_keys_close)

/* Lets the key in; the same one again changes nothing. EXISTS when another key has the name or another name the key;
 * DENIED when it was revoked; INVALID for a name, tenant or key that is none, and for a role that no key may have. */
enum weir_status orchestrator_keys_allow(struct keys *keys, const struct keys_order *order,
                                         const char *public_key,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Puts another key in the place of the one of that name, which ends. NOT_FOUND; else as above. */
enum weir_status orchestrator_keys_rotate(struct keys *keys, const char *name,
                                          const char *public_key,
                                          struct weir_error *err) WEIR_MUST_USE;
/* NOT_FOUND when no key that is let in has the name. */
enum weir_status orchestrator_keys_revoke(struct keys *keys, const char *name,
                                          struct weir_error *err) WEIR_MUST_USE;

/* The audit log, of keys that the platform makes and ends by itself; people's orders are in it already. */
struct keys_log {
    void *owner;
    /* Commits that it begins. UNAVAILABLE, and nothing is done. */
    enum weir_status (*begin)(void *owner, const char *what, const char *name, int64_t *ret_order,
                              struct weir_error *err);
    void (*end)(void *owner, int64_t order, enum weir_status outcome);
};
/* Before any is made. */
void orchestrator_keys_log_to(struct keys *keys, const struct keys_log *log);
/* Makes a pair, lets it in, and writes its pass to a new file at `path`, of mode 0600. An earlier key of that name
 * ends, if it was made for the same, as its file may never have been written. UNSUPPORTED unless the platform listens
 * to others than this host. */
enum weir_status orchestrator_keys_issue(struct keys *keys, const struct keys_order *order,
                                         const char *path, struct weir_error *err) WEIR_MUST_USE;
/* Ends all keys that were made for it; there may be none. */
enum weir_status orchestrator_keys_end(struct keys *keys, const char *made_for,
                                       struct weir_error *err) WEIR_MUST_USE;

/* The key that is let in under that name; `ret_role` gets its role. NOT_FOUND. */
enum weir_status orchestrator_keys_role(const struct keys *keys, const char *name,
                                        enum weir_role *ret_role,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Address of the platform for whoever is elsewhere, "tcp://HOST:PORT#KEY"; NULL: it listens to this host alone. */
const char *orchestrator_keys_address(const struct keys *keys);
/* Number of the list. */
uint64_t orchestrator_keys_number(const struct keys *keys);

/* A service, and whether it has noted the list of now. */
struct keys_holder_view {
    const char *name; /* "storage" */
    bool has_noted;
};
/* Fills the services; returns true when all have noted the list. */
bool orchestrator_keys_look(const struct keys *keys,
                            struct keys_holder_view ret_holders[KEYS_HOLDERS]);

#endif
