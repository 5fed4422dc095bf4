/* Finds the programs of Postgres and makes clusters. Why access is by peer and a map:
 * docs/decisions/003-privileges.md. */
#include "orchestrator/platform/cluster.h"

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/processes/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const PLACES[] = {
    "/usr/lib/postgresql/*/bin/postgres", /* Debian and its kin */
    "/usr/pgsql-*/bin/postgres",          /* PGDG's RPMs */
    "/usr/local/pgsql/bin/postgres",      /* built by hand */
};

/* The first number in `path`: /usr/lib/postgresql/15/bin -> 15. */
static long version_in(const char *path)
{
    const char *digits = strpbrk(path, "0123456789");
    return digits != NULL ? strtol(digits, NULL, 10) : 0;
}

static char *directory_of(const char *program)
{
    const char *slash = strrchr(program, '/');
    return weir_strndup(program, slash != NULL ? (size_t)(slash - program) : 0);
}

static bool is_better(const char *program, const char *best, long wanted)
{
    long version = version_in(program);
    return best == NULL || version == wanted ||
           (version_in(best) != wanted && version > version_in(best));
}

/* The installed version `wanted`, or the newest when that is 0 or absent. NULL: none. */
static char *search_places(long wanted)
{
    char *best = NULL;
    for (size_t i = 0; i < WEIR_COUNT(PLACES); i++) {
        glob_t found = {0};
        if (glob(PLACES[i], 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc; k++) {
                if (!is_better(found.gl_pathv[k], best, wanted))
                    continue;
                free(best);
                best = directory_of(found.gl_pathv[k]);
            }
        }
        globfree(&found);
    }
    return best;
}

static char *search_path(void)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path) {
        size_t length = strcspn(path, ":");
        WEIR_AUTO_FREE char *program = weir_format("%.*s/postgres", (int)length, path);
        if (access(program, X_OK) == 0) {
            char *resolved = realpath(program, NULL);
            char *directory = resolved != NULL ? directory_of(resolved) : NULL;
            free(resolved);
            return directory;
        }
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* Major version that made the cluster, 0 when there is none. */
static long cluster_version(const char *cluster)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/PG_VERSION", cluster);
    WEIR_AUTO_BUF text = {0};
    if (weir_file_read(path, 64, &text, NULL) != WEIR_OK)
        return 0;
    return strtol(weir_buf_text(&text), NULL, 10);
}

static bool is_complete(const char *bin_dir)
{
    WEIR_AUTO_FREE char *postgres = weir_format("%s/postgres", bin_dir);
    WEIR_AUTO_FREE char *initdb = weir_format("%s/initdb", bin_dir);
    return access(postgres, X_OK) == 0 && access(initdb, X_OK) == 0;
}

enum weir_status orchestrator_cluster_find_programs(const struct orchestrator_cluster *cluster,
                                                    const char *wanted, char **ret_bin_dir,
                                                    struct weir_error *err)
{
    long made_by = cluster_version(cluster->path);
    WEIR_AUTO_FREE char *bin_dir = wanted != NULL ? weir_strdup(wanted) : search_places(made_by);
    if (bin_dir == NULL)
        bin_dir = search_path();
    if (bin_dir == NULL || !is_complete(bin_dir))
        return weir_fail(err, WEIR_NOT_FOUND,
                         "PostgreSQL is not installed: found no 'postgres' and 'initdb' in %s: "
                         "install the package 'postgresql' (apt-get install postgresql)",
                         bin_dir != NULL ? bin_dir : "/usr/lib/postgresql/*/bin or PATH");
    long found = strstr(bin_dir, "postgres") != NULL || strstr(bin_dir, "pgsql") != NULL
                     ? version_in(bin_dir)
                     : 0;
    if (made_by && found && made_by != found)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "database %s was made by PostgreSQL %ld, found only %ld in %s: install "
                         "the package 'postgresql-%ld'",
                         cluster->path, made_by, found, bin_dir, made_by);
    *ret_bin_dir = WEIR_TAKE(bin_dir);
    return WEIR_OK;
}

static enum weir_status write_access(const char *fresh,
                                     const struct orchestrator_identity *identity,
                                     struct weir_error *err)
{
    struct passwd record;
    struct passwd *user = NULL;
    char text[16384];
    if (identity == NULL &&
        (getpwuid_r(geteuid(), &record, text, sizeof(text), &user) != 0 || user == NULL))
        return weir_fail(err, WEIR_NOT_FOUND, "user number %u has no name: Postgres needs one",
                         geteuid());
    const char *name = identity != NULL ? identity->name : user->pw_name;
    WEIR_AUTO_FREE char *hba_path = weir_format("%s/pg_hba.conf", fresh);
    WEIR_AUTO_FREE char *ident_path = weir_format("%s/pg_ident.conf", fresh);
    WEIR_AUTO_FREE char *ident = weir_format("weir root weir\nweir \"%s\" weir\n", name);
    enum weir_status status =
        weir_file_write_atomic(hba_path, weir_bytes_of("local all all peer map=weir\n"), err);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(ident_path, weir_bytes_of(ident), err);
    /* Written by root: Postgres must own what it reads. */
    if (status == WEIR_OK && identity != NULL &&
        (chown(hba_path, identity->uid, identity->gid) != 0 ||
         chown(ident_path, identity->uid, identity->gid) != 0))
        return weir_fail(err, WEIR_IO, "%s: %s", fresh, strerror(errno));
    return status;
}

static enum weir_status start_initdb(const struct orchestrator_cluster *cluster,
                                     const char *bin_dir, char *fresh, char *const *env,
                                     const struct orchestrator_cluster_maker *maker,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE char *program = weir_format("%s/initdb", bin_dir);
    char words[][24] = {"-D",
                        "-U",
                        "weir",
                        "-A",
                        "peer",
                        "--encoding=UTF8",
                        "--locale=C",
                        "--no-sync",
                        "--no-instructions",
                        "--data-checksums"};
    char *argv[] = {program,  words[0], fresh,    words[1], words[2], words[3], words[4],
                    words[5], words[6], words[7], words[8], words[9], NULL};
    const struct orchestrator_child child = {
        .name = "initdb",
        .argv = argv,
        .env = env,
        .directory = "/",
        .identity = cluster->identity,
        .stage = ORCHESTRATOR_STAGE_DATABASE,
        .exited = maker->exited,
        .owner = maker->owner,
    };
    return orchestrator_supervisor_start(maker->supervisor, &child, err);
}

static enum weir_status sync_files(const char *fresh, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(fresh, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd) != 0)
        return weir_fail(err, WEIR_IO, "%s: %s", fresh, strerror(errno));
    return WEIR_OK;
}

bool orchestrator_cluster_is_made(const struct orchestrator_cluster *cluster)
{
    return cluster_version(cluster->path) != 0;
}

enum weir_status orchestrator_cluster_begin(const struct orchestrator_cluster *cluster,
                                            const char *bin_dir, char *const *env,
                                            const struct orchestrator_cluster_maker *maker,
                                            struct weir_error *err)
{
    WEIR_AUTO_FREE char *fresh = weir_format("%s.tmp", cluster->path);
    enum weir_status status = weir_remove_tree(fresh, err); /* of a killed attempt */
    if (status == WEIR_OK)
        status = start_initdb(cluster, bin_dir, fresh, env, maker, err);
    return status == WEIR_OK ? WEIR_OK : weir_error_wrap(err, status, "private database");
}

int64_t orchestrator_cluster_written_ns(const struct orchestrator_cluster *cluster)
{
    WEIR_AUTO_FREE char *fresh = weir_format("%s.tmp", cluster->path);
    char *const paths[] = {fresh, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int64_t newest_ns = 0;
    for (FTSENT *at; tree != NULL && (at = fts_read(tree)) != NULL;) {
        bool is_seen = at->fts_info == FTS_D || at->fts_info == FTS_F;
        if (is_seen && weir_mtime_ns(at->fts_statp) > newest_ns)
            newest_ns = weir_mtime_ns(at->fts_statp);
    }
    if (tree != NULL)
        (void)fts_close(tree);
    return newest_ns;
}

static enum weir_status check_initdb(const struct orchestrator_child_exit *ended,
                                     struct weir_error *err)
{
    if (WIFEXITED(ended->wait_status) && WEXITSTATUS(ended->wait_status) == 0)
        return WEIR_OK;
    char how[64];
    orchestrator_wait_status_text(ended->wait_status, how, sizeof(how));
    return weir_fail(err, WEIR_IO, "initdb failed (%s): %s", how, ended->last_line);
}

enum weir_status orchestrator_cluster_finish(const struct orchestrator_cluster *cluster,
                                             const struct orchestrator_child_exit *ended,
                                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *fresh = weir_format("%s.tmp", cluster->path);
    enum weir_status status = check_initdb(ended, err);
    if (status == WEIR_OK)
        status = write_access(fresh, cluster->identity, err);
    if (status == WEIR_OK)
        status = sync_files(fresh, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "private database");
    if (rename(fresh, cluster->path) != 0)
        return weir_fail(err, WEIR_IO, "private database: cannot rename %s: %s", fresh,
                         strerror(errno));
    return weir_sync_parent(cluster->path, err);
}
