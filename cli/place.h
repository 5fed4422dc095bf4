/* The place of the platform that a command is for: a data directory of this host, or elsewhere, reached over TCP with a
 * pass. What is not said is as the context in use has it, and else the default data directory. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include "core/base/error.h"
#include "core/rpc/pass.h"

struct cli_place {
    /* As given; NULL: not. Borrowed. */
    const char *data_dir;
    /* of the orchestrator: its socket here, or tcp://HOST:PORT in place of the pass's */
    const char *endpoint;
    const char *key; /* file of the pass */

    bool works; /* a platform that is started for the command goes on with pipelines */

    /* As found. */
    bool is_elsewhere;     /* then there is no data directory */
    struct weir_pass pass; /* elsewhere */
    char *address;         /* of the orchestrator, elsewhere: tcp://HOST:PORT#KEY */
    char *name;            /* for people: the data directory, or tcp://HOST:PORT */
    char *owned;           /* what `key` or `data_dir` borrows from; NULL: nothing */
};

/* True when it is said by a socket of this host alone: then whoever listens there tells the data directory. */
bool cli_place_is_socket(const struct cli_place *place);
/* Finds the platform. INVALID for things that do not go together; errors of weir_pass_read(). */
enum weir_status cli_place_find(struct cli_place *place, struct weir_error *err) WEIR_MUST_USE;
/* Releases what was found. */
void cli_place_fini(struct cli_place *place);
/* UNSUPPORTED elsewhere: `what` is done with files of the platform's host. */
enum weir_status cli_place_check_is_here(const struct cli_place *place, const char *what,
                                         struct weir_error *err) WEIR_MUST_USE;

#endif
