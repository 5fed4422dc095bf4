/* Receipt keys of the platform: see receipt_keys.h. */
#include "orchestrator/erasures/receipt_keys.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/sql/queries.h"

#include <sodium.h>
#include <string.h>

static struct weir_key_file key_file(const char *path)
{
    return (struct weir_key_file){
        .path = path,
        .check = orchestrator_receipt_key_check,
        .remedy = "put it back from a backup, or, if it is lost, start once with "
                  "--new-receipt-key: earlier receipts stay valid under their keys",
    };
}

static enum weir_status record(const struct context *context, size_t known,
                               const uint8_t seed[WEIR_KEY_BYTES], struct weir_error *err)
{
    char public_half[WEIR_KEY_CHECK_MAX];
    orchestrator_receipt_key_check(seed, public_half);
    return DB_RUN(context->db, Q_receipt_key_record, NULL, err, DB_I64(known + 1),
                  DB_TEXT(public_half), DB_I64(weir_now_wall_us()));
}

/* Recorded before it takes its place: a key that signed something is known for ever. */
static enum weir_status make_key(const struct context *context, const struct weir_key_file *file,
                                 size_t known, struct weir_error *err)
{
    uint8_t seed[WEIR_KEY_BYTES];
    enum weir_status status = WEIR_NOT_FOUND;
    if (known == 0)
        status = weir_key_file_adopt(file, seed, err);
    if (status == WEIR_NOT_FOUND)
        status = weir_key_file_draw(file, seed, err);
    if (status == WEIR_OK)
        status = record(context, known, seed, err);
    sodium_memzero(seed, sizeof(seed));
    return status;
}

/* One a line, as --key of weir erase verify reads them. */
static enum weir_status publish(const struct context *context, const struct weir_rows *rows,
                                struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_BUF before = {0};
    WEIR_AUTO_FREE char *folder = orchestrator_path(context, "receipts", "");
    WEIR_AUTO_FREE char *path = orchestrator_path(context, "receipts", "keys");
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        weir_buf_printf(&text, "%s\n", weir_rows_text(rows, i, "public_key"));
    if (weir_file_read(path, text.size, &before, NULL) == WEIR_OK && before.size == text.size &&
        memcmp(before.at, text.at, text.size) == 0)
        return WEIR_OK;
    enum weir_status status = weir_make_directories(folder, 0700, err);
    return status == WEIR_OK ? weir_file_write_atomic(path, weir_buf_view(&text), err) : status;
}

/* A key that was recorded since the order was first read is the one that it asks for. */
static bool needs_key(struct receipt_key_order *order, size_t known)
{
    if (!order->is_counted)
        *order = (struct receipt_key_order){order->is_given, true, known};
    return known == 0 || (order->is_given && known == order->known);
}

enum weir_status orchestrator_receipt_keys_open(const struct context *context,
                                                struct receipt_key_order *order,
                                                struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/receipt.key", context->data_dir);
    const struct weir_key_file file = key_file(path);
    WEIR_AUTO(weir_rows) before = NULL;
    WEIR_AUTO(weir_rows) rows = NULL;
    struct receipt_key key;
    if (sodium_init() < 0)
        return weir_fail(err, WEIR_INTERNAL, "libsodium cannot be used here");
    enum weir_status status = DB_RUN(context->db, Q_receipt_keys, &before, err);
    if (status == WEIR_OK && needs_key(order, weir_rows_count(before)))
        status = make_key(context, &file, weir_rows_count(before), err);
    if (status == WEIR_OK) /* also finishes placing a new one */
        status = orchestrator_receipt_key(context, &key, err);
    if (status != WEIR_OK)
        return status;
    orchestrator_receipt_key_fini(&key);
    status = DB_RUN(context->db, Q_receipt_keys, &rows, err);
    return status == WEIR_OK ? publish(context, rows, err) : status;
}

enum weir_status orchestrator_receipt_key(const struct context *context,
                                          struct receipt_key *ret_key, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/receipt.key", context->data_dir);
    const struct weir_key_file file = key_file(path);
    WEIR_AUTO(weir_rows) rows = NULL;
    uint8_t seed[WEIR_KEY_BYTES];
    enum weir_status status = DB_RUN(context->db, Q_receipt_keys, &rows, err);
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_CORRUPT, "no key of receipts is recorded: start Weir again");
    status = weir_key_file_read(&file, weir_rows_text(rows, 0, "public_key"), seed, err);
    if (status == WEIR_OK)
        orchestrator_receipt_key_derive(seed, ret_key);
    sodium_memzero(seed, sizeof(seed));
    return status;
}

enum weir_status orchestrator_receipt_keys(const struct context *context, json_t **ret_keys,
                                           struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_receipt_keys, &rows, err);
    if (status != WEIR_OK)
        return status;
    *ret_keys = json_array();
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        json_array_append_new(*ret_keys, json_string(weir_rows_text(rows, i, "public_key")));
    return WEIR_OK;
}

bool orchestrator_receipt_keys_have(const json_t *keys, const char *key)
{
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (strcmp(json_string_value(json_array_get(keys, i)), key) == 0)
            return true;
    return false;
}
