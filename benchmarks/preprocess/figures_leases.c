/* Throughput of a dispatcher with one core: leases, and the heartbeats of thousands; and the time it is away when it is
 * killed. Workers and consumers are simulated (simulated.h); the dispatcher, its Postgres and the sockets are real. */
#include "benchmarks/preprocess/bench.h"
#include "benchmarks/preprocess/simulated.h"

#include "core/base/clock.h"

#include <signal.h>

enum {
    LEASES_A_CPU_SECOND = 20000,
    SETTLE_MS = 2000, /* until everybody has what it can have */
    MEASURE_MS = 5000,
    RESTART_MS_MAX = 30000,
    MANY = 10000,
};
static const double CORES_OF_BEATS = 0.3;

struct crowd {
    struct rig *rig;
    struct simulated *simulated;
};

/* On a platform of its own, without real workers. */
static enum weir_status gather(struct preprocess_bench *bench, unsigned workers,
                               struct crowd *crowd, struct weir_error *err)
{
    unsigned jobs = workers < 256 ? (workers + 63) / 64 : workers / 50;
    WEIR_AUTO_FREE char *directory = weir_format("%s/crowd-%u-%llu", bench->directory, workers,
                                                 (unsigned long long)++bench->jobs);
    enum weir_status status = rig_start(directory, 0, &crowd->rig, err);
    if (status == WEIR_OK)
        status = simulated_start(crowd->rig, workers, jobs, &crowd->simulated, err);
    return status;
}

static void disperse(struct crowd *crowd)
{
    simulated_stop(crowd->simulated);
    rig_stop(crowd->rig);
}

static enum weir_status lease(struct preprocess_bench *bench, unsigned workers, double *ret_rate,
                              struct weir_error *err)
{
    struct crowd crowd = {0};
    enum weir_status status = gather(bench, workers, &crowd, err);
    if (status == WEIR_OK) {
        (void)simulated_lease(crowd.simulated, SETTLE_MS);
        int64_t before_ns = rig_cpu_ns(crowd.rig, RIG_DISPATCHER);
        uint64_t leases = simulated_lease(crowd.simulated, MEASURE_MS);
        int64_t spent_ns = rig_cpu_ns(crowd.rig, RIG_DISPATCHER) - before_ns;
        *ret_rate = (double)leases * 1e9 / (double)spent_ns;
    }
    disperse(&crowd);
    return status;
}

enum weir_status leases_one(void *state, double *ret_rate, struct weir_error *err)
{
    return lease(state, 1, ret_rate, err);
}

enum weir_status leases_hundred(void *state, double *ret_rate, struct weir_error *err)
{
    return lease(state, 100, ret_rate, err);
}

enum weir_status leases_many(void *state, double *ret_rate, struct weir_error *err)
{
    return lease(state, MANY, ret_rate, err);
}

enum weir_status leases_wanted(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = LEASES_A_CPU_SECOND;
    return WEIR_OK;
}

enum weir_status beats_many(void *state, double *ret_rate, struct weir_error *err)
{
    struct crowd crowd = {0};
    enum weir_status status = gather(state, MANY, &crowd, err);
    if (status == WEIR_OK) {
        (void)simulated_beat(crowd.simulated, INT64_C(2) * SETTLE_MS);
        int64_t before_ns = rig_cpu_ns(crowd.rig, RIG_DISPATCHER), begun_ns = weir_now_ns();
        uint64_t beats = simulated_beat(crowd.simulated, MEASURE_MS);
        int64_t spent_ns = rig_cpu_ns(crowd.rig, RIG_DISPATCHER) - before_ns;
        *ret_rate = (double)(weir_now_ns() - begun_ns) / (double)spent_ns;
        if (beats < MANY || simulated_leases(crowd.simulated) < MANY)
            status = weir_fail(err, WEIR_INTERNAL,
                               "%llu beats of %d workers with %zu leases: not all were answered",
                               (unsigned long long)beats, MANY, simulated_leases(crowd.simulated));
    }
    disperse(&crowd);
    return status;
}

enum weir_status beats_allowed(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1 / CORES_OF_BEATS;
    return WEIR_OK;
}

/* ---- a restart ---- */

static void on_answer(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    (void)err;
    *(bool *)owner = reply != NULL;
}

/* Until it answers again, or too long. */
static int64_t restart_ms(struct crowd *crowd)
{
    bool is_up = false;
    int64_t begun_ms = weir_now_ms();
    (void)kill(rig_pid(crowd->rig, RIG_DISPATCHER), SIGKILL);
    weir_rpc_call(rig_peer(crowd->rig, RIG_DISPATCHER), MSG_workers_request, NULL, RESTART_MS_MAX,
                  on_answer, &is_up);
    while (!is_up && weir_now_ms() - begun_ms < RESTART_MS_MAX)
        rig_step(crowd->rig);
    return weir_now_ms() - begun_ms;
}

enum weir_status restarts(void *state, double *ret_rate, struct weir_error *err)
{
    struct crowd crowd = {0};
    enum weir_status status = gather(state, 1, &crowd, err);
    if (status == WEIR_OK) {
        (void)simulated_lease(crowd.simulated, SETTLE_MS);
        *ret_rate = 1e3 / (double)restart_ms(&crowd);
        if (simulated_lease(crowd.simulated, MEASURE_MS) == 0)
            status = weir_fail(err, WEIR_INTERNAL, "nothing is leased after a restart");
    }
    disperse(&crowd);
    return status;
}

enum weir_status restarts_wanted(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state, (void)err;
    *ret_rate = 1;
    return WEIR_OK;
}
