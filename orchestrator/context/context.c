/* The one way to commit something, and what all rooms ask of the context. */
#include "orchestrator/context/context.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"

enum weir_status orchestrator_commit(struct context *context, orchestrator_effect_fn *effect,
                                     void *subject, const void *what, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(context->db, err);
    if (status != WEIR_OK)
        return status;
    if (effect != NULL)
        status = effect(subject, what, err);
    if (status == WEIR_OK && weir_fault("orchestrator.commit"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault orchestrator.commit");
    if (status != WEIR_OK) {
        weir_db_rollback(context->db);
        return status;
    }
    status = weir_db_commit(context->db, err);
    if (status == WEIR_OK)
        orchestrator_events_show(context);
    return status;
}

char *orchestrator_path(const struct context *context, const char *folder, const char *name)
{
    return weir_format("%s/%s/%s", context->data_dir, folder, name);
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
