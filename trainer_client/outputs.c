/* Outputs of a run: what a loop says of each batch, gathered in the collector, with what the hidden tensors tell of its
 * samples. The loop's side alone. */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "trainer_client/client_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCORES = 2 }; /* numbers of a sample: its loss, the norm of its gradient */

static const struct mode {
    const char *name;
    enum weir_output kind;
} MODES[] = {
    {"train", WEIR_OUTPUT_SCORES},        {"evaluate", WEIR_OUTPUT_PREDICTIONS},
    {"predict", WEIR_OUTPUT_PREDICTIONS}, {"score", WEIR_OUTPUT_SCORES},
    {"gradient", WEIR_OUTPUT_GRADIENTS},  {"embed", WEIR_OUTPUT_EMBEDDINGS},
    {"features", WEIR_OUTPUT_EMBEDDINGS},
};

static const char *const KINDS[] = {
    [WEIR_OUTPUT_PREDICTIONS] = "WEIR_OUTPUT_PREDICTIONS",
    [WEIR_OUTPUT_SCORES] = "WEIR_OUTPUT_SCORES",
    [WEIR_OUTPUT_GRADIENTS] = "WEIR_OUTPUT_GRADIENTS",
    [WEIR_OUTPUT_EMBEDDINGS] = "WEIR_OUTPUT_EMBEDDINGS",
};

/* 0: a mode that this library does not know; whatever is said of it is refused. */
static enum weir_output kind_of(const struct weir_client_task *task)
{
    for (size_t i = 0; i < WEIR_COUNT(MODES); i++) {
        if (strcmp(MODES[i].name, task->mode) == 0)
            return MODES[i].kind;
    }
    return (enum weir_output)0;
}

bool trainer_client_learns(const struct weir_client *client)
{
    return client->task != NULL && strcmp(client->task->mode, "train") == 0;
}

bool trainer_client_gathers(const struct weir_client *client)
{
    return client->task != NULL && !trainer_client_learns(client) && kind_of(client->task) != 0;
}

/* Files of the ranks stand beside each other: "outputs", "outputs-1", … */
static char *path_of_rank(const struct weir_client *client, const char *name, uint32_t rank)
{
    return rank == 0 ? weir_format("%s/%s", client->task->directory, name)
                     : weir_format("%s/%s-%u", client->task->directory, name, rank);
}

static char *path_of(const struct weir_client *client, const char *name)
{
    return path_of_rank(client, name, client->rank);
}

/* ---- what the loop says ---- */

static enum weir_status check(const struct weir_client *client, enum weir_output kind,
                              uint32_t width, struct weir_error *err)
{
    enum weir_output wanted = client->task != NULL ? kind_of(client->task) : (enum weir_output)0;
    uint32_t known = client->collector.width;

    if (client->task == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "outputs: the run was not opened with its task: set "
                         "weir_client_options.task");
    if (trainer_client_learns(client) && !client->task->reports)
        return weir_fail(err, WEIR_INVALID,
                         "outputs: the task asks for none: weir_client_task.reports is 0");
    if (wanted == 0 || kind != wanted)
        return weir_fail(err, WEIR_INVALID, "outputs: mode %s expects %s, found kind %d",
                         client->task->mode, wanted != 0 ? KINDS[wanted] : "none", (int)kind);
    if (width == 0 || (kind == WEIR_OUTPUT_SCORES && width != SCORES) ||
        (known != 0 && width != known))
        return weir_fail(err, WEIR_INVALID, "outputs: found %u numbers per sample, expected %u",
                         width,
                         known != 0                   ? known
                         : kind == WEIR_OUTPUT_SCORES ? SCORES
                                                      : 1);
    return WEIR_OK;
}

/* Adds the batch. A training is reported on by its newest epoch. */
static void gather(struct weir_client *client, const struct batch *batch, const float *values)
{
    struct collector *collector = &client->collector;

    if (trainer_client_learns(client) && batch->shown.epoch < collector->epoch)
        return;
    if (batch->shown.epoch > collector->epoch) {
        collector->epoch = batch->shown.epoch;
        collector->count = trainer_client_learns(client) ? 0 : collector->count;
    }
    collector->batch_groups = batch->groups.at;
    collector->batch_slices = batch->groups.slices;
    collector->slice_columns = task_of_shown(client->task)->tells.slice_count;
    trainer_collector_add(collector, &batch->shown, values);
    client->outputs += batch->shown.samples;
}

enum weir_client_status weir_client_output(struct weir_client *client,
                                           const struct weir_batch *batch, enum weir_output kind,
                                           uint32_t width, const float *values,
                                           struct weir_client_error *ret_error)
{
    struct weir_error err;

    if (check(client, kind, width, &err) != WEIR_OK)
        return trainer_client_give(&err, ret_error);
    client->collector.width = width;
    gather(client, (const struct batch *)batch, values); /* its first member */
    return WEIR_CLIENT_OK;
}

enum weir_client_status weir_client_output_names(struct weir_client *client, uint32_t width,
                                                 const char *const *names,
                                                 struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct collector *collector = &client->collector;

    if (width == 0 || (collector->width != 0 && collector->width != width)) {
        weir_ignore(weir_fail(&err, WEIR_INVALID, "outputs: found %u names, expected %u", width,
                              collector->width != 0 ? collector->width : 1));
        return trainer_client_give(&err, ret_error);
    }
    collector->width = width;
    trainer_collector_name(collector, names);
    return WEIR_CLIENT_OK;
}

/* ---- files ---- */

enum weir_status trainer_client_save_reported(struct weir_client *client, struct weir_error *err)
{
    if (!trainer_client_learns(client) || client->collector.width == 0)
        return WEIR_OK;
    WEIR_AUTO_FREE char *path = path_of(client, "reported");
    return trainer_collector_write(&client->collector, path, err);
}

void trainer_client_restore_reported(struct weir_client *client)
{
    struct weir_error err;

    if (!trainer_client_learns(client) || !client->task->reports || client->begun_samples == 0)
        return;
    WEIR_AUTO_FREE char *path = path_of(client, "reported");
    client->collector.width = SCORES;
    if (trainer_collector_read(&client->collector, path, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "what was reported before is lost", "error=\"%s\"", err.text);
}

void trainer_client_remove_reported(const struct weir_client *client)
{
    WEIR_AUTO_FREE char *path = path_of(client, "reported");

    if (unlink(path) < 0 && errno != ENOENT)
        weir_log(WEIR_LOG_WARN, "state not removed", "file=%s errno=%d", path, errno);
}

static enum weir_status check_complete(const struct weir_client *client, uint64_t delivered,
                                       struct weir_error *err)
{
    if (!trainer_client_gathers(client) || client->outputs >= delivered)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "outputs: found those of %llu samples, expected %llu: say "
                     "weir_client_output() of each batch",
                     (unsigned long long)client->outputs, (unsigned long long)delivered);
}

static uint64_t count_without_numbers(const struct collector *collector)
{
    uint64_t count = 0;

    for (size_t row = 0; row < collector->count; row++) {
        const float *values = collector->values + row * collector->width;
        size_t at = 0;

        while (at < collector->width && isfinite(values[at]))
            at++;
        count += at < collector->width;
    }
    return count;
}

/* Features may have gaps; of a model's numbers each one that is none spoils what is computed of them. */
static void warn_without_numbers(const struct weir_client *client)
{
    bool are_features = strcmp(client->task->mode, "features") == 0;
    uint64_t count = are_features ? 0 : count_without_numbers(&client->collector);

    if (count > 0)
        weir_log(WEIR_LOG_WARN, "outputs are nan or infinite", "mode=%s samples=%llu of=%zu",
                 client->task->mode, (unsigned long long)count, client->collector.count);
}

enum weir_status trainer_client_write_outputs(struct weir_client *client, uint64_t delivered,
                                              const char **ret_name, struct weir_error *err)
{
    struct collector *collector = &client->collector;
    enum weir_status status = check_complete(client, delivered, err);

    if (collector->width == 0 && trainer_client_gathers(client))
        collector->width = client->task->outputs; /* of no samples at all */
    if (collector->width == 0 && trainer_client_learns(client) && client->task->reports)
        collector->width = SCORES;
    *ret_name = collector->width > 0 ? "outputs" : "";
    if (status != WEIR_OK || collector->width == 0)
        return status;
    warn_without_numbers(client);
    WEIR_AUTO_FREE char *path = path_of(client, *ret_name);
    return trainer_collector_write(collector, path, err);
}

enum weir_status trainer_client_join_outputs(struct weir_client *client, const char **name,
                                             struct weir_error *err)
{
    struct collector *collector = &client->collector;
    enum weir_status status = WEIR_OK;

    if (client->rank > 0)
        *name = "";
    if (client->ranks == 1 || (*name)[0] == '\0')
        return WEIR_OK;
    for (uint32_t rank = 1; rank < client->ranks && status == WEIR_OK; rank++) {
        WEIR_AUTO_FREE char *path = path_of_rank(client, *name, rank);
        status = trainer_collector_read(collector, path, err);
    }
    WEIR_AUTO_FREE char *path = path_of(client, *name);
    return status == WEIR_OK ? trainer_collector_write(collector, path, err) : status;
}
