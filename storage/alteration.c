/* Declarations that change: see alteration.h. */
#include "storage/alteration.h"

#include "storage/sql/queries.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/config/difference.h"
#include "core/config/sections.h"

#include <stdlib.h>
#include <string.h>

/* A dataset beside its new declaration. */
struct comparison {
    struct storage *storage;
    const struct dataset *known, *declared;
    const struct msg_dataset_declare *asked;
    char *path; /* of the first difference that needs another dataset; NULL: there is none */
    struct weir_buf was, is;
};

static void on_difference(void *owner, const struct cfg_difference *difference)
{
    struct comparison *comparison = owner;

    if (comparison->path != NULL || cfg_dataset_may_change(difference->path))
        return;
    comparison->path = weir_strdup(difference->path);
    weir_yaml_print(difference->was, &comparison->was);
    weir_yaml_print(difference->is, &comparison->is);
}

/* Both texts are effective values, so that what is written out and what is left out are the same. */
static enum weir_status compare(struct comparison *comparison, struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) was = NULL;
    WEIR_AUTO(weir_yaml) is = NULL;
    enum weir_status status =
        weir_yaml_parse("declaration", weir_bytes_of(comparison->known->text), &was, err);

    if (status == WEIR_OK)
        status =
            weir_yaml_parse("declaration", weir_bytes_of(comparison->declared->text), &is, err);
    if (status == WEIR_OK)
        cfg_differences("", weir_yaml_at(weir_yaml_root(was), 0),
                        weir_yaml_at(weir_yaml_root(is), 0), on_difference, comparison);
    return status;
}

/* ---- what is done about it ---- */

static enum weir_status take(const struct comparison *comparison, struct weir_error *err)
{
    struct storage *storage = comparison->storage;
    const struct dataset *known = comparison->known;
    enum weir_status status =
        DB_RUN(storage->store.db, Q_dataset_alter, NULL, err, DB_I64(known->number),
               DB_TEXT(comparison->declared->text), DB_TEXT(comparison->asked->file),
               DB_BYTES(comparison->asked->config));

    if (status == WEIR_OK)
        weir_log(WEIR_LOG_INFO, "dataset altered", "dataset=%s", known->name);
    storage_mirror_end(storage->mirrors, known);
    storage_doubt(&storage->store);
    return status;
}

/* True when no other pipeline has the dataset. */
static bool is_alone(const struct comparison *comparison)
{
    const struct weir_strs *names = &comparison->asked->alone;

    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->at[i], comparison->known->name) == 0)
            return true;
    return false;
}

static bool has_samples(const struct dataset *dataset)
{
    return dataset->next_row > 0 || dataset->accounts.ingested > 0;
}

static const struct weir_yaml_node *node_of(const struct dataset *declared)
{
    size_t index = (size_t)(declared->declaration - declared->declarations.at);

    return weir_yaml_at(cfg_datasets(weir_yaml_root(declared->document)), index);
}

/* Samples that are there were taken in by the old value, or another pipeline relies on it. */
static enum weir_status refuse(struct comparison *comparison, struct weir_error *err)
{
    const struct dataset *known = comparison->known;
    const struct weir_yaml_node *node = node_of(comparison->declared);
    const char *was = weir_buf_text(&comparison->was), *is = weir_buf_text(&comparison->is);

    if (!has_samples(known))
        return weir_yaml_fail(
            node, err,
            "dataset '%s' has %s: %s in another pipeline, found %s: expected the same in both, or "
            "another name; weir remove drops the other pipeline",
            known->name, comparison->path, was, is);
    return weir_yaml_fail(
        node, err,
        "dataset '%s' has %llu samples that were taken in with %s: %s, found %s, which is of new "
        "samples alone: weir datasets remove %s, then submit again, or use another name",
        known->name, (unsigned long long)known->accounts.ingested, comparison->path, was, is,
        known->name);
}

static enum weir_status wait_for_erasures(const struct comparison *comparison,
                                          struct weir_error *err)
{
    struct weir_error why;
    enum weir_status status =
        storage_removal_check_erasures(comparison->storage->removal, comparison->known, &why);

    if (status == WEIR_OK)
        return WEIR_OK;
    if (status != WEIR_UNSUPPORTED)
        return weir_fail(err, status, "%s", why.text);
    return weir_fail(err, WEIR_UNAVAILABLE, "dataset '%s' changes once no erasure is open",
                     comparison->known->name);
}

static enum weir_status act(struct comparison *comparison, enum alteration *ret_alteration,
                            struct weir_error *err)
{
    bool is_taken = comparison->path == NULL;
    enum weir_status status;

    if (!is_taken && (has_samples(comparison->known) || !is_alone(comparison)))
        return refuse(comparison, err);
    status = wait_for_erasures(comparison, err);
    if (status != WEIR_OK)
        return status;
    *ret_alteration = is_taken ? ALTERATION_TAKEN : ALTERATION_REMOVED;
    return is_taken ? take(comparison, err)
                    : storage_removal_begin(comparison->storage->removal, comparison->known, err);
}

enum weir_status storage_alter(struct storage *storage, const struct dataset *known,
                               const struct dataset *declared,
                               const struct msg_dataset_declare *asked,
                               enum alteration *ret_alteration, struct weir_error *err)
{
    struct comparison comparison = {
        .storage = storage, .known = known, .declared = declared, .asked = asked};
    enum weir_status status;

    *ret_alteration = ALTERATION_NONE;
    if (strcmp(known->text, declared->text) == 0)
        return WEIR_OK;
    status = compare(&comparison, err);
    if (status == WEIR_OK)
        status = act(&comparison, ret_alteration, err);
    free(comparison.path);
    weir_buf_fini(&comparison.was);
    weir_buf_fini(&comparison.is);
    return status;
}
