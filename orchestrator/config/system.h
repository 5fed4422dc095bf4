/* The system file: where things run and what they cost. Everything has a default, so that there need be none. */
#ifndef ORCHESTRATOR_CONFIG_SYSTEM_H
#define ORCHESTRATOR_CONFIG_SYSTEM_H

#include "core/config/complaints.h"
#include "core/service/credentials.h"
#include "core/service/programs.h"
#include "core/service/roots.h"
#include "orchestrator/config/budget.h"
#include "orchestrator/config/prices.h"
#include "orchestrator/config/workers.h"
#include "orchestrator/launchers/launching.h"
#include "orchestrator/sharing/quotas.h"
#include "orchestrator/values/page_place.h"

/* Texts are borrowed from the document. */
struct orchestrator_system {
    struct weir_yaml *document; /* NULL: no file */
    /* programs of the file and of the command line; NULL: of the file alone */
    struct weir_yaml *given;
    struct orchestrator_workers workers;
    struct launching launching; /* of workers and trainers */
    const char *user;
    const char *log_level;
    const char *postgres;         /* conninfo of a running server; NULL: a private one */
    const char *postgres_bin_dir; /* NULL: the newest installed */
    struct orchestrator_prices prices;
    struct orchestrator_sharing sharing;
    const struct weir_yaml_node *webhooks; /* checked: orchestrator/config/hooks.h */
    const struct weir_yaml_node *budgets;  /* checked: orchestrator/config/budget.h */
    const char *remote; /* tcp://ADDRESS:PORT for those elsewhere; NULL: they are not listened to */
    const char *advertise;                 /* host by which they reach it; NULL: ADDRESS */
    const char *listen;                    /* endpoint of each worker; NULL: a socket of its own */
    const char *metrics;                   /* address of /metrics; NULL: there is none */
    struct page_place page;                /* of the live page */
    const char *compress;                  /* how batches are compressed on their way */
    uint64_t share_bytes;                  /* of batches that several jobs need, per worker */
    uint64_t batches_memory;               /* of batches on their way and waiting; 0: any */
    uint64_t cache_bytes;                  /* of rows that are kept of samples; 0: none are */
    const char *cache_compress;            /* how each of them is compressed */
    const struct weir_yaml_node *roots;    /* folders for sources: weir_roots_hand_on() */
    const struct weir_yaml_node *programs; /* programs for pipelines: weir_programs_hand_on() */
    /* credentials for data sets: weir_credentials_hand_on() */
    const struct weir_yaml_node *credentials;
};

/* `path` NULL: defaults alone. INVALID with file:line:column. */
enum weir_status orchestrator_system_load(const char *path, struct orchestrator_system *ret_system,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Adds all that is wrong with the file, sorted. */
void orchestrator_system_check(const char *path, struct cfg_complaints *wrong);
/* Adds programs of the command line, NAME=COMMAND: see given_programs.h. INVALID. */
enum weir_status orchestrator_system_give_programs(struct orchestrator_system *system,
                                                   const char *const *given, size_t count,
                                                   struct weir_error *err) WEIR_MUST_USE;
void orchestrator_system_fini(struct orchestrator_system *system);
/* Lets the processes that are started from now on know what pipelines may name. */
void orchestrator_system_hand_on(const struct orchestrator_system *system);
/* Appends the reference page. */
void orchestrator_system_describe(struct weir_buf *out);

#endif
