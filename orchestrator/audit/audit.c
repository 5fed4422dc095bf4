/* Writing the log. */
#include "orchestrator/audit/audit.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/audit/audit_state.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/values/json_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MINUTE_MS = 60 * 1000 };

/* ---- the chain ---- */

/* Again after a commit of unknown outcome. */
static enum weir_status find_end(struct audit *audit, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(audit->context->db, Q_audit_newest, &rows, err);
    if (status != WEIR_OK)
        return status;
    audit->newest = 0;
    audit->hash[0] = '\0';
    if (weir_rows_count(rows) > 0) {
        json_t *record = json_loads(weir_rows_text(rows, 0, "record"), 0, NULL);
        const char *hash = json_string_value(json_object_get(record, "hash"));
        audit->newest = weir_rows_i64(rows, 0, "number");
        (void)snprintf(audit->hash, sizeof(audit->hash), "%s", hash == NULL ? "" : hash);
        json_decref(record);
    }
    audit->is_known = true;
    return WEIR_OK;
}

static enum weir_status put(struct audit *audit, json_t *record, struct weir_error *err)
{
    char hash[RECEIPT_HASH_MAX];
    struct receipt_key key;
    int64_t now_us = weir_now_wall_us();
    enum weir_status status = orchestrator_receipt_key(audit->context, &key, err);
    if (status != WEIR_OK)
        return status;
    json_object_set_new(record, "number", json_integer((json_int_t)audit->newest + 1));
    json_object_set_new(record, "at", orchestrator_json_time(now_us));
    json_object_set_new(record, "previous", json_string(audit->hash));
    orchestrator_receipt_sign(record, &key, hash);
    orchestrator_receipt_key_fini(&key);
    WEIR_AUTO_FREE char *text = json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS);
    weir_require(text != NULL);
    status = DB_RUN(audit->context->db, Q_audit_add, NULL, err, DB_I64(audit->newest + 1),
                    DB_I64(now_us), DB_TEXT(text));
    if (status == WEIR_OK) {
        audit->newest++;
        memcpy(audit->hash, hash, sizeof(audit->hash));
    }
    return status;
}

/* Consumes the record; NULL, one of texts that are no UTF-8, is refused. */
static enum weir_status append(struct audit *audit, json_t *record, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (record == NULL)
        return weir_fail(err, WEIR_INVALID, "audit: expected texts in UTF-8");
    if (!audit->is_known)
        status = find_end(audit, err);
    if (status == WEIR_OK) {
        status = put(audit, record, err);
        audit->is_known = status == WEIR_OK;
    }
    json_decref(record);
    return status;
}

/* ---- orders ---- */

enum weir_status orchestrator_audit_begin(struct audit *audit, const struct audit_order *order,
                                          int64_t *ret_number, struct weir_error *err)
{
    json_t *about = json_object();
    orchestrator_audit_copy(order->about, about);
    enum weir_status status =
        append(audit,
               JSON_FIELDS(JSON_TEXT("who", order->who), JSON_TEXT("role", order->role),
                           JSON_TEXT("what", order->what), JSON_NEW("about", about)),
               err);
    if (status == WEIR_OK)
        *ret_number = audit->newest;
    return status;
}

void orchestrator_audit_end(struct audit *audit, int64_t number, enum weir_status outcome,
                            const json_t *about)
{
    struct weir_error err;
    json_t *copy = json_object();
    if (about != NULL)
        orchestrator_audit_copy(about, copy);
    json_t *record =
        JSON_FIELDS(JSON_NUMBER("order", number),
                    JSON_TEXT("outcome", outcome == WEIR_OK ? "done" : weir_status_name(outcome)),
                    JSON_NEW("about", copy));
    if (append(audit, record, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "the end of an order is not in the audit log",
                 "order=%lld because=\"%s\"", (long long)number, err.text);
}

/* ---- refusals ---- */

static void put_refusals(struct audit *audit, const struct audit_refused *refused, uint64_t times)
{
    struct weir_error err;
    json_t *record = JSON_FIELDS(JSON_TEXT("who", refused->who), JSON_TEXT("role", refused->role),
                                 JSON_TEXT("what", refused->what), JSON_TEXT("outcome", "refused"),
                                 JSON_NUMBER("times", times));
    if (append(audit, record, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "a refusal is not in the audit log", "because=\"%s\"", err.text);
}

static void put_counts(void *owner)
{
    struct audit *audit = owner;
    audit->timer = 0;
    for (size_t i = 0; i < audit->refusals.count; i++) {
        const struct audit_refused *refused = &audit->refusals.at[i];
        if (refused->counted > 0)
            put_refusals(audit, refused, refused->counted);
    }
    audit->refusals.count = 0;
}

void orchestrator_audit_refuse(struct audit *audit, const char *who, const char *role,
                               const char *what)
{
    const struct audit_refused *refused =
        orchestrator_refusals_note(&audit->refusals, who, role, what);
    if (audit->timer == 0)
        audit->timer = weir_loop_timer(audit->context->loop, MINUTE_MS, 0, put_counts, audit);
    if (refused->counted == 0)
        put_refusals(audit, refused, 1);
}

/* ---- life ---- */

enum weir_status orchestrator_audit_open(struct context *context, struct audit **ret_audit,
                                         struct weir_error *err)
{
    WEIR_AUTO(audit) audit = weir_calloc(1, sizeof(*audit));
    audit->context = context;
    enum weir_status status = find_end(audit, err);
    if (status == WEIR_OK)
        *ret_audit = WEIR_TAKE(audit);
    return status;
}

void orchestrator_audit_close(struct audit *audit)
{
    if (audit == NULL)
        return;
    if (audit->timer != 0)
        put_counts(audit);
    weir_loop_cancel(audit->context->loop, audit->timer);
    free(audit);
}
