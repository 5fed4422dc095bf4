/* A crowd of processes around a platform: see crowd.h. */
#include "benchmarks/pool/crowd.h"

#include "benchmarks/preprocess/simulated.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "tests/support/crowd.h"
#include "tests/support/process_memory.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STRONG = 4,     /* processes, and a frail one */
    FRAIL_OF = 100, /* workers to one of the frail process */
    WORKERS_A_JOB = 50,
    LINES = 1000,    /* of a person each */
    LAPSES_OF = 100, /* renewals to one that came too late */
    LOOK_MS = 50,
    SETTLE_MS = 3000,
    MEASURE_MS = 10000,
    GATHER_MS = 180000,
    RETURN_MS = 60000,
    IN_FORCE_MS = 60000,
    POLL_MS = 5,
};

/* Of keys, with which all names of workers begin. */
static const char KEY_NAME[] = "crowd";

struct pool_crowd {
    struct rig *rig;
    struct simulated *jobs; /* and their consumers */
    char *storage, *dispatcher;
    struct weir_pair *pairs; /* of each worker; NULL: they are on this host */
    size_t workers;
    long before_kb[RIG_SERVICES]; /* memory of each service without them */
    pid_t pids[STRONG + 1];       /* the last is frail; 0: it is not there */
    struct crowd_report *reports; /* of each, which writes it */
    uint64_t dataset, erased;     /* lines */
};

/* ---- processes ---- */

/* First worker of a process; STRONG + 1: their number. */
static size_t first_of(const struct pool_crowd *crowd, size_t process)
{
    size_t strong = crowd->workers - crowd->workers / FRAIL_OF;

    return process <= STRONG ? strong * process / STRONG : crowd->workers;
}

/* The life of a process: until it is killed, or its parent is gone. */
static void live(const struct pool_crowd *gathered, size_t process)
{
    WEIR_AUTO_FREE char *name = weir_format("%s-%zu-%d", KEY_NAME, process, (int)getpid());
    size_t first = first_of(gathered, process);
    const struct crowd_plan plan = {.storage = gathered->storage,
                                    .dispatcher = gathered->dispatcher,
                                    .pairs =
                                        gathered->pairs != NULL ? gathered->pairs + first : NULL,
                                    .name = name,
                                    .count = first_of(gathered, process + 1) - first};
    struct crowd *crowd = NULL;
    struct weir_error err;
    int64_t looked_ms = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (crowd_start(&plan, &crowd, &err) != WEIR_OK) {
        fprintf(stderr, "crowd: %s\n", err.text);
        _exit(1);
    }
    for (;;) {
        crowd_step(crowd);
        if (weir_now_ms() - looked_ms < LOOK_MS)
            continue;
        looked_ms = weir_now_ms();
        crowd_look(crowd, &gathered->reports[process]);
    }
}

static enum weir_status start(struct pool_crowd *crowd, size_t process, struct weir_error *err)
{
    crowd->reports[process] = (struct crowd_report){0};
    crowd->pids[process] = fork();
    if (crowd->pids[process] < 0)
        return weir_fail(err, WEIR_LIMIT, "no process for a crowd of workers");
    if (crowd->pids[process] == 0)
        live(crowd, process);
    return WEIR_OK;
}

static void end(struct pool_crowd *crowd, size_t process)
{
    if (crowd->pids[process] <= 0)
        return;
    (void)kill(crowd->pids[process], SIGKILL);
    (void)waitpid(crowd->pids[process], NULL, 0);
    crowd->pids[process] = 0;
}

/* A number may be of this look or of the one before. */
static struct crowd_report look(const struct pool_crowd *crowd)
{
    struct crowd_report sum = {.held_ms = INT64_MAX, .beaten_ms = INT64_MAX};

    for (size_t i = 0; i <= STRONG; i++) {
        const struct crowd_report *report = &crowd->reports[i];

        sum.holding += report->holding;
        sum.beating += report->beating;
        sum.holds += report->holds;
        sum.beats += report->beats;
        sum.lapses += report->lapses;
        sum.refused += report->refused;
        if (sum.held_ms > report->held_ms)
            sum.held_ms = report->held_ms;
        if (sum.beaten_ms > report->beaten_ms)
            sum.beaten_ms = report->beaten_ms;
    }
    return sum;
}

/* Until all hold and beat. */
static enum weir_status await_all(struct pool_crowd *crowd, struct weir_error *err)
{
    int64_t end_ms = weir_now_ms() + GATHER_MS;
    struct crowd_report sum = look(crowd);

    while (sum.holding < crowd->workers || sum.beating < crowd->workers) {
        if (weir_now_ms() > end_ms)
            return weir_fail(err, WEIR_TIMEOUT, "of %zu workers %zu hold and %zu beat: %s",
                             crowd->workers, sum.holding, sum.beating, crowd->reports[0].words);
        (void)simulated_beat(crowd->jobs, LOOK_MS);
        sum = look(crowd);
    }
    (void)simulated_beat(crowd->jobs, SETTLE_MS);
    return WEIR_OK;
}

/* ---- figures ---- */

enum weir_status pool_crowd_load(struct pool_crowd *crowd, enum rig_service service,
                                 double *ret_cores, struct weir_error *err)
{
    struct crowd_report before = look(crowd), after;
    int64_t cpu_ns = rig_cpu_ns(crowd->rig, service), begun_ns = weir_now_ns();

    (void)simulated_beat(crowd->jobs, MEASURE_MS);
    *ret_cores =
        (double)(rig_cpu_ns(crowd->rig, service) - cpu_ns) / (double)(weir_now_ns() - begun_ns);
    after = look(crowd);
    if ((after.lapses - before.lapses) * LAPSES_OF > after.holds - before.holds)
        return weir_fail(err, WEIR_INTERNAL,
                         "%" PRIu64 " of %" PRIu64 " use leases were over before they were "
                         "renewed: this machine is too busy for so many workers",
                         after.lapses - before.lapses, after.holds - before.holds);
    return WEIR_OK;
}

static enum weir_status await_in_force(struct pool_crowd *crowd, uint64_t erasure,
                                       struct weir_error *err)
{
    const struct msg_erase_request ask = {.erasure = erasure};
    const struct rig_call call = {RIG_STORAGE, MSG_erase_request, &ask, MSG_erase_is};
    int64_t end_ms = weir_now_ms() + IN_FORCE_MS;

    for (struct msg_erase_is erase = {0}; erase.in_force_us == 0; poll(NULL, 0, POLL_MS)) {
        enum weir_status status = rig_request(crowd->rig, &call, &erase, err);

        if (status != WEIR_OK)
            return status;
        if (weir_now_ms() > end_ms)
            return weir_fail(err, WEIR_TIMEOUT, "erasure %" PRIu64 " is not in force", erasure);
    }
    return WEIR_OK;
}

enum weir_status pool_crowd_erase(struct pool_crowd *crowd, bool is_maimed, double *ret_seconds,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *person = weir_format("person-%" PRIu64, crowd->erased++ % LINES);
    const char *const subjects[] = {person};
    const struct msg_erase_accept accept = {
        .uuid = person, .dataset = "", .subjects = {subjects, 1}, .reference = ""};
    const struct rig_call call = {RIG_STORAGE, MSG_erase_accept, &accept, MSG_erase_accepted};
    struct msg_erase_accepted accepted = {0};
    enum weir_status status;
    int64_t begun_ns;

    if (is_maimed)
        end(crowd, STRONG);
    begun_ns = weir_now_ns();
    status = rig_request(crowd->rig, &call, &accepted, err);
    if (status == WEIR_OK)
        status = await_in_force(crowd, accepted.erasure, err);
    *ret_seconds = (double)(weir_now_ns() - begun_ns) / 1e9;
    if (status == WEIR_OK && is_maimed)
        status = start(crowd, STRONG, err);
    return status == WEIR_OK ? await_all(crowd, err) : status;
}

double pool_crowd_memory(const struct pool_crowd *crowd, enum rig_service service)
{
    long now_kb = process_memory_kb(rig_pid(crowd->rig, service), "VmRSS:");

    return (double)(now_kb - crowd->before_kb[service]) * 1024 / (double)crowd->workers;
}

/* ---- a restart ---- */

static const enum rig_service HELD[] = {RIG_STORAGE, RIG_DISPATCHER};

/* Tells a service the keys of all workers, as the orchestrator does when one has begun. */
static enum weir_status let_in(struct pool_crowd *crowd, enum rig_service service,
                               struct weir_error *err)
{
    WEIR_AUTO_FREE const char **publics = weir_calloc(crowd->workers, sizeof(*publics));
    WEIR_AUTO_FREE const char **names = weir_calloc(crowd->workers, sizeof(*names));
    WEIR_AUTO_FREE const char **tenants = weir_calloc(crowd->workers, sizeof(*tenants));
    WEIR_AUTO_FREE uint32_t *roles = weir_calloc(crowd->workers, sizeof(*roles));
    const struct msg_keys_set keys = {1,
                                      {publics, crowd->workers},
                                      {names, crowd->workers},
                                      {roles, crowd->workers},
                                      {tenants, crowd->workers}};
    const struct rig_call call = {service, MSG_keys_set, &keys, MSG_keys_noted};
    struct msg_keys_noted noted;

    for (size_t i = 0; i < crowd->workers; i++) {
        publics[i] = crowd->pairs[i].public;
        names[i] = KEY_NAME;
        tenants[i] = "";
        roles[i] = WEIR_ROLE_WORKER;
    }
    return rig_request(crowd->rig, &call, &noted, err);
}

static enum weir_status kill_service(struct pool_crowd *crowd, enum rig_service service,
                                     struct weir_error *err)
{
    if (kill(rig_pid(crowd->rig, service), SIGKILL) != 0)
        return weir_fail(err, WEIR_INTERNAL, "no service is there that could be killed");
    return WEIR_OK;
}

/* Until its supervisor has put another process in the place of `killed`. */
static void await_successor(struct pool_crowd *crowd, enum rig_service service, pid_t killed)
{
    while (rig_pid(crowd->rig, service) == killed || rig_pid(crowd->rig, service) <= 0)
        rig_step(crowd->rig);
}

static enum weir_status restart(struct pool_crowd *crowd, struct weir_error *err)
{
    pid_t killed[WEIR_COUNT(HELD)];
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < WEIR_COUNT(HELD) && status == WEIR_OK; i++) {
        killed[i] = rig_pid(crowd->rig, HELD[i]);
        status = kill_service(crowd, HELD[i], err);
    }
    for (size_t i = 0; i < WEIR_COUNT(HELD) && status == WEIR_OK; i++) {
        await_successor(crowd, HELD[i], killed[i]);
        if (crowd->pairs != NULL)
            status = let_in(crowd, HELD[i], err);
    }
    return status;
}

/* CPU time that the workers have spent. */
static int64_t own_cpu_ns(const struct pool_crowd *crowd)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i <= STRONG; i++)
        sum_ns += crowd->pids[i] > 0 ? rig_process_cpu_ns(crowd->pids[i]) : 0;
    return sum_ns;
}

static double ms_of_worker(const struct pool_crowd *crowd, int64_t ns)
{
    return (double)ns / 1e6 / (double)crowd->workers;
}

/* Reads what the services have spent since they began again. */
static void read_spent(const struct pool_crowd *crowd, struct pool_return *ret_return)
{
    for (size_t i = 0; i < WEIR_COUNT(HELD); i++) {
        double ms = ms_of_worker(crowd, rig_busiest_thread_ns(crowd->rig, HELD[i]));

        if (ret_return->busiest_ms < ms)
            ret_return->busiest_ms = ms;
    }
    ret_return->storage_ms = ms_of_worker(crowd, rig_cpu_ns(crowd->rig, RIG_STORAGE));
    ret_return->dispatcher_ms = ms_of_worker(crowd, rig_cpu_ns(crowd->rig, RIG_DISPATCHER));
}

enum weir_status pool_crowd_return(struct pool_crowd *crowd, struct pool_return *ret_return,
                                   struct weir_error *err)
{
    int64_t begun_ms = weir_now_ms(), own_ns = own_cpu_ns(crowd);
    enum weir_status status = restart(crowd, err);
    int64_t keyed_ms = weir_now_ms();
    struct crowd_report sum = look(crowd);

    while (status == WEIR_OK && (sum.held_ms <= begun_ms || sum.beaten_ms <= begun_ms)) {
        if (weir_now_ms() > begun_ms + RETURN_MS)
            return weir_fail(err, WEIR_TIMEOUT,
                             "of %zu workers one was answered by storage %" PRId64
                             " ms after it was killed, one by the dispatcher %" PRId64 " ms: %s",
                             crowd->workers, sum.held_ms - begun_ms, sum.beaten_ms - begun_ms,
                             crowd->reports[0].words);
        (void)simulated_beat(crowd->jobs, LOOK_MS);
        sum = look(crowd);
    }
    *ret_return = (struct pool_return){
        .seconds = (double)(weir_now_ms() - begun_ms) / 1e3,
        .keyed_seconds = (double)(keyed_ms - begun_ms) / 1e3,
        .crowd_ms = ms_of_worker(crowd, own_cpu_ns(crowd) - own_ns),
    };
    read_spent(crowd, ret_return);
    return status;
}

/* ---- life ---- */

static enum weir_status register_people(struct pool_crowd *crowd, const char *directory,
                                        struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/people", directory);
    WEIR_AUTO_FREE char *path = weir_format("%s/a.jsonl", folder);
    WEIR_AUTO_FREE char *config =
        weir_format("pipeline: {name: people}\n"
                    "datasets:\n"
                    "  - name: people\n"
                    "    source: {path: %s, format: jsonl, import: copy, on_erase: scrub, settle: "
                    "0s}\n"
                    "    time: {from: field, field: ts}\n"
                    "    subject: {field: user}\n",
                    folder);
    WEIR_AUTO_BUF text = {0};
    struct msg_dataset_is dataset;
    enum weir_status status = weir_make_directories(folder, 0755, err);

    for (size_t i = 0; i < LINES; i++)
        weir_buf_printf(&text, "{\"ts\":%zu,\"user\":\"person-%zu\",\"text\":\"%016" PRIx64 "\"}\n",
                        i + 1, i, weir_mix64(i));
    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, weir_buf_view(&text), err);
    if (status == WEIR_OK)
        status = rig_scan(crowd->rig, config, "people", &dataset, err);
    return status;
}

/* Draws a key for each worker, and lets them in. */
static enum weir_status meet_elsewhere(struct pool_crowd *crowd, struct weir_error *err)
{
    enum weir_status status = rig_address(crowd->rig, RIG_STORAGE, &crowd->storage, err);

    if (status == WEIR_OK)
        status = rig_address(crowd->rig, RIG_DISPATCHER, &crowd->dispatcher, err);
    crowd->pairs = weir_calloc(crowd->workers, sizeof(*crowd->pairs));
    for (size_t i = 0; i < crowd->workers && status == WEIR_OK; i++)
        status = weir_pair_draw(&crowd->pairs[i], err);
    for (size_t i = 0; i < WEIR_COUNT(HELD) && status == WEIR_OK; i++)
        status = let_in(crowd, HELD[i], err);
    return status;
}

static enum weir_status meet_here(struct pool_crowd *crowd, struct weir_error *err)
{
    (void)err;
    crowd->storage = weir_service_endpoint(rig_socket_dir(crowd->rig), "storage");
    crowd->dispatcher = weir_service_endpoint(rig_socket_dir(crowd->rig), "dispatcher");
    return WEIR_OK;
}

typedef enum weir_status meet_fn(struct pool_crowd *crowd, struct weir_error *err);

/* Gathers around the platform that `crowd` has started. */
static enum weir_status gather(struct pool_crowd *crowd, const char *directory, meet_fn *meet,
                               struct weir_error *err)
{
    unsigned jobs = (unsigned)(crowd->workers / WORKERS_A_JOB);
    enum weir_status status = register_people(crowd, directory, err);

    if (status == WEIR_OK)
        status = simulated_start(crowd->rig, 0, jobs, &crowd->jobs, err);
    if (status == WEIR_OK)
        status = meet(crowd, err);
    for (size_t i = 0; i < WEIR_COUNT(HELD) && status == WEIR_OK; i++)
        crowd->before_kb[HELD[i]] = process_memory_kb(rig_pid(crowd->rig, HELD[i]), "VmRSS:");
    for (size_t i = 0; i <= STRONG && status == WEIR_OK; i++)
        status = start(crowd, i, err);
    return status == WEIR_OK ? await_all(crowd, err) : status;
}

static struct pool_crowd *new_crowd(size_t workers)
{
    struct pool_crowd *crowd = weir_calloc(1, sizeof(*crowd));
    size_t bytes = (STRONG + 1) * sizeof(*crowd->reports);

    crowd->workers = workers;
    crowd->reports = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    weir_require(crowd->reports != MAP_FAILED);
    return crowd;
}

enum weir_status pool_crowd_gather(const char *directory, size_t workers,
                                   struct pool_crowd **ret_crowd, struct weir_error *err)
{
    WEIR_AUTO(pool_crowd) crowd = new_crowd(workers);
    enum weir_status status = rig_start(directory, 0, &crowd->rig, err);

    if (status == WEIR_OK)
        status = gather(crowd, directory, meet_here, err);
    if (status == WEIR_OK)
        *ret_crowd = WEIR_TAKE(crowd);
    return status;
}

enum weir_status pool_crowd_gather_elsewhere(const char *directory, size_t workers,
                                             struct pool_crowd **ret_crowd, struct weir_error *err)
{
    WEIR_AUTO(pool_crowd) crowd = new_crowd(workers);
    enum weir_status status = rig_start_elsewhere(directory, &crowd->rig, err);

    if (status == WEIR_OK)
        status = gather(crowd, directory, meet_elsewhere, err);
    if (status == WEIR_OK)
        *ret_crowd = WEIR_TAKE(crowd);
    return status;
}

void pool_crowd_disperse(struct pool_crowd *crowd)
{
    if (crowd == NULL)
        return;
    for (size_t i = 0; i <= STRONG; i++)
        end(crowd, i);
    simulated_stop(crowd->jobs);
    rig_stop(crowd->rig);
    (void)munmap(crowd->reports, (STRONG + 1) * sizeof(*crowd->reports));
    free(crowd->pairs);
    free(crowd->storage);
    free(crowd->dispatcher);
    free(crowd);
}
