/* Connections by key. */
#include "core/rpc/guests.h"

#include "core/base/memory.h"
#include "core/rpc/inflow.h"
#include "core/rpc/socket.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct weir_guest {
    uint64_t cookie; /* 0: none */
    char public[WEIR_KEY_CHARACTERS + 1];
};

void weir_guests_fini(struct weir_guests *guests)
{
    free(guests->at);
    *guests = (struct weir_guests){.at = NULL};
}

static void make_room(struct weir_guests *guests, size_t fd)
{
    if (fd < guests->count)
        return;
    size_t count = (fd + 1) * 2;
    guests->at = weir_realloc(guests->at, count, sizeof(*guests->at));
    memset(guests->at + guests->count, 0, (count - guests->count) * sizeof(*guests->at));
    guests->count = count;
}

uint64_t weir_guests_note(struct weir_guests *guests, int fd, const char *public)
{
    uint64_t cookie = fd >= 0 ? weir_socket_cookie(fd) : 0;
    if (cookie == 0 || strlen(public) != WEIR_KEY_CHARACTERS)
        return 0;
    make_room(guests, (size_t)fd);
    guests->at[fd].cookie = cookie;
    memcpy(guests->at[fd].public, public, sizeof(guests->at[fd].public));
    return cookie;
}

static bool is_there(const struct weir_guests *guests, int fd, uint64_t cookie)
{
    return cookie != 0 && fd >= 0 && (size_t)fd < guests->count &&
           guests->at[fd].cookie == cookie && weir_socket_cookie(fd) == cookie;
}

bool weir_guests_may_be_told(const struct weir_guests *guests, const struct weir_keyring *keyring,
                             int fd, uint64_t cookie)
{
    return is_there(guests, fd, cookie) &&
           weir_keyring_find(keyring, guests->at[fd].public) != NULL;
}

/* Bytes that wait to be sent go too, once ZeroMQ has closed the descriptor, which it does when it is told that the
 * connection is over. */
static void cut(int fd)
{
    const struct linger nothing = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &nothing, sizeof(nothing));
    (void)shutdown(fd, SHUT_RDWR);
}

void weir_guests_cut(struct weir_guests *guests, int fd, uint64_t cookie)
{
    if (!is_there(guests, fd, cookie))
        return;
    guests->at[fd].cookie = 0;
    cut(fd);
}

/* True for a connection by which nothing has come, and which nobody knows. */
static bool is_unknown(const struct weir_guests *guests, int fd, uint64_t cookie)
{
    return weir_socket_cookie(fd) == cookie && !is_there(guests, fd, cookie);
}

void weir_guests_keep_to(struct weir_guests *guests, const struct weir_keyring *keyring)
{
    for (size_t fd = 0; fd < guests->count; fd++) {
        const struct weir_guest *guest = &guests->at[fd];
        if (guest->cookie != 0 && weir_keyring_find(keyring, guest->public) == NULL)
            weir_guests_cut(guests, (int)fd, guest->cookie);
    }
    uint64_t cookie;
    for (int fd = -1; (fd = weir_inflow_next_sealed(fd, &cookie)) >= 0;)
        if (is_unknown(guests, fd, cookie))
            cut(fd);
}
