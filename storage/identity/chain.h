/* The places that the SDKs of AWS look for keys at, one after the other (AWS SDKs and Tools Reference Guide,
 * "Standardized credential providers"). Waits for files, programs and endpoints: for a thread. */
#ifndef WEIR_STORAGE_IDENTITY_CHAIN_H
#define WEIR_STORAGE_IDENTITY_CHAIN_H

#include "core/base/error.h"
#include "core/loop/work.h"
#include "storage/identity/keys.h"
#include "storage/identity/surroundings.h"

/* Of `profile` alone, or with NULL of the first place that is set up: the environment, a web identity, the profile that
 * the environment names or the default one, the container, the instance. NOT_FOUND when none is; another status when
 * one is and gives none. */
enum weir_status storage_identity_resolve(const struct surroundings *surroundings,
                                          const char *profile, struct weir_work *work,
                                          struct s3_credentials *ret_keys,
                                          struct weir_error *err) WEIR_MUST_USE;

#endif
