/* Reading options and environment: see options.h. */
#include "trainer_client/options.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/delivery.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN_TIMEOUT_MS = 60000 };

#define SAME(name)                                             \
    static_assert((int)WEIR_CLIENT_##name == (int)WEIR_##name, \
                  "statuses of client.h are Weir's own")
SAME(OK);
SAME(INVALID);
SAME(NOT_FOUND);
SAME(LIMIT);
SAME(TIMEOUT);
SAME(UNAVAILABLE);
SAME(STALE);
SAME(DENIED);
SAME(UNSUPPORTED);
SAME(INTERNAL);
SAME(RESTART);
static_assert(sizeof(((struct weir_client_error *)0)->text) >= WEIR_ERROR_TEXT_MAX,
              "an error's text fits");

static const char *or_environment(const char *given, const char *variable)
{
    const char *value = given != NULL ? given : getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The variable `name` as a number of at least `least`; `otherwise` when it is not set. */
static enum weir_status read_number(const char *name, uint64_t least, uint64_t otherwise,
                                    uint64_t *ret_number, struct weir_error *err)
{
    const char *text = getenv(name);
    char *end = NULL;
    *ret_number = otherwise;
    if (text == NULL)
        return WEIR_OK;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || number < least)
        return weir_fail(err, WEIR_INVALID, "%s is '%s', expected a number of at least %llu", name,
                         text, (unsigned long long)least);
    *ret_number = number;
    return WEIR_OK;
}

const char *trainer_options_token(void)
{
    const char *given = getenv("WEIR_TOKEN");
    return given != NULL ? given : "";
}

enum weir_status trainer_options_run(const struct weir_client_options *options, uint64_t *ret_run,
                                     struct weir_error *err)
{
    if (options->version != WEIR_CLIENT_VERSION)
        return weir_fail(err, WEIR_UNSUPPORTED, "interface version %u, this library has %d",
                         options->version, WEIR_CLIENT_VERSION);
    *ret_run = options->task != NULL ? options->task->run : options->run;
    if (*ret_run != 0)
        return WEIR_OK;
    enum weir_status status = read_number("WEIR_RUN", 1, 0, ret_run, err);
    if (status == WEIR_OK && *ret_run == 0)
        return weir_fail(err, WEIR_INVALID,
                         "no run: expected weir_client_options.run or the variable WEIR_RUN");
    return status;
}

enum weir_status trainer_options_rank(const struct weir_client_options *options, uint32_t *ret_rank,
                                      uint32_t *ret_ranks, struct weir_error *err)
{
    uint64_t rank = options->rank, ranks = options->ranks;
    enum weir_status status = WEIR_OK;
    if (options->ranks == 0) {
        status = read_number("WEIR_RANKS", 1, 1, &ranks, err);
        if (status == WEIR_OK)
            status = read_number("WEIR_RANK", 0, 0, &rank, err);
    }
    if (status == WEIR_OK && (ranks > WEIR_RANKS_MAX || rank >= ranks))
        status =
            weir_fail(err, WEIR_INVALID, "rank %llu of %llu: expected 0 … ranks - 1 of at most %d",
                      (unsigned long long)rank, (unsigned long long)ranks, WEIR_RANKS_MAX);
    *ret_rank = (uint32_t)rank;
    *ret_ranks = (uint32_t)ranks;
    return status;
}

bool trainer_options_digests(const struct weir_client_options *options)
{
    bool is_tasked = options->task != NULL && options->task->digests != 0;

    return options->digests != 0 || is_tasked || or_environment(NULL, "WEIR_DIGESTS") != NULL;
}

enum weir_status trainer_options_pass(const struct weir_client_options *options,
                                      struct weir_pass *ret_pass, struct weir_error *err)
{
    const char *key = options->socket_dir == NULL ? or_environment(NULL, "WEIR_KEY") : NULL;

    *ret_pass = (struct weir_pass){.platform = NULL};
    return key != NULL ? weir_pass_read(key, ret_pass, err) : WEIR_OK;
}

enum weir_status trainer_options_endpoint(const struct weir_client_options *options,
                                          const struct weir_pass *pass, const char *given,
                                          const char *name, char **ret_endpoint,
                                          struct weir_error *err)
{
    const char *dir = or_environment(options->socket_dir, "WEIR_SOCKET_DIR");

    *ret_endpoint = given != NULL ? weir_strdup(given) : NULL;
    if (given == NULL && pass->platform != NULL)
        return weir_pass_address(pass, NULL, name, ret_endpoint, err);
    if (given == NULL && dir != NULL)
        *ret_endpoint = weir_format("ipc://%s/%s.sock", dir, name);
    return WEIR_OK;
}

enum weir_status trainer_options_no_platform(struct weir_error *err)
{
    return weir_fail(err, WEIR_INVALID,
                     "no platform: expected weir_client_options.socket_dir or the variable "
                     "WEIR_SOCKET_DIR, or elsewhere the variable WEIR_KEY");
}

int64_t trainer_options_timeout_ms(const struct weir_client_options *options)
{
    return options->open_timeout_ms != 0 ? (int64_t)options->open_timeout_ms : OPEN_TIMEOUT_MS;
}

int64_t trainer_options_end_ms(int64_t timeout_ms)
{
    int64_t now_ms = weir_now_ms();

    return timeout_ms < 0 || timeout_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + timeout_ms;
}

enum weir_client_status trainer_client_give(const struct weir_error *err,
                                            struct weir_client_error *ret_error)
{
    if (ret_error != NULL) {
        ret_error->status = (enum weir_client_status)err->status;
        ret_error->batches = 0;
        memcpy(ret_error->text, err->text, sizeof(err->text));
    }
    return (enum weir_client_status)err->status;
}
