/* Periods: reading them, and finding the boundaries of their grid. Pure. */
#include "orchestrator/values/period.h"

#include "core/base/clock.h"
#include "core/config/schema.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const int64_t DAY_US = INT64_C(86400000000);
static const int64_t MONTHS_MAX = 1200;
enum { PERIOD_TEXT_MAX = 64 };

/* The word after the number, as months, or 0. */
static int64_t months_of_unit(const char *unit)
{
    static const struct {
        const char *name;
        int64_t months;
    } UNITS[] = {{"month", 1}, {"months", 1}, {"year", 12}, {"years", 12}};

    for (size_t i = 0; i < WEIR_COUNT(UNITS); i++)
        if (strcmp(unit, UNITS[i].name) == 0)
            return UNITS[i].months;
    return 0;
}

static bool parse_calendar(const char *text, int64_t *ret_months)
{
    char *end = NULL;
    if (!isdigit((unsigned char)text[0]))
        return false;
    long long count = strtoll(text, &end, 10);
    while (*end == ' ')
        end++;
    int64_t unit = months_of_unit(end);
    if (unit == 0 || count < 1 || count > MONTHS_MAX)
        return false;
    *ret_months = count * unit;
    return true;
}

/* "03:00" */
static bool parse_time_of_day(const char *text, int64_t *ret_us)
{
    for (size_t i = 0; i < 5; i++)
        if (i == 2 ? text[i] != ':' : !isdigit((unsigned char)text[i]))
            return false;
    int64_t hours = (text[0] - '0') * 10 + text[1] - '0';
    int64_t minutes = (text[3] - '0') * 10 + text[4] - '0';
    *ret_us = (hours * 60 + minutes) * INT64_C(60000000);
    return text[5] == '\0' && hours < 24 && minutes < 60;
}

/* Cuts " at 03:00" off `text`. False: what stands there is no time of day. */
static bool split_time_of_day(char *text, int64_t *ret_us)
{
    char *at = strstr(text, " at ");
    *ret_us = 0;
    if (at == NULL)
        return true;
    *at = '\0';
    return parse_time_of_day(at + strlen(" at "), ret_us);
}

static bool parse(const char *text, struct orchestrator_period *ret_period)
{
    char length[PERIOD_TEXT_MAX];
    struct orchestrator_period period = {0};
    if (text == NULL || strlen(text) >= sizeof(length))
        return false;
    memcpy(length, text, strlen(text) + 1);
    if (!split_time_of_day(length, &period.at_us) ||
        (!parse_calendar(length, &period.months) &&
         (!cfg_parse_duration(length, &period.us) || period.us <= 0)))
        return false;
    *ret_period = period;
    return period.at_us == 0 || period.months > 0 || period.us % DAY_US == 0;
}

enum weir_status orchestrator_period_parse(const char *text, struct orchestrator_period *ret_period,
                                           struct weir_error *err)
{
    if (parse(text, ret_period))
        return WEIR_OK;
    return weir_fail(
        err, WEIR_INVALID,
        "expected a period such as 12h, 1d, 1w, 1 month, 1 year or 1d at 03:00, found '%s'",
        text == NULL ? "" : text);
}

enum weir_status orchestrator_period_read(const struct weir_yaml_node *node, const char *key,
                                          const char *text, struct orchestrator_period *ret_period,
                                          struct weir_error *err)
{
    struct weir_error inner;
    enum weir_status status = orchestrator_period_parse(text, ret_period, &inner);
    if (status != WEIR_OK)
        return weir_yaml_fail(node, err, "%s: %s", key, inner.text);
    return WEIR_OK;
}

enum weir_status orchestrator_moment_read(const struct weir_yaml_node *node, const char *key,
                                          const char *text, int64_t *time_us,
                                          struct weir_error *err)
{
    if (text == NULL || weir_time_parse(text, strlen(text), time_us))
        return WEIR_OK;
    return weir_yaml_fail(node, err, "%s: expected a time such as 2002-12-01, found '%.40s'", key,
                          text);
}

/* Boundaries lie at whole multiples of the period from here: the Monday of 1970's second week for
 * weeks. */
static int64_t origin_of(const struct orchestrator_period *period)
{
    return period->us % (7 * DAY_US) == 0 ? 4 * DAY_US : 0;
}

static int64_t next_month(int64_t months, int64_t time_us)
{
    const int64_t mean_us = 30 * DAY_US + DAY_US * 437 / 1000;
    int64_t index = time_us / (mean_us * months) - 2;
    int64_t boundary = weir_time_add_months(0, index * months);
    while (boundary > time_us) { /* only far before 1970 */
        index--;
        boundary = weir_time_add_months(0, index * months);
    }
    while (boundary <= time_us) {
        index++;
        boundary = weir_time_add_months(0, index * months);
    }
    return boundary;
}

int64_t orchestrator_period_next(const struct orchestrator_period *period, int64_t time_us)
{
    if (period->months > 0)
        return next_month(period->months, time_us - period->at_us) + period->at_us;
    int64_t origin = origin_of(period) + period->at_us;
    int64_t past = (time_us - origin) % period->us;
    if (past < 0)
        past += period->us;
    return time_us - past + period->us;
}

int64_t orchestrator_period_after(const struct orchestrator_period *period, int64_t boundary_us)
{
    return period->months > 0 ? weir_time_add_months(boundary_us, period->months)
                              : boundary_us + period->us;
}

uint64_t orchestrator_period_count(const struct orchestrator_period *period, int64_t from_us,
                                   int64_t to_us)
{
    uint64_t count = 0;
    int64_t first = orchestrator_period_next(period, from_us - 1);
    if (first > to_us)
        return 0;
    if (period->months == 0)
        return ((uint64_t)to_us - (uint64_t)first) / (uint64_t)period->us + 1;
    for (; first <= to_us; first = orchestrator_period_after(period, first))
        count++;
    return count;
}
