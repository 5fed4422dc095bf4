/* Processes on the nodes of a Slurm cluster: workers as arrays, the ranks of a training as one job. They outlive this
 * process. slurm_jobs.h decides which command is next; here it is run, as a child of the supervisor, and what it prints
 * is read when it has ended: no call waits for it. One at a time, so that answers come in the order of the commands.
 * A process that works is known by its own beats within seconds: Slurm only says where it is, and why it is not. */
#include "orchestrator/launchers/launcher.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/lines.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "orchestrator/launchers/slurm_folder.h"
#include "orchestrator/processes/spawn.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TURN_MS = 200,
    COMMAND_MS = 30000, /* then it is ended, and as good as not answered */
    AGAIN_MS = 1000,    /* after a command that failed */
    LEAVE_MS = 20000,   /* for all to be ended when the platform stops */
    LEAVE_GRACE_MS = 5000,
    ARGUMENTS_MAX = 48 + SLURM_TARGETS_MAX,
    LINE_MAX_BYTES = 300,
};
static const size_t ANSWER_BYTES_MAX = 16 << 20;
static const uint64_t MEBIBYTE = 1 << 20;
static const int64_t LOG_BYTES_MAX = 16 << 20;
static const char COMMAND[] = "slurm";

/* The section `slurm` of the system file. */
struct slurm_options {
    const char *partition, *account, *qos, *constraint, *directory;
    const char *trainers_partition, *trainers_constraint;
    uint64_t memory;
    int64_t time;
    struct cfg_texts extra, trainers_extra;
};

struct slurm {
    struct launcher_context context;
    struct slurm_options options;
    struct slurm_folders folders;
    char *answer;   /* file that commands print to */
    char *programs; /* folder of sbatch */
    char *env[5];
    struct slurm_jobs jobs;
    struct slurm_order order; /* command that runs; SLURM_WAIT: none */
    char *submitting;         /* name of the group */
    bool is_unheard;          /* squeue has failed, and that was said */
    bool is_swept;            /* what an earlier process has left, and nobody adopted, is gone */
    int64_t not_before_ms;
    uint64_t timer, command_timer, leave_timer;
    weir_loop_timer_fn *done; /* all are to be ended */
    void *done_owner;
};

static void turn(void *owner);

static int64_t now_of(const struct slurm *slurm)
{
    return weir_loop_now_ms(slurm->context.loop);
}

/* ---- commands ---- */

/* Arguments of a command, each owned. */
struct command {
    char *argv[ARGUMENTS_MAX + 1];
    size_t count;
};

static void add(struct command *command, const char *word)
{
    if (command->count < ARGUMENTS_MAX)
        command->argv[command->count++] = weir_strdup(word);
}

WEIR_PRINTF(2, 3) static void add_format(struct command *command, const char *format, ...)
{
    WEIR_AUTO_BUF word = {0};
    va_list args;
    va_start(args, format);
    weir_buf_vprintf(&word, format, args);
    va_end(args);
    add(command, weir_buf_text(&word));
}

static void add_option(struct command *command, const char *option, const char *value)
{
    if (value != NULL)
        add_format(command, "--%s=%s", option, value);
}

static void command_fini(struct command *command)
{
    for (size_t i = 0; i < command->count; i++)
        free(command->argv[i]);
}

static void on_command_exit(void *owner, const struct orchestrator_child_exit *ended);

static enum weir_status run(struct slurm *slurm, const char *program, struct command *command,
                            struct weir_error *err)
{
    free(command->argv[0]);
    command->argv[0] = weir_format("%s/%s", slurm->programs, program);
    const struct orchestrator_child child = {
        .name = COMMAND,
        .argv = command->argv,
        .env = slurm->env,
        .output = slurm->answer,
        .directory = "/",
        .stage = ORCHESTRATOR_STAGE_SERVICE,
        .exited = on_command_exit,
        .owner = slurm,
    };
    return orchestrator_supervisor_start(slurm->context.supervisor, &child, err);
}

static void add_resources(const struct slurm *slurm, const struct slurm_group *group,
                          struct command *command)
{
    const struct slurm_options *options = &slurm->options;
    uint64_t memory = group->each.memory > 0 ? group->each.memory : options->memory;
    int64_t time_ms = group->each.time_ms > 0 ? group->each.time_ms : options->time / 1000;
    if (group->each.cores > 0)
        add_format(command, "--cpus-per-task=%u", group->each.cores);
    if (group->each.gpus > 0)
        add_format(command, "--gres=gpu:%u", group->each.gpus);
    if (memory > 0)
        add_format(command, "--mem=%" PRIu64 "M", memory / MEBIBYTE + (memory % MEBIBYTE > 0));
    if (time_ms > 0)
        add_format(command, "--time=%" PRId64, (time_ms + 59999) / 60000); /* minutes */
}

static void add_places(const struct slurm_group *group, const char *folder, struct command *command)
{
    if (group->is_gang) {
        add_format(command, "--ntasks=%zu", group->count);
        add(command, "--no-requeue"); /* a rank alone is of no use: all begin again together */
        add_format(command, "--output=%s/out", folder);
    } else {
        add_format(command, "--array=0-%zu", group->count - 1);
        add(command, "--requeue");
        add_format(command, "--output=%s/out-%%a", folder);
    }
}

static void add_extra(const struct cfg_texts *extra, struct command *command)
{
    for (size_t i = 0; i < extra->count; i++)
        add(command, weir_yaml_text(weir_yaml_at(extra->node, i)));
}

static enum weir_status run_sbatch(struct slurm *slurm, const struct slurm_group *group,
                                   struct weir_error *err)
{
    const struct slurm_options *options = &slurm->options;
    WEIR_AUTO_FREE char *folder = orchestrator_slurm_folder(&slurm->folders, group->name);
    struct command command = {{NULL}, 0};
    add(&command, "");
    add(&command, "--parsable");
    add_option(&command, "job-name", group->name);
    add(&command, "--export=NONE");
    add(&command, "--open-mode=append");
    add_option(&command, "chdir", folder);
    add_option(&command, "partition",
               group->is_gang && options->trainers_partition != NULL ? options->trainers_partition
                                                                     : options->partition);
    add_option(&command, "account", options->account);
    add_option(&command, "qos", options->qos);
    add_option(&command, "constraint",
               group->is_gang && options->trainers_constraint != NULL ? options->trainers_constraint
                                                                      : options->constraint);
    add_resources(slurm, group, &command);
    add_places(group, folder, &command);
    add_extra(&options->extra, &command);
    if (group->is_gang)
        add_extra(&options->trainers_extra, &command);
    add_format(&command, "%s/script", folder);
    free(slurm->submitting);
    slurm->submitting = weir_strdup(group->name);
    enum weir_status status = run(slurm, "sbatch", &command, err);
    (void)weir_fault("slurm.submitting");
    command_fini(&command);
    return status;
}

static enum weir_status run_squeue(struct slurm *slurm, struct weir_error *err)
{
    static const char FORMAT[] = "--format=" SLURM_SQUEUE_FORMAT;
    static const char *const WORDS[] = {"",     "--noheader",   "--array",
                                        "--me", "--states=all", FORMAT};
    struct command command = {{NULL}, 0};
    for (size_t i = 0; i < WEIR_COUNT(WORDS); i++)
        add(&command, WORDS[i]);
    enum weir_status status = run(slurm, "squeue", &command, err);
    command_fini(&command);
    return status;
}

static enum weir_status run_scancel(struct slurm *slurm, struct weir_error *err)
{
    const struct slurm_order *order = &slurm->order;
    struct command command = {{NULL}, 0};
    add(&command, "");
    if (order->name[0] != '\0') {
        add_format(&command, "--user=%u", geteuid());
        add_option(&command, "name", order->name);
    }
    if (order->kind == SLURM_SIGNAL)
        add(&command, "--signal=TERM");
    if (order->kind == SLURM_SIGNAL && !order->is_gang)
        add(&command, "--batch"); /* the script alone, which hands it on */
    for (size_t i = 0; i < order->count; i++)
        add(&command, order->targets[i]);
    enum weir_status status = run(slurm, "scancel", &command, err);
    command_fini(&command);
    return status;
}

static enum weir_status run_order(struct slurm *slurm, struct weir_error *err)
{
    switch (slurm->order.kind) {
    case SLURM_SUBMIT:
        return run_sbatch(slurm, slurm->order.group, err);
    case SLURM_LOOK:
        return run_squeue(slurm, err);
    case SLURM_SIGNAL:
    case SLURM_CANCEL:
        return run_scancel(slurm, err);
    case SLURM_WAIT:
        break;
    }
    return WEIR_OK;
}

/* ---- answers ---- */

static void on_squeue(struct slurm *slurm, struct weir_bytes text)
{
    struct slurm_sight *sights = NULL;
    size_t count = 0, capacity = 0, size;
    for (; (size = weir_line(text)) > 0; text.at += size, text.size -= size) {
        sights = weir_grow(sights, count, &capacity, sizeof(*sights));
        count +=
            orchestrator_slurm_sight_read(weir_chomp(weir_bytes(text.at, size)), &sights[count]);
    }
    orchestrator_slurm_jobs_seen(&slurm->jobs, sights, count, now_of(slurm));
    free(sights);
}

/* Nothing changes: whoever ran runs on, whatever becomes of slurmctld. */
static void on_squeue_failed(struct slurm *slurm, const char *line)
{
    if (!slurm->is_unheard)
        weir_log(WEIR_LOG_WARN, "squeue fails: all is taken to be as it was", "error=\"%s\"", line);
    slurm->is_unheard = true;
}

static void on_answer(struct slurm *slurm, const struct slurm_order *order, bool is_done,
                      struct weir_buf *text, const char *line)
{
    uint64_t job = 0;
    switch (order->kind) {
    case SLURM_SUBMIT:
        if (is_done)
            (void)orchestrator_slurm_job_read(weir_buf_view(text), &job); /* 0: squeue will tell */
        (void)weir_fault("slurm.submitted");
        weir_log(job != 0 ? WEIR_LOG_INFO : WEIR_LOG_WARN,
                 job != 0 ? "handed to Slurm" : "Slurm does not take it",
                 "group=%s job=%" PRIu64 "%s%s", slurm->submitting, job,
                 job != 0 ? "" : " because=", line);
        orchestrator_slurm_jobs_submitted(&slurm->jobs, slurm->submitting, job, is_done ? "" : line,
                                          now_of(slurm));
        return;
    case SLURM_LOOK:
        if (!is_done) {
            on_squeue_failed(slurm, line);
            return;
        }
        slurm->is_unheard = false;
        on_squeue(slurm, weir_buf_view(text));
        if (!slurm->is_swept)
            orchestrator_slurm_folder_sweep(&slurm->folders, &slurm->jobs);
        slurm->is_swept = true;
        return;
    case SLURM_SIGNAL:
    case SLURM_CANCEL:
        if (!is_done)
            orchestrator_slurm_jobs_undone(&slurm->jobs);
        return;
    case SLURM_WAIT:
        break;
    }
}

/* The supervisor has its name yet: the next command is begun in the next turn. */
static void on_command_exit(void *owner, const struct orchestrator_child_exit *ended)
{
    struct slurm *slurm = owner;
    struct slurm_order order = slurm->order;
    char complaint[SLURM_REASON_SIZE];
    WEIR_AUTO_BUF text = {0};
    bool is_read = weir_file_read(slurm->answer, ANSWER_BYTES_MAX, &text, NULL) == WEIR_OK;
    bool is_done = ended->wait_status == 0 && is_read;
    orchestrator_slurm_complaint(is_done ? weir_bytes_of("") : weir_buf_view(&text), complaint,
                                 sizeof(complaint));
    slurm->order.kind = SLURM_WAIT;
    weir_loop_cancel(slurm->context.loop, slurm->command_timer);
    slurm->command_timer = 0;
    if (!is_done)
        slurm->not_before_ms = now_of(slurm) + AGAIN_MS;
    on_answer(slurm, &order, is_done, &text, complaint);
}

static void on_command_time(void *owner)
{
    struct slurm *slurm = owner;
    slurm->command_timer = 0;
    orchestrator_supervisor_stop(slurm->context.supervisor, COMMAND, AGAIN_MS);
}

/* ---- ends ---- */

/* Puts what the process itself has left in the place of what Slurm says, where that says less. */
static void explain(struct slurm_task *task, const struct slurm_exit *ended, const char *line)
{
    char how[64];
    bool is_known = task->state == LAUNCHER_ENDED || task->state == LAUNCHER_LOST;
    if (!is_known || task->is_stopping || ended->was_asked)
        return;
    orchestrator_wait_status_text(orchestrator_slurm_exit_status(ended), how, sizeof(how));
    weir_utf8_print(task->reason, sizeof(task->reason), "%s on %s%s%s", how, ended->host,
                    line[0] != '\0' ? ": " : "", line);
}

static void tell_end(const struct slurm *slurm, const struct slurm_group *group, size_t index)
{
    struct slurm_task *task = &group->tasks[index];
    struct slurm_exit ended = {.code = 0};
    char line[LINE_MAX_BYTES] = "";
    WEIR_AUTO_FREE char *log = weir_format("%s/%s.log", slurm->folders.log_dir, task->name);
    bool is_recorded = orchestrator_slurm_folder_exit(&slurm->folders, group->name, index, &ended);
    if (is_recorded && ended.code != 0)
        orchestrator_log_last_line(log, line, sizeof(line));
    if (is_recorded)
        explain(task, &ended, line);
    bool is_strange = task->state != LAUNCHER_ENDED && task->state != LAUNCHER_LOST;
    if (!task->is_stopping)
        weir_log(is_recorded && ended.code == 0 ? WEIR_LOG_INFO : WEIR_LOG_WARN,
                 "process in Slurm is over", "name=%s group=%s host=%s how=\"%s\"", task->name,
                 group->name, task->host, task->reason);
    const struct orchestrator_child_exit told = {
        .name = task->name,
        .wait_status = task->state == LAUNCHER_REFUSED ? -1
                       : is_recorded                   ? orchestrator_slurm_exit_status(&ended)
                                                       : SIGKILL,
        .last_line = line,
        .why = is_recorded && !is_strange ? NULL : task->reason,
    };
    task->is_told = true;
    if (task->exited != NULL)
        task->exited(task->owner, &told);
}

static void tell_ends(struct slurm *slurm)
{
    for (size_t i = 0; i < slurm->jobs.count; i++) {
        struct slurm_group *group = slurm->jobs.groups[i];
        for (size_t j = 0; j < group->count; j++)
            if (group->tasks[j].is_over && !group->tasks[j].is_told)
                tell_end(slurm, group, j);
    }
}

static void bound_logs(const struct slurm *slurm)
{
    for (size_t i = 0; i < slurm->jobs.count; i++) {
        const struct slurm_group *group = slurm->jobs.groups[i];
        for (size_t j = 0; j < group->count; j++) {
            if (group->tasks[j].name == NULL)
                continue;
            WEIR_AUTO_FREE char *log =
                weir_format("%s/%s.log", slurm->folders.log_dir, group->tasks[j].name);
            orchestrator_log_bound(log, LOG_BYTES_MAX);
        }
    }
}

/* ---- turns ---- */

static void drop_folder(void *owner, const struct slurm_group *group)
{
    const struct slurm *slurm = owner;
    orchestrator_slurm_folder_drop(&slurm->folders, group->name);
}

static void finish_leaving(void *owner)
{
    struct slurm *slurm = owner;
    weir_loop_timer_fn *done = slurm->done;
    weir_loop_cancel(slurm->context.loop, slurm->leave_timer);
    weir_loop_cancel(slurm->context.loop, slurm->timer);
    slurm->leave_timer = slurm->timer = 0;
    slurm->done = NULL;
    done(slurm->done_owner);
}

static void begin_order(struct slurm *slurm)
{
    struct weir_error err;
    slurm->order = orchestrator_slurm_jobs_next(&slurm->jobs, now_of(slurm));
    if (slurm->order.kind == SLURM_WAIT)
        return;
    if (slurm->order.kind == SLURM_LOOK)
        bound_logs(slurm);
    if (run_order(slurm, &err) == WEIR_OK) {
        slurm->command_timer =
            weir_loop_timer(slurm->context.loop, COMMAND_MS, 0, on_command_time, slurm);
        return;
    }
    struct weir_buf nothing = {0};
    const struct slurm_order order = slurm->order;
    slurm->order.kind = SLURM_WAIT;
    slurm->not_before_ms = now_of(slurm) + AGAIN_MS;
    on_answer(slurm, &order, false, &nothing, err.text);
}

static void turn(void *owner)
{
    struct slurm *slurm = owner;
    tell_ends(slurm);
    orchestrator_slurm_jobs_clean(&slurm->jobs, now_of(slurm), drop_folder, slurm);
    if (slurm->done != NULL && slurm->jobs.count == 0 && slurm->order.kind == SLURM_WAIT)
        finish_leaving(slurm);
    else if (slurm->order.kind == SLURM_WAIT && now_of(slurm) >= slurm->not_before_ms)
        begin_order(slurm);
}

/* ---- the launcher ---- */

static enum weir_status find_programs(struct slurm *slurm, struct weir_error *err)
{
    static const char BESIDE[] = ":/usr/bin:/usr/local/bin:/opt/slurm/bin";
    const char *path = getenv("PATH");
    WEIR_AUTO_FREE char *folders = weir_format("%s%s", path != NULL ? path : "", BESIDE);
    char *rest = folders;
    for (char *folder; (folder = strsep(&rest, ":")) != NULL;) {
        WEIR_AUTO_FREE char *sbatch = weir_format("%s/sbatch", folder);
        if (folder[0] == '/' && access(sbatch, X_OK) == 0) {
            slurm->programs = weir_strdup(folder);
            return WEIR_OK;
        }
    }
    return weir_fail(err, WEIR_NOT_FOUND,
                     "launcher slurm: there is no sbatch in PATH: Debian has it in slurm-client");
}

/* Of a Slurm that this process may itself be run by, nothing is handed on: sbatch reads SBATCH_… and SLURM_…. */
static void choose_environment(struct slurm *slurm)
{
    static const char *const NAMES[] = {"SLURM_CONF", "HOME", "USER"};
    size_t count = 0;
    slurm->env[count++] = weir_format("PATH=%s:/usr/bin:/bin", slurm->programs);
    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++)
        if (getenv(NAMES[i]) != NULL)
            slurm->env[count++] = weir_format("%s=%s", NAMES[i], getenv(NAMES[i]));
}

static enum weir_status init(void *state, const struct launcher_context *context,
                             struct weir_error *err)
{
    struct slurm *slurm = state;
    static const struct slurm_options NONE = {.partition = NULL};
    slurm->context = *context;
    slurm->options =
        context->options != NULL ? *(const struct slurm_options *)context->options : NONE;
    slurm->folders.directory = slurm->options.directory != NULL
                                   ? weir_strdup(slurm->options.directory)
                                   : weir_format("%s/slurm", context->data_dir);
    slurm->folders.log_dir = weir_format("%s/log", context->data_dir);
    slurm->folders.confine = weir_format("%s/orchestrator", context->bin_dir);
    slurm->answer = weir_format("%s/answer", slurm->folders.directory);
    enum weir_status status = find_programs(slurm, err);
    if (status == WEIR_OK)
        status = weir_make_directories(slurm->folders.directory, 0700, err);
    if (status == WEIR_OK)
        status = weir_make_directories(slurm->folders.log_dir, 0700, err);
    if (status != WEIR_OK)
        return status;
    choose_environment(slurm);
    slurm->timer = weir_loop_timer(context->loop, TURN_MS, TURN_MS, turn, slurm);
    return WEIR_OK;
}

static enum weir_status start(void *state, const struct launcher_group *group,
                              struct weir_error *err)
{
    struct slurm *slurm = state;
    if (slurm->done != NULL)
        return weir_fail(err, WEIR_UNAVAILABLE, "%s: everything is being stopped", group->name);
    enum weir_status status = orchestrator_slurm_jobs_check(&slurm->jobs, group, err);
    if (status == WEIR_OK)
        status = orchestrator_slurm_folder_write(&slurm->folders, group, err);
    if (status != WEIR_OK)
        return status;
    (void)weir_fault("slurm.committed"); /* only death can come between */
    orchestrator_slurm_jobs_add(&slurm->jobs, group, false);
    return WEIR_OK;
}

static const struct orchestrator_child *member_of(const struct launcher_group *group,
                                                  struct weir_bytes name)
{
    for (size_t i = 0; i < group->count; i++)
        if (weir_bytes_equal(weir_bytes_of(group->members[i].name), name))
            return &group->members[i];
    return NULL;
}

/* The group as it was handed to Slurm, with those of its members that are there still in their places. */
static enum weir_status adopt(void *state, const struct launcher_group *group,
                              struct weir_error *err)
{
    struct slurm *slurm = state;
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = orchestrator_slurm_jobs_check(&slurm->jobs, group, err);
    if (status == WEIR_EXISTS)
        return WEIR_OK;
    if (status == WEIR_OK &&
        orchestrator_slurm_folder_members(&slurm->folders, group->name, &text, err) != WEIR_OK)
        status = weir_fail(err, WEIR_NOT_FOUND, "it had not been handed to Slurm yet");
    if (status != WEIR_OK)
        return status;
    struct launcher_group whole = *group;
    struct orchestrator_child *members = NULL;
    struct weir_bytes rest = weir_buf_view(&text);
    size_t count = 0, capacity = 0, size;
    for (; (size = weir_line(rest)) > 0; rest.at += size, rest.size -= size) {
        const struct orchestrator_child *member =
            member_of(group, weir_chomp(weir_bytes(rest.at, size)));
        members = weir_grow(members, count, &capacity, sizeof(*members));
        members[count++] = member != NULL ? *member : (struct orchestrator_child){.name = NULL};
    }
    whole.members = members;
    whole.count = count;
    orchestrator_slurm_jobs_add(&slurm->jobs, &whole, true);
    free(members);
    return WEIR_OK;
}

static void stop(void *state, const char *name, int64_t grace_ms)
{
    struct slurm *slurm = state;
    orchestrator_slurm_jobs_stop(&slurm->jobs, name, now_of(slurm) + grace_ms);
}

static size_t list(const void *state, struct launcher_process *processes, size_t max)
{
    const struct slurm *slurm = state;
    size_t listed = 0;
    for (size_t i = 0; i < slurm->jobs.count; i++) {
        const struct slurm_group *group = slurm->jobs.groups[i];
        for (size_t j = 0; j < group->count; j++) {
            const struct slurm_task *task = &group->tasks[j];
            if (task->name == NULL || (task->is_stopping && task->is_told))
                continue;
            if (listed < max)
                processes[listed] = (struct launcher_process){
                    .name = task->name,
                    .host = task->host,
                    .state = task->state,
                    .reason = task->reason,
                };
            listed++;
        }
    }
    return listed;
}

/* Its log stays what it is: the script has opened it. */
static enum weir_status rename_process(void *state, const char *from, const char *to,
                                       struct weir_error *err)
{
    struct slurm *slurm = state;
    return orchestrator_slurm_jobs_rename(&slurm->jobs, from, to, err);
}

static void leave(void *state, weir_loop_timer_fn *done, void *owner)
{
    struct slurm *slurm = state;
    slurm->done = done;
    slurm->done_owner = owner;
    orchestrator_slurm_jobs_stop_all(&slurm->jobs, now_of(slurm) + LEAVE_GRACE_MS);
    slurm->leave_timer = weir_loop_timer(slurm->context.loop, LEAVE_MS, 0, finish_leaving, slurm);
}

static const char *folder(const void *options)
{
    const struct slurm_options *slurm = options;
    return slurm->directory;
}

static void fini(void *state)
{
    struct slurm *slurm = state;
    weir_loop_cancel(slurm->context.loop, slurm->timer);
    weir_loop_cancel(slurm->context.loop, slurm->command_timer);
    weir_loop_cancel(slurm->context.loop, slurm->leave_timer);
    orchestrator_slurm_jobs_fini(&slurm->jobs);
    for (size_t i = 0; i < WEIR_COUNT(slurm->env); i++)
        free(slurm->env[i]);
    free(slurm->submitting);
    free(slurm->programs);
    free(slurm->answer);
    free(slurm->folders.confine);
    free(slurm->folders.log_dir);
    free(slurm->folders.directory);
}

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct slurm_options, partition,
             .doc = "partition of all jobs (default: Slurm's own)"),
    CFG_TEXT(struct slurm_options, account, .doc = "account that jobs are charged to"),
    CFG_TEXT(struct slurm_options, qos, .doc = "quality of service"),
    CFG_TEXT(struct slurm_options, constraint, .doc = "features that nodes must have"),
    CFG_SIZE(struct slurm_options, memory, .fallback = "1GiB", .min = 1 << 20,
             .doc = "memory of one worker or rank"),
    CFG_DURATION(struct slurm_options, time,
                 .doc =
                     "time limit of a job, after which its processes are replaced (default: that "
                     "of the partition)"),
    CFG_TEXT(struct slurm_options, directory,
             .doc =
                 "folder of scripts, keys and records of jobs, which all nodes see, and which is "
                 "for nothing else (default: slurm in the data directory)"),
    CFG_TEXTS(struct slurm_options, extra,
              .doc = "further options of sbatch, as they are: [\"--reservation=night\"]"),
    CFG_TEXT(struct slurm_options, trainers_partition,
             .doc = "partition of trainers (default: that of all)"),
    CFG_TEXT(struct slurm_options, trainers_constraint,
             .doc = "features that nodes of trainers must have (default: those of all)"),
    CFG_TEXTS(struct slurm_options, trainers_extra,
              .doc = "further options of sbatch for trainers alone: [\"--ntasks-per-node=1\"]"),
    CFG_END,
};

static const struct launcher_elsewhere ELSEWHERE = {.leave = leave, .folder = folder};

const struct launcher orchestrator_launcher_slurm = {
    .name = "slurm",
    .summary = "jobs of a Slurm cluster: workers as arrays, the ranks of a training as one job",
    .options = OPTIONS,
    .options_size = sizeof(struct slurm_options),
    .state_size = sizeof(struct slurm),
    .init = init,
    .start = start,
    .adopt = adopt,
    .stop = stop,
    .list = list,
    .rename = rename_process,
    .elsewhere = &ELSEWHERE,
    .fini = fini,
};
