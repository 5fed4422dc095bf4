/* The table of who may ask what, and its refusals. */
#include "orchestrator/topics/access.h"

#include "core/base/bytes.h"

#include <string.h>

#define OPERATOR  WEIR_ROLE_OPERATOR
#define SUBMITTER WEIR_ROLE_SUBMITTER
#define PRIVACY   WEIR_ROLE_PRIVACY
#define VIEWER    WEIR_ROLE_VIEWER
#define USERS     (OPERATOR | SUBMITTER)
#define PEOPLE    WEIR_ROLES_PEOPLE

enum { READS, ORDER };
enum { PIPELINES, WHOLE };

static const struct topic_access ACCESS[] = {
#define TOPIC(name, roles, kind, scope) {#name, roles, (kind) == ORDER, (scope) == WHOLE},
#include "orchestrator/topics/access.def"
#undef TOPIC
};

size_t orchestrator_topic_count(void)
{
    return WEIR_COUNT(ACCESS);
}

const struct topic_access *orchestrator_topic_at(size_t index)
{
    return &ACCESS[index];
}

const struct topic_access *orchestrator_topic_named(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(ACCESS); i++)
        if (strcmp(ACCESS[i].name, name) == 0)
            return &ACCESS[i];
    return NULL;
}

/* "operator, privacy or viewer" */
static void list_roles(unsigned roles, struct weir_buf *out)
{
    for (unsigned role = 1; role <= roles; role <<= 1) {
        bool is_last = (roles & ~(2 * role - 1)) == 0;
        if ((roles & role) != 0)
            weir_buf_printf(out, "%s%s",
                            out->size == 0 ? ""
                            : is_last      ? " or "
                                           : ", ",
                            weir_role_name((enum weir_role)role));
    }
}

enum weir_status orchestrator_topic_check(const struct topic_access *topic,
                                          const struct weir_sender *sender, struct weir_error *err)
{
    WEIR_AUTO_BUF roles = {0};
    if (sender->role == WEIR_ROLE_PLATFORM)
        return WEIR_OK;
    if ((topic->roles & sender->role) == 0) {
        list_roles(topic->roles, &roles);
        return weir_fail(err, WEIR_DENIED,
                         "key '%s' is of role %s: '%s' is for keys of role %s, and for "
                         "the platform's own host",
                         sender->name, weir_role_name(sender->role), topic->name,
                         weir_buf_text(&roles));
    }
    if (topic->is_whole && sender->tenant[0] != '\0')
        return weir_fail(err, WEIR_DENIED,
                         "key '%s' is of tenant %s: '%s' is about the whole platform", sender->name,
                         sender->tenant, topic->name);
    return WEIR_OK;
}
