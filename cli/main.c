/* weir: what a person types. Finds the command in the table, gets its answer, shows it. */
#include "cli/commands.h"
#include "cli/platform.h"
#include "cli/terminal.h"
#include "core/base/dumps.h"
#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static int complain(const struct weir_error *err, int code)
{
    (void)fprintf(stderr, "weir: %s\n", err->text);
    return code;
}

/* Bad usage and bad configuration are 2, whoever finds out. */
static int exit_code_of(enum weir_status status)
{
    return status == WEIR_INVALID || status == WEIR_EXISTS ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

/* The request of a command. */
struct request {
    const struct cli_call *call;
    json_t **ret_answer;
};

static enum weir_status ask_topic(struct cli_platform *platform, void *owner,
                                  struct weir_error *err)
{
    const struct request *request = owner;
    const struct cli_command *command = request->call->command;
    enum weir_status status = cli_platform_request(
        platform, command->topic, request->call->arguments, request->ret_answer, err);
    if (status == WEIR_OK && command->follow != NULL)
        status = command->follow(platform, request->call, request->ret_answer, err);
    if (status != WEIR_OK) {
        json_decref(*request->ret_answer);
        *request->ret_answer = NULL;
    }
    return status;
}

/* Returns the exit code; 0 with `*ret_answer`. */
static int answer_by_platform(struct cli_call *call, json_t **ret_answer)
{
    struct weir_error err;
    if (call->command->arguments != NULL) {
        call->arguments = call->command->arguments(call, &err);
        if (call->arguments == NULL)
            return complain(&err, CLI_EXIT_USAGE);
    }
    const struct cli_place *place = &call->options.place;
    struct request request = {call, ret_answer};
    enum weir_status status = cli_platform_ask(place, ask_topic, &request, &err);
    if (status != WEIR_OK && call->command->insist != NULL &&
        call->command->insist(call, &err, call->arguments))
        status = cli_platform_ask(place, ask_topic, &request, &err);
    json_decref(call->arguments);
    call->arguments = NULL;
    return status == WEIR_OK ? CLI_EXIT_DONE : complain(&err, exit_code_of(status));
}

static int answer_by_itself(const struct cli_call *call, json_t **ret_answer)
{
    struct weir_error err;
    enum weir_status status = call->command->answer(call, ret_answer, &err);
    return status == WEIR_OK ? CLI_EXIT_DONE : complain(&err, exit_code_of(status));
}

static void show_json(const json_t *answer)
{
    char *text = json_dumps(answer, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    printf("%s\n", text == NULL ? "{}" : text);
    free(text);
}

static void show_page(const struct cli_command *command, const json_t *answer, FILE *to)
{
    WEIR_AUTO_BUF out = {0};
    struct cli_page page = cli_terminal_page(fileno(to), &out);
    command->render(answer, &page);
    (void)fwrite(out.at, 1, out.size, to);
}

static enum weir_status find_place(struct cli_place *place, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (cli_place_is_socket(place)) {
        status = cli_platform_find(place->endpoint, &place->owned, err);
        place->data_dir = place->owned;
    }
    return status == WEIR_OK ? cli_place_find(place, err) : status;
}

static int run(struct cli_call *call)
{
    const struct cli_command *command = call->command;
    json_t *answer = NULL;
    struct weir_error err;
    if (!command->needs_no_platform) {
        enum weir_status status = find_place(&call->options.place, &err);
        if (status != WEIR_OK)
            return complain(&err, exit_code_of(status));
    }
    bool is_own = command->topic == NULL || (command->answer != NULL && command->by_itself(call));
    int code = is_own ? answer_by_itself(call, &answer) : answer_by_platform(call, &answer);
    if (code == CLI_EXIT_DONE) {
        code = command->exit_code == NULL ? CLI_EXIT_DONE : command->exit_code(answer);
        if (command->streams && is_own)
            (void)fflush(stdout);
        else if (call->options.json)
            show_json(answer);
        else
            show_page(command, answer, code == CLI_EXIT_USAGE ? stderr : stdout);
    }
    json_decref(answer);
    return code;
}

int main(int argc, char **argv)
{
    struct cli_call call;
    struct weir_error err;
    weir_dumps_forbid(true); /* names of people, and records that are pushed */
    if (cli_call_read(argc, argv, &call, &err) != WEIR_OK)
        return complain(&err, CLI_EXIT_USAGE);
    int code = CLI_EXIT_DONE;
    if (call.options.version) {
        printf("weir %s\n", WEIR_VERSION);
    } else if (call.options.help) {
        cli_help(&call);
    } else if (call.command == NULL) {
        weir_ignore(weir_fail(&err, WEIR_INVALID, "expected a command; weir --help lists them"));
        code = complain(&err, CLI_EXIT_USAGE);
    } else {
        code = run(&call);
    }
    cli_call_fini(&call);
    return code;
}
