/* The key tables of the system file. */
#include "orchestrator/system.h"

#include <stdlib.h>

enum { WORKERS_MAX = 200 };

struct system_section {
    uint64_t workers;
    const char *launcher, *user, *log_level;
    const struct weir_yaml_node *postgres, *prices, *programs;
};

static const struct cfg_key SYSTEM_KEYS[] = {
    CFG_U64(struct system_section, workers, .fallback = "2", .min = 1, .max = WORKERS_MAX,
            .doc = "worker processes"),
    CFG_TEXT(struct system_section, launcher, .fallback = "local",
             .doc = "what starts workers and trainers"),
    CFG_TEXT(struct system_section, user,
             .doc = "to run as when started as root; by default the data directory's owner"),
    CFG_TEXT(struct system_section, log_level, .fallback = "info",
             .doc = "of the services: debug, info, warn or error"),
    CFG_NODE(struct system_section, postgres,
             .doc = "{connection: …} of a running server, or {bin_dir: …}"),
    CFG_NODE(struct system_section, prices, .doc = "what cost is computed with"),
    CFG_NODE(struct system_section, programs,
             .doc = "NAME: {command: […]} of each program that pipelines may name; none else"),
    CFG_END,
};

struct postgres_section {
    const char *connection, *bin_dir;
};

static const struct cfg_key POSTGRES_KEYS[] = {
    CFG_TEXT(struct postgres_section, connection,
             .doc = "libpq's words; by default a private server is started"),
    CFG_TEXT(struct postgres_section, bin_dir,
             .doc = "where postgres and initdb are; by default the newest installed"),
    CFG_END,
};

static enum weir_status read_sections(struct orchestrator_system *system,
                                      const struct weir_yaml_node *root, struct weir_error *err)
{
    struct system_section section = {0};
    struct postgres_section postgres = {0};
    enum weir_status status = cfg_read(SYSTEM_KEYS, CFG_CLOSED, root, "", NULL, &section, err);
    if (status == WEIR_OK) {
        status =
            cfg_read(POSTGRES_KEYS, CFG_CLOSED, section.postgres, "postgres", NULL, &postgres, err);
    }
    if (status == WEIR_OK) {
        status = cfg_read(ORCHESTRATOR_PRICE_KEYS, CFG_CLOSED, section.prices, "prices", NULL,
                          &system->prices, err);
    }
    if (status == WEIR_OK)
        status = weir_programs_check(section.programs, err);
    system->programs = section.programs;
    system->workers = section.workers;
    system->launcher = section.launcher;
    system->user = section.user;
    system->log_level = section.log_level;
    system->postgres = postgres.connection;
    system->postgres_bin_dir =
        postgres.bin_dir != NULL ? postgres.bin_dir : getenv("WEIR_POSTGRES_BIN");
    return status;
}

enum weir_status orchestrator_system_load(const char *path, struct orchestrator_system *ret_system,
                                          struct weir_error *err)
{
    struct orchestrator_system system = {0};
    enum weir_status status = path == NULL ? WEIR_OK : weir_yaml_load(path, &system.document, err);
    if (status == WEIR_OK)
        status = read_sections(&system, path == NULL ? NULL : weir_yaml_root(system.document), err);
    if (status != WEIR_OK) {
        orchestrator_system_fini(&system);
        return status;
    }
    *ret_system = system;
    return WEIR_OK;
}

void orchestrator_system_fini(struct orchestrator_system *system)
{
    weir_yaml_free(system->document);
    system->document = NULL;
}

void orchestrator_system_describe(struct weir_buf *out)
{
    weir_buf_append_text(out, "# The system file\n\n");
    cfg_document(SYSTEM_KEYS, out);
    weir_buf_append_text(out, "\n## postgres\n\n");
    cfg_document(POSTGRES_KEYS, out);
    weir_buf_append_text(out, "\n## prices\n\n");
    cfg_document(ORCHESTRATOR_PRICE_KEYS, out);
    weir_programs_describe(out);
}
