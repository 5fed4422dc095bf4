/* A training loop of one rank, as a process of its own. It steps together with the others (like a
 * collective operation, a step is over when all have taken theirs), saves its state every few steps,
 * keeps two, and begins again when told to. What its model was made of is part of the state. */
#ifndef WEIR_TESTS_COMPONENT_RANKS_LOOP_H
#define WEIR_TESTS_COMPONENT_RANKS_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RANKS_MAX = 3,
    RANKS_BATCH = 17, /* divisible by neither 2 nor 3; 600 samples: 36 batches, the last one of 5 */
    RANKS_STEPS_MAX = 80,
    RANKS_SAVE_EVERY = 5,
};

struct ranks_step {
    uint64_t number; /* of the batch */
    uint64_t samples;
    uint64_t global_samples; /* as the batch says */
    double weight, global_weight;
    uint64_t ids[RANKS_BATCH];
};

struct ranks_history {
    uint64_t steps;
    struct ranks_step step[RANKS_STEPS_MAX];
};

struct ranks_state {
    bool is_valid;
    size_t size;
    uint8_t position[4096];
    struct ranks_history history;
};

/* A file that all processes of a run have mapped: it outlives kill -9. */
struct ranks_disk {
    struct ranks_rank {
        struct ranks_state state[2];
        struct ranks_history result; /* what the final model was made of */
        uint64_t steps;              /* taken: what the others wait for */
    } rank[RANKS_MAX];
};

/* Maps the file at `path`, of the right size already. */
struct ranks_disk *ranks_map(const char *path);
/* The whole life of a loop; returns its exit code. */
int ranks_loop(const char *socket_dir, const char *disk, uint32_t rank, uint32_t ranks);

#endif
