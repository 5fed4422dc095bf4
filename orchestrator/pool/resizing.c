/* pool_resized: from, to, why, each job's numbers, and the sizes beside the one that was taken. worker_lost: why. */
#include "orchestrator/pool/resizing.h"

#include "orchestrator/context/events.h"

#include <inttypes.h>
#include <stdio.h>

static const double THOUSAND = 1000;

static size_t sum_of(const struct weir_u32s *counts)
{
    size_t sum = 0;
    for (size_t i = 0; i < counts->count; i++)
        sum += counts->at[i];
    return sum;
}

bool orchestrator_pool_is_whole(const struct msg_pool_is *advice)
{
    size_t jobs = advice->jobs.count;
    return advice->policies.count == jobs && advice->why.count == jobs &&
           advice->sizes.count == jobs && advice->host_sizes.count == jobs &&
           advice->needs.count == jobs && advice->given.count == jobs &&
           advice->wanted.count == jobs && advice->made.count == jobs &&
           advice->stalled.count == jobs && advice->reports.count == jobs &&
           advice->settled.count == jobs && advice->options.count == jobs &&
           advice->option_workers.count == sum_of(&advice->options) &&
           advice->option_hosts.count == advice->option_workers.count &&
           advice->option_rates.count == advice->option_workers.count;
}

/* The sizes that the policy of a job has weighed, the first of them at `first` of the columns. */
static json_t *weighed_json(const struct msg_pool_is *advice, size_t job, size_t first)
{
    json_t *weighed = json_array();
    for (size_t i = first; i < first + advice->options.at[job]; i++)
        json_array_append_new(
            weighed,
            JSON_FIELDS(JSON_NUMBER("workers", advice->option_workers.at[i]),
                        JSON_NUMBER("host", advice->option_hosts.at[i]),
                        JSON_DOUBLE("batches_per_second", advice->option_rates.at[i] / THOUSAND)));
    return weighed;
}

static json_t *jobs_json(const struct msg_pool_is *advice)
{
    json_t *jobs = json_array();
    size_t first = 0;
    for (size_t i = 0; i < advice->jobs.count; first += advice->options.at[i++])
        json_array_append_new(jobs,
                              JSON_FIELDS(JSON_NUMBER("job", advice->jobs.at[i]),
                                          JSON_TEXT("policy", advice->policies.at[i]),
                                          JSON_DOUBLE("need", advice->needs.at[i] / THOUSAND),
                                          JSON_DOUBLE("wanted", advice->wanted.at[i] / THOUSAND),
                                          JSON_DOUBLE("made", advice->made.at[i] / THOUSAND),
                                          JSON_TEXT("why", advice->why.at[i]),
                                          JSON_NEW("weighed", weighed_json(advice, i, first))));
    return jobs;
}

/* Returns the batches a second that the consumers would get with so many workers for all jobs together, each job having
 * of them by its need. */
static double rate_with(const struct msg_pool_is *advice, uint32_t workers)
{
    double need = 0, rate = 0;
    for (size_t i = 0; i < advice->jobs.count; i++)
        need += advice->needs.at[i] / THOUSAND;
    double met = need > workers ? workers / need : 1;
    for (size_t i = 0; i < advice->jobs.count; i++)
        rate += advice->wanted.at[i] / THOUSAND * met;
    return rate;
}

/* The sizes beside the one that is taken, and what they would give. */
static json_t *alternatives_json(const struct pool_resizing *resizing)
{
    json_t *alternatives = json_array();
    for (uint32_t size = resizing->to > 0 ? resizing->to - 1 : 0; size <= resizing->to + 1; size++)
        json_array_append_new(
            alternatives,
            JSON_FIELDS(JSON_NUMBER("workers", size),
                        JSON_DOUBLE("batches_per_second", rate_with(resizing->advice, size))));
    return alternatives;
}

/* The word of the job that asks for most. */
static const char *why_of(const struct pool_resizing *resizing)
{
    const struct msg_pool_is *advice = resizing->advice;
    const struct weir_u32s *sizes =
        resizing->place == POOL_PLACE_HOST ? &advice->host_sizes : &advice->sizes;
    size_t most = 0;
    if (resizing->why != NULL || advice->jobs.count == 0)
        return resizing->why != NULL ? resizing->why : "idle";
    for (size_t i = 1; i < advice->jobs.count; i++)
        most = sizes->at[i] > sizes->at[most] ? i : most;
    return advice->why.at[most];
}

/* Puts the event, in the place of the oldest one of the pool. */
static enum weir_status put(struct context *context, const char *event, int64_t number,
                            json_t *body, struct weir_error *err)
{
    char key[40];
    (void)snprintf(key, sizeof(key), "pool/%" PRId64, number);
    const struct event_about about = {.key = key, .event = event};
    enum weir_status status = orchestrator_event_put(context, &about, body, err);
    return status == WEIR_OK ? DB_RUN(context->db, Q_pool_event_drop, NULL, err, DB_I64(number),
                                      DB_I64(POOL_EVENTS_KEPT))
                             : status;
}

enum weir_status orchestrator_pool_tell(struct context *context,
                                        const struct pool_resizing *resizing,
                                        struct weir_error *err)
{
    bool is_measured = resizing->place == POOL_PLACE_POOL;
    json_t *body = JSON_FIELDS(
        JSON_TEXT("place", ORCHESTRATOR_POOL_PLACES[resizing->place]),
        JSON_NUMBER("from", resizing->from), JSON_NUMBER("to", resizing->to),
        JSON_TEXT("why", why_of(resizing)), JSON_NEW("jobs", jobs_json(resizing->advice)),
        JSON_NEW("alternatives", is_measured ? alternatives_json(resizing) : json_array()));
    return put(context, "pool_resized", resizing->number, body, err);
}

enum weir_status orchestrator_pool_tell_lost(struct context *context,
                                             const struct pool_member *member, int64_t number,
                                             struct weir_error *err)
{
    char name[POOL_NAME_SIZE];
    orchestrator_pool_name(member, name);
    json_t *body = JSON_FIELDS(
        JSON_TEXT("worker", name), JSON_TEXT("place", ORCHESTRATOR_POOL_PLACES[member->place]),
        JSON_TEXT("launcher", member->launcher),
        JSON_TEXT("state", ORCHESTRATOR_POOL_STATES[member->state]), JSON_TEXT("why", member->why));
    return put(context, "worker_lost", number, body, err);
}
