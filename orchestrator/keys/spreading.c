/* A request at a time to each service: is it the process that has noted the list? If not, the list. */
#include "orchestrator/keys/spreading.h"

#include "core/base/log.h"

enum { LOOK_MS = 500, ASK_MS = 2000, FIRST_NUMBER = 1 };

static void look(struct keys_holder *holder);

static void on_noted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct keys_holder *holder = owner;
    holder->is_asked = false;
    if (reply == NULL) {
        weir_log(WEIR_LOG_WARN, "a service has not noted the keys yet", "service=%s because=\"%s\"",
                 holder->name, err->text);
        return;
    }
    const struct msg_keys_noted *noted = reply->message;
    holder->noted = noted->number;
    if (holder->noted < holder->of->keyring->number)
        look(holder);
}

static void tell(struct keys_holder *holder)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    const struct msg_keys_set keys = weir_keyring_tell(holder->of->keyring, ~0u, arena);
    holder->is_asked = true;
    weir_rpc_call(holder->peer, MSG_keys_set, &keys, ASK_MS, on_noted, holder);
}

/* A process that has just begun knows no keys, whatever the one before it had noted. */
static void on_health(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct keys_holder *holder = owner;
    (void)err;
    holder->is_asked = false;
    if (reply == NULL)
        return; /* it is down, and is looked for again */
    const struct msg_health_is *health = reply->message;
    if (health->session != holder->session)
        holder->noted = 0;
    holder->session = health->session;
    if (holder->noted < holder->of->keyring->number)
        tell(holder);
}

static void look(struct keys_holder *holder)
{
    if (holder->is_asked)
        return;
    holder->is_asked = true;
    weir_rpc_call(holder->peer, MSG_health, NULL, ASK_MS, on_health, holder);
}

static void look_at_all(void *owner)
{
    struct keys_spreading *spreading = owner;
    for (size_t i = 0; i < KEYS_HOLDERS; i++)
        look(&spreading->holders[i]);
}

static void set_own(const struct keys_spreading *spreading)
{
    struct weir_error err;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    const struct msg_keys_set keys = weir_keyring_tell(spreading->keyring, ~0u, arena);
    if (weir_rpc_set_keys(spreading->server, &keys, &err) != WEIR_OK)
        weir_log(WEIR_LOG_ERROR, "the keys are not in force here", "because=\"%s\"", err.text);
}

/* A platform that nobody elsewhere can reach, and that has never had a key, tells nobody of its empty list. */
static bool is_wanted(const struct keys_spreading *spreading)
{
    return spreading->keyring->number > FIRST_NUMBER ||
           weir_rpc_keyed_address(spreading->server) != NULL;
}

void orchestrator_keys_spread(struct keys_spreading *spreading)
{
    if (!is_wanted(spreading))
        return;
    set_own(spreading);
    if (spreading->timer == 0)
        spreading->timer =
            weir_loop_timer(spreading->context->loop, LOOK_MS, LOOK_MS, look_at_all, spreading);
    look_at_all(spreading);
}

void orchestrator_keys_spread_begin(struct keys_spreading *spreading)
{
    const struct context *context = spreading->context;
    const struct keys_holder holders[KEYS_HOLDERS] = {
        {.of = spreading, .name = "storage", .peer = context->storage},
        {.of = spreading, .name = "selector", .peer = context->selector},
        {.of = spreading, .name = "dispatcher", .peer = context->dispatcher},
    };
    for (size_t i = 0; i < KEYS_HOLDERS; i++)
        spreading->holders[i] = holders[i];
    orchestrator_keys_spread(spreading);
}

void orchestrator_keys_spread_end(struct keys_spreading *spreading)
{
    weir_loop_cancel(spreading->context->loop, spreading->timer);
    for (size_t i = 0; i < KEYS_HOLDERS; i++)
        if (spreading->holders[i].peer != NULL)
            weir_rpc_forget(spreading->holders[i].peer, &spreading->holders[i]);
}
