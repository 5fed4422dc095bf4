/* Samples that a reader may read, by tenant. */
#include "storage/reading/tenancy.h"

#include "core/wire/sample.h"

#include <string.h>

/* True when `word` is one of those in `words`, which have blanks between. */
static bool has_word(const char *words, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = words; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, size) == 0 && (at[size] == ' ' || at[size] == '\0'))
            return true;
    }
    return false;
}

/* Datasets that nobody has declared are nobody's, such as rows that are lent for a prediction, whose owner storage does
 * not know. */
static enum weir_status check(const struct catalog *catalog, const struct weir_sender *sender,
                              uint64_t number, struct weir_error *err)
{
    const struct dataset *dataset = storage_catalog_at(catalog, number);

    if (dataset != NULL && dataset->tenants != NULL && has_word(dataset->tenants, sender->tenant))
        return WEIR_OK;
    return weir_fail(err, WEIR_DENIED,
                     "the key of '%s' is for tenant '%s', who has no pipeline with dataset %lu",
                     sender->name, sender->tenant, number);
}

enum weir_status storage_tenancy_check(const struct catalog *catalog,
                                       const struct weir_sender *sender,
                                       const struct weir_u64s *ids, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    uint64_t last = UINT64_MAX;

    for (size_t i = 0; sender->tenant[0] != '\0' && status == WEIR_OK && i < ids->count; i++) {
        uint64_t number = weir_sample_dataset(ids->at[i]);

        if (number != last)
            status = check(catalog, sender, number, err);
        last = number;
    }
    return status;
}

enum weir_status storage_tenancy_check_datasets(const struct catalog *catalog,
                                                const struct weir_sender *sender,
                                                const struct weir_u64s *datasets,
                                                struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; sender->tenant[0] != '\0' && status == WEIR_OK && i < datasets->count; i++)
        status = check(catalog, sender, datasets->at[i], err);
    return status;
}

enum weir_status storage_tenancy_check_named(const struct catalog *catalog,
                                             const struct weir_sender *sender, const char *name,
                                             struct weir_error *err)
{
    const struct dataset *dataset = storage_catalog_find(catalog, name);

    if (sender->tenant[0] == '\0' || dataset == NULL)
        return WEIR_OK;
    return check(catalog, sender, dataset->number, err);
}
