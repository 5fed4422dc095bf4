/* Asking for all that a page shows, and writing its file: see report.h. */
#include "cli/report.h"

#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/new_file.h"
#include "cli/older.h"
#include "cli/platform.h"
#include "cli/report_page.h"
#include "core/base/clock.h"

bool cli_reports_to_file(const struct cli_call *call)
{
    return call->options.file != NULL;
}

json_t *cli_arguments_report(const struct cli_call *call, struct weir_error *err)
{
    if (call->operand_count > 1) {
        weir_ignore(
            weir_fail(err, WEIR_INVALID,
                      "report: expected one pipeline, or -o FILE.html for a page of several"));
        return NULL;
    }
    return call->operand_count == 1 ? cli_arguments_named(call, err)
                                    : cli_arguments_pipeline(call, err);
}

/* Puts older triggers before those of the report, and with each the measures that it has left out. */
static enum weir_status add_older(struct cli_platform *platform, json_t *report,
                                  struct weir_error *err)
{
    json_t *arguments = json_pack("{ss}", "pipeline", cli_text(report, "pipeline"));
    enum weir_status status = cli_add_older(platform, "report", arguments, "triggers", report, err);
    const json_t *triggers = json_object_get(report, "triggers");
    json_decref(arguments);
    for (size_t i = 0; status == WEIR_OK && i < json_array_size(triggers); i++) {
        json_t *trigger = json_array_get(triggers, i);
        const char *original = cli_text(trigger, "evaluations_of");
        status =
            cli_add_measures(platform, original[0] != '\0' ? original : cli_text(trigger, "model"),
                             trigger, true, err);
    }
    return status;
}

enum weir_status cli_follow_report(struct cli_platform *platform, const struct cli_call *call,
                                   json_t **answer, struct weir_error *err)
{
    (void)call;
    return add_older(platform, *answer, err);
}

/* ---- what is asked ---- */

/* Asks a topic about one name; "": about the newest. */
static enum weir_status request(struct cli_platform *platform, const char *topic, const char *key,
                                const char *name, json_t **ret_answer, struct weir_error *err)
{
    json_t *arguments = name[0] == '\0' ? json_object() : json_pack("{ss}", key, name);
    if (arguments == NULL)
        return weir_fail(err, WEIR_INVALID, "report: names are expected in UTF-8");
    enum weir_status status = cli_platform_request(platform, topic, arguments, ret_answer, err);
    json_decref(arguments);
    return status;
}

static enum weir_status add_pipeline(struct cli_platform *platform, json_t *report, json_t *numbers,
                                     struct weir_error *err)
{
    json_t *models = NULL;
    json_t *arguments = json_pack("{ss}", "pipeline", cli_text(report, "pipeline"));
    enum weir_status status = cli_platform_request(platform, "models", arguments, &models, err);
    if (status == WEIR_OK)
        status = cli_add_older(platform, "models", arguments, "models", models, err);
    if (status == WEIR_OK) {
        json_array_append_new(json_object_get(numbers, "pipelines"),
                              cli_report_pipeline(report, models));
        json_object_set(json_object_get(numbers, "platform"), "machine",
                        json_object_get(report, "machine"));
    }
    json_decref(models);
    json_decref(arguments);
    return status;
}

/* A page is of one comparison at most: one question. */
static enum weir_status add_comparison(struct cli_platform *platform, const char *name,
                                       json_t *numbers, struct weir_error *err)
{
    json_t *comparison = NULL;
    enum weir_status status = request(platform, "comparison", "comparison", name, &comparison, err);
    if (status == WEIR_NOT_FOUND)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "%s: no pipeline and no comparison is called so: weir list and weir "
                         "comparisons name them",
                         name);
    if (status == WEIR_OK && !json_is_null(json_object_get(numbers, "comparison")))
        status =
            weir_fail(err, WEIR_INVALID, "report: expected one comparison, found %s too", name);
    if (status == WEIR_OK)
        json_object_set(numbers, "comparison", comparison);
    json_decref(comparison);
    return status;
}

/* A name is a pipeline's; else a comparison's. */
static enum weir_status add_named(struct cli_platform *platform, const char *name, json_t *numbers,
                                  struct weir_error *err)
{
    json_t *report = NULL;
    enum weir_status status = request(platform, "report", "pipeline", name, &report, err);
    if (status == WEIR_NOT_FOUND && name[0] != '\0')
        return add_comparison(platform, name, numbers, err);
    if (status == WEIR_OK)
        status = add_older(platform, report, err);
    if (status == WEIR_OK)
        status = add_pipeline(platform, report, numbers, err);
    json_decref(report);
    return status;
}

/* ---- page ---- */

static json_t *empty_numbers(void)
{
    char made[WEIR_TIME_TEXT_MAX];
    weir_time_format(weir_now_wall_us(), made);
    return json_pack("{si,ss,s{ss,sn},s[],sn}", "version", 1, "made", made, "platform", "version",
                     WEIR_VERSION, "machine", "pipelines", "comparison");
}

/* A page whose numbers are asked for. */
struct gathering {
    const struct cli_call *call;
    json_t *numbers;
};

static enum weir_status gather(struct cli_platform *platform, void *owner, struct weir_error *err)
{
    struct gathering *gathering = owner;
    const struct cli_call *call = gathering->call;
    const char *option = call->options.pipeline;
    enum weir_status status = WEIR_OK;
    json_decref(gathering->numbers);
    gathering->numbers = empty_numbers();
    if (option != NULL || call->operand_count == 0)
        status = add_named(platform, option == NULL ? "" : option, gathering->numbers, err);
    for (size_t i = 0; status == WEIR_OK && i < call->operand_count; i++)
        status = add_named(platform, call->operands[i], gathering->numbers, err);
    return status;
}

enum weir_status cli_answer_report(const struct cli_call *call, json_t **ret_answer,
                                   struct weir_error *err)
{
    WEIR_AUTO_BUF page = {0};
    struct gathering gathering = {.call = call};
    enum weir_status status = cli_platform_ask(&call->options.place, gather, &gathering, err);
    if (status == WEIR_OK) {
        cli_report_page(gathering.numbers, &page);
        status = cli_new_file(call->options.file, weir_buf_view(&page), err);
    }
    if (status == WEIR_OK) {
        json_object_set_new(gathering.numbers, "file", json_string(call->options.file));
        *ret_answer = json_incref(gathering.numbers);
    }
    json_decref(gathering.numbers);
    return status;
}
