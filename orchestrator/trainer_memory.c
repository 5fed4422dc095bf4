/* A list of processes with bounds. */
#include "orchestrator/trainer_memory.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/processes/resident.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LOOK_MS = 500, MIB = 1 << 20 };

struct bounded {
    int64_t run;
    uint32_t rank;
    pid_t pid;
    uint64_t bytes_max;
    char *program;
    char *why; /* it was ended; NULL: it was not */
};

struct trainer_memory {
    struct weir_loop *loop;
    void (*end)(void *owner, int64_t run, uint32_t rank);
    void *owner;
    struct bounded *of;
    size_t count, capacity;
    uint64_t timer;
};

static void look_at(const struct trainer_memory *memory, struct bounded *bounded)
{
    uint64_t bytes = orchestrator_resident_bytes(bounded->pid);

    if (bytes <= bounded->bytes_max)
        return;
    bounded->why =
        weir_format("it held %.1f MiB of memory, %.1f MiB are allowed "
                    "(programs.%s.memory of the system file)",
                    (double)bytes / MIB, (double)bounded->bytes_max / MIB, bounded->program);
    weir_log(WEIR_LOG_WARN, "trainer is ended", "run=%" PRId64 " rank=%u because=\"%s\"",
             bounded->run, bounded->rank, bounded->why);
    memory->end(memory->owner, bounded->run, bounded->rank);
}

static void look(void *owner)
{
    const struct trainer_memory *memory = owner;

    for (size_t i = 0; i < memory->count; i++)
        if (memory->of[i].why == NULL)
            look_at(memory, &memory->of[i]);
}

struct trainer_memory *orchestrator_trainer_memory_new(
    struct weir_loop *loop, void (*end)(void *owner, int64_t run, uint32_t rank), void *owner)
{
    struct trainer_memory *memory = weir_calloc(1, sizeof(*memory));

    *memory = (struct trainer_memory){.loop = loop, .end = end, .owner = owner};
    memory->timer = weir_loop_timer(loop, LOOK_MS, LOOK_MS, look, memory);
    return memory;
}

void orchestrator_trainer_memory_free(struct trainer_memory *memory)
{
    if (memory == NULL)
        return;
    weir_loop_cancel(memory->loop, memory->timer);
    for (size_t i = 0; i < memory->count; i++) {
        free(memory->of[i].program);
        free(memory->of[i].why);
    }
    free(memory->of);
    free(memory);
}

void orchestrator_trainer_memory_begin(struct trainer_memory *memory, int64_t run, uint32_t rank,
                                       pid_t pid, uint64_t bytes_max, const char *program)
{
    memory->of = weir_grow(memory->of, memory->count, &memory->capacity, sizeof(*memory->of));
    memory->of[memory->count++] = (struct bounded){.run = run,
                                                   .rank = rank,
                                                   .pid = pid,
                                                   .bytes_max = bytes_max,
                                                   .program = weir_strdup(program)};
}

void orchestrator_trainer_memory_pass(struct trainer_memory *memory, int64_t before, int64_t run)
{
    for (size_t i = 0; i < memory->count; i++)
        if (memory->of[i].run == before)
            memory->of[i].run = run;
}

char *orchestrator_trainer_memory_end(struct trainer_memory *memory, int64_t run, uint32_t rank)
{
    for (size_t i = 0; i < memory->count; i++) {
        if (memory->of[i].run != run || memory->of[i].rank != rank)
            continue;
        char *why = memory->of[i].why;
        free(memory->of[i].program);
        memory->of[i] = memory->of[--memory->count];
        return why;
    }
    return NULL;
}
