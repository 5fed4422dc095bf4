/* Counting refusals in bounded memory. */
#include "orchestrator/audit/refusals.h"

#include "core/base/utf8.h"

#include <stdio.h>
#include <string.h>

static struct audit_refused *find(struct audit_refusals *refusals, const char *who)
{
    for (size_t i = 0; i < refusals->count; i++)
        if (strncmp(refusals->at[i].who, who, sizeof(refusals->at[i].who) - 1) == 0)
            return &refusals->at[i];
    return NULL;
}

static struct audit_refused *begin(struct audit_refusals *refusals, const char *who,
                                   const char *role)
{
    struct audit_refused *refused = &refusals->at[refusals->count++];
    *refused = (struct audit_refused){.told = 0};
    (void)snprintf(refused->who, sizeof(refused->who), "%s", who);
    (void)snprintf(refused->role, sizeof(refused->role), "%s", role);
    return refused;
}

static bool is_room(const struct audit_refusals *refusals, const char *role)
{
    size_t strangers = 0;
    for (size_t i = 0; i < refusals->count; i++)
        strangers += refusals->at[i].role[0] == '\0';
    return refusals->count < AUDIT_REFUSED_MAX &&
           (role[0] != '\0' || strangers < AUDIT_STRANGERS_MAX);
}

/* The place of a sender; of those for whom there is no room, that of all others. */
static struct audit_refused *place_of(struct audit_refusals *refusals, const char *who,
                                      const char *role)
{
    static const char OTHERS[] = "others";
    struct audit_refused *refused = find(refusals, who);
    if (refused == NULL && is_room(refusals, role))
        return begin(refusals, who, role);
    if (refused == NULL)
        refused = find(refusals, OTHERS);
    return refused != NULL ? refused : begin(refusals, OTHERS, "");
}

const struct audit_refused *orchestrator_refusals_note(struct audit_refusals *refusals,
                                                       const char *who, const char *role,
                                                       const char *what)
{
    struct audit_refused *refused = place_of(refusals, who, role);
    bool is_told = refused->told < AUDIT_REFUSED_FIRST;
    refused->told += is_told;
    refused->counted += !is_told;
    if (is_told || refused->counted == 1)
        weir_utf8_print(refused->what, sizeof(refused->what), "%s", what);
    return refused;
}
