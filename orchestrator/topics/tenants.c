/* Pipelines that a key of a tenant may see and name, which a key of the same tenant has submitted, and what is theirs.
 * A thing of another tenant is answered as one that is not there. */
#include "orchestrator/comparing/grid.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/models/store.h"
#include "orchestrator/topics/topic.h"

#include <string.h>

bool orchestrator_topic_sees(const struct topic_call *call, const struct pipeline *pipeline)
{
    return orchestrator_pipeline_is_seen_by(pipeline, call->sender.tenant);
}

bool orchestrator_topic_sees_dataset(const struct topic_call *call, const char *dataset)
{
    if (call->sender.tenant[0] == '\0')
        return true;
    for (const struct pipeline *pipeline = call->all->pipelines->first; pipeline != NULL;
         pipeline = orchestrator_pipeline_next(pipeline))
        if (orchestrator_pipeline_state(pipeline) != PIPELINE_REMOVED &&
            orchestrator_topic_sees(call, pipeline) &&
            orchestrator_config_names(orchestrator_pipeline_config(pipeline), dataset))
            return true;
    return false;
}

bool orchestrator_topic_sees_number(const struct topic_call *call, int64_t number)
{
    const struct pipeline *pipeline = orchestrator_pipeline_by_id(call->all->pipelines, number);
    return call->sender.tenant[0] == '\0' ||
           (pipeline != NULL && orchestrator_topic_sees(call, pipeline));
}

/* ---- what arguments name ---- */

static enum weir_status check_pipeline(const struct topic_call *call, struct weir_error *err)
{
    const char *name = orchestrator_topic_text(call, "pipeline", "");
    int64_t number = orchestrator_topic_number(call, "number", 0);
    const struct pipeline *pipeline = orchestrator_pipeline_by_name(call->all->pipelines, name);
    if (pipeline != NULL && !orchestrator_topic_sees(call, pipeline))
        return weir_fail(err, WEIR_NOT_FOUND, "pipeline %.80s: there is none; see weir status",
                         name);
    if (number != 0 && !orchestrator_topic_sees_number(call, number))
        return weir_fail(err, WEIR_NOT_FOUND, "pipeline number %lld: there is none",
                         (long long)number);
    return WEIR_OK;
}

static enum weir_status check_model(const struct topic_call *call, const char *key,
                                    struct weir_error *err)
{
    struct stored_model model = {0};
    const char *name = orchestrator_topic_text(call, key, "");
    if (name[0] == '\0')
        return WEIR_OK;
    enum weir_status status = orchestrator_model_get(call->context, name, &model, err);
    bool is_seen = status == WEIR_OK && orchestrator_topic_sees_number(call, model.pipeline);
    orchestrator_model_fini(&model);
    if (status == WEIR_OK && !is_seen)
        status = weir_fail(err, WEIR_NOT_FOUND, "model %.80s: there is none; see weir models list",
                           name);
    return status;
}

static enum weir_status check_run(const struct topic_call *call, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    int64_t run = orchestrator_topic_number(call, "run", 0);
    if (run == 0)
        return WEIR_OK;
    enum weir_status status = DB_RUN(call->context->db, Q_run_get, &rows, err, DB_I64(run));
    if (status == WEIR_OK && weir_rows_count(rows) > 0 &&
        !orchestrator_topic_sees_number(call, weir_rows_i64(rows, 0, "pipeline")))
        status = weir_fail(err, WEIR_NOT_FOUND, "run %lld: there is none; see weir report",
                           (long long)run);
    return status;
}

static enum weir_status check_dataset(const struct topic_call *call, struct weir_error *err)
{
    const char *name = orchestrator_topic_text(call, "dataset", "");
    if (name[0] == '\0' || orchestrator_topic_sees_dataset(call, name))
        return WEIR_OK;
    return weir_fail(err, WEIR_NOT_FOUND, "dataset %.80s: there is none; see weir datasets", name);
}

/* ---- a pipeline file ---- */

/* A dataset that pipelines of others have is theirs, whoever declares it again. */
static enum weir_status check_others(const struct topic_call *call,
                                     const struct orchestrator_config *config,
                                     struct weir_error *err)
{
    for (const struct pipeline *pipeline = call->all->pipelines->first; pipeline != NULL;
         pipeline = orchestrator_pipeline_next(pipeline)) {
        const struct orchestrator_config *other = orchestrator_pipeline_config(pipeline);
        if (orchestrator_pipeline_state(pipeline) == PIPELINE_REMOVED ||
            orchestrator_topic_sees(call, pipeline))
            continue;
        if (strcmp(other->name, config->name) == 0)
            return weir_fail(err, WEIR_DENIED,
                             "pipeline %s is not tenant %s's: give it another name", config->name,
                             call->sender.tenant);
        const char *shared = orchestrator_config_shared(config, other);
        if (shared != NULL)
            return weir_fail(err, WEIR_DENIED,
                             "dataset %s is not tenant %s's: an operator submits pipelines of "
                             "datasets that are shared",
                             shared, call->sender.tenant);
    }
    return WEIR_OK;
}

static enum weir_status check_file(const struct topic_call *call, struct weir_error *err)
{
    WEIR_AUTO(orchestrator_config) config = NULL;
    const char *text = orchestrator_topic_text(call, "text", NULL);
    if (text == NULL)
        return WEIR_OK;
    enum weir_status status = orchestrator_config_parse(
        orchestrator_topic_text(call, "file", "pipeline file"), weir_bytes_of(text), &config, err);
    return status == WEIR_OK ? check_others(call, config, err) : status;
}

enum weir_status orchestrator_topic_check_grid(const struct topic_call *call,
                                               const struct grid_files *files,
                                               struct weir_error *err)
{
    WEIR_AUTO(comparison_grid) grid = NULL;
    if (call->sender.tenant[0] == '\0')
        return WEIR_OK;
    enum weir_status status = orchestrator_grid_parse(files, &grid, err);
    for (size_t i = 0; status == WEIR_OK && i < orchestrator_grid_cell_count(grid); i++) {
        WEIR_AUTO(orchestrator_config) config = NULL;
        WEIR_AUTO_BUF text = {0};
        orchestrator_grid_cell_text(grid, i, &text);
        status = orchestrator_config_parse(files->file, weir_buf_view(&text), &config, err);
        if (status == WEIR_OK)
            status = check_others(call, config, err);
    }
    return status;
}

enum weir_status orchestrator_topic_check_tenant(const struct topic_call *call,
                                                 struct weir_error *err)
{
    if (call->sender.tenant[0] == '\0')
        return WEIR_OK;
    enum weir_status status = check_pipeline(call, err);
    if (status == WEIR_OK)
        status = check_model(call, "model", err);
    if (status == WEIR_OK)
        status = check_model(call, "other", err);
    if (status == WEIR_OK)
        status = check_run(call, err);
    if (status == WEIR_OK)
        status = check_dataset(call, err);
    return status == WEIR_OK ? check_file(call, err) : status;
}
