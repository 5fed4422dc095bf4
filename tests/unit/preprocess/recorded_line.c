/* See recorded_line.h. */
#include "tests/unit/preprocess/recorded_line.h"

#include "core/base/memory.h"
#include "preprocess/operators/number.h"

#include <math.h>
#include <stdlib.h>

enum { NUMBERS_MAX = 5 }; /* of one value */

static const double WHOLE_MAX = 9007199254740992.0; /* 2^53: what a double holds exactly */

static const char *const KINDS[RECORDED_KINDS] = {"setting", "report", "cost", "decision"};
static const char *const PLACES[SCALE_PLACES] = {"pool", "host"};

/* ---- values ---- */

/* A value as it is written, and as numbers where it is that. */
struct value {
    struct weir_bytes text;
    double numbers[NUMBERS_MAX];
    size_t count; /* of numbers; 0: it is a word */
};

typedef bool take_fn(struct recorded_line *line, const struct value *value);

static bool next_field(struct weir_bytes *rest, char end, struct weir_bytes *ret_field)
{
    if (rest->size == 0)
        return false;
    const uint8_t *found = memchr(rest->at, end, rest->size);
    size_t size = found != NULL ? (size_t)(found - rest->at) : rest->size;
    size_t past = found != NULL ? size + 1 : size;
    *ret_field = weir_bytes(rest->at, size);
    *rest = weir_bytes(rest->at + past, rest->size - past);
    return true;
}

static bool read_numbers(struct weir_bytes text, struct value *value)
{
    struct weir_bytes field;
    while (next_field(&text, ',', &field)) {
        if (value->count == NUMBERS_MAX ||
            !preprocess_number_read(field, &value->numbers[value->count]) ||
            value->numbers[value->count] < 0)
            return false;
        value->count++;
    }
    return true;
}

static bool is_whole(double number, double max)
{
    return number <= max && !(floor(number) < number);
}

static bool take_size(struct scale_size *size, const struct value *value)
{
    for (size_t i = 0; i < SCALE_PLACES; i++) {
        if (!is_whole(value->numbers[i], UINT32_MAX))
            return false;
        size->at[i] = (uint32_t)value->numbers[i];
    }
    return true;
}

static bool take_word(char *word, const struct value *value)
{
    if (value->text.size >= RECORDED_WORD_MAX)
        return false;
    memcpy(word, value->text.at, value->text.size);
    word[value->text.size] = '\0';
    return true;
}

/* ---- keys ---- */

static bool take_job(struct recorded_line *line, const struct value *value)
{
    line->stamp.job = (uint64_t)fmin(value->numbers[0], WHOLE_MAX);
    return is_whole(value->numbers[0], WHOLE_MAX);
}

static bool take_at_ms(struct recorded_line *line, const struct value *value)
{
    line->stamp.at_ms = (int64_t)fmin(value->numbers[0], WHOLE_MAX);
    return is_whole(value->numbers[0], WHOLE_MAX);
}

static bool take_policy(struct recorded_line *line, const struct value *value)
{
    return take_word(line->policy, value);
}

static bool take_min(struct recorded_line *line, const struct value *value)
{
    return take_size(&line->setting.min, value);
}

static bool take_max(struct recorded_line *line, const struct value *value)
{
    return take_size(&line->setting.max, value);
}

static bool take_trainer_hour(struct recorded_line *line, const struct value *value)
{
    line->setting.trainer_hour = value->numbers[0];
    return true;
}

static bool take_worker_hour(struct recorded_line *line, const struct value *value)
{
    memcpy(line->setting.worker_hour, value->numbers, sizeof(line->setting.worker_hour));
    return true;
}

static bool take_span(struct recorded_line *line, const struct value *value)
{
    line->report.span_s = value->numbers[0];
    return true;
}

static bool take_workers(struct recorded_line *line, const struct value *value)
{
    struct scale_size size;
    if (!take_size(&size, value))
        return false;
    memcpy(line->report.workers, size.at, sizeof(line->report.workers));
    return true;
}

static bool take_maker(struct recorded_line *line, const struct value *value)
{
    struct weir_bytes rest = value->text, word;
    struct value numbers = {0};
    if (line->report.maker_count == RECORDED_ROWS_MAX || !next_field(&rest, ',', &word) ||
        !read_numbers(rest, &numbers) || numbers.count != 2)
        return false;
    for (enum scale_place place = SCALE_POOL; place < SCALE_PLACES; place++) {
        if (!weir_bytes_equal(word, weir_bytes_of(PLACES[place])))
            continue;
        line->makers = weir_grow(line->makers, line->report.maker_count, &line->maker_capacity,
                                 sizeof(*line->makers));
        line->makers[line->report.maker_count++] = (struct scale_maker){
            .place = place, .batches = numbers.numbers[0], .busy_s = numbers.numbers[1]};
        return true;
    }
    return false;
}

static bool take_taker(struct recorded_line *line, const struct value *value)
{
    if (line->report.taker_count == RECORDED_ROWS_MAX)
        return false;
    line->takers = weir_grow(line->takers, line->report.taker_count, &line->taker_capacity,
                             sizeof(*line->takers));
    line->takers[line->report.taker_count++] =
        (struct scale_taker){value->numbers[0], value->numbers[1], value->numbers[2]};
    return true;
}

static bool take_read(struct recorded_line *line, const struct value *value)
{
    line->counters.read_ns = value->numbers[0];
    line->counters.read_bytes = value->numbers[1];
    return true;
}

static bool take_queued(struct recorded_line *line, const struct value *value)
{
    line->counters.queued_ns = value->numbers[0];
    line->counters.sent_bytes = value->numbers[1];
    return true;
}

static bool take_operator(struct recorded_line *line, const struct value *value)
{
    const double *numbers = value->numbers;
    if (line->counters.operator_count == CHAIN_OPERATORS_MAX)
        return false;
    line->counters.operators[line->counters.operator_count++] =
        (struct ordering_cost){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
    return true;
}

static bool take_decided(struct recorded_line *line, const struct value *value)
{
    return take_size(&line->decision.size, value);
}

static bool take_need(struct recorded_line *line, const struct value *value)
{
    line->decision.need = value->numbers[0];
    return true;
}

static bool take_why(struct recorded_line *line, const struct value *value)
{
    line->decision.why = line->why;
    return take_word(line->why, value);
}

static bool take_settled(struct recorded_line *line, const struct value *value)
{
    line->decision.is_settled = value->numbers[0] > 0;
    return is_whole(value->numbers[0], 1);
}

enum { OF_ALL = RECORDED_KINDS };

static const struct {
    int kind;
    const char *key;
    size_t numbers; /* 0: a word, or one and numbers */
    take_fn *take;
} KEYS[] = {
    {OF_ALL, "job", 1, take_job},
    {OF_ALL, "at_ms", 1, take_at_ms},
    {RECORDED_SETTING, "policy", 0, take_policy},
    {RECORDED_SETTING, "min", SCALE_PLACES, take_min},
    {RECORDED_SETTING, "max", SCALE_PLACES, take_max},
    {RECORDED_SETTING, "trainer_hour", 1, take_trainer_hour},
    {RECORDED_SETTING, "worker_hour", SCALE_PLACES, take_worker_hour},
    {RECORDED_REPORT, "span_s", 1, take_span},
    {RECORDED_REPORT, "workers", SCALE_PLACES, take_workers},
    {RECORDED_REPORT, "maker", 0, take_maker},
    {RECORDED_REPORT, "taker", 3, take_taker},
    {RECORDED_COST, "read", 2, take_read},
    {RECORDED_COST, "queued", 2, take_queued},
    {RECORDED_COST, "operator", 5, take_operator},
    {RECORDED_DECISION, "size", SCALE_PLACES, take_decided},
    {RECORDED_DECISION, "need", 1, take_need},
    {RECORDED_DECISION, "why", 0, take_why},
    {RECORDED_DECISION, "settled", 1, take_settled},
};

static enum weir_status take_pair(struct recorded_line *line, struct weir_bytes pair,
                                  struct weir_error *err)
{
    struct weir_bytes key, rest = pair;
    if (!next_field(&rest, '=', &key))
        return weir_fail(err, WEIR_INVALID, "expected key=value, found two spaces");
    for (size_t i = 0; i < WEIR_COUNT(KEYS); i++) {
        struct value value = {.text = rest};
        if ((KEYS[i].kind != OF_ALL && KEYS[i].kind != (int)line->kind) ||
            !weir_bytes_equal(key, weir_bytes_of(KEYS[i].key)))
            continue;
        if (KEYS[i].numbers > 0 && (!read_numbers(rest, &value) || value.count != KEYS[i].numbers))
            return weir_fail(err, WEIR_INVALID, "%s: expected %zu numbers >= 0, found '%.*s'",
                             KEYS[i].key, KEYS[i].numbers, (int)rest.size, (const char *)rest.at);
        if (!KEYS[i].take(line, &value))
            return weir_fail(err, WEIR_INVALID, "%s: '%.*s' is none", KEYS[i].key, (int)rest.size,
                             (const char *)rest.at);
        return WEIR_OK;
    }
    return weir_fail(err, WEIR_INVALID, "expected a key of a %s, found '%.*s'", KINDS[line->kind],
                     (int)key.size, (const char *)key.at);
}

/* ---- lines ---- */

void fini_recorded_line(struct recorded_line *line)
{
    free(line->makers);
    free(line->takers);
    *line = (struct recorded_line){0};
}

static void clear(struct recorded_line *line)
{
    struct recorded_line kept = *line;
    *line = (struct recorded_line){
        .makers = kept.makers,
        .takers = kept.takers,
        .maker_capacity = kept.maker_capacity,
        .taker_capacity = kept.taker_capacity,
    };
    line->decision.why = line->why;
}

static bool read_kind(struct recorded_line *line, struct weir_bytes word)
{
    for (size_t i = 0; i < RECORDED_KINDS; i++) {
        line->kind = (enum recorded_kind)i;
        if (weir_bytes_equal(word, weir_bytes_of(KINDS[i])))
            return true;
    }
    return false;
}

enum weir_status read_recorded_line(struct recorded_line *line, struct weir_bytes text,
                                    struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    struct weir_bytes field = {0};
    clear(line);
    if (!next_field(&text, ' ', &field) || !read_kind(line, field))
        return weir_fail(err, WEIR_INVALID,
                         "expected setting, report, cost or decision, found '%.*s'",
                         (int)field.size, (const char *)field.at);
    while (status == WEIR_OK && next_field(&text, ' ', &field))
        status = take_pair(line, field, err);
    line->report.makers = line->makers;
    line->report.takers = line->takers;
    return status;
}
