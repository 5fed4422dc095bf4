/* Looks at data, writes the file, has it checked. */
#include "cli/init.h"

#include "cli/config.h"
#include "cli/guessing/pipeline.h"
#include "cli/new_file.h"
#include "core/base/memory.h"
#include "core/base/path.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 40 };

/* A table as those that people bring, for a skeleton of a pipeline. */
static const char EXAMPLE_PATH[] = "data/visits";
static const char EXAMPLE[] =
    "ts,user,country,device,age,price,note,bought\n"
    "2024-01-01T00:12:00Z,u17,DE,phone,34,12.5,\"came back, in a hurry\",1\n"
    "2024-01-20T08:30:00Z,u4,FR,desk,51,3,did not like it,0\n"
    "2024-02-11T17:05:00Z,u17,DE,phone,34,7.25,looked for a gift,1\n"
    "2024-03-02T11:40:00Z,u9,DK,desk,27,20,only looked around,0\n";

/* ---- names ---- */

/* Letters, digits, - and _ of the last part of a path, without its extensions. */
static char *name_from(const char *path)
{
    WEIR_AUTO_FREE char *real = realpath(path, NULL);
    const char *last = weir_path_name(real != NULL ? real : path);
    char *name = weir_strndup(last, strcspn(last, "."));
    size_t size = 0;

    for (const char *at = name; *at != '\0' && size < NAME_MAX_BYTES; at++)
        if (isalnum((unsigned char)*at) || *at == '-' || *at == '_')
            name[size++] = *at;
    name[size] = '\0';
    if (size > 0)
        return name;
    free(name);
    return weir_strdup("mine");
}

/* Returns a data directory beside the source if the default one would lie in it, which Weir refuses; else NULL. */
static char *data_dir_beside(const struct cli_guess_folder *folder)
{
    WEIR_AUTO_FREE char *source = realpath(folder->path, NULL);
    char here[PATH_MAX];
    size_t size = source != NULL ? strlen(source) : 0;

    if (size < 2 || getcwd(here, sizeof(here)) == NULL || strncmp(here, source, size) != 0 ||
        (here[size] != '\0' && here[size] != '/'))
        return NULL;
    return weir_format("%s.weir", source);
}

/* ---- the file ---- */

static char *head_of(const char *from, const char *file)
{
    return from == NULL
               ? weir_format(
                     "# Written by weir init, of a table that is made up: put your own in its place, or let "
                     "weir init --from DATA look at it.\n# Then: weir config check %s, orchestrator run "
                     "%s\n",
                     file, file)
               : weir_format(
                     "# Written by weir init --from %s: much of it is guessed.\n# Then: weir config check "
                     "%s, orchestrator run %s\n",
                     from, file, file);
}

static json_t *next_command(const struct cli_guess *guess, const char *file)
{
    WEIR_AUTO_FREE char *data_dir = data_dir_beside(&guess->folder);

    return data_dir == NULL ? json_sprintf("orchestrator run %s", file)
                            : json_sprintf("orchestrator run %s --data-dir %s", file, data_dir);
}

static enum weir_status write_for(const struct cli_guess *guess, const struct cli_call *call,
                                  json_t **ret_answer, struct weir_error *err)
{
    const char *from = call->options.from;
    WEIR_AUTO_FREE char *name = name_from(from != NULL ? from : EXAMPLE_PATH);
    WEIR_AUTO_FREE char *file =
        call->options.file != NULL ? weir_strdup(call->options.file) : weir_format("%s.yaml", name);
    WEIR_AUTO_FREE char *head = head_of(from, file);
    WEIR_AUTO_BUF text = {0};
    json_t *answer, *checked = NULL;
    enum weir_status status;

    cli_guess_write(guess, name, head, &text);
    status = cli_new_file(file, weir_buf_view(&text), err);
    if (status != WEIR_OK)
        return status;
    answer = from != NULL ? cli_guess_notes(guess) : json_object();
    status = cli_config_check(file, from != NULL, &checked, err);
    json_object_del(checked, "shown");
    json_object_update(answer, checked);
    json_decref(checked);
    json_object_set_new(answer, "next", next_command(guess, file));
    if (status == WEIR_OK)
        *ret_answer = answer;
    else
        json_decref(answer);
    return status;
}

enum weir_status cli_answer_init(const struct cli_call *call, json_t **ret_answer,
                                 struct weir_error *err)
{
    struct cli_guess guess;
    enum weir_status status;
    status = call->options.from != NULL
                 ? cli_guess_look(call->options.from, &guess, err)
                 : cli_guess_look_at(EXAMPLE_PATH, weir_bytes_of(EXAMPLE), &guess, err);
    if (status != WEIR_OK)
        return status;
    status = write_for(&guess, call, ret_answer, err);
    cli_guess_fini(&guess);
    return status;
}
