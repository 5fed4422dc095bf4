/* Memory that is made once for many, and its descriptors on their way: see published.h. */
#include "core/rpc/published.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, BACKLOG = 64 };

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
    void *at =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, published->fd, 0);
    if (at == MAP_FAILED) {
        weir_published_free(published);
        return NULL;
    }
    (void)madvise(at, size, MADV_DONTDUMP); /* an old kernel writes it to dumps */
    (void)madvise(at, size, MADV_DONTFORK); /* a child must not keep what is erased here */
    published->at = at;
    published->key = weir_random_u64();
    return published;
}

bool weir_published_seal(struct weir_published *published)
{
    void *at =
        mmap(published->at, published->size, PROT_READ, MAP_PRIVATE | MAP_FIXED, published->fd, 0);
    if (at == MAP_FAILED)
        return false;
    (void)madvise(at, published->size, MADV_DONTDUMP);
    (void)madvise(at, published->size, MADV_DONTFORK);
    return fcntl(published->fd, F_ADD_SEALS, SEALS) == 0;
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

static void on_reader(void *owner)
{
    struct weir_ways *ways = owner;
    int fd = accept4(ways->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct way *way = &ways->way[ways->next++ % WEIR_WAYS_MAX];
    close_way(way);
    way->fd = fd;
    weir_loop_watch_fd(ways->loop, fd, POLLIN, on_way, way);
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
    weir_loop_watch_fd(loop, ways->listening, POLLIN, on_reader, ways);
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

bool weir_ways_send(struct weir_ways *ways, uint64_t reader, const struct weir_published *published)
{
    for (size_t i = 0; ways != NULL && i < WEIR_WAYS_MAX; i++) {
        const struct way *way = &ways->way[i];
        if (way->fd >= 0 && way->reader == reader && reader != 0)
            return send_descriptor(way->fd, published->key, published->fd);
    }
    return false;
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

/* NULL unless no page of it can change or be taken away, and there are `size` bytes. */
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
