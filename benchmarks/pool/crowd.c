/* A crowd of processes around a platform: see crowd.h. */
#include "benchmarks/pool/crowd.h"

#include "benchmarks/preprocess/simulated.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "tests/support/crowd.h"

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
    IN_FORCE_MS = 60000,
    POLL_MS = 5,
};

struct pool_crowd {
    struct rig *rig;
    struct simulated *jobs; /* and their consumers */
    char *storage, *dispatcher;
    size_t workers;
    pid_t pids[STRONG + 1];       /* the last is frail; 0: it is not there */
    struct crowd_report *reports; /* of each, which writes it */
    uint64_t dataset, erased;     /* lines */
};

/* ---- processes ---- */

static size_t share_of(const struct pool_crowd *crowd, size_t process)
{
    size_t frail = crowd->workers / FRAIL_OF, strong = crowd->workers - frail;

    if (process == STRONG)
        return frail;
    return strong * (process + 1) / STRONG - strong * process / STRONG;
}

/* The life of a process: until it is killed, or its parent is gone. */
static void live(const struct pool_crowd *gathered, size_t process)
{
    WEIR_AUTO_FREE char *name = weir_format("crowd-%zu-%d", process, (int)getpid());
    const struct crowd_plan plan = {.storage = gathered->storage,
                                    .dispatcher = gathered->dispatcher,
                                    .name = name,
                                    .count = share_of(gathered, process)};
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
    struct crowd_report sum = {0};

    for (size_t i = 0; i <= STRONG; i++) {
        const struct crowd_report *report = &crowd->reports[i];

        sum.holding += report->holding;
        sum.beating += report->beating;
        sum.holds += report->holds;
        sum.beats += report->beats;
        sum.lapses += report->lapses;
        sum.refused += report->refused;
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

enum weir_status pool_crowd_gather(const char *directory, size_t workers,
                                   struct pool_crowd **ret_crowd, struct weir_error *err)
{
    WEIR_AUTO(pool_crowd) crowd = weir_calloc(1, sizeof(*crowd));
    size_t bytes = (STRONG + 1) * sizeof(*crowd->reports);
    enum weir_status status = rig_start(directory, 0, &crowd->rig, err);

    crowd->workers = workers;
    crowd->reports = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    weir_require(crowd->reports != MAP_FAILED);
    if (status == WEIR_OK)
        status = register_people(crowd, directory, err);
    if (status == WEIR_OK)
        status =
            simulated_start(crowd->rig, 0, (unsigned)(workers / WORKERS_A_JOB), &crowd->jobs, err);
    if (status != WEIR_OK)
        return status;
    crowd->storage = weir_service_endpoint(rig_socket_dir(crowd->rig), "storage");
    crowd->dispatcher = weir_service_endpoint(rig_socket_dir(crowd->rig), "dispatcher");
    for (size_t i = 0; i <= STRONG && status == WEIR_OK; i++)
        status = start(crowd, i, err);
    if (status == WEIR_OK)
        status = await_all(crowd, err);
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
    free(crowd->storage);
    free(crowd->dispatcher);
    free(crowd);
}
