/* Files in, files out: see import.h. Every file has an answer of its own; one that is broken stops no other. */
#include "cli/import.h"

#include "cli/answer.h"
#include "cli/config.h"
#include "cli/modyn/write.h"
#include "cli/new_file.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/path.h"

#include <stdlib.h>
#include <string.h>

/* Documents of all files; system files are those without a pipeline, with datasets. */
struct import {
    struct weir_yaml **documents; /* by operand; NULL: broken */
    const struct weir_yaml_node **systems;
    size_t system_count;
};

static bool is_system(const struct weir_yaml_node *root)
{
    return weir_yaml_get(root, "pipeline") == NULL &&
           cli_modyn_at(root, "storage.datasets") != NULL;
}

static void free_import(struct import *import, size_t count)
{
    for (size_t i = 0; i < count; i++)
        weir_yaml_free(import->documents[i]);
    free((void *)import->documents);
    free((void *)import->systems);
}

/* ---- one file ---- */

/* DIR/NAME.yaml for …/NAME.yml. */
static char *target_of(const char *file, const char *folder)
{
    const char *name = weir_path_name(file), *dot = strrchr(name, '.');

    return weir_format("%s/%.*s.yaml", folder, dot != NULL ? (int)(dot - name) : (int)strlen(name),
                       name);
}

static enum weir_status write_and_check(const struct cli_modyn_pipeline *pipeline,
                                        const char *target, json_t *answer, struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    json_t *checked = NULL;
    enum weir_status status;

    cli_modyn_write(pipeline, &text);
    status = cli_new_file(target, weir_buf_view(&text), err);
    if (status == WEIR_OK)
        status = cli_config_check(target, false, &checked, err);
    if (status != WEIR_OK)
        return status;
    json_object_set_new(answer, "written", json_string(target));
    json_object_set(answer, "valid", json_object_get(checked, "valid"));
    json_object_set(answer, "complaints", json_object_get(checked, "complaints"));
    json_decref(checked);
    return WEIR_OK;
}

static size_t count_of(const json_t *lines, const char *verdict)
{
    size_t count = 0, index;
    const json_t *line;

    json_array_foreach(lines, index, line) count +=
        strcmp(cli_text(line, "verdict"), verdict) == 0 ? 1 : 0;
    return count;
}

static enum weir_status import_file(const struct import *import, size_t index,
                                    const struct cli_call *call, json_t *answer,
                                    struct weir_error *err)
{
    const char *folder = call->options.file != NULL ? call->options.file : ".";
    WEIR_AUTO_FREE char *target = target_of(call->operands[index], folder);
    struct cli_modyn_pipeline pipeline;
    json_t *lines;
    enum weir_status status =
        cli_modyn_pipeline_find(weir_yaml_root(import->documents[index]), import->systems,
                                import->system_count, &pipeline, err);

    if (status != WEIR_OK)
        return status;
    lines = cli_modyn_explain(&pipeline);
    json_object_set_new(answer, "lines", lines);
    json_object_set_new(answer, "choose", json_integer((json_int_t)count_of(lines, "choose")));
    json_object_set_new(answer, "lacks", json_integer((json_int_t)count_of(lines, "lacks")));
    return call->options.check ? WEIR_OK : write_and_check(&pipeline, target, answer, err);
}

/* ---- all files ---- */

static void load(const struct cli_call *call, struct import *import, json_t *files)
{
    struct weir_error err;

    for (size_t i = 0; i < call->operand_count; i++) {
        json_t *answer = json_pack("{ss}", "file", call->operands[i]);

        if (weir_yaml_load(call->operands[i], &import->documents[i], &err) != WEIR_OK) {
            json_object_set_new(answer, "error", json_string(err.text));
        } else if (is_system(weir_yaml_root(import->documents[i]))) {
            import->systems[import->system_count++] = weir_yaml_root(import->documents[i]);
            json_object_set_new(answer, "system", json_true());
        }
        json_array_append_new(files, answer);
    }
}

static const char *result_of(const json_t *answer)
{
    if (json_object_get(answer, "system") != NULL)
        return "system file";
    if (json_object_get(answer, "error") != NULL)
        return "refused";
    return cli_number(answer, "choose") + cli_number(answer, "lacks") == 0 ? "converted"
                                                                           : "converted with gaps";
}

static void count_results(json_t *files, json_t *counts)
{
    size_t index;
    json_t *answer;

    json_array_foreach(files, index, answer)
    {
        const char *result = result_of(answer);
        json_int_t before = json_integer_value(json_object_get(counts, result));

        json_object_set_new(answer, "result", json_string(result));
        json_object_set_new(counts, result, json_integer(before + 1));
    }
}

enum weir_status cli_answer_import_modyn(const struct cli_call *call, json_t **ret_answer,
                                         struct weir_error *err)
{
    struct import import = {
        .documents = weir_calloc(call->operand_count, sizeof(struct weir_yaml *)),
        .systems = weir_calloc(call->operand_count, sizeof(struct weir_yaml_node *)),
    };
    json_t *files = json_array(), *counts = json_object();
    enum weir_status status = WEIR_OK;

    if (call->options.file != NULL && !call->options.check)
        status = weir_make_directories(call->options.file, 0755, err);
    if (status == WEIR_OK)
        load(call, &import, files);
    for (size_t i = 0; i < call->operand_count && status == WEIR_OK; i++) {
        json_t *answer = json_array_get(files, i);

        if (json_object_get(answer, "error") == NULL && json_object_get(answer, "system") == NULL &&
            import_file(&import, i, call, answer, err) != WEIR_OK)
            json_object_set_new(answer, "error", json_string(err->text));
    }
    free_import(&import, call->operand_count);
    count_results(files, counts);
    *ret_answer = json_pack("{so,so}", "files", files, "counts", counts);
    if (status != WEIR_OK) {
        json_decref(*ret_answer);
        *ret_answer = NULL;
    }
    return status;
}

int cli_exit_of_import(const json_t *answer)
{
    return json_object_get(json_object_get(answer, "counts"), "refused") != NULL ? CLI_EXIT_FAILED
                                                                                 : CLI_EXIT_DONE;
}
