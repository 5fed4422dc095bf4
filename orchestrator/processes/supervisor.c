/* A table of children driven by SIGCHLD and timers on the loop. A child is RUNNING, WAITING for its
 * restart, STOPPING, or gone from the table. */
#include "orchestrator/processes/supervisor.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/processes/spawn.h"
#include "orchestrator/processes/strays.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP_MS = 5000, SWEEP_MS = 500, LINE_MAX_BYTES = 1024, HOW_SIZE = 64 };
static const int64_t LOG_BYTES_MAX = 16 << 20; /* of each log, and as much in its PATH.1 */

enum child_state { RUNNING, WAITING, STOPPING };

struct child {
    struct orchestrator_supervisor *supervisor;
    struct orchestrator_child spec; /* its texts are owned below */
    struct orchestrator_identity identity;
    char *name;
    char **argv;
    char **env;
    char *input;
    char *directory;
    char *log_path;
    char how[HOW_SIZE]; /* it ended last */
    enum child_state state;
    pid_t pid;
    unsigned restarts;
    unsigned failures; /* short lives on end that nobody else cut short */
    int64_t pause_ms;
    int64_t started_ms;
    uint64_t timer; /* restart, or kill */
};

struct orchestrator_supervisor {
    struct weir_loop *loop;
    char *log_dir;
    int signal_fd;
    uint64_t sweep;
    struct child *children[ORCHESTRATOR_CHILDREN_MAX];
    size_t count;
    uint64_t past_restarts; /* of those that are forgotten */
    bool stopping_all;
    weir_loop_timer_fn *all_stopped;
    void *all_stopped_owner;
};

static char **copy_vector(char *const *vector)
{
    if (vector == NULL)
        return NULL;
    size_t count = 0;
    while (vector[count] != NULL)
        count++;
    char **copy = weir_calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = weir_strdup(vector[i]);
    return copy;
}

static void free_vector(char **vector)
{
    for (size_t i = 0; vector != NULL && vector[i] != NULL; i++)
        free(vector[i]);
    free(vector);
}

static void child_free(struct child *child)
{
    weir_loop_cancel(child->supervisor->loop, child->timer);
    free_vector(child->argv);
    free_vector(child->env);
    free(child->input);
    free(child->directory);
    free(child->log_path);
    free(child->name);
    free(child);
}

static struct child *child_new(struct orchestrator_supervisor *supervisor,
                               const struct orchestrator_child *spec)
{
    struct child *child = weir_calloc(1, sizeof(*child));
    child->supervisor = supervisor;
    child->spec = *spec;
    child->name = weir_strdup(spec->name);
    child->argv = copy_vector(spec->argv);
    child->env = copy_vector(spec->env);
    child->input = spec->input != NULL ? weir_strdup(spec->input) : NULL;
    child->directory = spec->directory != NULL ? weir_strdup(spec->directory) : NULL;
    child->log_path = spec->output != NULL
                          ? weir_strdup(spec->output)
                          : weir_format("%s/%s.log", supervisor->log_dir, spec->name);
    if (spec->identity != NULL) {
        child->identity = *spec->identity;
        child->spec.identity = &child->identity;
    }
    child->pause_ms = ORCHESTRATOR_RESTART_MS_MIN;
    return child;
}

static struct child *find(const struct orchestrator_supervisor *supervisor, const char *name)
{
    for (size_t i = 0; i < supervisor->count; i++)
        if (strcmp(supervisor->children[i]->name, name) == 0)
            return supervisor->children[i];
    return NULL;
}

static void forget(struct child *child)
{
    struct orchestrator_supervisor *supervisor = child->supervisor;
    supervisor->past_restarts += child->restarts;
    for (size_t i = 0; i < supervisor->count; i++) {
        if (supervisor->children[i] != child)
            continue;
        memmove(&supervisor->children[i], &supervisor->children[i + 1],
                (supervisor->count - i - 1) * sizeof(struct child *));
        supervisor->count--;
        break;
    }
    child_free(child);
}

static enum weir_status launch(struct child *child, struct weir_error *err)
{
    if (child->spec.before_start != NULL)
        child->spec.before_start(child->spec.owner);
    if (child->spec.output != NULL)
        (void)unlink(child->log_path); /* of the command before; absent is fine */
    orchestrator_log_bound(child->log_path, LOG_BYTES_MAX);
    const struct orchestrator_spawn spawn = {
        .argv = child->argv,
        .env = child->env,
        .input = child->input,
        .directory = child->directory,
        .log_path = child->log_path,
        .identity = child->spec.identity,
        .jail = child->spec.jail,
        .core = child->spec.core,
        /* As politely as a stop: Postgres shuts down cleanly when its supervisor is killed. */
        .death_signal = child->spec.kill_signal ? child->spec.stop_signal : SIGKILL,
    };
    enum weir_status status = orchestrator_spawn(&spawn, &child->pid, err);
    child->spec.jail = NULL; /* it was borrowed, and there is no second start */
    if (status != WEIR_OK)
        return status;
    child->state = RUNNING;
    child->started_ms = weir_loop_now_ms(child->supervisor->loop);
    return WEIR_OK;
}

static void tell(struct child *child, int wait_status, pid_t pid, bool restarting)
{
    char line[LINE_MAX_BYTES];
    orchestrator_log_last_line(child->log_path, line, sizeof(line));
    const struct orchestrator_child_exit ended = {
        .name = child->name,
        .pid = pid,
        .wait_status = wait_status,
        .restarting = restarting,
        .restarts = child->restarts,
        .failures = child->failures,
        .last_line = line,
    };
    if (child->spec.exited != NULL)
        child->spec.exited(child->spec.owner, &ended);
}

static void on_restart(void *owner);

static void pause_then_restart(struct child *child)
{
    child->state = WAITING;
    child->restarts++;
    child->timer = weir_loop_timer(child->supervisor->loop, child->pause_ms, 0, on_restart, child);
    child->pause_ms *= 2;
    if (child->pause_ms > ORCHESTRATOR_RESTART_MS_MAX)
        child->pause_ms = ORCHESTRATOR_RESTART_MS_MAX;
}

static void on_restart(void *owner)
{
    struct child *child = owner;
    child->timer = 0;
    struct weir_error err;
    if (launch(child, &err) == WEIR_OK) {
        weir_log(WEIR_LOG_INFO, "process started again", "name=%s pid=%d restarts=%u", child->name,
                 child->pid, child->restarts);
        return;
    }
    weir_log(WEIR_LOG_ERROR, "process cannot be started, trying on", "name=%s error=\"%s\"",
             child->name, err.text);
    child->failures++;
    pause_then_restart(child);
    tell(child, -1, 0, true);
}

static void signal_child(const struct child *child, int number)
{
    /* Killing goes to the group, so that a trainer's own children go too; a group that is not there
     * yet, between fork and setsid, leaves the process itself. */
    if (number != SIGKILL || kill(-child->pid, number) != 0)
        (void)kill(child->pid, number);
}

static void on_kill_time(void *owner)
{
    struct child *child = owner;
    int number = child->spec.kill_signal ? child->spec.kill_signal : SIGKILL;
    weir_log(WEIR_LOG_WARN, "process does not stop: killing it", "name=%s pid=%d signal=%d",
             child->name, child->pid, number);
    child->timer = weir_loop_timer(child->supervisor->loop, STOP_MS, 0, on_kill_time, child);
    signal_child(child, number);
}

static void begin_stop(struct child *child, int64_t stop_ms)
{
    if (child->state == STOPPING)
        return;
    weir_loop_cancel(child->supervisor->loop, child->timer);
    child->state = STOPPING;
    if (stop_ms < 0)
        stop_ms = child->spec.stop_ms ? child->spec.stop_ms : STOP_MS;
    child->timer = weir_loop_timer(child->supervisor->loop, stop_ms, 0, on_kill_time, child);
    signal_child(child, child->spec.stop_signal ? child->spec.stop_signal : SIGTERM);
}

static void continue_stopping(struct orchestrator_supervisor *supervisor);

static void on_ended(struct child *child, int wait_status)
{
    struct orchestrator_supervisor *supervisor = child->supervisor;
    pid_t pid = child->pid;
    bool stopped = child->state == STOPPING;
    bool restart = child->spec.restart && !stopped && !supervisor->stopping_all;
    orchestrator_wait_status_text(wait_status, child->how, sizeof(child->how));
    weir_log(restart                      ? WEIR_LOG_WARN
             : child->spec.output != NULL ? WEIR_LOG_DEBUG
                                          : WEIR_LOG_INFO,
             "process ended", "name=%s pid=%d how=\"%s\"", child->name, pid, child->how);
    child->pid = 0;
    if (restart) {
        bool killed = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
        bool lived =
            weir_loop_now_ms(supervisor->loop) - child->started_ms >= ORCHESTRATOR_RESTART_RESET_MS;
        child->failures = killed || lived ? 0 : child->failures + 1;
        if (lived)
            child->pause_ms = ORCHESTRATOR_RESTART_MS_MIN;
        pause_then_restart(child);
        tell(child, wait_status, pid, true);
        return;
    }
    child->state = STOPPING; /* its name is free for others only once it is forgotten */
    tell(child, wait_status, pid, false);
    orchestrator_log_bound(child->log_path, LOG_BYTES_MAX); /* nobody looks at it from now on */
    forget(child);
    if (supervisor->stopping_all)
        continue_stopping(supervisor);
}

/* Ends the processes that one has started that was launched, or ends for good: a trainer's give back what they hold,
 * GPUs above all, and initdb's would go on with the cluster. While it is not waited for, its number, and so its
 * group's, is nobody else's. */
static void end_its_own(const struct child *child)
{
    siginfo_t found = {.si_pid = 0};
    bool is_alone = child->spec.stage != ORCHESTRATOR_STAGE_LAUNCHED && child->spec.restart;
    if (is_alone || child->pid <= 0 ||
        waitid(P_PID, (id_t)child->pid, &found, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        found.si_pid != child->pid)
        return;
    (void)kill(-child->pid, SIGKILL);
    orchestrator_strays_end(child->env);
}

/* Looks at our children only: other code may have its own. */
static void reap(void *owner)
{
    struct orchestrator_supervisor *supervisor = owner;
    struct signalfd_siginfo info;
    while (read(supervisor->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        continue;
    for (size_t i = supervisor->count; i-- > 0;) {
        if (i >= supervisor->count)
            continue; /* callbacks may have removed some */
        struct child *child = supervisor->children[i];
        int wait_status = 0;
        end_its_own(child);
        if (child->pid > 0 && waitpid(child->pid, &wait_status, WNOHANG) == child->pid)
            on_ended(child, wait_status);
    }
}

static void sweep(void *owner)
{
    const struct orchestrator_supervisor *supervisor = owner;
    for (size_t i = 0; i < supervisor->count; i++)
        orchestrator_log_bound(supervisor->children[i]->log_path, LOG_BYTES_MAX);
    reap(owner);
}

struct orchestrator_supervisor *orchestrator_supervisor_new(struct weir_loop *loop,
                                                            const char *log_dir)
{
    struct orchestrator_supervisor *supervisor = weir_calloc(1, sizeof(*supervisor));
    supervisor->loop = loop;
    supervisor->log_dir = weir_strdup(log_dir);
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    supervisor->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    weir_require(supervisor->signal_fd >= 0);
    weir_loop_watch_fd(loop, supervisor->signal_fd, POLLIN, reap, supervisor);
    /* A thread that was started before may swallow the signal: look by the clock as well. */
    supervisor->sweep = weir_loop_timer(loop, SWEEP_MS, SWEEP_MS, sweep, supervisor);
    return supervisor;
}

/* Without the loop: for the last moments of a process. */
static void end_now(struct child *child)
{
    if (child->pid <= 0)
        return;
    int number = child->spec.kill_signal ? child->spec.kill_signal : SIGKILL;
    signal_child(child, number);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

void orchestrator_supervisor_free(struct orchestrator_supervisor *supervisor)
{
    if (supervisor == NULL)
        return;
    for (size_t i = supervisor->count; i-- > 0;)
        end_now(supervisor->children[i]);
    for (size_t i = 0; i < supervisor->count; i++)
        child_free(supervisor->children[i]);
    weir_loop_cancel(supervisor->loop, supervisor->sweep);
    weir_loop_unwatch_fd(supervisor->loop, supervisor->signal_fd);
    (void)close(supervisor->signal_fd);
    free(supervisor->log_dir);
    free(supervisor);
}

enum weir_status orchestrator_supervisor_start(struct orchestrator_supervisor *supervisor,
                                               const struct orchestrator_child *spec,
                                               struct weir_error *err)
{
    if (find(supervisor, spec->name) != NULL)
        return weir_fail(err, WEIR_EXISTS, "process %s runs already", spec->name);
    if (supervisor->stopping_all)
        return weir_fail(err, WEIR_UNAVAILABLE, "process %s: everything is being stopped",
                         spec->name);
    if (supervisor->count == ORCHESTRATOR_CHILDREN_MAX)
        return weir_fail(err, WEIR_LIMIT, "process %s: too many processes, at most %d", spec->name,
                         ORCHESTRATOR_CHILDREN_MAX);
    struct child *child = child_new(supervisor, spec);
    enum weir_status status = launch(child, err);
    if (status != WEIR_OK) {
        child_free(child);
        return weir_error_wrap(err, status, "process %s", spec->name);
    }
    supervisor->children[supervisor->count++] = child;
    return WEIR_OK;
}

void orchestrator_supervisor_stop(struct orchestrator_supervisor *supervisor, const char *name,
                                  int64_t stop_ms)
{
    struct child *child = find(supervisor, name);
    if (child == NULL)
        return;
    if (child->state == WAITING) {
        forget(child);
        if (supervisor->stopping_all)
            continue_stopping(supervisor);
        return;
    }
    begin_stop(child, stop_ms);
}

enum weir_status orchestrator_supervisor_rename(struct orchestrator_supervisor *supervisor,
                                                const char *from, const char *to,
                                                struct weir_error *err)
{
    struct child *child = find(supervisor, from);
    if (child == NULL || child->state != RUNNING)
        return weir_fail(err, WEIR_NOT_FOUND, "process %s does not run", from);
    if (find(supervisor, to) != NULL)
        return weir_fail(err, WEIR_EXISTS, "process %s runs already", to);
    char *log_path = weir_format("%s/%s.log", supervisor->log_dir, to);
    orchestrator_log_hand_over(child->log_path, log_path);
    free(child->log_path);
    free(child->name);
    child->log_path = log_path;
    child->name = weir_strdup(to);
    return WEIR_OK;
}

/* Asks the highest stage that is left to end; the last one to end moves on to the next stage. */
static void continue_stopping(struct orchestrator_supervisor *supervisor)
{
    for (size_t i = supervisor->count; i-- > 0;)
        if (supervisor->children[i]->state == WAITING)
            forget(supervisor->children[i]);
    if (supervisor->count == 0) {
        weir_loop_timer_fn *done = supervisor->all_stopped;
        supervisor->all_stopped = NULL;
        if (done != NULL)
            weir_loop_soon(supervisor->loop, done, supervisor->all_stopped_owner);
        return;
    }
    enum orchestrator_stage highest = supervisor->children[0]->spec.stage;
    for (size_t i = 1; i < supervisor->count; i++)
        if (supervisor->children[i]->spec.stage > highest)
            highest = supervisor->children[i]->spec.stage;
    for (size_t i = 0; i < supervisor->count; i++)
        if (supervisor->children[i]->spec.stage == highest)
            begin_stop(supervisor->children[i], -1);
}

void orchestrator_supervisor_stop_all(struct orchestrator_supervisor *supervisor,
                                      weir_loop_timer_fn *done, void *owner)
{
    supervisor->stopping_all = true;
    supervisor->all_stopped = done;
    supervisor->all_stopped_owner = owner;
    continue_stopping(supervisor);
}

pid_t orchestrator_supervisor_pid(const struct orchestrator_supervisor *supervisor,
                                  const char *name)
{
    const struct child *child = find(supervisor, name);
    return child != NULL ? child->pid : 0;
}

uint64_t orchestrator_supervisor_past_restarts(const struct orchestrator_supervisor *supervisor)
{
    return supervisor->past_restarts;
}

size_t orchestrator_supervisor_list(const struct orchestrator_supervisor *supervisor,
                                    struct orchestrator_child_state *states, size_t max)
{
    for (size_t i = 0; i < supervisor->count && i < max; i++) {
        const struct child *child = supervisor->children[i];
        states[i] = (struct orchestrator_child_state){
            .name = child->name,
            .pid = child->pid,
            .stage = child->spec.stage,
            .restarts = child->restarts,
            .core = child->spec.core,
            .stopping = child->state == STOPPING,
            .how = child->how,
        };
    }
    return supervisor->count;
}
