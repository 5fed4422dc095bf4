/* Datasets that a key of a tenant opens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/reading/tenancy.h"

static const struct weir_sender RED = {WEIR_ROLE_SUBMITTER, "rosa", "red"};
static const struct weir_sender BLUE = {WEIR_ROLE_SUBMITTER, "ben", "blue"};
static const struct weir_sender NOBODYS = {WEIR_ROLE_SUBMITTER, "sam", ""};

static void add(struct catalog *catalog, uint32_t number, const char *name, const char *tenants)
{
    struct weir_error err;
    struct dataset *dataset = NULL;
    WEIR_AUTO_FREE char *config = weir_format("datasets:\n  - name: %s\n"
                                              "    source: {push: true, format: csv}\n"
                                              "    time: {from: field, field: ts}\n",
                                              name);
    const struct dataset_origin origin = {name, "p.yaml", weir_bytes_of(config), NULL};
    assert_int_equal(storage_dataset_new(catalog, &origin, &dataset, &err), WEIR_OK);
    dataset->number = number;
    dataset->tenants = tenants == NULL ? NULL : weir_strdup(tenants);
    storage_catalog_add(catalog, dataset);
}

static struct catalog *catalog_of_two(void)
{
    struct catalog *catalog = storage_catalog_new("/nowhere");
    add(catalog, 1, "shared", "green red");
    add(catalog, 2, "plain", NULL);
    return catalog;
}

static enum weir_status by_name(const struct weir_sender *sender, const char *name)
{
    struct weir_error err;
    WEIR_AUTO(catalog) catalog = catalog_of_two();
    return storage_tenancy_check_named(catalog, sender, name, &err);
}

static void a_dataset_takes_rows_of_tenants_whose_pipelines_have_it(void **state)
{
    (void)state;
    assert_int_equal(by_name(&RED, "shared"), WEIR_OK);
    assert_int_equal(by_name(&BLUE, "shared"), WEIR_DENIED);
    assert_int_equal(by_name(&RED, "plain"), WEIR_DENIED);
    assert_int_equal(by_name(&NOBODYS, "shared"), WEIR_OK);
    assert_int_equal(by_name(&NOBODYS, "plain"), WEIR_OK);
    assert_int_equal(by_name(&RED, "missing"), WEIR_OK);
}

static void samples_are_read_by_tenants_whose_pipelines_have_their_datasets(void **state)
{
    struct weir_error err;
    WEIR_AUTO(catalog) catalog = catalog_of_two();
    const uint64_t ids[] = {(uint64_t)1 << 44, (uint64_t)2 << 44};
    (void)state;
    assert_int_equal(weir_sample_dataset(ids[1]), 2);
    assert_int_equal(storage_tenancy_check(catalog, &RED, &(struct weir_u64s){ids, 1}, &err),
                     WEIR_OK);
    assert_int_equal(storage_tenancy_check(catalog, &RED, &(struct weir_u64s){ids, 2}, &err),
                     WEIR_DENIED);
    assert_int_equal(storage_tenancy_check(catalog, &NOBODYS, &(struct weir_u64s){ids, 2}, &err),
                     WEIR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_takes_rows_of_tenants_whose_pipelines_have_it),
        cmocka_unit_test(samples_are_read_by_tenants_whose_pipelines_have_their_datasets),
    };
    return cmocka_run_group_tests_name("tenancy", tests, NULL, NULL);
}
