/* Numbers to JSON and words. */
#include "orchestrator/triggers/drift_told.h"

#include "core/base/memory.h"
#include "orchestrator/values/json_number.h"
#include "orchestrator/values/json_object.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void orchestrator_drift_tell(const struct drift_judge *judge, const struct drift_findings *findings,
                             json_t *decision)
{
    json_t *list = json_array();
    for (size_t i = 0; i < findings->count; i++) {
        const struct drift_finding *found = &findings->of[i];
        json_array_append_new(
            list, JSON_FIELDS(JSON_TEXT("statistic", orchestrator_judge_statistic(judge, i)->name),
                              JSON_NEW("distance", orchestrator_json_number(found->distance)),
                              JSON_NEW("p_value", orchestrator_json_number(found->p_value)),
                              JSON_NEW("limit", orchestrator_json_number(found->limit)),
                              JSON_TEXT("limit_of", found->by_p_value ? "p_value" : "distance"),
                              JSON_FLAG("verdict", found->fires)));
    }
    json_object_set_new(decision, "statistics", list);
    json_object_set_new(decision, "votes", json_integer((json_int_t)findings->votes));
    json_object_set_new(decision, "needed", json_integer((json_int_t)findings->needed));
}

/* The names in their order, borrowed; an array of `width`, which the caller frees. */
static const char **list_names(const char *names, size_t width)
{
    const char **list = weir_calloc(width + 1, sizeof(*list));
    for (size_t i = 0; i < width && names != NULL; i++) {
        list[i] = names;
        names += strlen(names) + 1;
    }
    return list;
}

static json_t *moved_json(const struct drift_moved *moved, const char *name)
{
    return JSON_FIELDS(
        JSON_TEXT("feature", name), JSON_NEW("distance", orchestrator_json_number(moved->distance)),
        JSON_NEW("reference_mean", orchestrator_json_number(moved->reference_mean)),
        JSON_NEW("current_mean", orchestrator_json_number(moved->current_mean)),
        JSON_NEW("reference_missing", orchestrator_json_number(moved->reference_missing)),
        JSON_NEW("current_missing", orchestrator_json_number(moved->current_missing)));
}

static void print_moved(const struct drift_moved *moved, const char *name, struct weir_buf *text)
{
    weir_buf_printf(text, "%s %.3g (mean %.4g -> %.4g", name, moved->distance,
                    moved->reference_mean, moved->current_mean);
    if (moved->reference_missing != moved->current_missing)
        weir_buf_printf(text, ", missing %.3g %% -> %.3g %%", 100 * moved->reference_missing,
                        100 * moved->current_missing);
    weir_buf_append_text(text, ")");
}

/* Consumes the list. */
static void set_moved(json_t *decision, const char *by, json_t *list, size_t features)
{
    json_object_set_new(decision, "moved_by", json_string(by));
    json_object_set_new(decision, "moved", list);
    json_object_set_new(decision, "features", json_integer((json_int_t)features));
}

void orchestrator_drift_tell_moved(const struct drift_judge *judge, const struct drift_input *input,
                                   const char *names, const char *on, json_t *decision,
                                   struct weir_buf *text)
{
    size_t count = 0;
    json_t *list = json_array();
    WEIR_AUTO_FREE struct drift_moved *moved = weir_calloc(input->width + 1, sizeof(*moved));
    WEIR_AUTO_FREE const char **named = list_names(names, input->width);
    const struct drift_statistic *by = orchestrator_judge_moved(judge, input, moved, &count);
    for (size_t i = 0; i < count && i < DRIFT_MOVED_MAX; i++) {
        WEIR_AUTO_FREE char *number = weir_format("%s[%zu]", on, moved[i].feature);
        const char *name = names != NULL ? named[moved[i].feature] : number;
        json_array_append_new(list, moved_json(&moved[i], name));
        if (i >= DRIFT_MOVED_TOLD || moved[i].distance <= 0)
            continue;
        if (i == 0)
            weir_buf_printf(text, "; farthest by %s: ", by->name);
        else
            weir_buf_append_text(text, ", ");
        print_moved(&moved[i], name, text);
    }
    set_moved(decision, by->name, list, input->width);
}

/* ---- classes ---- */

/* A class in both windows. */
struct share {
    int64_t class;
    size_t reference, current; /* samples */
    double moved; /* difference of the shares, times the samples of both windows: exact */
};

static int by_class(const void *a, const void *b)
{
    const struct share *left = a, *right = b;
    return (left->class > right->class) - (left->class < right->class);
}

/* The farthest first, equals by number. */
static int by_distance(const void *a, const void *b)
{
    const struct share *left = a, *right = b;
    return left->moved != right->moved ? (left->moved < right->moved ? 1 : -1) : by_class(a, b);
}

/* Returns the number of classes; `ret_shares` has room for all samples. */
static size_t share_out(const struct drift_input *input, struct share *ret_shares)
{
    size_t before = input->reference.count, after = input->current.count, count = 0;
    for (size_t i = 0; i < before; i++)
        ret_shares[i] = (struct share){input->reference.labels[i], 1, 0, 0};
    for (size_t i = 0; i < after; i++)
        ret_shares[before + i] = (struct share){input->current.labels[i], 0, 1, 0};
    qsort(ret_shares, before + after, sizeof(*ret_shares), by_class);
    for (size_t i = 0; i < before + after; i++) {
        struct share *last = count > 0 ? &ret_shares[count - 1] : NULL;
        if (last != NULL && last->class == ret_shares[i].class) {
            last->reference += ret_shares[i].reference;
            last->current += ret_shares[i].current;
        } else {
            ret_shares[count++] = ret_shares[i];
        }
    }
    for (size_t i = 0; i < count; i++)
        ret_shares[i].moved = fabs((double)ret_shares[i].current * (double)before -
                                   (double)ret_shares[i].reference * (double)after);
    qsort(ret_shares, count, sizeof(*ret_shares), by_distance);
    return count;
}

static char *name_of(int64_t class, const struct weir_strs *names)
{
    bool is_named = class >= 0 && (uint64_t) class < names->count;
    return is_named ? weir_strdup(names->at[class]) : weir_format("class %" PRId64, class);
}

void orchestrator_drift_tell_classes(const struct drift_input *input, const struct weir_strs *names,
                                     json_t *decision, struct weir_buf *text)
{
    json_t *list = json_array();
    WEIR_AUTO_FREE struct share *shares =
        weir_calloc(input->reference.count + input->current.count + 1, sizeof(*shares));
    size_t count = share_out(input, shares);
    double before = (double)input->reference.count, after = (double)input->current.count;
    for (size_t i = 0; i < count && i < DRIFT_MOVED_MAX; i++) {
        WEIR_AUTO_FREE char *name = name_of(shares[i].class, names);
        double was = (double)shares[i].reference / before, is = (double)shares[i].current / after;
        json_array_append_new(list, JSON_FIELDS(JSON_TEXT("feature", name),
                                                JSON_DOUBLE("distance", fabs(is - was)),
                                                JSON_DOUBLE("reference_share", was),
                                                JSON_DOUBLE("current_share", is)));
        if (i < DRIFT_MOVED_TOLD && shares[i].moved > 0)
            weir_buf_printf(text, "%s%s %.3g %% -> %.3g %%",
                            i == 0 ? "; farthest by share: " : ", ", name, 100 * was, 100 * is);
    }
    set_moved(decision, "share", list, count);
}
