/* The eye on all that ZeroMQ's I/O threads accept and read (inflow.h). ZeroMQ has no door for it, so a program takes
 * the place of the two functions of the C library that it calls. Linked to programs (weir_service()), never to the
 * client library: in a user's program they are the user's. Other threads are not followed. */
#undef _FORTIFY_SOURCE /* has an inline recv() of its own */

#include "core/rpc/inflow.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME_BYTES = 16 };

/* ZeroMQ gives its threads names, such as "ZMQbg/IO/0". */
static bool is_zeromq(void)
{
    static const char PREFIX[] = "ZMQbg/";
    static _Thread_local enum { UNKNOWN, NO, YES } is_one;
    char name[NAME_BYTES] = "";
    if (is_one == UNKNOWN) {
        (void)pthread_getname_np(pthread_self(), name, sizeof(name));
        is_one = strncmp(name, PREFIX, sizeof(PREFIX) - 1) == 0 ? YES : NO;
    }
    return is_one == YES;
}

static bool is_local(int fd)
{
    int domain = AF_UNIX;
    socklen_t size = sizeof(domain);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *size, int flags) /* as glibc declares it */
{
    int accepted = (int)syscall(SYS_accept4, fd, address.__sockaddr__, size, flags);
    int code = errno;
    if (accepted >= 0 && is_zeromq())
        weir_inflow_begin(accepted, !is_local(accepted));
    errno = code;
    return accepted;
}

/* Tells ZeroMQ that the connection is broken. */
static ssize_t cut(int fd)
{
    (void)shutdown(fd, SHUT_RDWR);
    errno = ECONNRESET;
    return -1;
}

static ssize_t follow(int fd, const void *bytes, ssize_t size)
{
    int code = errno, other = -1;
    bool goes_on = true;
    if (size > 0)
        goes_on = weir_inflow_arrived(fd, bytes, (size_t)size, &other);
    else if (size == 0 || (code != EAGAIN && code != EINTR))
        weir_inflow_end(fd);
    if (other >= 0)
        (void)shutdown(other, SHUT_RDWR);
    errno = code;
    return goes_on ? size : cut(fd);
}

ssize_t recv(int fd, void *bytes, size_t size, int flags)
{
    ssize_t got = syscall(SYS_recvfrom, fd, bytes, size, flags, NULL, NULL);
    return is_zeromq() ? follow(fd, bytes, got) : got;
}
