/* A pass: the file by which a person, worker or trainer elsewhere is let in. It holds a secret, so that others may not
 * be able to read it; it is named by its path, and nothing of it goes into a command line, an environment or a log.
 * YAML of one line for each key, which a client library reads without a library for YAML:
 *
 *     platform: "tcp://10.0.0.1:5800#KEY"    where the platform is, and the public key that it proves
 *     name: "rosa"
 *     role: "operator"
 *     public: "KEY"
 *     secret: "KEY"
 */
#ifndef WEIR_RPC_PASS_H
#define WEIR_RPC_PASS_H

#include "core/rpc/pair.h"
#include "core/wire/wire.h"

/* Zeroed is empty. */
struct weir_pass {
    char *platform; /* address of the orchestrator */
    char *name;
    enum weir_role role;
    struct weir_pair pair;
};
void weir_pass_fini(struct weir_pass *pass);

/* DENIED unless it is a file that its owner alone may read; INVALID with file:line: column. */
enum weir_status weir_pass_read(const char *path, struct weir_pass *ret_pass,
                                struct weir_error *err) WEIR_MUST_USE;
/* Appends what the file holds, the secret included: wipe it. */
void weir_pass_print(const struct weir_pass *pass, struct weir_buf *out);
/* Makes the file, of mode 0600. EXISTS when there is one. */
enum weir_status weir_pass_write(const char *path, const struct weir_pass *pass,
                                 struct weir_error *err) WEIR_MUST_USE;
/* "tcp://HOST:PORT#KEY" of a service of the platform: "orchestrator", "storage", "selector" or "dispatcher", which have
 * ports in a row. `platform` ("tcp://HOST:PORT", or with a key of its own), unless it is NULL, takes the place of the
 * pass's. INVALID. */
enum weir_status weir_pass_address(const struct weir_pass *pass, const char *platform,
                                   const char *service, char **ret_address,
                                   struct weir_error *err) WEIR_MUST_USE;
/* How far the port of a service is from that of the orchestrator, which is first. */
unsigned weir_service_port(const char *service);

#endif
