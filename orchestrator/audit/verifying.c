/* Reading the log, and following its chain. */
#include "core/base/memory.h"
#include "orchestrator/audit/audit.h"
#include "orchestrator/audit/audit_state.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/values/json_object.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 100 }; /* records that are verified before others have their turn */

enum weir_status orchestrator_audit_read(const struct audit *audit, int64_t after, int64_t since_us,
                                         int64_t most, json_t *records, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(audit->context->db, Q_audit_after, &rows, err, DB_I64(after),
                                     DB_I64(since_us), DB_I64(most));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        json_t *record = json_loads(weir_rows_text(rows, i, "record"), 0, NULL);
        int64_t number = weir_rows_i64(rows, i, "number");
        json_array_append_new(records,
                              record != NULL ? record : JSON_FIELDS(JSON_NUMBER("number", number)));
    }
    return status;
}

/* ---- the chain ---- */

static void find_wrong(struct audit_chain *chain, int64_t number, const char *found)
{
    if (chain->mistakes++ < AUDIT_WRONG_MAX)
        json_array_append_new(
            chain->wrong, JSON_FIELDS(JSON_NUMBER("record", number), JSON_TEXT("found", found)));
}

/* Consumes `record`. */
static void check_record(struct audit_chain *chain, int64_t number, json_t *record,
                         const json_t *keys)
{
    struct receipt_claims claims;
    struct weir_error err;
    json_int_t says = json_integer_value(json_object_get(record, "number"));
    if (orchestrator_signed_check(record, &claims, &err) != WEIR_OK)
        find_wrong(chain, number, err.text);
    else if (!orchestrator_receipt_keys_have(keys, claims.key))
        find_wrong(chain, number, "it is not signed by a key of this platform");
    else if (says != number)
        find_wrong(chain, number, "it was signed under another number");
    else if (strcmp(claims.previous, chain->hash) != 0)
        find_wrong(chain, number, "the record before it is not the one that it was made after");
    else
        (void)snprintf(chain->hash, sizeof(chain->hash), "%s", claims.hash);
    json_decref(record);
}

/* After a record that does not hold, the next one is compared with what that one claims. */
static void step(struct audit_chain *chain, const struct weir_rows *rows, size_t row,
                 const json_t *keys)
{
    int64_t number = weir_rows_i64(rows, row, "number");
    json_t *record = json_loads(weir_rows_text(rows, row, "record"), JSON_REJECT_DUPLICATES, NULL);
    const char *claim = json_string_value(json_object_get(record, "hash"));
    WEIR_AUTO_FREE char *hash = weir_strdup(claim == NULL ? "" : claim);
    if (number != chain->newest + 1)
        find_wrong(chain, number, "records before it are missing");
    if (record == NULL)
        find_wrong(chain, number, "it is no JSON");
    else
        check_record(chain, number, record, keys);
    (void)snprintf(chain->hash, sizeof(chain->hash), "%s", hash);
    chain->newest = number;
    chain->records++;
}

/* The newest one that this process has written is there: nobody has cut the end off since it began. */
static void check_end(const struct audit *audit, struct audit_chain *chain)
{
    if (audit->is_known &&
        (chain->newest != audit->newest || strcmp(chain->hash, audit->hash) != 0))
        find_wrong(chain, audit->newest, "the newest record is not the one that was written last");
}

enum weir_status orchestrator_audit_verify(const struct audit *audit, struct audit_chain *chain,
                                           struct weir_error *err)
{
    json_t *keys = NULL;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = orchestrator_receipt_keys(audit->context, &keys, err);
    if (status == WEIR_OK)
        status = DB_RUN(audit->context->db, Q_audit_after, &rows, err, DB_I64(chain->newest),
                        DB_I64(0), DB_I64(PIECE));
    size_t count = status == WEIR_OK ? weir_rows_count(rows) : 0;
    for (size_t i = 0; i < count; i++)
        step(chain, rows, i, keys);
    chain->is_through = count < PIECE;
    if (status == WEIR_OK && chain->is_through)
        check_end(audit, chain);
    json_decref(keys);
    return status;
}
