/* Bound with port 0: see loopback_port.h. */
#include "orchestrator/processes/loopback_port.h"

#include "core/base/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum weir_status orchestrator_loopback_port_hold(int *ret_holder, uint16_t *ret_port,
                                                 struct weir_error *err)
{
    WEIR_AUTO_FD int holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int on = 1;

    if (holder < 0 || setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(holder, (const struct sockaddr *)&address, size) != 0 ||
        getsockname(holder, (struct sockaddr *)&address, &size) != 0)
        return weir_fail(err, WEIR_LIMIT, "no port of the loopback for the ranks to meet at: %s",
                         strerror(errno));
    *ret_port = ntohs(address.sin_port);
    *ret_holder = holder;
    holder = -1;
    return WEIR_OK;
}
