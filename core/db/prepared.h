/* Statements as libpq sends them: parameters in binary, and under which name the server knows the text. For core/db
 * alone. */
#ifndef WEIR_DB_PREPARED_H
#define WEIR_DB_PREPARED_H

#include "core/db/connection.h"

/* The parameters as PQsendQueryPrepared() wants them. */
struct weir_arguments {
    const char *values[WEIR_PARAMS_MAX];
    int lengths[WEIR_PARAMS_MAX];
    int formats[WEIR_PARAMS_MAX];
    Oid types[WEIR_PARAMS_MAX];
    uint64_t words[WEIR_PARAMS_MAX]; /* where numbers are kept in network order */
    void *arrays[WEIR_PARAMS_MAX];   /* owned */
    size_t count;
};

/* Fills in zeroed arguments, which borrow texts and bytes. LIMIT for more than WEIR_PARAMS_BYTES_MAX. */
enum weir_status weir_arguments_set(struct weir_arguments *arguments, const char *name,
                                    const struct weir_param *params, size_t count,
                                    struct weir_error *err) WEIR_MUST_USE;
void weir_arguments_fini(struct weir_arguments *arguments);

/* True when the server knows the statement with types that these arguments have. */
bool weir_prepared_fits(const struct weir_prepared *prepared,
                        const struct weir_arguments *arguments);
/* Sends what prepares the statement for such arguments, under a name of its own; and the statement, once it is
 * prepared. Return what libpq says: 1 when it is sent. */
int weir_prepared_send(struct weir_db *db, int query, const struct weir_arguments *arguments);
int weir_arguments_send(struct weir_db *db, int query, const struct weir_arguments *arguments);

#endif
