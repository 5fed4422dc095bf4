/* inotify: see watch.h. */
#include "storage/scanning/watch.h"

#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <unistd.h>

enum { EVENT_BYTES = 64 << 10 };
static const uint32_t EVENTS = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE |
                               IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |
                               IN_ONLYDIR;

/* A folder of a dataset. Two datasets may share it: the kernel has one watch for both. */
struct watched {
    SLIST_ENTRY(watched) link;
    uint32_t dataset;
    char *folder;
};

SLIST_HEAD(watched_list, watched);

struct watch {
    struct weir_loop *loop;
    storage_changed_fn *changed;
    void *owner;
    int fd;
    struct watched_list *by_wd; /* by watch descriptor, which the kernel counts up from 1 */
    size_t capacity;
    bool is_limit_reported;
};

static void forget(struct watched_list *list, struct watched *watched)
{
    SLIST_REMOVE(list, watched, watched, link);
    free(watched->folder);
    free(watched);
}

static void forget_all(struct watch *watch, size_t wd)
{
    while (!SLIST_EMPTY(&watch->by_wd[wd]))
        forget(&watch->by_wd[wd], SLIST_FIRST(&watch->by_wd[wd]));
}

/* ---- events ---- */

static bool lies_in(const char *folder, const char *above)
{
    size_t size = strlen(above);

    return strncmp(folder, above, size) == 0 && (folder[size] == '\0' || folder[size] == '/');
}

/* A folder that was moved away would tell of its files under the old name. Where it has come to, the next
 * scan watches it again. */
static void forget_below(struct watch *watch, uint32_t dataset, const char *path)
{
    for (size_t wd = 0; wd < watch->capacity; wd++) {
        struct watched *watched = SLIST_FIRST(&watch->by_wd[wd]), *next;
        bool was_watched = watched != NULL;

        for (; watched != NULL; watched = next) {
            next = SLIST_NEXT(watched, link);
            if (watched->dataset == dataset && lies_in(watched->folder, path))
                forget(&watch->by_wd[wd], watched);
        }
        if (was_watched && SLIST_EMPTY(&watch->by_wd[wd]))
            inotify_rm_watch(watch->fd, (int)wd);
    }
}

static void tell(struct watch *watch, const struct watched *watched,
                 const struct inotify_event *event)
{
    WEIR_AUTO_FREE char *path = NULL;
    uint32_t dataset = watched->dataset;

    if (event->len == 0) { /* of the folder itself: its parent tells, unless it is the source */
        if (*watched->folder == '\0')
            watch->changed(watch->owner, dataset, NULL);
        return;
    }
    if (event->name[0] == '.')
        return;
    path = weir_format("%s%s%s", watched->folder, *watched->folder ? "/" : "", event->name);
    if ((event->mask & IN_MOVED_FROM) && (event->mask & IN_ISDIR))
        forget_below(watch, dataset, path); /* `watched` itself is not below it */
    watch->changed(watch->owner, dataset, path);
}

static void note(struct watch *watch, const struct inotify_event *event)
{
    struct watched *next;

    if (event->mask & IN_Q_OVERFLOW)
        watch->changed(watch->owner, 0, NULL);
    if (event->wd < 0 || (size_t)event->wd >= watch->capacity)
        return;
    for (struct watched *watched = SLIST_FIRST(&watch->by_wd[event->wd]); watched != NULL;
         watched = next) {
        next = SLIST_NEXT(watched, link);
        if (!(event->mask & IN_IGNORED))
            tell(watch, watched, event);
    }
    if (event->mask & IN_IGNORED)
        forget_all(watch, (size_t)event->wd);
}

static void on_events(void *owner)
{
    struct watch *watch = owner;
    _Alignas(struct inotify_event) char buffer[EVENT_BYTES];
    ssize_t size = read(watch->fd, buffer, sizeof(buffer));

    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const void *)(buffer + at);

        note(watch, event);
        at += (ssize_t)(sizeof(*event) + event->len);
    }
    explicit_bzero(buffer, sizeof(buffer)); /* names of files may be people's */
}

/* ---- life ---- */

struct watch *storage_watch_new(struct weir_loop *loop, storage_changed_fn *changed, void *owner)
{
    struct watch *watch = weir_calloc(1, sizeof(*watch));

    watch->loop = loop;
    watch->changed = changed;
    watch->owner = owner;
    watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch->fd >= 0)
        weir_loop_watch_fd(loop, watch->fd, POLLIN, on_events, watch);
    return watch;
}

void storage_watch_free(struct watch *watch)
{
    if (watch == NULL)
        return;
    if (watch->fd >= 0) {
        weir_loop_unwatch_fd(watch->loop, watch->fd);
        close(watch->fd);
    }
    for (size_t wd = 0; wd < watch->capacity; wd++)
        forget_all(watch, wd);
    free(watch->by_wd);
    free(watch);
}

/* ---- folders ---- */

static void make_room(struct watch *watch, size_t wd)
{
    size_t capacity = 2 * wd + 64;

    if (wd < watch->capacity)
        return;
    watch->by_wd = weir_realloc(watch->by_wd, capacity, sizeof(*watch->by_wd));
    memset(watch->by_wd + watch->capacity, 0,
           (capacity - watch->capacity) * sizeof(*watch->by_wd)); /* empty lists */
    watch->capacity = capacity;
}

/* One folder of a dataset has one name: the newest. */
static void put(struct watch *watch, size_t wd, uint32_t dataset, const char *folder)
{
    struct watched *watched;

    make_room(watch, wd);
    watched = SLIST_FIRST(&watch->by_wd[wd]);
    while (watched != NULL && watched->dataset != dataset)
        watched = SLIST_NEXT(watched, link);
    if (watched != NULL && strcmp(watched->folder, folder) == 0)
        return;
    if (watched == NULL) {
        watched = weir_calloc(1, sizeof(*watched));
        watched->dataset = dataset;
        SLIST_INSERT_HEAD(&watch->by_wd[wd], watched, link);
    }
    free(watched->folder);
    watched->folder = weir_strdup(folder);
}

/* By descriptor: what is watched is the folder that is walked, whatever its name leads to by now. */
static int add(const struct watch *watch, int fd)
{
    char link[32];

    if (watch->fd < 0)
        return -1;
    if (weir_fault("storage.watch.folder")) {
        errno = ENOSPC;
        return -1;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return inotify_add_watch(watch->fd, link, EVENTS);
}

bool storage_watch_folder(struct watch *watch, uint32_t dataset, const char *folder, int fd)
{
    int wd = add(watch, fd);

    if (wd >= 0) {
        put(watch, (size_t)wd, dataset, folder);
        return true;
    }
    if (!watch->is_limit_reported)
        weir_log(WEIR_LOG_WARN, "folders cannot be watched, they are left to rescans",
                 "error=\"%s\"", watch->fd < 0 ? "no inotify" : strerror(errno));
    watch->is_limit_reported = true;
    return false;
}
