/* DECLARING: the pipeline is declared to storage and the selector. Every new process declares it again, whatever the
 * state, since telling is idempotent. */
#include "orchestrator/pipeline/pipeline_state.h"

static enum weir_status unexpected(struct weir_error *err)
{
    return weir_fail(err, WEIR_INTERNAL,
                     "a service answered with another message than was asked for");
}

static void on_selection_opened(void *owner, const struct weir_reply *reply,
                                const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    if (reply == NULL) {
        orchestrator_pipeline_trouble(pipeline, err->status, err);
        return;
    }
    pipeline->attached = true;
    orchestrator_pipeline_begin_after(pipeline, 0);
}

static void on_declared(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct pipeline *pipeline = owner;
    struct weir_error problem;
    if (reply == NULL) {
        orchestrator_pipeline_trouble(pipeline, err->status, err);
        return;
    }
    const struct msg_dataset_declared *declared = reply->message;
    if (declared->datasets.count != pipeline->config->dataset_count) {
        orchestrator_pipeline_trouble(pipeline, unexpected(&problem), &problem);
        return;
    }
    pipeline->dataset_count = declared->datasets.count;
    for (size_t i = 0; i < declared->datasets.count; i++)
        pipeline->datasets[i] = declared->datasets.at[i];
    struct msg_selection_open open = {
        .pipeline = pipeline->config->name,
        .file = pipeline->file,
        .config = weir_buf_view(&pipeline->text),
        .datasets = {.at = pipeline->datasets, .count = pipeline->dataset_count},
        .replay = pipeline->config->mode == MODE_REPLAY,
        .tenant = pipeline->owner,
    };
    weir_rpc_call(pipeline->context->selector, MSG_selection_open, &open, ORCHESTRATOR_REQUEST_MS,
                  on_selection_opened, pipeline);
}

static bool is_shared(const struct pipeline *pipeline, const char *dataset)
{
    for (const struct pipeline *at = pipeline->all->first; at != NULL; at = at->next)
        if (at != pipeline && at->state != PIPELINE_REMOVED &&
            orchestrator_config_names(at->config, dataset))
            return true;
    return false;
}

/* Datasets of its file, labels among them, that no other pipeline has. */
static struct weir_strs list_alone(const struct pipeline *pipeline,
                                   const char *names[ORCHESTRATOR_DATASETS_MAX])
{
    const struct weir_yaml_node *datasets =
        cfg_datasets(weir_yaml_root(pipeline->config->document));
    size_t count = 0;
    for (size_t i = 0; i < weir_yaml_length(datasets) && i < ORCHESTRATOR_DATASETS_MAX; i++) {
        const char *name = weir_yaml_text(weir_yaml_get(weir_yaml_at(datasets, i), "name"));
        if (name != NULL && !is_shared(pipeline, name))
            names[count++] = name;
    }
    return (struct weir_strs){.at = names, .count = count};
}

static bool is_of_earlier(const struct pipeline *pipeline, const char *dataset)
{
    for (const struct pipeline *at = pipeline->all->first; at != pipeline; at = at->next)
        if (at->state != PIPELINE_REMOVED && strcmp(at->owner, pipeline->owner) == 0 &&
            orchestrator_config_names(at->config, dataset))
            return true;
    return false;
}

/* Each tenant once. */
static const char *list_tenants(const struct pipelines *pipelines, const char *dataset,
                                struct weir_arena *arena)
{
    WEIR_AUTO_BUF words = {0};
    for (const struct pipeline *at = pipelines->first; at != NULL; at = at->next)
        if (at->owner[0] != '\0' && at->state != PIPELINE_REMOVED &&
            orchestrator_config_names(at->config, dataset) && !is_of_earlier(at, dataset))
            weir_buf_printf(&words, "%s%s", words.size == 0 ? "" : " ", at->owner);
    return weir_arena_strndup(arena, weir_buf_text(&words), words.size);
}

static struct weir_strs tenants_of(const struct pipeline *pipeline, struct weir_arena *arena,
                                   const char *tenants[ORCHESTRATOR_DATASETS_MAX])
{
    const struct weir_yaml_node *datasets =
        cfg_datasets(weir_yaml_root(pipeline->config->document));
    size_t count = 0;
    while (count < weir_yaml_length(datasets) && count < ORCHESTRATOR_DATASETS_MAX) {
        const char *name = weir_yaml_text(weir_yaml_get(weir_yaml_at(datasets, count), "name"));
        tenants[count++] = name == NULL ? "" : list_tenants(pipeline->all, name, arena);
    }
    return (struct weir_strs){.at = tenants, .count = count};
}

void orchestrator_pipeline_attach(struct pipeline *pipeline)
{
    const char *alone[ORCHESTRATOR_DATASETS_MAX], *tenants[ORCHESTRATOR_DATASETS_MAX];
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_dataset_declare declare = {.file = pipeline->file,
                                          .config = weir_buf_view(&pipeline->text),
                                          .alone = list_alone(pipeline, alone),
                                          .tenants = tenants_of(pipeline, arena, tenants)};
    weir_rpc_call(pipeline->context->storage, MSG_dataset_declare, &declare,
                  ORCHESTRATOR_REQUEST_MS, on_declared, pipeline);
}

static enum weir_status effect_declared(struct pipeline *pipeline, const void *what,
                                        struct weir_error *err)
{
    (void)what;
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < pipeline->dataset_count && status == WEIR_OK; i++) {
        status =
            DB_RUN(pipeline->context->db, Q_dataset_add, NULL, err, DB_I64(pipeline->id), DB_I64(i),
                   DB_I64(pipeline->datasets[i]), DB_TEXT(pipeline->config->datasets[i]));
    }
    return status;
}

void orchestrator_pipeline_declare(struct pipeline *pipeline)
{
    orchestrator_pipeline_advance(pipeline, PIPELINE_ON_DECLARED, effect_declared, NULL);
}
