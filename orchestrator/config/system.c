/* The key tables of the system file. */
#include "orchestrator/config/system.h"
#include "orchestrator/config/given_programs.h"
#include "orchestrator/config/hooks.h"

#include "core/base/log.h"
#include "core/db/db.h"
#include "core/rpc/rpc.h"
#include "core/wire/compression.h"
#include "orchestrator/values/listen_address.h"
#include "orchestrator/values/loopback_address.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct system_section {
    uint64_t trainers, gpus;
    const char *user, *log_level, *listen, *advertise;
    const struct weir_yaml_node *launcher, *slurm, *workers, *postgres, *prices, *programs, *quotas,
        *budgets, *webhooks, *batches, *cache, *roots, *credentials, *metrics, *page;
};

static const struct cfg_key SYSTEM_KEYS[] = {
    CFG_NODE(struct system_section, workers,
             .doc = "worker processes: a number (default: 2), or bounds such as {min: 1, max: 8}"),
    CFG_U64(struct system_section, trainers, .fallback = "0", .max = 1000,
            .doc = "trainers at once, of all pipelines; 0: one a processor, and at least two"),
    CFG_U64(
        struct system_section, gpus, .fallback = "0", .max = CFG_GPUS_MAX,
        .doc =
            "slots of this machine, numbered from 0: a trainer of a pipeline holds training.gpus "
            "of them, and finds their numbers in CUDA_VISIBLE_DEVICES"),
    CFG_NODE(struct system_section, quotas,
             .doc = "NAME: how the pipeline of that name shares trainers, GPUs and workers"),
    CFG_NODE(struct system_section, budgets,
             .doc = "NAME: how much the pipeline of that name may cost; all: of all together"),
    CFG_NODE(struct system_section, launcher,
             .doc = "launcher of workers and trainers, local (default) or slurm; or one each: "
                    "{workers: slurm, trainers: local}"),
    CFG_NODE(struct system_section, slurm, .doc = "jobs of launcher slurm"),
    CFG_TEXT(struct system_section, user,
             .doc = "to run as when started as root; by default the data directory's owner"),
    CFG_TEXT(struct system_section, log_level, .fallback = "info",
             .doc = "of the services: debug, info, warn or error"),
    CFG_TEXT(struct system_section, listen,
             .doc = "tcp://ADDRESS:PORT for those elsewhere who have keys: the orchestrator's, and "
                    "PORT + 1, 2 and 3 of storage, selector and dispatcher; *: all addresses of "
                    "this host (default: nobody elsewhere is listened to)"),
    CFG_TEXT(struct system_section, advertise,
             .doc = "name or address of this host by which others reach it (default: that of "
                    "listen)"),
    CFG_NODE(struct system_section, postgres,
             .doc = "{connection: …} of a running server, or {bin_dir: …}"),
    CFG_NODE(struct system_section, prices, .doc = "prices that cost is computed with"),
    CFG_NODE(struct system_section, batches, .doc = "transfer of batches from workers to trainers"),
    CFG_NODE(struct system_section, cache,
             .doc = "rows that are kept of samples, where pipelines say preprocess.plan.cache"),
    CFG_NODE(struct system_section, metrics,
             .doc = "figures for Prometheus, over HTTP; none unless an address is named"),
    CFG_NODE(struct system_section, page,
             .doc = "the live page, for browsers; none unless an address is named"),
    CFG_NODE(struct system_section, webhooks,
             .doc = "list of {url: …, events: […], secret: FILE}: where events are posted to"),
    CFG_NODE(struct system_section, programs,
             .doc = "NAME: {command: […]} of each program that pipelines may name; none else"),
    CFG_NODE(
        struct system_section, credentials,
        .doc = "NAME: where the key of an object store is kept, and which hosts it may be sent to; "
               "no data set has others"),
    CFG_NODE(struct system_section, roots,
             .doc = "folders that sources and vocabularies of pipelines may be, or lie below "
                    "(default: any folder but Weir's own)"),
    CFG_END,
};

struct postgres_section {
    const char *connection, *bin_dir;
};

static const struct cfg_key POSTGRES_KEYS[] = {
    CFG_TEXT(struct postgres_section, connection,
             .doc = "libpq's words; by default a private server is started"),
    CFG_TEXT(struct postgres_section, bin_dir,
             .doc = "folder of postgres and initdb; by default the newest installed"),
    CFG_END,
};

struct batches_section {
    const char *listen;
    int compress;
    uint64_t share, memory;
};

static const struct cfg_key BATCHES_KEYS[] = {
    CFG_TEXT(
        struct batches_section, listen,
        .doc =
            "endpoint that workers send from: tcp://ADDRESS:* (a port each); beyond the loopback "
            "with listen of the system file alone; by default a local socket each, and memory "
            "that trainers lend"),
    CFG_CHOICE(struct batches_section, compress, .fallback = "none", .choices = WEIR_COMPRESSIONS,
               .doc =
                   "tensors of 4 KiB and more, where it makes them an eighth smaller; they are not "
                   "written to lent memory then"),
    CFG_SIZE(struct batches_section, share, .fallback = "256MiB",
             .doc = "memory of each worker for batches that several jobs need, where pipelines do "
                    "not say preprocess.plan.share: none; 0: each job's are made for it alone"),
    CFG_SIZE(struct batches_section, memory, .fallback = "1GiB",
             .doc =
                 "of finished batches on their way to all trainers together, and waiting there, "
                 "at most; each lets as many come as it needs lest it wait, by what it measures; "
                 "0: no limit"),
    CFG_END,
};

struct metrics_section {
    const char *listen;
};

static const struct cfg_key METRICS_KEYS[] = {
    CFG_TEXT(struct metrics_section, listen,
             .doc = "address of /metrics, /healthz and /readyz, loopback only: 127.0.0.1:9464; "
                    "port 0: any that is free, which `weir status` tells"),
    CFG_END,
};

struct page_section {
    const char *listen, *certificate, *key;
};

static const struct cfg_key PAGE_KEYS[] = {
    CFG_TEXT(struct page_section, listen,
             .doc = "address of the live page: 127.0.0.1:9470; port 0: any that is free, which "
                    "`weir status` tells; one that other hosts reach needs certificate and key"),
    CFG_TEXT(struct page_section, certificate,
             .doc = "file of a certificate in PEM, with those that it leads to: the page is served "
                    "over HTTPS then, and only to those who have a token (weir tokens new)"),
    CFG_TEXT(struct page_section, key,
             .doc = "file of the certificate's key in PEM, which nobody else may read"),
    CFG_END,
};

struct cache_section {
    uint64_t bytes;
    int compress;
};

static const struct cfg_key CACHE_KEYS[] = {
    CFG_SIZE(struct cache_section, bytes, .fallback = "10GiB",
             .doc = "limit of DATA_DIR/cache: what spares the least time, by its bytes and by how "
                    "long it was not used, makes room; 0: nothing is kept"),
    CFG_CHOICE(struct cache_section, compress, .fallback = "none", .choices = WEIR_COMPRESSIONS,
               .doc = "rows of 4 KiB and more, each by itself, where it makes them an eighth "
                      "smaller"),
    CFG_END,
};

static enum weir_status read_cache(struct orchestrator_system *system,
                                   const struct weir_yaml_node *node, struct weir_error *err)
{
    struct cache_section cache = {0};
    enum weir_status status = cfg_read(CACHE_KEYS, CFG_CLOSED, node, "cache", NULL, &cache, err);
    system->cache_bytes = cache.bytes;
    system->cache_compress = WEIR_COMPRESSIONS[cache.compress];
    return status;
}

static enum weir_status read_metrics(struct orchestrator_system *system,
                                     const struct weir_yaml_node *node, struct weir_error *err)
{
    struct metrics_section metrics = {0};
    struct loopback_address address;
    struct weir_error why;
    enum weir_status status =
        cfg_read(METRICS_KEYS, CFG_CLOSED, node, "metrics", NULL, &metrics, err);
    if (status == WEIR_OK && metrics.listen != NULL &&
        orchestrator_loopback_address_read(metrics.listen, &address, &why) != WEIR_OK)
        status = weir_yaml_fail(weir_yaml_get(node, "listen"), err, "metrics.listen: %s", why.text);
    system->metrics = metrics.listen;
    return status;
}

static enum weir_status read_page(struct orchestrator_system *system,
                                  const struct weir_yaml_node *node, struct weir_error *err)
{
    struct page_section page = {0};
    enum weir_status status = cfg_read(PAGE_KEYS, CFG_CLOSED, node, "page", NULL, &page, err);
    system->page = (struct page_place){
        .address = page.listen, .certificate = page.certificate, .key = page.key};
    struct weir_error why;
    if (status == WEIR_OK && orchestrator_page_place_check(&system->page, &why) != WEIR_OK)
        status = weir_yaml_fail(node, err, "page: %s", why.text);
    return status;
}

static enum weir_status read_postgres(struct orchestrator_system *system,
                                      const struct weir_yaml_node *node, struct weir_error *err)
{
    struct postgres_section postgres = {0};
    struct weir_error why;
    enum weir_status status =
        cfg_read(POSTGRES_KEYS, CFG_CLOSED, node, "postgres", NULL, &postgres, err);
    if (status == WEIR_OK && postgres.connection != NULL &&
        weir_db_check_conninfo(postgres.connection, &why) != WEIR_OK)
        status = weir_yaml_fail(weir_yaml_get(node, "connection"), err, "postgres.connection: %s",
                                why.text);
    system->postgres = postgres.connection;
    system->postgres_bin_dir =
        postgres.bin_dir != NULL ? postgres.bin_dir : getenv("WEIR_POSTGRES_BIN");
    return status;
}

/* Many workers share the endpoint: the system has to choose their ports. */
static enum weir_status check_listen(const struct weir_yaml_node *batches, const char *listen,
                                     bool has_keys, struct weir_error *err)
{
    static const char TCP[] = "tcp://", ANY_PORT[] = ":*";
    const struct weir_yaml_node *node = weir_yaml_get(batches, "listen");
    struct weir_error why;
    if (listen == NULL)
        return WEIR_OK;
    size_t size = strlen(listen);
    if (strncmp(listen, TCP, sizeof(TCP) - 1) != 0 || size < sizeof(ANY_PORT) - 1 ||
        strcmp(listen + size - (sizeof(ANY_PORT) - 1), ANY_PORT) != 0)
        return weir_yaml_fail(node, err, "batches.listen: expected tcp://ADDRESS:*, found '%s'",
                              listen);
    if (!has_keys && weir_rpc_check_endpoint(listen, &why) != WEIR_OK)
        return weir_yaml_fail(node, err, "batches.listen: %s", why.text);
    return WEIR_OK;
}

static enum weir_status read_batches(struct orchestrator_system *system,
                                     const struct weir_yaml_node *node, struct weir_error *err)
{
    struct batches_section batches = {0};
    enum weir_status status =
        cfg_read(BATCHES_KEYS, CFG_CLOSED, node, "batches", NULL, &batches, err);
    if (status == WEIR_OK)
        status = check_listen(node, batches.listen, system->remote != NULL, err);
    system->listen = batches.listen;
    system->compress = WEIR_COMPRESSIONS[batches.compress];
    system->share_bytes = batches.share;
    system->batches_memory = batches.memory;
    return status;
}

/* The address of the file; the command line may have another one. */
static enum weir_status read_listen(struct orchestrator_system *system,
                                    const struct weir_yaml_node *root,
                                    const struct system_section *section, struct weir_error *err)
{
    struct listen_address address;
    struct weir_error why;
    system->remote = section->listen;
    system->advertise = section->advertise;
    if (section->listen != NULL &&
        orchestrator_listen_address_read(section->listen, section->advertise, &address, &why) !=
            WEIR_OK)
        return weir_yaml_fail(weir_yaml_get(root, "listen"), err, "%s", why.text);
    return WEIR_OK;
}

static size_t default_trainers(void)
{
    enum { TRAINERS_LEAST = 2 };
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > TRAINERS_LEAST ? (size_t)processors : TRAINERS_LEAST;
}

static enum weir_status check_log_level(const struct weir_yaml_node *root, const char *name,
                                        struct weir_error *err)
{
    enum weir_log_level level;

    if (name == NULL || weir_log_level_from_name(name, &level))
        return WEIR_OK;
    return weir_yaml_fail(weir_yaml_get(root, "log_level"), err,
                          "log_level: expected debug, info, warn or error, found '%s'", name);
}

/* Each is read whatever is wrong with the others, so that all mistakes are told of at once. */
static void read_sections(struct orchestrator_system *system, const struct weir_yaml_node *root,
                          struct cfg_complaints *wrong)
{
    struct system_section section = {0};
    struct weir_error err;

    cfg_note(wrong, cfg_read(SYSTEM_KEYS, CFG_CLOSED, root, "", NULL, &section, &err), &err);
    bool has_prices = cfg_note(wrong,
                               cfg_read(ORCHESTRATOR_PRICE_KEYS, CFG_CLOSED, section.prices,
                                        "prices", NULL, &system->prices, &err),
                               &err);
    cfg_note(wrong,
             orchestrator_workers_read(section.workers, system->prices.worker_hour,
                                       &system->workers, &err),
             &err);
    cfg_note(wrong, orchestrator_launching_read(section.launcher, root, &system->launching, &err),
             &err);
    cfg_note(wrong, read_postgres(system, section.postgres, &err), &err);
    cfg_note(wrong, read_listen(system, root, &section, &err), &err);
    cfg_note(wrong, read_batches(system, section.batches, &err), &err);
    cfg_note(wrong, read_cache(system, section.cache, &err), &err);
    cfg_note(wrong, read_metrics(system, section.metrics, &err), &err);
    cfg_note(wrong, read_page(system, section.page, &err), &err);
    cfg_note(wrong, orchestrator_hooks_check(section.webhooks, &err), &err);
    cfg_note(wrong, orchestrator_quotas_check(section.quotas, &err), &err);
    cfg_note(wrong,
             orchestrator_budgets_check(section.budgets, has_prices ? &system->prices : NULL, &err),
             &err);
    cfg_note(wrong, weir_programs_check(section.programs, &err), &err);
    cfg_note(wrong, weir_roots_check(section.roots, &err), &err);
    cfg_note(wrong, weir_credentials_check(section.credentials, &err), &err);
    cfg_note(wrong, check_log_level(root, section.log_level, &err), &err);
    system->sharing = (struct orchestrator_sharing){
        .trainers = section.trainers == 0 ? default_trainers() : (size_t)section.trainers,
        .gpus = (size_t)section.gpus,
        .quotas = section.quotas,
    };
    system->budgets = section.budgets;
    system->webhooks = section.webhooks;
    system->programs = section.programs;
    system->roots = section.roots;
    system->credentials = section.credentials;
    system->user = section.user;
    system->log_level = section.log_level;
}

static void load(const char *path, struct orchestrator_system *system, struct cfg_complaints *wrong)
{
    struct weir_error err;

    if (path == NULL)
        read_sections(system, NULL, wrong);
    else if (cfg_note(wrong, weir_yaml_load(path, &system->document, &err), &err))
        read_sections(system, weir_yaml_root(system->document), wrong);
    cfg_complaints_sort(wrong, path != NULL ? path : "");
}

enum weir_status orchestrator_system_load(const char *path, struct orchestrator_system *ret_system,
                                          struct weir_error *err)
{
    struct orchestrator_system system = {0};
    CFG_AUTO_COMPLAINTS wrong = {0};

    load(path, &system, &wrong);
    enum weir_status status = cfg_complaints_end(&wrong, err);
    if (status == WEIR_OK)
        *ret_system = system;
    else
        orchestrator_system_fini(&system);
    return status;
}

void orchestrator_system_check(const char *path, struct cfg_complaints *wrong)
{
    struct orchestrator_system system = {0};

    load(path, &system, wrong);
    orchestrator_system_fini(&system);
}

enum weir_status orchestrator_system_give_programs(struct orchestrator_system *system,
                                                   const char *const *given, size_t count,
                                                   struct weir_error *err)
{
    struct weir_yaml *programs = NULL;

    if (count == 0)
        return WEIR_OK;
    enum weir_status status =
        orchestrator_given_programs(given, count, system->programs, &programs, err);
    if (status == WEIR_OK)
        status = weir_programs_check(weir_yaml_root(programs), err);
    if (status != WEIR_OK) {
        weir_yaml_free(programs);
        return status;
    }
    weir_yaml_free(system->given);
    system->given = programs;
    system->programs = weir_yaml_root(programs);
    return WEIR_OK;
}

void orchestrator_system_fini(struct orchestrator_system *system)
{
    weir_yaml_free(system->document);
    weir_yaml_free(system->given);
    orchestrator_launching_fini(&system->launching);
    system->document = NULL;
    system->given = NULL;
}

void orchestrator_system_hand_on(const struct orchestrator_system *system)
{
    weir_programs_hand_on(system->programs);
    weir_roots_hand_on(system->roots);
    weir_credentials_hand_on(system->credentials, system->document == NULL);
}

void orchestrator_system_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "# The system file\n\n");
    cfg_document(SYSTEM_KEYS, out);
    orchestrator_workers_describe(out);
    orchestrator_launching_describe(out);
    weir_buf_append_text(out, "\n## postgres\n\n");
    cfg_document(POSTGRES_KEYS, out);
    weir_buf_append_text(out, "\n## batches\n\n");
    cfg_document(BATCHES_KEYS, out);
    weir_buf_append_text(out, "\n## cache\n\n");
    cfg_document(CACHE_KEYS, out);
    weir_buf_append_text(out, "\n## metrics\n\n");
    cfg_document(METRICS_KEYS, out);
    weir_buf_append_text(out, "\n## page\n\n");
    cfg_document(PAGE_KEYS, out);
    weir_buf_append_text(out, "\n## prices\n\n");
    cfg_document(ORCHESTRATOR_PRICE_KEYS, out);
    orchestrator_hooks_describe(out);
    orchestrator_quotas_describe(out);
    orchestrator_budgets_describe(out);
    weir_programs_describe(out);
    weir_credentials_describe(out);
}
