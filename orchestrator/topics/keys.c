/* keys_list, keys_allow, keys_revoke, keys_rotate: keys of those who are elsewhere. A change is answered once every
 * service has noted it, or with those that have not: they are told until they do. */
#include "orchestrator/topics/topic.h"

#include "core/base/clock.h"
#include "orchestrator/values/json_object.h"

enum {
    NOTED_MS_MAX = 5000,
    LOOK_MS = 10,
    REVOKED_SHOWN = 100,
    PAGE_KEYS = 5000 /* of one answer: a message is bounded */
};

/* ---- the list ---- */

static json_t *key_json(const struct weir_rows *rows, size_t row, bool is_revoked)
{
    return JSON_FIELDS(JSON_TEXT("name", weir_rows_text(rows, row, "name")),
                       JSON_TEXT("role", weir_rows_text(rows, row, "role")),
                       JSON_TEXT("tenant", weir_rows_text(rows, row, "tenant")),
                       JSON_TEXT("made_for", weir_rows_text(rows, row, "made_for")),
                       JSON_TEXT("public", weir_rows_text(rows, row, "public_key")),
                       JSON_TIME("made", weir_rows_i64(rows, row, "made_us")),
                       JSON_NEW("revoked", is_revoked ? orchestrator_json_time(
                                                            weir_rows_i64(rows, row, "revoked_us"))
                                                      : json_null()));
}

static void add_revoked(json_t *list, const struct weir_rows *rows)
{
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        json_array_append_new(list, key_json(rows, i, true));
}

/* By name. */
static void add_page(json_t *list, const struct weir_rows *rows, const char **ret_before)
{
    const struct topic_page page = orchestrator_topic_page(rows, PAGE_KEYS);
    for (size_t i = page.count; i-- > 0;)
        json_array_append_new(list, key_json(rows, i, false));
    *ret_before = page.has_older ? weir_rows_text(rows, page.count - 1, "name") : NULL;
}

static json_t *services_json(const struct topic_call *call)
{
    struct keys_holder_view holders[KEYS_HOLDERS];
    json_t *services = json_array();
    (void)orchestrator_keys_look(call->all->keys, holders);
    for (size_t i = 0; i < KEYS_HOLDERS; i++)
        json_array_append_new(services, JSON_FIELDS(JSON_TEXT("service", holders[i].name),
                                                    JSON_FLAG("noted", holders[i].has_noted)));
    return services;
}

void orchestrator_topic_keys_list(struct topic_call *call)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(weir_rows) revoked = NULL;
    const char *before = orchestrator_topic_text(call, "before", "");
    bool wants_revoked = orchestrator_topic_flag(call, "all") && before[0] == '\0';
    enum weir_status status =
        DB_RUN(call->context->db, Q_keys_page, &rows, &err, DB_TEXT(before), DB_I64(PAGE_KEYS + 1));
    if (status == WEIR_OK && wants_revoked)
        status = DB_RUN(call->context->db, Q_keys_revoked, &revoked, &err, DB_I64(REVOKED_SHOWN));
    if (status != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
        return;
    }
    json_t *list = json_array();
    add_page(list, rows, &before);
    if (wants_revoked)
        add_revoked(list, revoked);
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_TEXT_OR_NULL("platform", orchestrator_keys_address(call->all->keys)),
                          JSON_NUMBER("number", orchestrator_keys_number(call->all->keys)),
                          JSON_NEW("keys", list), JSON_NEW("services", services_json(call)),
                          JSON_TEXT_IF_ANY("before", before)));
}

/* ---- changes ---- */

static void forget(struct topic_call *call)
{
    weir_loop_cancel(call->context->loop, call->timer);
}

static void answer_once_noted(void *owner)
{
    struct topic_call *call = owner;
    struct keys_holder_view holders[KEYS_HOLDERS];
    bool all = orchestrator_keys_look(call->all->keys, holders);
    if (!all && weir_now_ms() < call->number) {
        call->timer = weir_loop_timer(call->context->loop, LOOK_MS, 0, answer_once_noted, call);
        return;
    }
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_TEXT("name", orchestrator_topic_text(call, "name", "")),
                          JSON_TEXT_OR_NULL("platform", orchestrator_keys_address(call->all->keys)),
                          JSON_NUMBER("number", orchestrator_keys_number(call->all->keys)),
                          JSON_FLAG("noted", all), JSON_NEW("services", services_json(call))));
}

static void finish(struct topic_call *call, enum weir_status status, const struct weir_error *err)
{
    if (status != WEIR_OK) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    call->number = weir_now_ms() + NOTED_MS_MAX;
    call->forget = forget;
    answer_once_noted(call);
}

/* To let in a privacy key is to be able to erase: that is left to those on the host. */
static enum weir_status check_privacy(const struct topic_call *call, enum weir_role role,
                                      struct weir_error *err)
{
    if (role != WEIR_ROLE_PRIVACY || call->sender.role == WEIR_ROLE_PLATFORM)
        return WEIR_OK;
    return weir_fail(err, WEIR_DENIED,
                     "key '%s' is of role %s: keys of role privacy are made on the platform's own "
                     "host",
                     call->sender.who, weir_role_name(call->sender.role));
}

static enum weir_status check_role(const struct topic_call *call, const char *role,
                                   struct weir_error *err)
{
    if (weir_role_of_name(role) != 0)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_INVALID,
        "role: expected trainer, worker, operator, submitter, privacy or viewer, found "
        "'%.40s'",
        orchestrator_topic_text(call, "role", ""));
}

void orchestrator_topic_keys_allow(struct topic_call *call)
{
    struct weir_error err;
    const char *role = orchestrator_topic_text(call, "role", "");
    const struct keys_order order = {
        .name = orchestrator_topic_text(call, "name", ""),
        .role = (enum weir_role)weir_role_of_name(role),
        .tenant = orchestrator_topic_text(call, "tenant", ""),
        .made_for = "",
    };
    enum weir_status status = check_role(call, role, &err);
    if (status == WEIR_OK)
        status = check_privacy(call, order.role, &err);
    if (status == WEIR_OK)
        status = orchestrator_keys_allow(call->all->keys, &order,
                                         orchestrator_topic_text(call, "public", ""), &err);
    finish(call, status, &err);
}

void orchestrator_topic_keys_revoke(struct topic_call *call)
{
    struct weir_error err;
    enum weir_status status =
        orchestrator_keys_revoke(call->all->keys, orchestrator_topic_text(call, "name", ""), &err);
    finish(call, status, &err);
}

void orchestrator_topic_keys_rotate(struct topic_call *call)
{
    struct weir_error err;
    enum weir_role role = WEIR_ROLE_PLATFORM;
    const char *name = orchestrator_topic_text(call, "name", "");
    enum weir_status status = orchestrator_keys_role(call->all->keys, name, &role, &err);
    if (status == WEIR_OK)
        status = check_privacy(call, role, &err);
    if (status == WEIR_OK)
        status = orchestrator_keys_rotate(call->all->keys, name,
                                          orchestrator_topic_text(call, "public", ""), &err);
    finish(call, status, &err);
}
