/* Options and operands as JSON; numbers and times are checked here, before a platform is started for them. */
#include "cli/arguments.h"

#include "cli/erase_names.h"
#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/config/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UUID_BYTES = 16, LIMIT_MAX = 100000 };

static bool read_number(const char *text, int64_t max, int64_t *ret_number)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    *ret_number = number;
    return errno == 0 && end != text && *end == '\0' && number >= 1 && number <= max;
}

json_t *cli_arguments_finish(json_t *arguments, bool good, struct weir_error *err)
{
    if (arguments != NULL && good)
        return arguments;
    json_decref(arguments);
    weir_ignore(weir_fail(err, WEIR_INVALID, "arguments are expected in UTF-8")); /* NULL tells */
    return NULL;
}

/* True when the option was not given, too. */
static bool set_text(json_t *arguments, const char *key, const char *text)
{
    return text == NULL || json_object_set_new(arguments, key, json_string(text)) == 0;
}

json_t *cli_arguments_pipeline(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    return cli_arguments_finish(arguments, set_text(arguments, "pipeline", call->options.pipeline),
                                err);
}

json_t *cli_arguments_named(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    const char *name = call->operand_count > 0 ? call->operands[0] : NULL;
    return cli_arguments_finish(arguments, set_text(arguments, "pipeline", name), err);
}

/* A word of digits alone is the number of a run. */
json_t *cli_arguments_plan(const struct cli_call *call, struct weir_error *err)
{
    int64_t run;
    if (call->operand_count == 0 || !read_number(call->operands[0], INT64_MAX, &run))
        return cli_arguments_named(call, err);
    return json_pack("{s:I}", "run", (json_int_t)run);
}

/* Selecting for real is what triggers do. */
json_t *cli_arguments_select(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    if (call->options.dry_run)
        return cli_arguments_finish(arguments, set_text(arguments, "pipeline", call->operands[0]),
                                    err);
    json_decref(arguments);
    weir_ignore(weir_fail(err, WEIR_INVALID,
                          "select: expected --dry-run: samples are selected by triggers alone"));
    return NULL; /* the status travels in err */
}

json_t *cli_arguments_doctor(const struct cli_call *call, struct weir_error *err)
{
    (void)err;
    return json_pack("{sI,sb}", "session", (json_int_t)(weir_random_u64() >> 1), "deep",
                     call->options.deep);
}

json_t *cli_arguments_model(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    return cli_arguments_finish(arguments, set_text(arguments, "model", call->operands[0]), err);
}

json_t *cli_arguments_diff(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    bool good = set_text(arguments, "model", call->operands[0]) &&
                set_text(arguments, "other", call->operands[1]);
    return cli_arguments_finish(arguments, good, err);
}

json_t *cli_arguments_export(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    bool good =
        set_text(arguments, "model", call->operands[0]) &&
        (call->options.format == NULL || set_text(arguments, "format", call->options.format));
    return cli_arguments_finish(arguments, good, err);
}

json_t *cli_arguments_feed(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    bool good = set_text(arguments, "dataset", call->operands[0]) &&
                (call->operand_count == 1 || set_text(arguments, "consumer", call->operands[1]));
    return cli_arguments_finish(arguments, good, err);
}

/* The platform has a working directory of its own. In caller's memory; NULL: this one is gone. */
static char *absolute(const char *path)
{
    if (path[0] == '/')
        return weir_strdup(path);
    WEIR_AUTO_FREE char *here = getcwd(NULL, 0);
    return here == NULL ? NULL : weir_format("%s/%s", here, path);
}

/* "clicks@3": trigger 3 of pipeline clicks. */
static enum weir_status read_set(const char *operand, json_t *arguments, struct weir_error *err)
{
    const char *at = strrchr(operand, '@');
    size_t size = at != NULL ? (size_t)(at - operand) : strlen(operand);
    int64_t trigger = 0;
    if (at != NULL && !read_number(at + 1, INT64_MAX, &trigger))
        return weir_fail(err, WEIR_INVALID,
                         "'%.80s': expected PIPELINE, or PIPELINE@TRIGGER such as clicks@3",
                         operand);
    json_object_set_new(arguments, "pipeline", json_stringn(operand, size));
    if (at != NULL)
        json_object_set_new(arguments, "trigger", json_integer((json_int_t)trigger));
    return WEIR_OK;
}

static enum weir_status check_materialize(const struct cli_call *call, json_t *arguments,
                                          struct weir_error *err)
{
    uint64_t bytes = 0;
    if (call->options.to == NULL || call->options.format == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "materialize: expected --to DIR and --format FORMAT; weir materialize "
                         "--help lists the formats");
    if (call->options.shard_bytes != NULL &&
        (!cfg_parse_size(call->options.shard_bytes, &bytes) || bytes > INT64_MAX))
        return weir_fail(err, WEIR_INVALID, "--shard-bytes: expected a size such as 64MiB");
    if (bytes > 0)
        json_object_set_new(arguments, "shard_bytes", json_integer((json_int_t)bytes));
    return read_set(call->operands[0], arguments, err);
}

json_t *cli_arguments_materialize(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    if (check_materialize(call, arguments, err) != WEIR_OK) {
        json_decref(arguments);
        return NULL; /* the status travels in err */
    }
    WEIR_AUTO_FREE char *to = absolute(call->options.to);
    bool good = to != NULL && set_text(arguments, "to", to) &&
                set_text(arguments, "format", call->options.format);
    return cli_arguments_finish(arguments, good, err);
}

json_t *cli_arguments_exported(const struct cli_call *call, struct weir_error *err)
{
    int64_t number = 0;
    if (read_number(call->operands[0], INT64_MAX, &number))
        return json_pack("{s:I}", "export", (json_int_t)number);
    weir_ignore(weir_fail(err, WEIR_INVALID, "expected the number of an export, found '%.40s'",
                          call->operands[0]));
    return NULL; /* the status travels in err */
}

/* A number, or auto. */
json_t *cli_arguments_workers(const struct cli_call *call, struct weir_error *err)
{
    const char *word = call->operands[0];
    int64_t number = 0;
    if (strcmp(word, "auto") == 0)
        return json_pack("{s:n}", "workers");
    if (strcmp(word, "0") == 0 || read_number(word, INT64_MAX, &number))
        return json_pack("{s:I}", "workers", (json_int_t)number);
    weir_ignore(weir_fail(err, WEIR_INVALID,
                          "workers set: expected a number of workers, or auto, found '%.40s'",
                          word));
    return NULL; /* the status travels in err */
}

/* ---- samples and erasures ---- */

static json_t *ids_json(const struct weir_option_values *ids, struct weir_error *err)
{
    json_t *array = json_array();
    int64_t id = 0;
    for (size_t i = 0; i < ids->count; i++) {
        if (!read_number(ids->at[i], INT64_MAX, &id)) {
            weir_ignore(weir_fail(err, WEIR_INVALID,
                                  "--id: expected a sample number, found '%.40s'", ids->at[i]));
            json_decref(array); /* the status travels in err */
            return NULL;
        }
        json_array_append_new(array, json_integer((json_int_t)id));
    }
    return array;
}

static json_t *erasure_json(const char *text, struct weir_error *err)
{
    int64_t number = 0;
    if (!read_number(text, INT64_MAX, &number)) {
        weir_ignore(weir_fail(err, WEIR_INVALID,
                              "expected the number of an erasure, found '%.40s'; weir erase list "
                              "shows them",
                              text)); /* the status travels in err */
        return NULL;
    }
    return json_pack("{sI}", "erasure", (json_int_t)number);
}

json_t *cli_arguments_erasure(const struct cli_call *call, struct weir_error *err)
{
    return erasure_json(call->operands[0], err);
}

json_t *cli_arguments_erase_verify(const struct cli_call *call, struct weir_error *err)
{
    if (call->options.keys.count > 0 || call->options.accept_unsigned) {
        weir_ignore(
            weir_fail(err, WEIR_INVALID,
                      "erase verify: --key and --accept-unsigned are for receipts as files: "
                      "name them, as in: weir erase verify receipt.json --key KEY"));
        return NULL; /* the status travels in err */
    }
    if (call->options.all != (call->operand_count == 1))
        return call->options.all ? json_object() : erasure_json(call->operands[0], err);
    weir_ignore(
        weir_fail(err, WEIR_INVALID, "erase verify: expected the number of an erasure, or --all"));
    return NULL; /* the status travels in err */
}

/* {"ids": […]} or {"erasure": n}; `why` is said when neither was given. */
static json_t *samples_json(const struct cli_call *call, const char *why, struct weir_error *err)
{
    const struct cli_options *options = &call->options;
    if (options->erasure != NULL)
        return erasure_json(options->erasure, err);
    if (options->ids.count == 0) {
        weir_ignore(weir_fail(err, WEIR_INVALID, "%s", why)); /* the status travels in err */
        return NULL;
    }
    json_t *ids = ids_json(&options->ids, err);
    return ids == NULL ? NULL : json_pack("{so}", "ids", ids);
}

json_t *cli_arguments_lineage(const struct cli_call *call, struct weir_error *err)
{
    if (call->operand_count == 1)
        return cli_arguments_model(call, err);
    return samples_json(call, "models lineage: expected a model, or --id or --erasure", err);
}

json_t *cli_arguments_erase_plan(const struct cli_call *call, struct weir_error *err)
{
    if (call->options.erasure != NULL)
        return erasure_json(call->options.erasure, err);
    json_t *arguments = cli_erase_names(call, "erase plan", NULL, err);
    return arguments == NULL
               ? NULL
               : cli_arguments_finish(arguments,
                                      set_text(arguments, "dataset", call->options.dataset), err);
}

/* RFC 4122, version 4. */
json_t *cli_draw_uuid(void)
{
    uint8_t bytes[UUID_BYTES];
    char hex[2 * UUID_BYTES + 1];
    weir_random_bytes(bytes, sizeof(bytes));
    bytes[6] = (uint8_t)(0x40 | (bytes[6] & 0x0f));
    bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3f));
    weir_hex(bytes, sizeof(bytes), hex);
    return json_sprintf("%.8s-%.4s-%.4s-%.4s-%s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

json_t *cli_arguments_erase_request(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = cli_erase_names(call, "erase request", NULL, err);
    if (arguments == NULL)
        return NULL;
    json_object_set_new(arguments, "uuid", cli_draw_uuid());
    if (call->options.allow_none)
        json_object_set_new(arguments, "allow_none", json_true());
    if (call->options.drop_refused)
        json_object_set_new(arguments, "drop_refused", json_true());
    return cli_arguments_finish(arguments,
                                set_text(arguments, "dataset", call->options.dataset) &&
                                    set_text(arguments, "reference", call->options.reference),
                                err);
}

/* ---- predict ---- */

static bool time_is_good(const char *option, const char *text, struct weir_error *err)
{
    int64_t time_us = 0;
    if (text == NULL || weir_time_parse(text, strlen(text), &time_us))
        return true;
    weir_ignore(weir_fail(err, WEIR_INVALID,
                          "--%s: expected a time such as 2002-12-01 or 2002-12-01T12:00:00Z, "
                          "found '%.40s'",
                          option, text)); /* the status travels in err */
    return false;
}

json_t *cli_arguments_predict(const struct cli_call *call, struct weir_error *err)
{
    const struct cli_options *options = &call->options;
    int64_t limit = 0;
    if (!time_is_good("from", options->from, err) || !time_is_good("to", options->to, err))
        return NULL;
    if (options->limit != NULL && !read_number(options->limit, LIMIT_MAX, &limit)) {
        weir_ignore(weir_fail(err, WEIR_INVALID,
                              "--limit: expected a number from 1 to %d, found '%.40s'", LIMIT_MAX,
                              options->limit)); /* the status travels in err */
        return NULL;
    }
    json_t *arguments = json_object();
    if (limit > 0)
        json_object_set_new(arguments, "limit", json_integer((json_int_t)limit));
    bool good = set_text(arguments, "pipeline", options->pipeline) &&
                set_text(arguments, "model", options->model) &&
                set_text(arguments, "from", options->from) &&
                set_text(arguments, "to", options->to);
    return cli_arguments_finish(arguments, good, err);
}

json_t *cli_arguments_evaluate(const struct cli_call *call, struct weir_error *err)
{
    const struct cli_options *options = &call->options;
    if (!time_is_good("from", options->from, err) || !time_is_good("to", options->to, err))
        return NULL;
    json_t *arguments = json_object();
    bool good = set_text(arguments, "pipeline", call->operands[0]) &&
                set_text(arguments, "model", options->model) &&
                set_text(arguments, "evaluation", options->evaluation) &&
                set_text(arguments, "from", options->from) &&
                set_text(arguments, "to", options->to);
    return cli_arguments_finish(arguments, good, err);
}
