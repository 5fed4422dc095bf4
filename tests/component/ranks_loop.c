/* A training loop of one rank: see the header. */
#include "tests/component/ranks_loop.h"
#include "tests/support/consume.h"

#include "core/base/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <weir/client.h>

enum { WAIT_MS = 60000 };

struct loop {
    const char *socket_dir;
    struct ranks_disk *disk;
    uint32_t rank, ranks;
    struct weir_client *client;
    struct ranks_history history;
};

struct ranks_disk *ranks_map(const char *path)
{
    int file = open(path, O_RDWR);
    weir_require(file >= 0);
    void *at = mmap(NULL, sizeof(struct ranks_disk), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    weir_require(at != MAP_FAILED);
    close(file);
    return at;
}

static struct ranks_rank *mine(const struct loop *loop)
{
    return &loop->disk->rank[loop->rank];
}

/* The newest state of at most so many batches; NULL: the beginning. */
static struct ranks_state *newest(const struct loop *loop, uint64_t most)
{
    struct ranks_state *best = NULL;
    for (size_t i = 0; i < 2; i++) {
        struct ranks_state *state = &mine(loop)->state[i];
        if (!state->is_valid || weir_client_state_batches(state->position, state->size) > most)
            continue;
        if (best == NULL || state->history.steps > best->history.steps)
            best = state;
    }
    return best;
}

static void tell_steps(const struct loop *loop)
{
    __atomic_store_n(&mine(loop)->steps, loop->history.steps, __ATOMIC_SEQ_CST);
}

static enum weir_client_status open_from(struct loop *loop, const struct ranks_state *state,
                                         struct weir_client_error *error)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    options.run = 1;
    options.socket_dir = loop->socket_dir;
    options.rank = loop->rank;
    options.ranks = loop->ranks;
    loop->history.steps = 0;
    if (state != NULL) {
        options.state = state->position;
        options.state_size = state->size;
        loop->history = state->history;
    }
    tell_steps(loop);
    return weir_client_open(&options, &loop->client, error);
}

/* Opens with the newest state that the other ranks can have as well. */
static enum weir_client_status open_client(struct loop *loop, struct weir_client_error *error)
{
    enum weir_client_status status = open_from(loop, newest(loop, UINT64_MAX), error);
    while (status == WEIR_CLIENT_RESTART)
        status = open_from(loop, newest(loop, error->batches), error);
    return status;
}

static enum weir_client_status save(struct loop *loop, bool final, struct weir_client_error *error)
{
    const void *position;
    size_t size;
    struct ranks_state *kept = newest(loop, UINT64_MAX);
    struct ranks_state *state = &mine(loop)->state[kept == &mine(loop)->state[0]];
    (void)weir_client_state(loop->client, &position, &size, NULL);
    state->is_valid = false;
    memcpy(state->position, position, size);
    state->size = size;
    state->history = loop->history;
    state->is_valid = true;
    return weir_client_commit(loop->client, position, size, final, WAIT_MS, error);
}

/* Waits for the other ranks, unless they will not come: the group begins again then. */
static void step_together(struct loop *loop)
{
    tell_steps(loop);
    for (uint32_t i = 0; i < loop->ranks; i++) {
        while (__atomic_load_n(&loop->disk->rank[i].steps, __ATOMIC_SEQ_CST) <
                   loop->history.steps &&
               !weir_client_restarting(loop->client))
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

static void note(struct loop *loop, const struct weir_batch *batch)
{
    struct ranks_step *step = &loop->history.step[loop->history.steps++];
    weir_require(batch->samples <= RANKS_BATCH);
    step->number = batch->number;
    step->samples = batch->samples;
    step->global_samples = batch->global_samples;
    step->global_weight = batch->global_weight;
    step->weight = 0.0;
    for (size_t i = 0; i < batch->samples; i++) {
        step->ids[i] = batch->ids[i];
        step->weight += (double)batch->weights[i];
    }
}

/* Until the end of the run, or what ended this opening. */
static enum weir_client_status train(struct loop *loop, struct weir_client_error *error)
{
    struct weir_batch *batch;
    enum weir_client_status status;
    while ((status = weir_client_next(loop->client, WAIT_MS, &batch, error)) == WEIR_CLIENT_OK) {
        note(loop, batch);
        consume_batch(loop->client, batch);
        step_together(loop);
        if (loop->history.steps % RANKS_SAVE_EVERY == 0)
            status = save(loop, false, error);
        if (status != WEIR_CLIENT_OK)
            return status;
    }
    if (status == WEIR_CLIENT_END)
        status = save(loop, true, error);
    return status;
}

int ranks_loop(const char *socket_dir, const char *disk, uint32_t rank, uint32_t ranks)
{
    struct loop loop = {
        .socket_dir = socket_dir, .disk = ranks_map(disk), .rank = rank, .ranks = ranks};
    struct weir_client_error error = {0};
    enum weir_client_status status = WEIR_CLIENT_RESTART;
    while (status == WEIR_CLIENT_RESTART) {
        status = open_client(&loop, &error);
        if (status == WEIR_CLIENT_OK)
            status = train(&loop, &error);
        weir_client_close(loop.client);
        loop.client = NULL;
    }
    if (status != WEIR_CLIENT_OK)
        fprintf(stderr, "rank %u: %s\n", rank, error.text);
    mine(&loop)->result = loop.history;
    munmap(loop.disk, sizeof(*loop.disk));
    return status == WEIR_CLIENT_OK ? 0 : 1;
}
