/* Tables of states, reasons and complaints. */
#include "orchestrator/launchers/slurm_answers.h"

#include "core/base/utf8.h"
#include "core/config/schema.h"

#include <stdio.h>
#include <string.h>

/* A state of squeue. States that are not here are of a job that is on its way: it is left alone. */
struct state_word {
    const char *word;
    enum launcher_state state;
    bool is_over;
    const char *reason; /* NULL: what squeue gives as the reason, if any */
};

static const struct state_word STATES[] = {
    {"PENDING", LAUNCHER_PENDING, false, NULL},
    {"CONFIGURING", LAUNCHER_PENDING, false, "its node is being made ready"},
    {"REQUEUED", LAUNCHER_PENDING, false, "it was put back into the queue"},
    {"REQUEUE_HOLD", LAUNCHER_PENDING, false, "it was put back into the queue, and is held there"},
    {"REQUEUE_FED", LAUNCHER_PENDING, false, NULL},
    {"SPECIAL_EXIT", LAUNCHER_PENDING, false, "it is held in the queue"},
    {"SUSPENDED", LAUNCHER_PENDING, false, "it is suspended"},
    {"STOPPED", LAUNCHER_PENDING, false, "it was stopped by a signal"},
    {"RUNNING", LAUNCHER_RUNNING, false, ""},
    {"COMPLETING", LAUNCHER_RUNNING, false, ""},
    {"STAGE_OUT", LAUNCHER_RUNNING, false, ""},
    {"RESIZING", LAUNCHER_RUNNING, false, ""},
    {"SIGNALING", LAUNCHER_RUNNING, false, ""},
    {"COMPLETED", LAUNCHER_ENDED, true, "it ended by itself"},
    {"FAILED", LAUNCHER_LOST, true, NULL},
    {"CANCELLED", LAUNCHER_LOST, true, "somebody cancelled it in Slurm"},
    {"REVOKED", LAUNCHER_LOST, true, "another cluster runs it"},
    {"TIMEOUT", LAUNCHER_LOST, true, "its time limit in Slurm is over"},
    {"DEADLINE", LAUNCHER_LOST, true, "its deadline in Slurm is over"},
    {"OUT_OF_MEMORY", LAUNCHER_LOST, true, "it used more memory than Slurm had given it"},
    {"PREEMPTED", LAUNCHER_DRAINED, true, "another job took its place (preempted)"},
    {"NODE_FAIL", LAUNCHER_DRAINED, true, "its node failed"},
    {"BOOT_FAIL", LAUNCHER_DRAINED, true, "its node did not boot"},
};

/* Reasons why a job waits (squeue(1), JOB REASON CODES) that do not go away by waiting. */
static const char *const HOPELESS[] = {
    "AccountNotAllowed",
    "BadConstraints",
    "DependencyNeverSatisfied",
    "InvalidAccount",
    "InvalidQOS",
    "JobHoldMaxRequeue",
    "PartitionConfig",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "QOSNotAllowed",
    "launch failed requeued held",
};

/* Words of complaints that come of the way to slurmctld. */
static const char *const PASSING[] = {
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
    "Connection reset",
    "Connection timed out",
    "Transport endpoint is not connected",
    "Zero Bytes were transmitted",
    "temporarily unable to accept job",
    "Munge encode failed",
    "Munge decode failed",
    "Protocol authentication error",
    "authentication plugin",
    "in standby mode",
};

static bool is_in(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* Takes the text before the next bar, or the rest, off `*line`; cut to fit. */
static void take_field(struct weir_bytes *line, char *field, size_t size)
{
    const uint8_t *bar = line->size > 0 ? memchr(line->at, '|', line->size) : NULL;
    size_t length = bar != NULL ? (size_t)(bar - line->at) : line->size;
    weir_utf8_print(field, size, "%.*s", (int)length, (const char *)line->at);
    length += bar != NULL;
    line->at += length;
    line->size -= length;
}

static const struct state_word *find_state(const char *word)
{
    for (size_t i = 0; i < WEIR_COUNT(STATES); i++)
        if (strcmp(STATES[i].word, word) == 0)
            return &STATES[i];
    return NULL;
}

/* squeue has a reason for those alone that wait, or failed. */
static void judge(const char *word, const char *reason, struct slurm_sight *sight)
{
    static const struct state_word UNKNOWN = {"", LAUNCHER_PENDING, false, NULL};
    const struct state_word *found = find_state(word);
    const struct state_word *state = found != NULL ? found : &UNKNOWN;
    bool has_reason = strcmp(reason, "None") != 0 && reason[0] != '\0';
    const char *what = "it waits in Slurm";
    sight->state = state->state;
    sight->is_over = state->is_over;
    sight->is_hopeless = state->reason == NULL && is_in(HOPELESS, WEIR_COUNT(HOPELESS), reason);
    if (state->reason != NULL)
        (void)snprintf(sight->reason, sizeof(sight->reason), "%s", state->reason);
    if (state->reason != NULL || (!has_reason && !sight->is_over))
        return;
    if (sight->is_over)
        what = sight->is_hopeless ? "Slurm refuses it" : "it failed";
    else if (sight->is_hopeless)
        what = "Slurm would let it wait for ever";
    if (sight->is_over && sight->is_hopeless)
        sight->state = LAUNCHER_REFUSED;
    weir_utf8_print(sight->reason, sizeof(sight->reason), "%s%s%s", what, has_reason ? ": " : "",
                    has_reason ? reason : "");
}

bool orchestrator_slurm_sight_read(struct weir_bytes line, struct slurm_sight *ret_sight)
{
    struct slurm_sight sight = {.index = SLURM_NO_INDEX};
    char name[SLURM_NAME_SIZE + 1], job[24], index[24], state[32], reason[128];
    take_field(&line, name, sizeof(name));
    take_field(&line, job, sizeof(job));
    take_field(&line, index, sizeof(index));
    take_field(&line, state, sizeof(state));
    take_field(&line, sight.host, sizeof(sight.host));
    take_field(&line, reason, sizeof(reason));
    uint64_t number = 0;
    if (strlen(name) >= SLURM_NAME_SIZE || !cfg_parse_u64(job, &sight.job) || state[0] == '\0')
        return false;
    if (cfg_parse_u64(index, &number) && number <= INT32_MAX)
        sight.index = (int64_t)number;
    (void)snprintf(sight.name, sizeof(sight.name), "%.*s", SLURM_NAME_SIZE - 1, name);
    judge(state, reason, &sight);
    *ret_sight = sight;
    return true;
}

bool orchestrator_slurm_job_read(struct weir_bytes text, uint64_t *ret_job)
{
    while (text.size > 0) {
        const uint8_t *end = memchr(text.at, '\n', text.size);
        size_t size = end != NULL ? (size_t)(end - text.at) : text.size;
        char line[24];
        (void)snprintf(line, sizeof(line), "%.*s", (int)size, (const char *)text.at);
        line[strcspn(line, ";")] = '\0';
        if (cfg_parse_u64(line, ret_job))
            return true;
        size += end != NULL;
        text.at += size;
        text.size -= size;
    }
    return false;
}

bool orchestrator_slurm_is_passing(const char *complaint)
{
    for (size_t i = 0; i < WEIR_COUNT(PASSING); i++)
        if (strstr(complaint, PASSING[i]) != NULL)
            return true;
    return false;
}

/* Without the name of the program, and what all complaints begin with. */
static struct weir_bytes bare(struct weir_bytes line)
{
    static const char *const BEGINNINGS[] = {
        "sbatch: ", "error: ", "Batch job submission failed: "};
    for (size_t i = 0; i < WEIR_COUNT(BEGINNINGS); i++) {
        size_t size = strlen(BEGINNINGS[i]);
        if (line.size >= size && memcmp(line.at, BEGINNINGS[i], size) == 0)
            line = weir_bytes(line.at + size, line.size - size);
    }
    return line;
}

void orchestrator_slurm_complaint(struct weir_bytes text, char *complaint, size_t size)
{
    WEIR_AUTO_BUF lines = {0};
    while (text.size > 0 && lines.size < size) {
        const uint8_t *end = memchr(text.at, '\n', text.size);
        size_t length = end != NULL ? (size_t)(end - text.at) : text.size;
        struct weir_bytes line = bare(weir_bytes(text.at, length));
        if (line.size > 0)
            weir_buf_printf(&lines, "%s%.*s", lines.size > 0 ? "; " : "", (int)line.size,
                            (const char *)line.at);
        length += end != NULL;
        text = weir_bytes(text.at + length, text.size - length);
    }
    weir_utf8_print(complaint, size, "%s", weir_buf_text(&lines));
}
