/* A bounded queue: see kept.h. */
#include "core/rpc/kept.h"

#include "core/base/memory.h"

#include <stdlib.h>

void weir_kept_init(struct weir_kept *kept)
{
    *kept = (struct weir_kept){.count = 0};
    STAILQ_INIT(&kept->messages);
}

void weir_kept_fini(struct weir_kept *kept)
{
    struct weir_kept_message *message;
    while ((message = weir_kept_take(kept)) != NULL)
        weir_kept_message_free(message);
}

struct weir_kept_message *weir_kept_message_new(void)
{
    struct weir_kept_message *message = weir_calloc(1, sizeof(*message));
    weir_parts_init(&message->parts, 0);
    return message;
}

void weir_kept_message_free(struct weir_kept_message *message)
{
    if (message == NULL)
        return;
    weir_parts_fini(&message->parts);
    free(message);
}

static bool has_copy(const struct weir_kept *kept, const struct weir_route *route)
{
    const struct weir_kept_message *message;
    STAILQ_FOREACH(message, &kept->messages, link)
    if (weir_route_is_of_request(&message->parts.route, route))
        return true;
    return false;
}

bool weir_kept_add(struct weir_kept *kept, struct weir_kept_message *message)
{
    const struct weir_parts *parts = &message->parts;
    if (kept->count == WEIR_KEPT_MAX || parts->bytes > WEIR_KEPT_BYTES_MAX - kept->bytes ||
        (parts->route.request != 0 && has_copy(kept, &parts->route)))
        return false;
    kept->count++;
    kept->bytes += parts->bytes;
    STAILQ_INSERT_TAIL(&kept->messages, message, link);
    return true;
}

struct weir_kept_message *weir_kept_take(struct weir_kept *kept)
{
    struct weir_kept_message *message = STAILQ_FIRST(&kept->messages);
    if (message == NULL)
        return NULL;
    STAILQ_REMOVE_HEAD(&kept->messages, link);
    kept->count--;
    kept->bytes -= message->parts.bytes;
    return message;
}
