/* Keys of object stores that data sets may name: `credentials` of the system file, and nothing else. A pipeline says
 * which; the system file says where the secret is kept, and which hosts it may be sent to. Neither holds the secret.
 *
 * The orchestrator checks the section and puts it into the environment variable WEIR_CREDENTIALS; the processes it
 * starts find it there. The variables that hold secrets are for storage alone. */
#ifndef WEIR_SERVICE_CREDENTIALS_H
#define WEIR_SERVICE_CREDENTIALS_H

#include "core/config/schema.h"

/* Declared where no system file declares any, for whoever works for themselves: see weir_credentials_hand_on(). */
#define WEIR_CREDENTIALS_ENVIRONMENT "environment"

/* Texts are borrowed from `document`. */
struct weir_credentials {
    struct weir_yaml *document; /* owned; NULL: zeroed */
    struct cfg_texts hosts;     /* HOST or HOST:PORT, as in endpoints; "*": any */
    bool chain;                 /* they are found where the SDKs of AWS look */
    const char *profile;        /* of the shared files of these SDKs; NULL */
    const char *file;           /* of two lines, id and secret, or three with a token; NULL: */
    const char *key_id_env, *secret_env, *token_env; /* names of environment variables */
    const char *ca; /* file of the authorities that vouch for these hosts; NULL: the system's */
    bool grants;    /* readers elsewhere are handed signed requests in place of bytes */
};

/* Those of the user, as where there is no system file, for who has been handed none on. */
void weir_credentials_use_own(void);
/* Checks the section `credentials` (NULL: none) of the system file. INVALID with file:line:column. */
enum weir_status weir_credentials_check(const struct weir_yaml_node *credentials,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Lets the processes that are started from now on know it: those of the section (NULL: none) and no others. Without a
 * system file (`is_local`) these are WEIR_CREDENTIALS_ENVIRONMENT: the usual variables, for any host, as the person at
 * the shell may send them anywhere too. */
void weir_credentials_hand_on(const struct weir_yaml_node *credentials, bool is_local);
/* Finds `name`. INVALID, with those that are declared, when it is none of them; DENIED when it may not be sent to the
 * host of `endpoint`. Where nothing was handed on, because a pipeline file is checked by itself, any name is fine, and
 * nothing is found: `document` is NULL. */
enum weir_status weir_credentials_find(const char *name, const char *endpoint,
                                       struct weir_credentials *ret_credentials,
                                       struct weir_error *err) WEIR_MUST_USE;
void weir_credentials_fini(struct weir_credentials *credentials);
/* True when environment variable `name` is one that the credentials that were handed on are read from, or the usual one
 * of an object store. */
bool weir_credentials_use(const char *name);
/* Appends the keys of credentials to the reference page. */
void weir_credentials_describe(struct weir_buf *out);

#endif
