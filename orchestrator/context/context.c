/* Answers of the context to all rooms. */
#include "orchestrator/context/context.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

char *orchestrator_path(const struct context *context, const char *folder, const char *name)
{
    return weir_format("%s/%s/%s", context->data_dir, folder, name);
}

struct orchestrator_site orchestrator_site_of(const struct context *context)
{
    return (struct orchestrator_site){&context->prices, &context->sharing};
}

int64_t orchestrator_now_us(const struct context *context)
{
    return context->clock.now_us != NULL ? context->clock.now_us(context->clock.owner)
                                         : weir_now_wall_us();
}

bool orchestrator_may_pass(enum weir_status status)
{
    return status == WEIR_UNAVAILABLE || status == WEIR_TIMEOUT || status == WEIR_STALE;
}
