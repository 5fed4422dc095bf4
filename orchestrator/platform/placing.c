/* A state for each launcher of the registry that is used. */
#include "orchestrator/platform/placing.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"

#include <stdlib.h>

static enum weir_status open_at(struct orchestrator_placing *placing, size_t at,
                                struct weir_error *err)
{
    const struct launcher *launcher = orchestrator_launcher_at(at);
    struct launcher_context context = placing->context;
    if (placing->launchers[at] != NULL)
        return WEIR_OK;
    context.options = placing->launching->options[at];
    placing->launchers[at] = weir_calloc(1, launcher->state_size);
    return launcher->init(placing->launchers[at], &context, err);
}

enum weir_status orchestrator_placing_open(struct orchestrator_placing *placing,
                                           struct weir_error *err)
{
    enum weir_status status =
        open_at(placing, orchestrator_launching_at(placing->launching, "pool"), err);
    return status == WEIR_OK
               ? open_at(placing, orchestrator_launching_at(placing->launching, "trainer"), err)
               : status;
}

/* Place in the registry of the launcher that a group is for. */
static enum weir_status find(struct orchestrator_placing *placing, const char *launcher,
                             const char *place, size_t *ret_at, struct weir_error *err)
{
    *ret_at = orchestrator_launching_at(placing->launching, place);
    if (launcher == NULL)
        return WEIR_OK;
    for (size_t i = 0; i < orchestrator_launcher_count(); i++)
        if (weir_str_equal(orchestrator_launcher_at(i)->name, launcher)) {
            *ret_at = i;
            return open_at(placing, i, err);
        }
    return weir_fail(err, WEIR_NOT_FOUND, "launcher '%s', which has started it, is unknown",
                     launcher);
}

enum weir_status orchestrator_placing_start(struct orchestrator_placing *placing,
                                            const char *launcher,
                                            const struct launcher_group *group,
                                            struct weir_error *err)
{
    size_t at = 0;
    enum weir_status status = find(placing, launcher, group->place, &at, err);
    return status == WEIR_OK
               ? orchestrator_launcher_at(at)->start(placing->launchers[at], group, err)
               : status;
}

enum weir_status orchestrator_placing_adopt(struct orchestrator_placing *placing,
                                            const char *launcher,
                                            const struct launcher_group *group,
                                            struct weir_error *err)
{
    size_t at = 0;
    enum weir_status status = find(placing, launcher, group->place, &at, err);
    return status == WEIR_OK
               ? orchestrator_launcher_at(at)->adopt(placing->launchers[at], group, err)
               : status;
}

size_t orchestrator_placing_list(const struct orchestrator_placing *placing,
                                 struct launcher_process *processes, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < orchestrator_launcher_count(); i++) {
        size_t filled = count < max ? count : max;
        if (placing->launchers[i] != NULL)
            count += orchestrator_launcher_at(i)->list(placing->launchers[i], processes + filled,
                                                       max - filled);
    }
    return count;
}

enum weir_status orchestrator_placing_rename(struct orchestrator_placing *placing, const char *from,
                                             const char *to, struct weir_error *err)
{
    size_t at = orchestrator_launching_at(placing->launching, "trainer");
    return orchestrator_launcher_at(at)->rename(placing->launchers[at], from, to, err);
}

/* To launchers that do not know it, that is fine. */
void orchestrator_placing_stop(struct orchestrator_placing *placing, const char *name,
                               int64_t grace_ms)
{
    for (size_t i = 0; i < orchestrator_launcher_count(); i++)
        if (placing->launchers[i] != NULL)
            orchestrator_launcher_at(i)->stop(placing->launchers[i], name, grace_ms);
}

static void on_left(void *owner)
{
    struct orchestrator_placing *placing = owner;
    if (--placing->leaving == 0)
        placing->left(placing->left_owner);
}

void orchestrator_placing_leave(struct orchestrator_placing *placing, weir_loop_timer_fn *left,
                                void *owner)
{
    placing->left = left;
    placing->left_owner = owner;
    placing->leaving = 1;
    for (size_t i = 0; i < orchestrator_launcher_count(); i++) {
        const struct launcher *launcher = orchestrator_launcher_at(i);
        if (placing->launchers[i] == NULL || launcher->elsewhere == NULL)
            continue;
        placing->leaving++;
        launcher->elsewhere->leave(placing->launchers[i], on_left, placing);
    }
    on_left(placing);
}

void orchestrator_placing_fini(struct orchestrator_placing *placing)
{
    for (size_t i = 0; i < orchestrator_launcher_count(); i++) {
        const struct launcher *launcher = orchestrator_launcher_at(i);
        if (placing->launchers[i] != NULL && launcher->fini != NULL)
            launcher->fini(placing->launchers[i]);
        free(placing->launchers[i]);
    }
}
