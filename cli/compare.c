/* Handing a grid in, and following it through deaths of the platform: see compare.h. */
#include "cli/compare.h"

#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/config.h"
#include "cli/platform.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/config/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POLL_MS = 200,
};

/* ---- what is handed in ---- */

/* The pipeline file that the grid names, which lies beside it; NULL: it holds the pipeline itself. */
static char *base_path(const char *file, const struct weir_yaml *grid)
{
    const char *base = weir_yaml_text(weir_yaml_get(weir_yaml_root(grid), "base"));
    return base == NULL ? NULL : weir_path_beside(file, base);
}

static json_t *pack(const char *file, struct weir_buf *text, const char *base,
                    struct weir_buf *base_text, struct weir_error *err)
{
    json_t *arguments = json_pack("{ss,ss%,ss,ss%}", "file", file, "grid", text->at, text->size,
                                  "base_file", base == NULL ? "" : base, "base",
                                  base == NULL ? "" : weir_buf_text(base_text), base_text->size);
    if (arguments == NULL)
        weir_ignore(weir_fail(err, WEIR_INVALID, "%s: expected in UTF-8", file));
    return arguments;
}

/* Of a pipeline each key would be unknown to a grid, and its check finds nothing wrong with it. */
static enum weir_status check_kind(const struct weir_yaml *grid, struct weir_error *err)
{
    const struct weir_yaml_node *root = weir_yaml_root(grid);
    if (weir_yaml_get(root, "comparison") != NULL || weir_yaml_get(root, "pipeline") == NULL)
        return WEIR_OK;
    return weir_yaml_fail(root, err,
                          "found a pipeline, expected a grid of them, in a file of its own: "
                          "{comparison: NAME, base: FILE of the pipeline, axes: {trigger: {often: "
                          "{…}, seldom: {…}}}, judge: {evaluation: NAME, metric: NAME}}");
}

static json_t *read_files(const char *file, struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_BUF base_text = {0};
    WEIR_AUTO(weir_yaml) grid = NULL;
    if (weir_file_read(file, WEIR_YAML_BYTES_MAX, &text, err) != WEIR_OK ||
        weir_yaml_parse(file, weir_buf_view(&text), &grid, err) != WEIR_OK ||
        check_kind(grid, err) != WEIR_OK)
        return NULL;
    WEIR_AUTO_FREE char *base = base_path(file, grid);
    if (base != NULL && weir_file_read(base, WEIR_YAML_BYTES_MAX, &base_text, err) != WEIR_OK)
        return NULL;
    return pack(file, &text, base, &base_text, err);
}

json_t *cli_arguments_comparison(const struct cli_call *call, struct weir_error *err)
{
    json_t *arguments = json_object();
    bool good = call->operand_count == 0 ||
                json_object_set_new(arguments, "comparison", json_string(call->operands[0])) == 0;
    return cli_arguments_finish(arguments, good, err);
}

enum weir_status cli_follow_comparison(struct cli_platform *platform, const struct cli_call *call,
                                       json_t **answer, struct weir_error *err)
{
    (void)platform, (void)err;
    if (call->options.cells)
        json_object_set_new(*answer, "shows_cells", json_true());
    return WEIR_OK;
}

/* By those who know the sections, before a platform is asked or started. */
static enum weir_status check(const char *file, struct weir_error *err)
{
    json_t *found = NULL;
    enum weir_status status = cli_config_check(file, false, &found, err);
    const json_t *complaints = json_object_get(found, "complaints");
    for (size_t i = 0; i < json_array_size(complaints); i++)
        (void)fprintf(stderr, "%s\n", json_string_value(json_array_get(complaints, i)));
    if (status == WEIR_OK && !cli_flag(found, "valid"))
        status = weir_fail(err, WEIR_INVALID, "%s: not compared", file);
    json_decref(found);
    return status;
}

/* ---- following ---- */

/* A grid that is followed. */
struct following {
    const struct cli_place *place;
    json_t *grid;     /* arguments that hand it in */
    bool is_taken;    /* the platform has it */
    char told[512];   /* line that was shown last */
    json_t *progress; /* newest answer */
};

static void put_running(struct weir_buf *out, const json_t *running)
{
    for (size_t i = 0; i < json_array_size(running); i++) {
        const json_t *cell = json_array_get(running, i);
        weir_buf_printf(out, "%s%s", i == 0 ? "; running: " : ", ", cli_text(cell, "cell"));
    }
}

/* On stderr, where it is in nobody's way. */
static void tell(struct following *following)
{
    const json_t *progress = json_object_get(following->progress, "progress");
    double expected_s = cli_real(progress, "expected_s");
    WEIR_AUTO_BUF line = {0};
    weir_buf_printf(&line, "comparison %s: %lld of %lld cells done",
                    cli_text(following->progress, "comparison"),
                    (long long)cli_number(progress, "done"), (long long)cli_number(progress, "of"));
    if (cli_number(progress, "failed") > 0)
        weir_buf_printf(&line, ", %lld failed", (long long)cli_number(progress, "failed"));
    put_running(&line, json_object_get(progress, "running"));
    if (expected_s > 0) {
        weir_buf_append_text(&line, "; about ");
        cli_put_duration(&line, expected_s);
        weir_buf_append_text(&line, " left");
    }
    if (strncmp(following->told, weir_buf_text(&line), sizeof(following->told) - 1) == 0)
        return;
    (void)snprintf(following->told, sizeof(following->told), "%s", weir_buf_text(&line));
    (void)fprintf(stderr, "%s\n", weir_buf_text(&line));
}

static enum weir_status request(struct following *following, struct cli_platform *platform,
                                struct weir_error *err)
{
    json_t *answer = NULL;
    const char *name = cli_text(following->progress, "comparison");
    json_t *which = json_pack("{ss,sb}", "comparison", name, "brief", 1);
    enum weir_status status =
        following->is_taken
            ? cli_platform_request(platform, "comparison", which, &answer, err)
            : cli_platform_request(platform, "compare", following->grid, &answer, err);
    json_decref(which);
    if (status != WEIR_OK)
        return status;
    following->is_taken = true;
    json_decref(following->progress);
    following->progress = answer;
    tell(following);
    return WEIR_OK;
}

/* Until nothing more goes on, and then all that came of it. STALE when the platform went away before that. */
static enum weir_status follow(struct following *following, json_t **ret_answer,
                               struct weir_error *err)
{
    WEIR_AUTO(cli_platform) platform = NULL;
    enum weir_status status = cli_platform_open(following->place, &platform, err);
    if (status == WEIR_OK)
        status = request(following, platform, err);
    while (status == WEIR_OK && strcmp(cli_text(following->progress, "state"), "running") == 0) {
        status = cli_platform_pause(platform, POLL_MS, err);
        if (status == WEIR_OK)
            status = request(following, platform, err);
    }
    if (status != WEIR_OK)
        return status;
    json_t *which = json_pack("{ss}", "comparison", cli_text(following->progress, "comparison"));
    status = cli_platform_request(platform, "comparison", which, ret_answer, err);
    json_decref(which);
    return status;
}

static enum weir_status follow_through(struct following *following, json_t **ret_answer,
                                       struct weir_error *err)
{
    const struct cli_place *place = following->place;
    enum weir_status status = follow(following, ret_answer, err);
    while (status == WEIR_STALE) {
        status = cli_platform_await_return(place, err);
        if (status == WEIR_OK)
            status = follow(following, ret_answer, err);
    }
    return status;
}

enum weir_status cli_answer_compare(const struct cli_call *call, json_t **ret_answer,
                                    struct weir_error *err)
{
    const char *file = call->operands[0];
    struct cli_place place = call->options.place; /* what it owns stays the call's */
    struct following following = {.place = &place, .grid = read_files(file, err)};
    if (following.grid == NULL)
        return err->status;
    if (call->options.check) {
        json_decref(following.grid);
        return cli_config_check(file, false, ret_answer, err);
    }
    place.works = true;
    enum weir_status status = check(file, err);
    if (status == WEIR_OK)
        status = follow_through(&following, ret_answer, err);
    json_decref(following.grid);
    json_decref(following.progress);
    return status;
}

int cli_exit_of_compare(const json_t *answer)
{
    if (json_object_get(answer, "complaints") != NULL)
        return cli_exit_of_check(answer);
    return cli_number(json_object_get(answer, "progress"), "failed") > 0 ? CLI_EXIT_FAILED
                                                                         : CLI_EXIT_DONE;
}
