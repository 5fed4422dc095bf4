/* Samples that crash the process which reads them. */
#include "preprocess/worker/crashes.h"

#include "core/base/attributes.h"
#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/full_disk.h"
#include "core/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 32, HANDLER_STACK_BYTES = 64 << 10, VMSTAT_BYTES_MAX = 64 << 10 };
static const uint64_t MAGIC = 0x3153485243524957; /* "WIRCRHS1" */

struct slot {
    char name[NAME_BYTES];
    uint64_t job;
    uint64_t id; /* 0: at work on none */
    int32_t signal;
    uint32_t oom_kills; /* of the kernel when the process started, plus 1; 0: not known */
};

struct crash {
    uint64_t job, id;
    uint32_t deaths;
    int32_t signal;
};

/* The file. Written under flock() when a worker starts; its own slot by each worker at any time. */
struct crash_file {
    uint64_t magic;
    atomic_uint_least64_t count; /* crashes ever listed: the newest are at count % CRASHES_LISTED */
    struct slot slots[CRASHES_SLOTS];
    struct crash crashes[CRASHES_LISTED];
};

struct crashes {
    struct crash_file *file;
    struct slot *slot;
    void *stack;
};

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
static struct slot *volatile dying; /* the slot of this process */
static struct sigaction before[WEIR_COUNT(SIGNALS)];

/* ---- dying ---- */

/* Marks the slot, and lets the signal do what it would have done, on return. */
static void on_signal(int number)
{
    if (dying != NULL && dying->id != 0)
        dying->signal = number;
    for (size_t i = 0; i < WEIR_COUNT(SIGNALS); i++)
        sigaction(SIGNALS[i], &before[i], NULL);
    raise(number);
}

static void watch_signals(struct crashes *crashes)
{
    crashes->stack = weir_calloc(1, HANDLER_STACK_BYTES); /* a stack may be what ran out */
    const stack_t stack = {.ss_sp = crashes->stack, .ss_size = HANDLER_STACK_BYTES};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    dying = crashes->slot;
    for (size_t i = 0; i < WEIR_COUNT(SIGNALS); i++)
        sigaction(SIGNALS[i], &action, &before[i]);
}

/* ---- counting ---- */

static size_t listed(const struct crash_file *file)
{
    uint64_t count = atomic_load(&file->count);
    return count < CRASHES_LISTED ? (size_t)count : CRASHES_LISTED;
}

static const struct crash *find(const struct crash_file *file, uint64_t job, uint64_t id)
{
    for (size_t i = 0, count = listed(file); i < count; i++) {
        if (file->crashes[i].id == id && file->crashes[i].job == job)
            return &file->crashes[i];
    }
    return NULL;
}

/* SIGKILL leaves no mark. That the kernel sent it is known by its count; that it did so to this very process is
 * likely enough: one such death alone has no consequence. */
static int signal_of(const struct slot *slot, uint64_t oom_kills)
{
    bool kernel_killed = slot->oom_kills != 0 && slot->oom_kills - 1 < (uint32_t)oom_kills;
    return slot->signal == 0 && slot->id != 0 && kernel_killed ? SIGKILL : slot->signal;
}

static void count_death(struct crash_file *file, const struct slot *slot, uint64_t oom_kills)
{
    int signal = signal_of(slot, oom_kills);
    if (signal == 0)
        return;
    const struct crash *known = find(file, slot->job, slot->id);
    uint64_t count = atomic_load(&file->count);
    size_t at = known != NULL ? (size_t)(known - file->crashes) : count % CRASHES_LISTED;
    file->crashes[at] = (struct crash){.job = slot->job,
                                       .id = slot->id,
                                       .deaths = known != NULL ? known->deaths + 1 : 1,
                                       .signal = signal};
    if (known == NULL)
        atomic_store(&file->count, count + 1);
}

/* Its own slot, or a free one; NULL when all belong to others. */
static struct slot *slot_of(struct crash_file *file, const char *name)
{
    struct slot *free_slot = NULL;
    for (size_t i = CRASHES_SLOTS; i-- > 0;) {
        struct slot *slot = &file->slots[i];
        if (strncmp(slot->name, name, NAME_BYTES - 1) == 0)
            return slot;
        free_slot = slot->name[0] == '\0' ? slot : free_slot;
    }
    return free_slot;
}

static enum weir_status take_slot(struct crashes *crashes, const char *path, const char *name,
                                  uint64_t oom_kills, struct weir_error *err)
{
    struct crash_file *file = crashes->file;
    if (file->magic != 0 && file->magic != MAGIC)
        return weir_fail(err, WEIR_CORRUPT, "%s: it is no list of crashes: remove it", path);
    file->magic = MAGIC;
    crashes->slot = slot_of(file, name);
    if (crashes->slot == NULL)
        return weir_fail(err, WEIR_LIMIT, "%s: found %d other workers, expected fewer", path,
                         CRASHES_SLOTS);
    count_death(file, crashes->slot, oom_kills);
    *crashes->slot = (struct slot){.oom_kills = (uint32_t)oom_kills + 1};
    strncpy(crashes->slot->name, name, NAME_BYTES - 1);
    return WEIR_OK;
}

/* ---- opening ---- */

/* LIMIT: there is no room for it. */
static enum weir_status fail_for(int reason, const char *path, struct weir_error *err)
{
    bool is_full = weir_disk_is_full(reason) || reason == EFBIG || reason == EROFS;
    return weir_fail(err, is_full ? WEIR_LIMIT : WEIR_IO, "%s: %s", path, strerror(reason));
}

/* Writing to a page without room after it would kill the process. */
static enum weir_status reserve(int fd, const char *path, struct weir_error *err)
{
    int failed =
        weir_fault("crashes.reserve") ? ENOSPC : posix_fallocate(fd, 0, sizeof(struct crash_file));
    return failed == 0 ? WEIR_OK : fail_for(failed, path, err);
}

static enum weir_status map(int fd, const char *path, struct crashes *crashes,
                            struct weir_error *err)
{
    void *at = MAP_FAILED;
    struct stat about;
    bool is_sized = fstat(fd, &about) == 0 &&
                    (about.st_size == sizeof(struct crash_file) || about.st_size == 0);
    enum weir_status status = is_sized ? reserve(fd, path, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    if (is_sized)
        at = mmap(NULL, sizeof(struct crash_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return weir_fail(err, WEIR_IO, "%s: %s", path,
                         is_sized ? strerror(errno) : "it is of another size: remove it");
    crashes->file = at;
    return WEIR_OK;
}

uint64_t preprocess_crashes_oom_kills_in(const char *vmstat)
{
    static const char NAME[] = "\noom_kill ";
    const char *found = strstr(vmstat, NAME);
    return found == NULL ? 0 : strtoull(found + strlen(NAME), NULL, 10);
}

uint64_t preprocess_crashes_oom_kills(void)
{
    WEIR_AUTO_BUF text = {0};
    if (weir_file_read("/proc/vmstat", VMSTAT_BYTES_MAX, &text, NULL) != WEIR_OK)
        return 0;
    return preprocess_crashes_oom_kills_in(weir_buf_text(&text));
}

enum weir_status preprocess_crashes_open(const char *path, const char *name, uint64_t oom_kills,
                                         struct crashes **ret_crashes, struct weir_error *err)
{
    struct crashes *crashes = weir_calloc(1, sizeof(*crashes));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    enum weir_status status = WEIR_OK;
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        status = fail_for(errno, path, err);
    if (status == WEIR_OK)
        status = map(fd, path, crashes, err);
    if (status == WEIR_OK)
        status = take_slot(crashes, path, name, oom_kills, err);
    if (fd >= 0) {
        flock(fd, LOCK_UN); /* the mapping would keep the lock */
        close(fd);
    }
    if (status != WEIR_OK) {
        preprocess_crashes_close(crashes);
        return status;
    }
    watch_signals(crashes);
    *ret_crashes = crashes;
    return WEIR_OK;
}

void preprocess_crashes_close(struct crashes *crashes)
{
    if (crashes == NULL)
        return;
    if (crashes->stack != NULL) {
        for (size_t i = 0; i < WEIR_COUNT(SIGNALS); i++)
            sigaction(SIGNALS[i], &before[i], NULL);
        sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    }
    dying = NULL;
    if (crashes->file != NULL)
        munmap(crashes->file, sizeof(*crashes->file));
    free(crashes->stack);
    free(crashes);
}

volatile uint64_t *preprocess_crashes_watch(struct crashes *crashes, uint64_t job)
{
    crashes->slot->job = job;
    return &crashes->slot->id;
}

bool preprocess_crashes_any(const struct crashes *crashes)
{
    return listed(crashes->file) > 0;
}

bool preprocess_crashes_is_given_up(const struct crashes *crashes, uint64_t job, uint64_t id,
                                    int *ret_signal)
{
    const struct crash *crash = find(crashes->file, job, id);
    if (crash == NULL || crash->deaths < CRASHES_MAX)
        return false;
    *ret_signal = crash->signal;
    return true;
}
