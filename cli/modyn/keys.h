/* Modyn's keys, as keys.def lists them: what Weir has for each. */
#ifndef CLI_MODYN_KEYS_H
#define CLI_MODYN_KEYS_H

#include "core/base/bytes.h"

enum cli_modyn_verdict { CLI_MODYN_MAPS, CLI_MODYN_DIFFERS, CLI_MODYN_CHOOSE, CLI_MODYN_LACKS };
extern const char *const CLI_MODYN_VERDICTS[]; /* "maps", … */

struct cli_modyn_key {
    const char *key, *value;
    enum cli_modyn_verdict verdict;
    const char *weir, *why;
};

/* Returns the row for a key and value, or NULL: no key of Modyn's. */
const struct cli_modyn_key *cli_modyn_key_find(const char *key, const char *value);
/* Returns the name that Weir has for a value of the key, which its row ends in; NULL: there is none. */
const char *cli_modyn_name(const char *key, const char *value);

#endif
