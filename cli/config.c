/* Asking the programs about the pipeline file. */
#include "cli/config.h"

#include "cli/answer.h"
#include "cli/program.h"
#include "cli/reference.h"

#include <string.h>
#include <unistd.h>

enum { EXIT_BAD_FILE = 2 };

/* Everything that plugs in, in the order of the reference. */
enum weir_status cli_answer_policies(const struct cli_call *call, json_t **ret_answer,
                                     struct weir_error *err)
{
    json_t *reference = NULL, *policies = json_array();
    (void)call;
    enum weir_status status = cli_reference_load(&reference, err);
    for (size_t i = 0; i < json_array_size(reference); i++) {
        const json_t *section = json_array_get(reference, i);
        if (json_object_get(section, "kind") != NULL) {
            json_array_append_new(policies,
                                  json_pack("{ss,ss,ss}", "kind", cli_text(section, "kind"), "name",
                                            cli_text(section, "name"), "summary",
                                            cli_text(section, "summary")));
        }
    }
    json_decref(reference);
    if (status != WEIR_OK) {
        json_decref(policies);
        return status;
    }
    *ret_answer = json_pack("{so}", "policies", policies);
    return WEIR_OK;
}

/* ---- check ---- */

static json_t *lines_json(const char *text)
{
    json_t *lines = json_array();
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        if (size > 0)
            json_array_append_new(lines, json_stringn(text, size));
        text += size + (text[size] == '\n' ? 1 : 0);
    }
    return lines;
}

/* Runs the orchestrator; anything but good and "bad file" is an error of ours. */
static enum weir_status run_orchestrator(const char *const *arguments,
                                         struct cli_program_end *ret_end, struct weir_error *err)
{
    enum weir_status status = cli_program_run("orchestrator", arguments, ret_end, err);
    if (status == WEIR_OK && ret_end->exit_code != 0 && ret_end->exit_code != EXIT_BAD_FILE) {
        status = weir_fail(err, WEIR_IO, "orchestrator %s failed: %.300s", arguments[0],
                           weir_buf_text(&ret_end->complaints));
        cli_program_end_fini(ret_end);
    }
    return status;
}

/* `arguments`: `--check-config FILE …` or `--check-system FILE`, ended by NULL. */
static enum weir_status check(const char *const *arguments, json_t **ret_answer,
                              struct weir_error *err)
{
    struct cli_program_end end;
    enum weir_status status = run_orchestrator(arguments, &end, err);
    if (status != WEIR_OK)
        return status;
    *ret_answer = json_pack("{ss,sb,so,so*}", "file", arguments[1], "valid", end.exit_code == 0,
                            "complaints", lines_json(weir_buf_text(&end.complaints)), "shown",
                            json_loadb((const char *)end.out.at, end.out.size, 0, NULL));
    cli_program_end_fini(&end);
    return *ret_answer != NULL
               ? WEIR_OK
               : weir_fail(err, WEIR_INVALID, "config check: the file's name is no UTF-8");
}

enum weir_status cli_answer_config_check(const struct cli_call *call, json_t **ret_answer,
                                         struct weir_error *err)
{
    enum { ARGUMENTS_MAX = 7 };
    const struct cli_options *options = &call->options;
    const char *arguments[ARGUMENTS_MAX] = {options->system ? "--check-system" : "--check-config",
                                            call->operands[0]};
    size_t count = 2;
    if (options->with != NULL) {
        arguments[count++] = "--system";
        arguments[count++] = options->with;
    }
    if (options->data)
        arguments[count++] = "--data";
    if (options->elsewhere)
        arguments[count++] = "--elsewhere";
    return check(arguments, ret_answer, err);
}

enum weir_status cli_config_check(const char *file, bool data, json_t **ret_answer,
                                  struct weir_error *err)
{
    const char *const arguments[] = {"--check-config", file, data ? "--data" : "--elsewhere", NULL};

    return check(arguments, ret_answer, err);
}

enum weir_status cli_answer_plan_verify(const struct cli_call *call, json_t **ret_answer,
                                        struct weir_error *err)
{
    return cli_config_check(call->operands[0], true, ret_answer, err);
}

int cli_exit_of_check(const json_t *answer)
{
    return cli_flag(answer, "valid") ? CLI_EXIT_DONE : CLI_EXIT_USAGE;
}

/* ---- explain ---- */

static enum weir_status explain_file(const char *file, json_t **ret_answer, struct weir_error *err)
{
    struct cli_program_end end;
    const char *const arguments[] = {"--print-config", file, NULL};
    enum weir_status status = run_orchestrator(arguments, &end, err);
    if (status != WEIR_OK)
        return status;
    if (end.exit_code == 0) {
        *ret_answer = json_pack("{ss,ss}", "file", file, "yaml", weir_buf_text(&end.out));
    } else {
        status =
            weir_fail(err, WEIR_INVALID, "%.*s", (int)strcspn(weir_buf_text(&end.complaints), "\n"),
                      weir_buf_text(&end.complaints));
    }
    cli_program_end_fini(&end);
    return status;
}

static bool is_file(const char *words)
{
    const char *dot = strrchr(words, '.');
    bool by_name = dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    return by_name || strchr(words, '/') != NULL || access(words, F_OK) == 0;
}

enum weir_status cli_answer_config_explain(const struct cli_call *call, json_t **ret_answer,
                                           struct weir_error *err)
{
    const char *words = call->operands[0];
    json_t *reference = NULL, *entries = NULL;
    if (is_file(words))
        return explain_file(words, ret_answer, err);
    enum weir_status status = cli_reference_load(&reference, err);
    if (status == WEIR_OK)
        status = cli_reference_find(reference, words, &entries, err);
    json_decref(reference);
    if (status == WEIR_OK)
        *ret_answer = json_pack("{ss,so}", "words", words, "entries", entries);
    return status;
}
