/* A pair of CURVE keys (https://rfc.zeromq.org/spec/26), as text: 40 characters of Z85 each. Who is known by the public
 * one proves in each handshake to have the secret one, which never leaves the process and its file. */
#ifndef WEIR_RPC_PAIR_H
#define WEIR_RPC_PAIR_H

#include "core/base/error.h"

enum { WEIR_KEY_CHARACTERS = 40 };

struct weir_pair {
    char public[WEIR_KEY_CHARACTERS + 1];
    char secret[WEIR_KEY_CHARACTERS + 1];
};

/* The public one never begins with '-': people write it after a command. UNSUPPORTED where ZeroMQ was built without
 * CURVE. */
enum weir_status weir_pair_draw(struct weir_pair *ret_pair, struct weir_error *err) WEIR_MUST_USE;
/* Wipes it. */
void weir_pair_fini(struct weir_pair *pair);
/* True when `text` is a key; NULL is none. */
bool weir_key_is_one(const char *text);
/* True when the public key belongs to the secret one. */
bool weir_pair_fits(const struct weir_pair *pair);

/* The pair of the platform in the file at `path`, of mode 0600, which is made when there is none: two processes that do
 * so at once have the same one. DENIED when others may read it; CORRUPT when it is no pair. */
enum weir_status weir_pair_keep(const char *path, struct weir_pair *ret_pair,
                                struct weir_error *err) WEIR_MUST_USE;

#endif
