/* Zones as GLib reads them: see zone.h. */
#include "core/base/zone.h"

#include "core/base/memory.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

static const int64_t US_PER_SECOND = 1000000;
static const int64_t US_PER_DAY = INT64_C(86400000000); /* more than any zone is from UTC */

struct weir_zone {
    GTimeZone *rules;
};

/* GLib takes paths, offsets and rules of POSIX too ("UTC+2", two hours behind): they are no names. */
static bool is_name(const char *name)
{
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t first = strspn(name, LETTERS);
    if (first == 0 || strstr(name, "..") != NULL)
        return false;
    const char *rest = strchr(name, '/');
    return rest != NULL || name[first] == '\0';
}

enum weir_status weir_zone_open(const char *name, struct weir_zone **ret_zone,
                                struct weir_error *err)
{
    GTimeZone *rules = is_name(name) ? g_time_zone_new_identifier(name) : NULL;
    if (rules == NULL)
        return weir_fail(
            err, WEIR_NOT_FOUND,
            "found no time zone '%.60s', expected a name of the IANA database, such as "
            "Europe/Berlin, or UTC",
            name);
    struct weir_zone *zone = weir_calloc(1, sizeof(*zone));
    zone->rules = rules;
    *ret_zone = zone;
    return WEIR_OK;
}

void weir_zone_free(struct weir_zone *zone)
{
    if (zone == NULL)
        return;
    g_time_zone_unref(zone->rules);
    free(zone);
}

int64_t weir_zone_offset_us(const struct weir_zone *zone, int64_t utc_us)
{
    int64_t seconds = utc_us / US_PER_SECOND - (utc_us % US_PER_SECOND < 0);
    int interval = g_time_zone_find_interval(zone->rules, G_TIME_TYPE_UNIVERSAL, seconds);
    return interval < 0 ? 0 : g_time_zone_get_offset(zone->rules, interval) * US_PER_SECOND;
}

int64_t weir_zone_to_utc(const struct weir_zone *zone, int64_t local_us)
{
    int64_t before = weir_zone_offset_us(zone, local_us - US_PER_DAY);
    int64_t after = weir_zone_offset_us(zone, local_us + US_PER_DAY);
    bool is_after = weir_zone_offset_us(zone, local_us - before) != before &&
                    weir_zone_offset_us(zone, local_us - after) == after;
    return local_us - (is_after ? after : before);
}
