/* Memory that is made once for many, and its descriptors on their way: see published.h. */
#include "core/rpc/published.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1; not in every <fcntl.h> */
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum {
    SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE,
    BACKLOG = 64,
    WASTE = 2, /* memory for a batch is less than so many times as large */
};

/* ---- the maker's memory ---- */

/* All pages are taken here: who writes must not find out that there are none. */
struct weir_published *weir_published_new(size_t size)
{
    struct weir_published *published = weir_calloc(1, sizeof(*published));
    *published = (struct weir_published){.size = size, .fd = -1, .references = 1};
    published->fd = memfd_create("weir", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (size == 0 || size > WEIR_PUBLISHED_BYTES_MAX || published->fd < 0 ||
        fallocate(published->fd, 0, 0, (off_t)size) != 0) {
        weir_published_free(published);
        return NULL;
    }
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, published->fd, 0);
    if (at == MAP_FAILED) {
        weir_published_free(published);
        return NULL;
    }
    (void)madvise(at, size, MADV_POPULATE_WRITE); /* else each page is mapped as it is written */
    (void)madvise(at, size, MADV_DONTDUMP);       /* an old kernel writes it to dumps */
    (void)madvise(at, size, MADV_DONTFORK);       /* a child must not keep what is erased here */
    published->at = at;
    published->key = weir_random_u64();
    return published;
}

/* Guards the maker's own mapping, which stays writable under the seals, against mistakes, in builds that look for them:
 * the kernel goes through all its pages for it, twice a batch, which takes a tenth of making one. */
static bool guard(struct weir_published *published, int protection)
{
#ifdef WEIR_SANITIZED
    return mprotect(published->at, published->size, protection) == 0;
#else
    (void)published, (void)protection;
    return true;
#endif
}

bool weir_published_seal(struct weir_published *published)
{
    if (!guard(published, PROT_READ))
        return false;
    published->is_sealed = published->is_sealed || fcntl(published->fd, F_ADD_SEALS, SEALS) == 0;
    return published->is_sealed;
}

struct weir_published *weir_published_share(struct weir_published *published)
{
    published->references++;
    return published;
}

void weir_published_free(struct weir_published *published)
{
    if (published == NULL || --published->references > 0)
        return;
    if (published->at != NULL)
        munmap(published->at, published->size);
    if (published->fd >= 0)
        close(published->fd);
    free(published);
}

/* ---- used again ---- */

static bool has_readers(const struct weir_published *published)
{
    bool is_alone = flock(published->fd, LOCK_EX | LOCK_NB) == 0;
    (void)flock(published->fd, LOCK_UN);
    return !is_alone;
}

/* True when only the pool has it. */
static bool is_idle(const struct weir_published *published)
{
    return published->references == 1 && !has_readers(published);
}

static bool is_free(const struct weir_published *published, uint64_t subject, size_t size)
{
    return published->subject == subject && published->size >= size &&
           published->size / WASTE < size && is_idle(published);
}

static bool begin_again(struct weir_published *published)
{
    published->key = weir_random_u64();
    published->word = 0;
    return guard(published, PROT_READ | PROT_WRITE);
}

static void give_up(struct weir_published_pool *pool, size_t index)
{
    weir_published_free(pool->of[index]);
    pool->count--;
    pool->of[index] = pool->of[pool->count];
    pool->is_used[index] = pool->is_used[pool->count];
}

static void limit_idle(struct weir_published_pool *pool)
{
    size_t idle_bytes = 0;

    for (size_t i = pool->count; i-- > 0;) {
        size_t size = pool->of[i]->size;
        if (!is_idle(pool->of[i]))
            continue;
        if (size > pool->idle_bytes_max - idle_bytes)
            give_up(pool, i);
        else
            idle_bytes += size;
    }
}

/* Makes memory, which the pool has too unless it is full. */
static struct weir_published *add_to(struct weir_published_pool *pool, uint64_t subject,
                                     size_t size)
{
    struct weir_published *published = weir_published_new(size);

    if (published == NULL || pool->count == WEIR_PUBLISHED_POOL)
        return published;
    published->subject = subject;
    pool->of[pool->count] = published;
    pool->is_used[pool->count++] = true;
    return weir_published_share(published);
}

struct weir_published *weir_published_pool_take(struct weir_published_pool *pool, uint64_t subject,
                                                size_t size)
{
    for (size_t i = 0; i < pool->count; i++) {
        if (!is_free(pool->of[i], subject, size) || !begin_again(pool->of[i]))
            continue;
        pool->is_used[i] = true;
        return weir_published_share(pool->of[i]);
    }
    limit_idle(pool);
    return add_to(pool, subject, size);
}

void weir_published_pool_trim(struct weir_published_pool *pool)
{
    for (size_t i = pool->count; i-- > 0;) {
        if (!pool->is_used[i])
            give_up(pool, i);
        else
            pool->is_used[i] = false;
    }
}

void weir_published_pool_clear(struct weir_published_pool *pool)
{
    while (pool->count > 0)
        give_up(pool, pool->count - 1);
}

/* ---- its ways ---- */

struct way {
    struct weir_ways *ways;
    int fd;          /* -1: the place is free */
    uint64_t reader; /* 0: it has not said */
};

struct weir_ways {
    struct weir_loop *loop;
    int listening;
    struct sockaddr_un address;
    struct way way[WEIR_WAYS_MAX];
    size_t next; /* place of the next reader: it may be that of the oldest */
};

/* False when the address has no path, or one that is too long for a socket beside it. */
static bool path_beside(const char *address, struct sockaddr_un *ret_address)
{
    static const char IPC[] = "ipc://", SUFFIX[] = ".memory";
    size_t prefix = sizeof(IPC) - 1, size = strlen(address);
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strncmp(address, IPC, prefix) != 0 ||
        size - prefix + sizeof(SUFFIX) > sizeof(ret_address->sun_path))
        return false;
    memcpy(ret_address->sun_path, address + prefix, size - prefix);
    memcpy(ret_address->sun_path + size - prefix, SUFFIX, sizeof(SUFFIX));
    return true;
}

static void close_way(struct way *way)
{
    if (way->fd < 0)
        return;
    weir_loop_unwatch_fd(way->ways->loop, way->fd);
    close(way->fd);
    way->fd = -1;
    way->reader = 0;
}

/* A reader says who it is, once; all else ends the way. */
static void on_way(void *owner)
{
    struct way *way = owner;
    uint64_t reader;
    ssize_t size = recv(way->fd, &reader, sizeof(reader), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size == (ssize_t)sizeof(reader) && way->reader == 0 && reader != 0)
        way->reader = reader;
    else
        close_way(way);
}

/* A reader has said who it is by the time it can be accepted, as a rule. */
static void add_way(struct weir_ways *ways, int fd)
{
    struct way *way = &ways->way[ways->next++ % WEIR_WAYS_MAX];

    close_way(way);
    way->fd = fd;
    weir_loop_watch_fd(ways->loop, fd, POLLIN, on_way, way);
    on_way(way);
}

static void on_readers(void *owner)
{
    struct weir_ways *ways = owner;

    for (int i = 0; i < BACKLOG; i++) {
        int fd = accept4(ways->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        add_way(ways, fd);
    }
}

struct weir_ways *weir_ways_new(struct weir_loop *loop, const char *address)
{
    struct weir_ways *ways = weir_calloc(1, sizeof(*ways));
    ways->loop = loop;
    ways->listening = -1;
    for (size_t i = 0; i < WEIR_WAYS_MAX; i++)
        ways->way[i] = (struct way){.ways = ways, .fd = -1};
    if (path_beside(address, &ways->address))
        ways->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)unlink(ways->address.sun_path);
    if (ways->listening < 0 ||
        bind(ways->listening, (const struct sockaddr *)&ways->address, sizeof(ways->address)) !=
            0 ||
        listen(ways->listening, BACKLOG) != 0) {
        if (ways->listening >= 0)
            close(ways->listening);
        free(ways);
        return NULL;
    }
    weir_loop_watch_fd(loop, ways->listening, POLLIN, on_readers, ways);
    return ways;
}

void weir_ways_free(struct weir_ways *ways)
{
    if (ways == NULL)
        return;
    for (size_t i = 0; i < WEIR_WAYS_MAX; i++)
        close_way(&ways->way[i]);
    weir_loop_unwatch_fd(ways->loop, ways->listening);
    close(ways->listening);
    (void)unlink(ways->address.sun_path);
    free(ways);
}

/* A message of a key and, in `control`, one descriptor. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_descriptor(int way, uint64_t key, int fd)
{
    struct iovec part = {.iov_base = &key, .iov_len = sizeof(key)};
    union control control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    return sendmsg(way, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(key);
}

/* Opens it once more, for one reader, under a lock that lasts as long as that has it. */
static int open_for_reader(const struct weir_published *published)
{
    char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", published->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool send_to(int way, const struct weir_published *published)
{
    WEIR_AUTO_FD int fd = open_for_reader(published);
    return fd >= 0 && send_descriptor(way, published->key, fd);
}

static const struct way *find_way(const struct weir_ways *ways, uint64_t reader)
{
    for (size_t i = 0; i < WEIR_WAYS_MAX; i++) {
        const struct way *way = &ways->way[i];
        if (way->fd >= 0 && way->reader == reader)
            return way;
    }
    return NULL;
}

bool weir_ways_send(struct weir_ways *ways, uint64_t reader, const struct weir_published *published)
{
    if (ways == NULL || reader == 0)
        return false;
    const struct way *way = find_way(ways, reader);
    if (way == NULL) {
        on_readers(ways); /* its first request may be read before its way */
        way = find_way(ways, reader);
    }
    return way != NULL && send_to(way->fd, published);
}

/* ---- a reader ---- */

int weir_way_open(const char *address, uint64_t reader)
{
    struct sockaddr_un beside;
    int way = path_beside(address, &beside)
                  ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
                  : -1;
    if (way < 0)
        return -1;
    if (connect(way, (const struct sockaddr *)&beside, sizeof(beside)) == 0 &&
        send(way, &reader, sizeof(reader), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(reader))
        return way;
    close(way);
    return -1;
}

/* Returns the next descriptor that was sent; -1: none is there. */
static int receive_descriptor(int way, uint64_t *ret_key)
{
    struct iovec part = {.iov_base = ret_key, .iov_len = sizeof(*ret_key)};
    union control control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    int fd = -1;
    ssize_t size = recvmsg(way, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    if (size != (ssize_t)sizeof(*ret_key))
        *ret_key = 0;
    return fd;
}

/* NULL unless nobody but its maker can change it, no page can be taken away, and there are `size` bytes. */
static uint8_t *map(int fd, size_t size)
{
    struct stat stat;
    int seals = fcntl(fd, F_GET_SEALS);
    if (size == 0 || seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &stat) != 0 ||
        (uint64_t)stat.st_size < size)
        return NULL;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    (void)madvise(at, size, MADV_DONTDUMP);
    (void)madvise(at, size, MADV_DONTFORK);
    (void)madvise(at, size,
                  MADV_POPULATE_READ); /* as they are; each that is written to is copied */
    return at;
}

uint8_t *weir_way_take(int way, uint64_t key, size_t size)
{
    uint8_t *at = NULL;
    uint64_t found = 0;
    int fd;
    while (found != key && (fd = receive_descriptor(way, &found)) >= 0) {
        if (found == key)
            at = map(fd, size);
        close(fd);
    }
    return at;
}

bool weir_way_is_open(int way)
{
    char byte;
    ssize_t size = recv(way, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

void weir_published_unmap(uint8_t *at, size_t size)
{
    if (at != NULL)
        munmap(at, size);
}
