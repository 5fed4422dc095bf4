/* Checks that the datasets of one pipeline fit together: see declaration.h. */
#include "storage/catalog/declaration.h"

#include "core/base/bytes.h"

#include <string.h>

static enum weir_status check_distinct(const struct declarations *all, size_t index,
                                       const struct weir_yaml_node *node, struct weir_error *err)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(all->at[i].name, all->at[index].name) == 0)
            return weir_yaml_fail(weir_yaml_get(node, "name"), err,
                                  "datasets[%zu].name: '%s' is the name of datasets[%zu] already",
                                  index, all->at[index].name, i);
    }
    return WEIR_OK;
}

static bool have_same_classes(const struct weir_yaml_node *a, const struct weir_yaml_node *b)
{
    if (a == NULL || b == NULL || weir_yaml_length(a) != weir_yaml_length(b))
        return false;
    for (size_t i = 0; i < weir_yaml_length(a); i++) {
        if (strcmp(weir_yaml_text(weir_yaml_at(a, i)), weir_yaml_text(weir_yaml_at(b, i))) != 0)
            return false;
    }
    return true;
}

/* One model learns from all of them: a label must mean the same in each. */
static enum weir_status check_labels(const struct declarations *all, size_t index,
                                     const struct weir_yaml_node *node, struct weir_error *err)
{
    const struct declaration *first = &all->at[0], *d = &all->at[index];
    const struct weir_yaml_node *label = weir_yaml_get(node, "label");

    if (d->label_kind != first->label_kind || d->label_width != first->label_width ||
        d->value_type != first->value_type)
        return weir_yaml_fail(label != NULL ? label : node, err,
                              "datasets[%zu].label: expected the same kind of label as datasets[0] "
                              "has, because one model learns from both",
                              index);
    if (d->label_kind == WEIR_LABEL_CLASS && index > 0 &&
        !have_same_classes(d->classes, first->classes))
        return weir_yaml_fail(label, err,
                              "datasets[%zu].label.classes: expected the same list of names as in "
                              "datasets[0], because class 0 must be the same class in both",
                              index);
    return WEIR_OK;
}

static const struct declaration *find_other(const struct declarations *all,
                                            const struct declaration *d, bool updates_it)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct declaration *other = &all->at[i];

        if (updates_it ? weir_str_equal(other->updates, d->name)
                       : weir_str_equal(d->updates, other->name))
            return other;
    }
    return NULL;
}

/* Checks both sides of joined labels, and the key that joins them. */
static enum weir_status check_updates(const struct declarations *all, size_t index,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    const struct declaration *d = &all->at[index];
    const struct declaration *other = d->updates != NULL ? find_other(all, d, false) : NULL;

    if (d->awaits_label &&
        (find_other(all, d, true) == NULL || !d->has_key || d->keep != KEEP_ALL || d->is_pushed))
        return weir_yaml_fail(weir_yaml_get(node, "label"), err,
                              "datasets[%zu].label.from: found updates, expected a source.path, a "
                              "key, no duplicates section, and another dataset with updates: %s",
                              index, d->name);
    if (d->updates != NULL && (other == NULL || other->updates != NULL || !other->awaits_label ||
                               !d->has_key || d->awaits_label || d->label_kind == WEIR_LABEL_NONE))
        return weir_yaml_fail(weir_yaml_get(node, "updates"), err,
                              "datasets[%zu].updates: expected another dataset with label: {from: "
                              "updates, …}, and key and label beside it",
                              index);
    return WEIR_OK;
}

enum weir_status storage_declarations_agree(const struct declarations *all,
                                            const struct weir_yaml_node *list,
                                            struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < all->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(list, i);

        status = check_distinct(all, i, node, err);
        if (status == WEIR_OK)
            status = check_labels(all, i, node, err);
        if (status == WEIR_OK)
            status = check_updates(all, i, node, err);
    }
    return status;
}

/* ---- remarks ---- */

static bool is_same_field(const struct format_field *a, const struct format_field *b)
{
    if (a->from != b->from)
        return false;
    if (a->from == FORMAT_AT)
        return a->offset == b->offset;
    if (a->from == FORMAT_FOLDER)
        return a->depth == b->depth;
    return a->name != NULL && b->name && strcmp(a->name, b->name) == 0;
}

/* Models learn whose a sample is. */
static void remark_subject(const struct declaration *d, size_t i, struct weir_buf *out)
{
    struct weir_error place;

    if (!d->has_subject || d->label_node == NULL || d->label_kind == WEIR_LABEL_NONE ||
        !is_same_field(&d->fields.label, &d->fields.subject))
        return;
    weir_ignore(weir_yaml_fail(
        d->label_node, &place,
        "datasets[%zu].label: found the field that is the subject: models learn whose a sample "
        "is%s; expected another field, unless this is meant",
        i,
        d->label_kind == WEIR_LABEL_CLASS && d->classes == NULL
            ? ", and the names of classes are people's, replaced when their last sample is "
              "erased"
            : ""));
    weir_buf_printf(out, "%s\n", place.text);
}

void storage_declarations_remark(const struct declarations *all, struct weir_buf *out)
{
    for (size_t i = 0; i < all->count; i++)
        remark_subject(&all->at[i], i, out);
}
