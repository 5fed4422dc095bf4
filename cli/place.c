/* See place.h. */
#include "cli/place.h"

#include "cli/context.h"
#include "core/base/memory.h"
#include "core/rpc/keys.h"

#include <stdlib.h>
#include <string.h>

static const char DEFAULT_DATA_DIR[] = ".weir/default";

static bool is_tcp(const char *endpoint)
{
    return endpoint != NULL && weir_keys_are_needed(endpoint);
}

static enum weir_status find_elsewhere(struct cli_place *place, struct weir_error *err)
{
    if (place->endpoint != NULL && !is_tcp(place->endpoint))
        return weir_fail(err, WEIR_INVALID,
                         "--endpoint %.200s: expected tcp://HOST:PORT beside a key",
                         place->endpoint);
    enum weir_status status = weir_pass_read(place->key, &place->pass, err);
    if (status == WEIR_OK)
        status =
            weir_pass_address(&place->pass, place->endpoint, "orchestrator", &place->address, err);
    if (status != WEIR_OK)
        return status;
    place->is_elsewhere = true;
    place->name = weir_keys_endpoint(place->address);
    return WEIR_OK;
}

bool cli_place_is_socket(const struct cli_place *place)
{
    return place->endpoint != NULL && place->key == NULL && !is_tcp(place->endpoint);
}

static void find_here(struct cli_place *place)
{
    if (place->data_dir == NULL)
        place->data_dir = DEFAULT_DATA_DIR;
    place->name = weir_strdup(place->data_dir);
}

enum weir_status cli_place_find(struct cli_place *place, struct weir_error *err)
{
    bool is_said = place->key != NULL || place->data_dir != NULL;
    if (place->data_dir != NULL && (place->key != NULL || is_tcp(place->endpoint)))
        return weir_fail(err, WEIR_INVALID,
                         "--data-dir %.200s: expected none with %s, which is for a platform "
                         "elsewhere",
                         place->data_dir, place->key != NULL ? "--key" : "--endpoint tcp://…");
    if (!is_said) {
        enum weir_status status = cli_context_in_use(&place->owned, err);
        if (status != WEIR_OK)
            return status;
        place->key = place->owned;
    }
    if (place->key != NULL)
        return find_elsewhere(place, err);
    if (is_tcp(place->endpoint))
        return weir_fail(err, WEIR_INVALID,
                         "--endpoint %.200s: expected --key FILE with it, or a context in use",
                         place->endpoint);
    find_here(place);
    return WEIR_OK;
}

void cli_place_fini(struct cli_place *place)
{
    weir_pass_fini(&place->pass);
    free(place->address);
    free(place->name);
    free(place->owned);
    *place = (struct cli_place){.key = NULL};
}

enum weir_status cli_place_check_is_here(const struct cli_place *place, const char *what,
                                         struct weir_error *err)
{
    if (!place->is_elsewhere)
        return WEIR_OK;
    return weir_fail(err, WEIR_UNSUPPORTED,
                     "%s: it is done with files of the platform's host, and the platform is "
                     "elsewhere, at %s: run it there",
                     what, place->name);
}
