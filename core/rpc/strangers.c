/* Counting the handshakes that failed. */
#include "core/rpc/strangers.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/rpc/handshakes.h"

#include <stdlib.h>

enum { LOG_MS = 60 * 1000 };

struct weir_strangers {
    struct weir_loop *loop;
    struct weir_handshakes *handshakes;
    const char *endpoint;
    bool is_keyed;
    uint64_t count, logged;
    int64_t log_ms; /* no line of the log before */
};

static void report(struct weir_strangers *strangers)
{
    int64_t now_ms = weir_loop_now_ms(strangers->loop);
    if (strangers->count == strangers->logged || now_ms < strangers->log_ms)
        return;
    weir_log(WEIR_LOG_WARN, "somebody without the key connects", "endpoint=%s times=%llu",
             strangers->endpoint, (unsigned long long)(strangers->count - strangers->logged));
    strangers->logged = strangers->count;
    strangers->log_ms = now_ms + LOG_MS;
}

/* A connection that ends in the midst of its handshake has shown no key, right or wrong: those of people's commands do,
 * which connect again when they have their answer, so that nobody keeps it. */
static void on_failure(void *owner, uint32_t value)
{
    struct weir_strangers *strangers = owner;
    if (strangers->is_keyed && value != WEIR_HANDSHAKE_DENIED)
        return;
    strangers->count++;
    report(strangers);
}

enum weir_status weir_strangers_watch(struct weir_loop *loop, void *socket, const char *endpoint,
                                      bool is_keyed, struct weir_strangers **ret_strangers,
                                      struct weir_error *err)
{
    struct weir_strangers *strangers = weir_calloc(1, sizeof(*strangers));
    *strangers = (struct weir_strangers){.loop = loop, .endpoint = endpoint, .is_keyed = is_keyed};
    const struct weir_handshakes_listener listener = {
        .told = is_keyed ? WEIR_HANDSHAKES_JUDGED : WEIR_HANDSHAKES_ALL,
        .fn = on_failure,
        .owner = strangers,
    };
    enum weir_status status =
        weir_handshakes_watch(loop, socket, &listener, &strangers->handshakes, err);
    if (status == WEIR_OK) {
        *ret_strangers = strangers;
        return WEIR_OK;
    }
    weir_strangers_free(strangers);
    return weir_error_wrap(err, status, "%s", endpoint);
}

void weir_strangers_free(struct weir_strangers *strangers)
{
    if (strangers == NULL)
        return;
    weir_handshakes_free(strangers->handshakes);
    free(strangers);
}

uint64_t weir_strangers_count(const struct weir_strangers *strangers)
{
    return strangers != NULL ? strangers->count : 0;
}
