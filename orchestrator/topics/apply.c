/* apply: a pipeline takes another file. The answer has each difference, and when it takes effect. A file that models or
 * samples contradict is refused, unless the pipeline is to begin again. */
#include "orchestrator/config/changes.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/context/events.h"
#include "orchestrator/topics/topic.h"

#include "core/base/memory.h"

struct differences {
    json_t *list;
    size_t reruns;
    char *first; /* first one that needs a rerun; NULL: none does */
};

static json_t *value_json(const struct weir_yaml_node *node)
{
    WEIR_AUTO_BUF text = {0};
    if (node == NULL)
        return json_null();
    weir_yaml_print(node, &text);
    return json_string(weir_buf_text(&text));
}

static void add_change(void *owner, const struct config_change *change)
{
    struct differences *differences = owner;
    const struct cfg_difference *difference = change->difference;
    json_array_append_new(
        differences->list,
        JSON_FIELDS(JSON_TEXT("path", difference->path),
                    JSON_NEW("was", value_json(difference->was)),
                    JSON_NEW("is", value_json(difference->is)),
                    JSON_TEXT("effect", orchestrator_config_effect_name(change->effect)),
                    JSON_TEXT("text", change->text)));
    if (change->effect != CONFIG_EFFECT_RERUN)
        return;
    if (differences->reruns++ == 0)
        differences->first = weir_format("%s: %s", difference->path, change->text);
}

/* Gives the order that the differences allow. */
static enum weir_status act(struct topic_call *call, struct pipeline *pipeline,
                            const struct differences *differences, const char **ret_done,
                            struct weir_error *err)
{
    const char *file = orchestrator_topic_text(call, "file", "pipeline file");
    struct weir_bytes text = weir_bytes_of(orchestrator_topic_text(call, "text", ""));
    bool again = orchestrator_topic_flag(call, "rerun");
    *ret_done = "nothing";
    if (orchestrator_topic_flag(call, "dry_run"))
        return WEIR_OK;
    if (differences->reruns > 0 && !again)
        return weir_fail(
            err, WEIR_UNSUPPORTED,
            "pipeline %s cannot take this file as it stands (%s): weir apply --rerun begins it "
            "again with the file, --dry-run shows all differences, or give it another name",
            orchestrator_pipeline_config(pipeline)->name, differences->first);
    *ret_done = again ? "rerun" : "applied";
    return again ? orchestrator_pipeline_rerun_with(pipeline, file, text, err)
                 : orchestrator_pipeline_apply(pipeline, file, text, err);
}

/* A platform that leaves pipelines at rest, as one that is served for a single command, knows no more than they do of
 * the programs, prices and slots that they will run with. */
static enum weir_status read_file(struct topic_call *call, struct orchestrator_config **ret_config,
                                  struct pipeline **ret_pipeline, struct weir_error *err)
{
    WEIR_AUTO(orchestrator_config) config = NULL;
    const struct orchestrator_site site = orchestrator_site_of(call->all->context);
    enum weir_status status = orchestrator_config_parse(
        orchestrator_topic_text(call, "file", "pipeline file"),
        weir_bytes_of(orchestrator_topic_text(call, "text", "")), &config, err);
    if (status == WEIR_OK && !call->all->pipelines->are_held)
        status = orchestrator_config_check_system(config, &site, err);
    if (status != WEIR_OK)
        return status;
    *ret_pipeline = orchestrator_pipeline_by_name(call->all->pipelines, config->name);
    if (*ret_pipeline == NULL)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "pipeline %s: there is none to apply the file to: weir submit begins it",
                         config->name);
    *ret_config = WEIR_TAKE(config);
    return WEIR_OK;
}

static json_t *answer_json(const struct topic_call *call, const struct pipeline *pipeline,
                           struct differences *differences, const char *done)
{
    return JSON_FIELDS(
        JSON_TEXT("pipeline", orchestrator_pipeline_config(pipeline)->name),
        JSON_NUMBER("number", orchestrator_pipeline_id(pipeline)),
        JSON_TEXT("state", orchestrator_pipeline_state_name(orchestrator_pipeline_state(pipeline))),
        JSON_TEXT("wish", orchestrator_pipeline_order(pipeline)),
        JSON_FLAG("held", call->all->pipelines->are_held), JSON_TEXT("done", done),
        JSON_NEW("differences", json_incref(differences->list)));
}

void orchestrator_topic_apply(struct topic_call *call)
{
    struct weir_error err;
    struct pipeline *pipeline = NULL;
    const char *done = NULL;
    struct differences differences = {.list = json_array()};
    WEIR_AUTO(orchestrator_config) config = NULL;
    enum weir_status status = read_file(call, &config, &pipeline, &err);
    if (status == WEIR_OK) {
        orchestrator_config_changes(orchestrator_pipeline_config(pipeline), config, add_change,
                                    &differences);
        status = act(call, pipeline, &differences, &done, &err);
    }
    if (status == WEIR_OK)
        orchestrator_topic_answer(call, answer_json(call, pipeline, &differences, done));
    else
        orchestrator_topic_refuse(call, &err);
    json_decref(differences.list);
    free(differences.first);
}
