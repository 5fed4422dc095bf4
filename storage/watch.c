/* inotify: see watch.h. */
#include "storage/watch.h"

#include "core/base/memory.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { EVENT_BYTES = 64 << 10 };
static const uint32_t EVENTS = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE |
                               IN_MODIFY | IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR;

struct watch {
    struct weir_loop *loop;
    storage_changed_fn *changed;
    void *owner;
    int fd;
    uint32_t *datasets; /* by watch descriptor, which the kernel counts up from 1 */
    size_t capacity;
};

static void note(struct watch *watch, const struct inotify_event *event, uint32_t *last)
{
    uint32_t dataset;

    if (event->wd < 0 || (size_t)event->wd >= watch->capacity)
        return;
    dataset = watch->datasets[event->wd];
    if (event->mask & IN_IGNORED)
        watch->datasets[event->wd] = 0;
    if (dataset == 0 || dataset == *last)
        return;
    *last = dataset;
    watch->changed(watch->owner, dataset);
}

static void on_events(void *owner)
{
    struct watch *watch = owner;
    _Alignas(struct inotify_event) char buffer[EVENT_BYTES];
    ssize_t size = read(watch->fd, buffer, sizeof buffer);
    uint32_t last = 0;

    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const void *)(buffer + at);

        note(watch, event, &last);
        at += (ssize_t)(sizeof *event + event->len);
    }
}

struct watch *storage_watch_new(struct weir_loop *loop, storage_changed_fn *changed, void *owner)
{
    struct watch *watch = weir_calloc(1, sizeof *watch);

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
    if (!watch)
        return;
    if (watch->fd >= 0) {
        weir_loop_unwatch_fd(watch->loop, watch->fd);
        close(watch->fd);
    }
    free(watch->datasets);
    free(watch);
}

void storage_watch_folder(struct watch *watch, uint32_t dataset, const char *path)
{
    int wd = watch->fd >= 0 ? inotify_add_watch(watch->fd, path, EVENTS) : -1;

    if (wd < 0)
        return;
    if ((size_t)wd >= watch->capacity) {
        size_t capacity = 2 * (size_t)wd + 64;

        watch->datasets = weir_realloc(watch->datasets, capacity, sizeof *watch->datasets);
        for (size_t i = watch->capacity; i < capacity; i++)
            watch->datasets[i] = 0;
        watch->capacity = capacity;
    }
    watch->datasets[wd] = dataset;
}
