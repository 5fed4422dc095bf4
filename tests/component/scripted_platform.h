/* Dispatcher, worker, storage and orchestrator as a script, in a thread of their own, over real
 * sockets in a directory: what the client library and the trainer are tested against. One job of
 * `samples` samples, ids 1 to n, two per batch unless said otherwise; label = id % 2; tensors "x"
 * (dense f32: id, label) and "tokens" (ragged i32: id % 5 + 1 tokens, the first one telling the
 * label). Faults are switched on by the functions below, at any time. */
#ifndef WEIR_TESTS_COMPONENT_SCRIPTED_PLATFORM_H
#define WEIR_TESTS_COMPONENT_SCRIPTED_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct platform_script {
    const char *socket_dir;
    uint64_t samples;
    uint32_t epochs;
    uint32_t batch_samples; /* 0: 2 */
    bool relaxed;
    bool shuffles_sending; /* sends each window of batches backwards, every one twice */
    bool is_empty_at;      /* batch 1 is nothing but holes */
    uint32_t all_holes;    /* weir_sample_state of every sample; 0: they are delivered */
    /* For the orchestrator; NULL mode: there is none. */
    const char *mode, *config, *directory, *start_from;
    uint32_t slow_ms; /* from a request for a task to its answer */
};

struct platform;
struct platform *platform_start(const struct platform_script *script);
void platform_stop(struct platform *platform);

/* Messages that the platform has seen. */
struct platform_view {
    uint64_t opens, beats, commits, oldest, delivered, holds;
    uint64_t hold_epoch;   /* named by the newest hold */
    bool final;            /* a final commit came */
    bool done;             /* run_done came */
    bool has_model;        /* of run_done */
    double loss;           /* of run_done */
    uint64_t done_samples; /* of run_done */
};
struct platform_view platform_look(struct platform *platform);

void platform_erase(struct platform *platform, uint64_t id); /* under the next epoch */
void platform_silence_storage(struct platform *platform, bool silent);
/* A rank has returned: a commit is refused, and then beats say so. */
void platform_regroup(struct platform *platform);
void platform_confuse(struct platform *platform); /* a commit is answered with another message */
void platform_supersede(struct platform *platform);
void platform_forget_run(struct platform *platform); /* client_open is refused with NOT_FOUND */
void platform_stop_run(struct platform *platform);   /* run_orders.stop */
/* Sets the run that follows the task; 0, as in the beginning: none. Requests are left unanswered while it is
 * PLATFORM_UNDECIDED. */
static const uint32_t PLATFORM_UNDECIDED = UINT32_MAX;
void platform_set_next(struct platform *platform, uint32_t run);
void platform_pause_worker(struct platform *platform, bool paused);
/* The worker sends no batch from this one on, until it is given another one (UINT64_MAX: all). */
void platform_hold_batches(struct platform *platform, uint64_t batch);

#endif
