/* Samples that a reader may read, by tenant: a key for the pipelines of one tenant opens no dataset of others. */
#ifndef WEIR_STORAGE_TENANCY_H
#define WEIR_STORAGE_TENANCY_H

#include "core/rpc/rpc.h"
#include "storage/catalog/catalog.h"

/* DENIED when one of the samples is of a dataset that no pipeline of the sender's tenant has; for a sender without a
 * tenant, never. */
enum weir_status storage_tenancy_check(const struct catalog *catalog,
                                       const struct weir_sender *sender,
                                       const struct weir_u64s *ids,
                                       struct weir_error *err) WEIR_MUST_USE;
/* The same of datasets. */
enum weir_status storage_tenancy_check_datasets(const struct catalog *catalog,
                                                const struct weir_sender *sender,
                                                const struct weir_u64s *datasets,
                                                struct weir_error *err) WEIR_MUST_USE;
/* The same of a dataset by name; one that is not there is somebody else's to refuse. */
enum weir_status storage_tenancy_check_named(const struct catalog *catalog,
                                             const struct weir_sender *sender, const char *dataset,
                                             struct weir_error *err) WEIR_MUST_USE;

#endif
