/* Pairs of keys, drawn and kept. */
#include "core/rpc/pair.h"

#include "core/base/bytes.h"
#include "core/rpc/secret_file.h"

#include <string.h>
#include <zmq.h>

enum { KEY_BYTES = 32 };

enum weir_status weir_pair_draw(struct weir_pair *ret_pair, struct weir_error *err)
{
    do {
        if (zmq_curve_keypair(ret_pair->public, ret_pair->secret) != 0)
            return weir_fail(
                err, WEIR_UNSUPPORTED,
                "this build of ZeroMQ has no CURVE, and nothing goes over TCP without");
    } while (ret_pair->public[0] == '-'); /* an option, to a shell command that is given it */
    return WEIR_OK;
}

void weir_pair_fini(struct weir_pair *pair)
{
    explicit_bzero(pair, sizeof(*pair));
}

bool weir_key_is_one(const char *text)
{
    uint8_t bytes[KEY_BYTES];
    bool is_one =
        text != NULL && strlen(text) == WEIR_KEY_CHARACTERS && zmq_z85_decode(bytes, text) != NULL;
    explicit_bzero(bytes, sizeof(bytes));
    return is_one;
}

bool weir_pair_fits(const struct weir_pair *pair)
{
    char public[WEIR_KEY_CHARACTERS + 1];
    return weir_key_is_one(pair->public) && weir_key_is_one(pair->secret) &&
           zmq_curve_public(public, pair->secret) == 0 && strcmp(public, pair->public) == 0;
}

/* ---- kept ---- */

enum { PUBLIC, SECRET, FIELDS };

static enum weir_status read_pair(const char *path, struct weir_pair *ret_pair,
                                  struct weir_error *err)
{
    struct weir_secret_field fields[FIELDS] = {{.key = "public"}, {.key = "secret"}};
    enum weir_status status = weir_secret_file_read(path, fields, FIELDS, err);
    if (status != WEIR_OK)
        return status == WEIR_INVALID ? weir_error_wrap(err, WEIR_CORRUPT, "pair of keys") : status;
    if (weir_key_is_one(fields[PUBLIC].value) && weir_key_is_one(fields[SECRET].value)) {
        memcpy(ret_pair->public, fields[PUBLIC].value, sizeof(ret_pair->public));
        memcpy(ret_pair->secret, fields[SECRET].value, sizeof(ret_pair->secret));
    }
    weir_secret_fields_fini(fields, FIELDS);
    if (weir_pair_fits(ret_pair))
        return WEIR_OK;
    weir_pair_fini(ret_pair);
    return weir_fail(err, WEIR_CORRUPT,
                     "%s: expected a pair of keys: put it back from a backup; without it everybody "
                     "elsewhere needs a new address of the platform",
                     path);
}

static enum weir_status make_pair(const char *path, struct weir_pair *ret_pair,
                                  struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_pair_draw(ret_pair, err);
    if (status != WEIR_OK)
        return status;
    weir_secret_field_print("public", ret_pair->public, &text);
    weir_secret_field_print("secret", ret_pair->secret, &text);
    status = weir_secret_file_make(path, weir_buf_view(&text), err);
    weir_buf_wipe(&text);
    return status;
}

enum weir_status weir_pair_keep(const char *path, struct weir_pair *ret_pair,
                                struct weir_error *err)
{
    *ret_pair = (struct weir_pair){.public = ""};
    enum weir_status status = read_pair(path, ret_pair, err);
    if (status == WEIR_NOT_FOUND)
        status = make_pair(path, ret_pair, err);
    if (status == WEIR_EXISTS) /* another process was first */
        status = read_pair(path, ret_pair, err);
    if (status != WEIR_OK)
        weir_pair_fini(ret_pair);
    return status;
}
