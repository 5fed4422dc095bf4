/* The part of storage that knows of erasures, scripted. */
#include "tests/component/orchestrator_stage.h"

#include "orchestrator/erasures/erasure.h"

enum { PAGE_IDS = 2 };

/* Erasure 1 has all erased samples, those after it have none. */
static size_t erased_ids(const struct stage *stage, uint64_t erasure, uint64_t *ids)
{
    size_t count = 0;
    for (size_t row = 0; erasure == 1 && row < STAGE_SAMPLES; row++) {
        if (weir_bits_get(&stage->erased, row))
            ids[count++] = stage_id(row);
    }
    return count;
}

/* Each erasure moves when it is accepted, when it is in force, which for those that are verified is all the rest as
 * well, and as often again as a test says. */
void stage_on_erase_progress_request(void *owner, struct weir_request *request)
{
    struct stage *stage = owner;
    const struct msg_erase_progress_request *ask = request->message;
    uint64_t moves = (stage->in_force ? 2 + stage->moves : 1) * stage->erasures;
    uint64_t ids[STAGE_SAMPLES], at = ask->after + 1, number = 0, epoch = 1, none = 0;
    stage->followed = ask->after > stage->followed ? ask->after : stage->followed;
    int64_t in_force_us = 1;
    const char *reference = "";
    for (; at <= moves && number < ask->first; at++)
        number = (at - 1) % stage->erasures + 1;
    size_t count = number >= ask->first ? 1 : 0;
    uint32_t state = !stage->in_force ? 1 : number > stage->erasures - stage->unverified ? 2 : 4;
    uint64_t samples = erased_ids(stage, number, ids);
    struct msg_erase_progress answer = {
        .cursor = at - 1,
        .erasures = {&number, count},
        .states = {&state, count},
        .epochs = {&epoch, count},
        .samples = {&samples, count},
        .in_force_us = {&in_force_us, count},
        .holders_answered = {&none, count},
        .holders_expired = {&none, count},
        .references = {&reference, count},
        .end = count == 0,
    };
    weir_rpc_reply(request->server, &request->route, MSG_erase_progress, &answer, NULL);
}

/* Pages are as small as can be, so that there are several. The stage moves on one erasure at a time. */
void stage_on_erase_samples_request(void *owner, struct weir_request *request)
{
    const struct stage *stage = owner;
    const struct msg_erase_samples_request *ask = request->message;
    uint64_t ids[STAGE_SAMPLES], number = ask->erasures.at[0];
    size_t count = erased_ids(stage, number, ids), first = ask->after * PAGE_IDS;
    uint64_t some = first >= count ? 0 : count - first < PAGE_IDS ? count - first : PAGE_IDS;
    struct msg_erase_samples answer = {.cursor = ask->after + 1,
                                       .erasures = {&number, 1},
                                       .counts = {&some, 1},
                                       .ids = {ids + first, some},
                                       .end = first + some >= count};
    weir_rpc_reply(request->server, &request->route, MSG_erase_samples, &answer, NULL);
}

void stage_on_erase_reports_request(void *owner, struct weir_request *request)
{
    enum { ERASURES_MAX = 16 };
    struct stage *stage = owner;
    const struct msg_erase_reports_request *ask = request->message;
    size_t count = ask->erasures.count;
    uint64_t ids[STAGE_SAMPLES], samples[ERASURES_MAX], zeros[ERASURES_MAX] = {0};
    uint32_t states[ERASURES_MAX];
    int64_t times[ERASURES_MAX] = {0};
    const char *remarks[ERASURES_MAX];
    weir_require(count <= ERASURES_MAX);
    if (stage->reports_wait) { /* the same request comes again until it is answered */
        if (ask->erasures.at[0] == 1 && request->route.request != stage->reports_newest) {
            stage->reports_requested++;
            stage->reports_newest = request->route.request;
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        samples[i] = erased_ids(stage, ask->erasures.at[i], ids);
        states[i] = 4;
        remarks[i] = "";
    }
    const struct weir_u64s none = {zeros, count};
    const struct weir_i64s then = {times, count};
    struct msg_erase_reports answer = {.erasures = ask->erasures,
                                       .states = {states, count},
                                       .epochs = none,
                                       .samples = {samples, count},
                                       .accepted_us = then,
                                       .in_force_us = then,
                                       .scrubbed_us = then,
                                       .verified_us = then,
                                       .records_scrubbed = none,
                                       .files_scrubbed = none,
                                       .bytes_scrubbed = none,
                                       .objects_cleaned = none,
                                       .bytes_searched = none,
                                       .found = none,
                                       .remarks = {remarks, count},
                                       .holders_answered = none,
                                       .holders_expired = none,
                                       .dropped = {remarks, count},
                                       .places = {remarks, count}};
    weir_rpc_reply(request->server, &request->route, MSG_erase_reports, &answer, NULL);
}

static void on_noted(void *owner, const struct weir_error *err)
{
    weir_require(err == NULL);
    *(bool *)owner = true;
}

void stage_accept(struct stage *stage, int64_t number, const char *reference)
{
    const struct erasure_names names = {
        .number = number, .dataset = "notes", .reference = reference};
    bool is_noted = false;
    orchestrator_erasure_note(stage->orch->erasures, &names, on_noted, &is_noted);
    while (!is_noted)
        weir_loop_step(stage->loop, 5);
}
