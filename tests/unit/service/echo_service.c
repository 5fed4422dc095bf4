/* The smallest service there is, as a program of its own: what the service test starts, asks and stops. */
#include "core/config/schema.h"
#include "core/service/service.h"

#include <string.h>

struct echo {
    int asked;
};

struct echo_section {
    uint64_t volume;
};

static const struct cfg_key KEYS[] = {
    CFG_U64(struct echo_section, volume, .fallback = "5", .max = 11, .doc = "how loud"),
    CFG_END,
};

static void on_command(void *state, struct weir_request *request)
{
    struct echo *echo = state;
    const struct msg_command *ask = request->message;
    struct msg_answer answer = {.json = ask->arguments};
    echo->asked++;
    weir_rpc_reply(request->server, &request->route, MSG_answer, &answer, NULL);
}

static const struct weir_rpc_handler HANDLERS[] = {WEIR_ON(command, on_command), {MSG_none, NULL}};

static enum weir_status open_echo(const struct weir_service_options *options,
                                  struct weir_loop *loop, struct weir_rpc_server *server,
                                  void **ret_state, struct weir_error *err)
{
    static struct echo echo;
    (void)loop;
    weir_require(server != NULL);
    if (strcmp(options->name, "broken") == 0)
        return weir_fail(err, WEIR_IO, "the reed is broken");
    *ret_state = &echo;
    return WEIR_OK;
}

static void close_echo(void *state)
{
    (void)state;
}

static void check(const struct weir_yaml_node *root, struct cfg_complaints *complaints)
{
    struct weir_error err;
    struct echo_section section = {0};
    const struct weir_yaml_node *node = weir_yaml_get(root, "echo");
    cfg_note(complaints, cfg_read(KEYS, CFG_CLOSED, node, "echo", NULL, &section, &err), &err);
}

static enum weir_status print(const struct weir_yaml_node *root, struct weir_buf *out,
                              struct weir_error *err)
{
    struct echo_section section = {0};
    enum weir_status status =
        cfg_read(KEYS, CFG_CLOSED, weir_yaml_get(root, "echo"), "echo", NULL, &section, err);
    if (status != WEIR_OK)
        return status;
    weir_buf_append_text(out, "echo:\n");
    cfg_print(KEYS, &section, 2, out);
    return WEIR_OK;
}

static void describe(struct weir_buf *out)
{
    cfg_document(KEYS, out);
}

static const struct weir_service ECHO = {
    .name = "echo",
    .summary = "says what it hears",
    .example = "echo_service --data-dir .weir --socket-dir .weir/run",
    .handlers = HANDLERS,
    .roles = WEIR_ROLE_PLATFORM | WEIR_ROLE_TRAINER,
    .open = open_echo,
    .close = close_echo,
    .sections = {.check = check, .print = print, .describe = describe},
};

int main(int argc, char **argv)
{
    return weir_service_main(&ECHO, argc, argv);
}
