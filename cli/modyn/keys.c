/* Looking up rows of keys.def. */
#include "cli/modyn/keys.h"

#include <string.h>

const char *const CLI_MODYN_VERDICTS[] = {[CLI_MODYN_MAPS] = "maps",
                                          [CLI_MODYN_DIFFERS] = "differs",
                                          [CLI_MODYN_CHOOSE] = "choose",
                                          [CLI_MODYN_LACKS] = "lacks"};

#define KEY(key, value, verdict, weir, why) {key, value, CLI_MODYN_##verdict, weir, why},
static const struct cli_modyn_key KEYS[] = {
#include "cli/modyn/keys.def"
};
#undef KEY

/* True when `pattern` is the key, or has a * for one name inside, or for all that follows at its end. */
static bool matches(const char *pattern, const char *key)
{
    while (*pattern != '\0') {
        if (*pattern == '*' && pattern[1] == '\0')
            return true;
        if (*pattern == '*') {
            key += strcspn(key, ".");
            pattern++;
        } else if (*pattern++ != *key++) {
            return false;
        }
    }
    return *key == '\0';
}

/* A strategy is named, or its class is. */
static bool is_value(const char *wanted, const char *value)
{
    size_t size = strlen(wanted);

    return strncmp(value, wanted, size) == 0 &&
           (value[size] == '\0' || strcmp(value + size, "PresamplingStrategy") == 0 ||
            strcmp(value + size, "DownsamplingStrategy") == 0);
}

static bool is_better(const struct cli_modyn_key *row, const struct cli_modyn_key *best)
{
    if (best == NULL || strlen(row->key) != strlen(best->key))
        return best == NULL || strlen(row->key) > strlen(best->key);
    return row->value[0] != '\0';
}

const struct cli_modyn_key *cli_modyn_key_find(const char *key, const char *value)
{
    const struct cli_modyn_key *best = NULL;

    for (size_t i = 0; i < WEIR_COUNT(KEYS); i++)
        if ((KEYS[i].value[0] == '\0' || is_value(KEYS[i].value, value)) &&
            matches(KEYS[i].key, key) && is_better(&KEYS[i], best))
            best = &KEYS[i];
    return best;
}

const char *cli_modyn_name(const char *key, const char *value)
{
    const struct cli_modyn_key *row = cli_modyn_key_find(key, value);
    const char *name = row != NULL ? strstr(row->weir, ": ") : NULL;

    return name != NULL ? name + strlen(": ") : NULL;
}
