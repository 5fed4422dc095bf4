/* Handing keys on. */
#include "preprocess/dispatcher/keys.h"

#include "core/base/memory.h"

#include <string.h>

static const char TRAINERS[] = "trainers"; /* of this host */

static bool is_elsewhere(const struct weir_sender *sender)
{
    return sender->name[0] != '\0';
}

void preprocess_dispatcher_lend_pair(const struct dispatcher *dispatcher,
                                     const struct weir_request *request,
                                     struct msg_client_opened *opened)
{
    if (is_elsewhere(weir_rpc_sender(request)))
        return;
    opened->pair_public = dispatcher->trainers.public;
    opened->pair_secret = dispatcher->trainers.secret;
}

enum weir_status preprocess_dispatcher_check_name(const struct weir_sender *sender,
                                                  const char *worker, struct weir_error *err)
{
    size_t size = strcspn(sender->name, "@");
    bool is_its_own =
        strncmp(worker, sender->name, size) == 0 && (worker[size] == '\0' || worker[size] == '-');
    if (!is_elsewhere(sender) || is_its_own)
        return WEIR_OK;
    return weir_fail(err, WEIR_DENIED,
                     "worker_beat: worker '%.64s' has the key of '%s': expected --name %.*s, or "
                     "%.*s-SOMETHING where several have the key",
                     worker, sender->name, (int)size, sender->name, (int)size, sender->name);
}

bool preprocess_dispatcher_may_make(const struct weir_sender *sender, const char *tenant)
{
    return sender->tenant[0] == '\0' || strcmp(sender->tenant, tenant) == 0;
}

/* Returns true when the key is the session's. A session that has its place, and is not known yet, was opened before a
 * restart: it takes the key that comes with it first. */
static bool match_key(struct dispatcher_entry *entry, uint32_t rank, uint64_t session, uint64_t key)
{
    if (rank >= entry->job.about.geometry.ranks || session == 0 ||
        entry->job.record.seats[rank].session != session)
        return true; /* the job says what it is */
    if (entry->consumers[rank].session != session) {
        entry->consumers[rank].session = session;
        entry->consumers[rank].key = key;
    }
    return entry->consumers[rank].key == key;
}

enum weir_status preprocess_dispatcher_check_consumer(struct dispatcher_entry *entry,
                                                      const struct weir_request *request,
                                                      uint32_t rank, uint64_t session,
                                                      struct weir_error *err)
{
    if (!preprocess_dispatcher_may_make(weir_rpc_sender(request), entry->tenant))
        return weir_fail(err, WEIR_DENIED, "job %lu is of another tenant", entry->number);
    if (!match_key(entry, rank, session, weir_rpc_quota_key(request)))
        return weir_fail(err, WEIR_DENIED,
                         "job %lu: the consumer of rank %u has opened its session under another "
                         "key",
                         entry->number, rank);
    return WEIR_OK;
}

void preprocess_dispatcher_keys(void *state, const struct weir_keyring *keyring)
{
    struct dispatcher *dispatcher = state;
    const struct pool *pool = &dispatcher->pool;
    const struct msg_worker_hint now = {.job = 0};
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    (void)keyring;
    for (size_t i = 0; i < pool->count; i++)
        if (preprocess_pool_is_heard(pool, i, now_ms))
            (void)weir_rpc_push(dispatcher->server, &pool->worker[i].route, MSG_worker_hint, &now,
                                NULL); /* lost, the next beat asks all the same */
}

/* Appends a text to a column, whose texts are borrowed. */
static struct weir_strs with(const struct weir_strs *column, const char *last,
                             struct weir_arena *arena)
{
    const char **all = weir_arena_alloc(arena, (column->count + 1) * sizeof(*all));
    for (size_t i = 0; i < column->count; i++)
        all[i] = column->at[i];
    all[column->count] = last;
    return (struct weir_strs){all, column->count + 1};
}

static struct weir_u32s with_role(const struct weir_u32s *column, uint32_t last,
                                  struct weir_arena *arena)
{
    uint32_t *all = weir_arena_alloc(arena, (column->count + 1) * sizeof(*all));
    for (size_t i = 0; i < column->count; i++)
        all[i] = column->at[i];
    all[column->count] = last;
    return (struct weir_u32s){all, column->count + 1};
}

/* Adds the trainers of this host. */
static void add_own(const struct dispatcher *dispatcher, struct msg_keys_set *keys,
                    struct weir_arena *arena)
{
    if (dispatcher->trainers.public[0] == '\0')
        return;
    keys->publics = with(&keys->publics, dispatcher->trainers.public, arena);
    keys->names = with(&keys->names, TRAINERS, arena);
    keys->tenants = with(&keys->tenants, "", arena);
    keys->roles = with_role(&keys->roles, WEIR_ROLE_TRAINER, arena);
}

/* Thousands of workers ask at once after a restart: all are told the same. */
const struct msg_keys_set *preprocess_dispatcher_trainers_keys(struct dispatcher *dispatcher)
{
    const struct weir_keyring *keyring = weir_rpc_keyring(dispatcher->server);
    struct dispatcher_told_keys *told = &dispatcher->told;
    if (told->arena != NULL && told->keys.number == keyring->number)
        return &told->keys;
    weir_arena_free(told->arena);
    told->arena = weir_arena_new();
    told->keys = weir_keyring_tell(keyring, WEIR_ROLE_TRAINER, told->arena);
    add_own(dispatcher, &told->keys, told->arena);
    return &told->keys;
}

void preprocess_dispatcher_tell_keys(struct dispatcher *dispatcher, const struct weir_request *beat,
                                     struct msg_worker_orders *answer)
{
    const struct msg_worker_beat *said = beat->message;
    const struct msg_keys_set *keys;
    if (said->keys >= weir_rpc_keyring(dispatcher->server)->number)
        return;
    keys = preprocess_dispatcher_trainers_keys(dispatcher);
    answer->keys = keys->number;
    answer->key_publics = keys->publics;
    answer->key_names = keys->names;
    answer->key_roles = keys->roles;
    answer->key_tenants = keys->tenants;
}
