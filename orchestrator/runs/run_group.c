/* The processes of a run: started as one, heard one by one, and answered together at the end. */
#include "orchestrator/runs/run_state.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/processes/loopback_port.h"
#include "orchestrator/runs/run_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A model is only used by one process: its outputs are one file, and there is nothing to agree on. */
uint32_t orchestrator_run_ranks(const struct run *run)
{
    return strcmp(run->mode, "train") == 0 ? (uint32_t)run->outline.config->ranks : 1;
}

/* ---- start ---- */

/* The slots of one rank: equally many for each, the lowest for rank 0. */
static uint64_t gpus_of(uint64_t gpus, uint32_t rank, uint32_t ranks)
{
    unsigned share = (unsigned)__builtin_popcountll(gpus) / ranks;
    uint64_t own = 0;

    for (unsigned i = 0; gpus != 0; i++) {
        uint64_t lowest = gpus & (~gpus + 1);
        if (i / share == rank)
            own |= lowest;
        gpus &= ~lowest;
    }
    return own;
}

static enum weir_status meet(struct run *run, uint32_t ranks, uint16_t *ret_port,
                             struct weir_error *err)
{
    orchestrator_run_part(run);
    *ret_port = 0;
    return ranks == 1 ? WEIR_OK : orchestrator_loopback_port_hold(&run->port_holder, ret_port, err);
}

void orchestrator_run_part(struct run *run)
{
    if (run->port_holder >= 0)
        (void)close(run->port_holder);
    run->port_holder = -1;
}

static void begin(struct run *run, uint32_t ranks)
{
    struct runs *runs = run->runs;

    runs->trainers_alive += ranks;
    for (uint32_t rank = 0; rank < ranks; rank++)
        orchestrator_run_watch_begin(runs->watch, run->number, rank,
                                     run->outline.config->patience_ms);
    run->followed = 0;
    run->is_unheard = false;
    orchestrator_group_begin(&run->group, ranks);
    orchestrator_warm_launched(run->runs->warm, run);
}

void orchestrator_run_given(struct run *run, uint64_t session, uint64_t key)
{
    orchestrator_group_begin(&run->group, 1);
    run->group.members[0].session = session;
    run->group.members[0].key = key;
    run->is_unheard = true;
    orchestrator_run_watch_given(run->runs->watch, run->number, run->outline.config->patience_ms);
}

enum weir_status orchestrator_run_launch(struct run *run, struct weir_error *err)
{
    const struct runs *runs = run->runs;
    const struct orchestrator_trainer trainer = orchestrator_run_trainer(run);
    struct orchestrator_trainer trainers[CFG_RANKS_MAX];
    uint16_t port = 0;

    if (orchestrator_run_watch_has(runs->watch, run->number))
        return weir_fail(err, WEIR_EXISTS, "run %" PRId64 ": a trainer is just ending",
                         run->number);
    enum weir_status status = weir_make_directories(run->directory, 0700, err);
    if (status == WEIR_OK)
        status = meet(run, trainer.ranks, &port, err);
    for (uint32_t rank = 0; rank < trainer.ranks; rank++) {
        trainers[rank] = trainer;
        trainers[rank].rank = rank;
        trainers[rank].port = port;
        trainers[rank].gpus = gpus_of(trainer.gpus, rank, trainer.ranks);
    }
    if (status == WEIR_OK)
        status = runs->trainers.start(runs->trainers.owner, trainers, err);
    if (status == WEIR_OK)
        begin(run, trainer.ranks);
    return status;
}

/* ---- end ---- */

void orchestrator_run_outcome_clear(struct run_outcome *outcome)
{
    free(outcome->model);
    free(outcome->outputs);
    free(outcome->metrics);
    weir_buf_fini(&outcome->fitted);
    *outcome = (struct run_outcome){.server = NULL};
}

/* A run that only uses a model has its fitted state, which stays with the model alone. */
static enum weir_status record(struct run *run, struct weir_error *err)
{
    const struct group_member sum = orchestrator_group_sum(&run->group);
    const struct run_outcome *outcome = &run->outcome;
    bool learns = strcmp(run->mode, "train") == 0;
    const struct weir_asked trained = DB_ASKED(
        Q_run_trained, DB_I64(run->number), DB_I64(sum.samples), DB_F64(outcome->loss),
        DB_I64(sum.busy_ns), DB_I64(sum.wait_ns), DB_I64(sum.cpu_ns), DB_TEXT(outcome->model),
        DB_TEXT(outcome->outputs),
        DB_BYTES(learns ? weir_buf_view(&outcome->fitted) : weir_bytes_of("")),
        outcome->first_us > 0 ? DB_I64(outcome->first_us) : DB_NULL,
        DB_I64(orchestrator_run_bill_ns(run->runs, run->number)), DB_TEXT(outcome->metrics));
    return orchestrator_run_change(run, trained, err);
}

static void answer_all(struct run *run, const struct weir_error *refusal)
{
    struct weir_rpc_server *server = run->outcome.server;

    for (uint32_t i = 0; i < run->group.ranks; i++) {
        struct group_member *member = &run->group.members[i];
        if (!member->is_done)
            continue;
        if (refusal == NULL)
            weir_rpc_reply(server, &member->route, MSG_run_noted, NULL, NULL);
        else
            weir_rpc_refuse(server, &member->route, refusal);
        member->is_done = refusal == NULL;
    }
}

void orchestrator_run_settle(struct run *run)
{
    struct weir_error err;

    if (run->trained || !orchestrator_group_is_done(&run->group))
        return;
    enum weir_status status = record(run, &err);
    if (status == WEIR_OK) {
        run->trained = true;
        orchestrator_arbiter_settle(run->runs->arbiter, run->number);
        orchestrator_run_part(run);
        orchestrator_run_keep_digests(run);
        orchestrator_warm_finished(run->runs->warm, run);
        orchestrator_run_watch_leaves(run->runs->watch, run->number);
    }
    answer_all(run, status == WEIR_OK ? NULL : &err);
    orchestrator_run_outcome_clear(&run->outcome);
    if (run->trained)
        orchestrator_run_audit(run);
}
