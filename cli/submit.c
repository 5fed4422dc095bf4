/* The file is checked by those who know its sections before a platform is asked or started for it. */
#include "cli/submit.h"

#include "cli/program.h"
#include "core/base/file.h"
#include "core/config/yaml.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* True when the platform reads data as this user does, or as the one that root finds out about (decision 003). */
static bool reads_alike(const char *data_dir)
{
    struct stat found;
    return geteuid() == 0 || stat(data_dir, &found) != 0 || found.st_uid == geteuid();
}

/* With the first records, as `orchestrator run` checks it; those of a platform elsewhere lie there. */
static enum weir_status check(const char *file, const struct cli_place *place,
                              struct weir_error *err)
{
    bool looks = !place->is_elsewhere && reads_alike(place->data_dir);
    const char *const arguments[] = {"--check-config",
                                     file,
                                     "--submitted",
                                     looks ? "--before-run" : "--elsewhere",
                                     looks ? "--data-dir" : NULL,
                                     place->data_dir,
                                     NULL};
    struct cli_program_end end;
    enum weir_status status = cli_program_run("orchestrator", arguments, &end, err);
    if (status != WEIR_OK)
        return status;
    (void)fputs(weir_buf_text(&end.complaints), stderr); /* of a good file: remarks */
    if (end.exit_code != 0)
        status = weir_fail(err, WEIR_INVALID, "%s: not submitted", file);
    cli_program_end_fini(&end);
    return status;
}

json_t *cli_arguments_submit(const struct cli_call *call, struct weir_error *err)
{
    const char *file = call->operands[0];
    WEIR_AUTO_BUF text = {0};
    if (check(file, &call->options.place, err) != WEIR_OK ||
        weir_file_read(file, WEIR_YAML_BYTES_MAX, &text, err) != WEIR_OK)
        return NULL;
    json_t *arguments = json_pack("{ss,ss%}", "file", file, "text", text.at, text.size);
    if (arguments != NULL && call->options.dry_run)
        json_object_set_new(arguments, "dry_run", json_true());
    if (arguments != NULL && call->options.rerun)
        json_object_set_new(arguments, "rerun", json_true());
    if (arguments == NULL)
        weir_ignore(weir_fail(err, WEIR_INVALID, "%s: expected in UTF-8", file));
    return arguments;
}
