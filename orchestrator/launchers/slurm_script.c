/* Shell of POSIX alone: nodes have whatever shell they have. */
#include "orchestrator/launchers/slurm_script.h"

#include "orchestrator/processes/confined.h"

#include <stdio.h>
#include <string.h>

enum { SIGNALLED = 128 };

/* A variable of the script, and the word that stands for it in a command. */
struct node_word {
    const char *word, *variable;
};

static const struct node_word *node_word_at(const char *text)
{
    static const struct node_word WORDS[] = {
        {LAUNCHER_HOST, "host"}, {LAUNCHER_SCRATCH, "scratch"}, {LAUNCHER_KEY, "key"}};
    for (size_t i = 0; i < WEIR_COUNT(WORDS); i++)
        if (strncmp(text, WORDS[i].word, strlen(WORDS[i].word)) == 0)
            return &WORDS[i];
    return NULL;
}

/* In single quotes, whatever it holds, but for what the node knows. */
static void quote(const char *text, struct weir_buf *out)
{
    weir_buf_append_text(out, "'");
    while (*text != '\0') {
        const struct node_word *found = node_word_at(text);
        if (found != NULL)
            weir_buf_printf(out, "'\"$%s\"'", found->variable);
        else if (*text == '\'')
            weir_buf_append_text(out, "'\\''");
        else
            weir_buf_append(out, text, 1);
        text += found != NULL ? strlen(found->word) : 1;
    }
    weir_buf_append_text(out, "'");
}

void orchestrator_slurm_script_export(const char *variable, struct weir_buf *out)
{
    size_t size = strcspn(variable, "=");
    weir_buf_printf(out, "export %.*s=", (int)size, variable);
    quote(variable + size + (variable[size] == '='), out);
    weir_buf_append_text(out, "\n");
}

static void add_word(void *owner, const char *word)
{
    struct weir_buf *out = owner;
    weir_buf_append_text(out, " ");
    quote(word, out);
}

/* Words before a command that is to be locked in. */
static void write_jail(const struct slurm_script *script, const struct weir_jail *jail,
                       struct weir_buf *out)
{
    add_word(out, script->confine);
    add_word(out, ORCHESTRATOR_CONFINED);
    add_word(
        out,
        "open=" LAUNCHER_SCRATCH); /* beside the data directory, if that is in /tmp, nothing new is open */
    if (script->group->key != NULL)
        add_word(out, "readable=" LAUNCHER_KEY);
    orchestrator_confined_words(jail, add_word, out);
}

static void write_member(const struct slurm_script *script, size_t index, struct weir_buf *out)
{
    const struct orchestrator_child *member = &script->group->members[index];
    WEIR_AUTO_BUF log = {0};
    weir_buf_printf(&log, "%s/%s.log", script->log_dir, member->name);
    weir_buf_printf(out, "%zu)\n    log=", index);
    quote(weir_buf_text(&log), out);
    if (member->directory != NULL) {
        weir_buf_append_text(out, "\n    cd ");
        quote(member->directory, out);
        weir_buf_append_text(out, " || exit 1");
    }
    weir_buf_append_text(out, "\n    set --");
    if (member->jail != NULL)
        write_jail(script, member->jail, out);
    for (char *const *word = member->argv; *word != NULL; word++)
        add_word(out, *word);
    weir_buf_append_text(out, "\n    ;;\n");
}

/* The first job of the name owns the folder. Its name is linked there whole: others of its tasks read it at the same
 * time, and would take a file that is not written yet for another job's. */
static const char BEGIN[] =
    "job=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}\n"
    "[ -d \"$folder\" ] || exit 0 # it was given up meanwhile\n"
    "if [ ! -e \"$folder/job\" ]; then\n"
    "    echo \"$job\" >\"$folder/job-$SLURM_JOB_ID\" &&\n"
    "        ln \"$folder/job-$SLURM_JOB_ID\" \"$folder/job\" 2>/dev/null\n"
    "    rm -f \"$folder/job-$SLURM_JOB_ID\"\n"
    "fi\n"
    "[ \"$(cat \"$folder/job\")\" = \"$job\" ] || exit 0 # another one of the same name was first\n";

/* All processes of a job at once, or none; the first that fails ends the others. */
static const char GANG[] =
    "if [ -z \"${SLURM_STEP_ID:-}\" ] || [ \"$SLURM_STEP_ID\" = 4294967291 ]; then\n"
    "    trap 'kill -TERM \"$step\" 2>/dev/null' TERM\n"
    "    weir_master=$(hostname -I | cut -d ' ' -f 1)\n"
    "    export weir_master # where rank 0 runs\n"
    "    srun --kill-on-bad-exit=1 --export=ALL sh \"$folder/script\" &\n"
    "    step=$!\n"
    "    wait \"$step\"; code=$?\n"
    "    while kill -0 \"$step\" 2>/dev/null; do wait \"$step\"; code=$?; done\n"
    "    exit \"$code\"\n"
    "fi\n";

static const char NODE[] =
    "host=$(hostname -I | cut -d ' ' -f 1)\n"
    "host=${host:-127.0.0.1} # a machine without a network\n"
    "key=$folder/key\n"
    "scratch=$(mktemp -d \"${TMPDIR:-/tmp}/weir-$SLURM_JOB_ID-XXXXXX\") || exit 1\n"
    "case $index in\n";

static const char RUN[] =
    "esac\n"
    "rm -f \"$folder/exit-$index\" # of an earlier life\n"
    "[ ! -e \"$folder/env-$index\" ] || . \"$folder/env-$index\"\n"
    "[ -z \"${MASTER_PORT:-}\" ] || export MASTER_ADDR=\"${weir_master:-127.0.0.1}\"\n"
    "asked=0\n"
    "trap 'asked=1; kill -TERM \"$child\" 2>/dev/null' TERM\n"
    "\"$@\" >>\"$log\" 2>&1 </dev/null &\n"
    "child=$!\n"
    "[ \"$asked\" = 0 ] || kill -TERM \"$child\"\n"
    "wait \"$child\"; code=$?\n"
    "while kill -0 \"$child\" 2>/dev/null; do wait \"$child\"; code=$?; done\n"
    "rm -rf \"$scratch\"\n"
    "echo \"$code $asked ${SLURMD_NODENAME:-$(uname -n)}\" >\"$folder/exit-$index.new\" &&\n"
    "    mv \"$folder/exit-$index.new\" \"$folder/exit-$index\"\n"
    "exit \"$code\"\n";

void orchestrator_slurm_script_write(const struct slurm_script *script, struct weir_buf *out)
{
    const struct launcher_group *group = script->group;
    weir_buf_printf(out,
                    "#!/bin/sh\n# Processes of a Weir platform (%s), which ends them itself.\n",
                    group->name);
    weir_buf_append_text(out, "trap 'exit 0' TERM # before it has begun\nfolder=");
    quote(script->folder, out);
    weir_buf_append_text(out, "\n");
    weir_buf_append_text(out, BEGIN);
    if (group->is_gang)
        weir_buf_append_text(out, GANG);
    weir_buf_printf(out, "index=${%s:-0}\n",
                    group->is_gang ? "SLURM_PROCID" : "SLURM_ARRAY_TASK_ID");
    weir_buf_append_text(out, NODE);
    for (size_t i = 0; i < group->count; i++)
        write_member(script, i, out);
    weir_buf_append_text(out, RUN);
}

bool orchestrator_slurm_exit_read(struct weir_bytes text, struct slurm_exit *ret_exit)
{
    char line[128];
    struct slurm_exit ended = {.code = -1};
    int asked = 0;
    (void)snprintf(line, sizeof(line), "%.*s", (int)text.size, (const char *)text.at);
    /* Bounded: numbers that do not fit are no exit codes, and are refused below. */
    if (sscanf(line, "%3d %1d %63s", &ended.code, &asked, ended.host) != 3 || ended.code < 0 ||
        ended.code > 255)
        return false;
    ended.was_asked = asked != 0;
    *ret_exit = ended;
    return true;
}

int orchestrator_slurm_exit_status(const struct slurm_exit *ended)
{
    return ended->code > SIGNALLED ? ended->code - SIGNALLED : ended->code << 8;
}
