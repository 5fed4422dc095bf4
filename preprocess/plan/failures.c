/* Samples that could not be read, and why. */
#include "preprocess/plan/failures.h"

#include "core/base/utf8.h"

void preprocess_failures_note(struct failures *failures, uint64_t id, const char *reason)
{
    size_t at = 0;
    while (at < failures->count && failures->of[at].id != id)
        at++;
    if (at == FAILURES_MAX)
        return;
    struct failure *failure = &failures->of[at];
    struct failure noted = {.id = id};
    weir_utf8_print(noted.reason, sizeof(noted.reason), "%s", reason);
    failures->is_changed = failures->is_changed || at == failures->count ||
                           !weir_str_equal(failure->reason, noted.reason);
    *failure = noted;
    if (at == failures->count)
        failures->count++;
}

void preprocess_failures_list(const struct failures *failures, struct weir_arena *arena,
                              struct weir_u64s *ret_ids, struct weir_strs *ret_reasons)
{
    uint64_t *ids = weir_arena_alloc(arena, sizeof(*ids) * (failures->count + 1));
    const char **reasons = weir_arena_alloc(arena, sizeof(*reasons) * (failures->count + 1));
    for (size_t i = 0; i < failures->count; i++) {
        ids[i] = failures->of[i].id;
        reasons[i] = failures->of[i].reason;
    }
    *ret_ids = (struct weir_u64s){ids, failures->count};
    *ret_reasons = (struct weir_strs){reasons, failures->count};
}
