/* The digest of a batch (C18), as docs/reference/batch-digest.md defines it byte by byte: an XXH3-128 of everything
 * that weir_client_next() returns of it, the same whoever made the batch and however it came. */
#ifndef WEIR_TRAINER_CLIENT_DIGEST_H
#define WEIR_TRAINER_CLIENT_DIGEST_H

#include "core/base/hash.h"

#include <weir/client.h>

struct weir_digest trainer_digest_of(const struct weir_batch *batch);

#endif
