/* Runs the private server: its command line, leftovers of earlier ones, readiness, the database. */
#include "orchestrator/platform/postgres.h"

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/platform/database.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
    POLL_MS = 5,
    LEFTOVER_FAST_MS = 5000,  /* for SIGINT to an orphaned server */
    LEFTOVER_QUIT_MS = 10000, /* for SIGQUIT after it */
    LEFTOVER_KILL_MS = 1000,  /* for SIGKILL to a process without its server */
    SHM_BYTES_MIN = 256 << 20,
    ARGUMENTS_MAX = 40,
};

struct orchestrator_postgres {
    char *bin_dir;
    struct orchestrator_cluster cluster;
    char *log_path;
    char *conninfo;       /* database weir */
    char *admin_conninfo; /* database postgres */
    char *socket_lock;    /* the server's lock file beside its socket */
    char *argv[ARGUMENTS_MAX];
    size_t argc;
    char *env[4];
};

static void sleep_ms(int64_t ms)
{
    struct timespec span = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&span, NULL);
}

static void add_argument(struct orchestrator_postgres *postgres, const char *flag, char *value)
{
    weir_require(postgres->argc + 2 < ARGUMENTS_MAX);
    postgres->argv[postgres->argc++] = weir_strdup(flag);
    postgres->argv[postgres->argc++] = value;
}

static bool shared_memory_is_small(void)
{
    struct statvfs found;
    return statvfs("/dev/shm", &found) != 0 ||
           (uint64_t)found.f_blocks * found.f_frsize < SHM_BYTES_MIN;
}

static void build_command(struct orchestrator_postgres *postgres,
                          const struct orchestrator_postgres_options *options)
{
    static const char *const SETTINGS[] = {
        "listen_addresses=",
        "port=5432",
        "unix_socket_permissions=0700",
        "max_wal_size=2GB",
        "jit=off",
        "timezone=UTC",
        "log_timezone=UTC",
        "fsync=on",
        "logging_collector=off",
        "log_line_prefix=%m ",
        "cluster_name=weir",
        "wal_recycle=off",
        "log_error_verbosity=terse",         /* erasures: no old bytes, no values */
        "max_logical_replication_workers=0", /* nor the process that starts them */
        "max_pred_locks_per_transaction=10", /* nothing is SERIALIZABLE: the least there can be */
    };
    postgres->argv[postgres->argc++] = weir_format("%s/postgres", postgres->bin_dir);
    add_argument(postgres, "-D", weir_strdup(options->cluster));
    add_argument(postgres, "-c", weir_format("unix_socket_directories=%s", options->socket_dir));
    for (size_t i = 0; i < WEIR_COUNT(SETTINGS); i++)
        add_argument(postgres, "-c", weir_strdup(SETTINGS[i]));
    if (shared_memory_is_small()) /* containers: parallel queries would fail */
        add_argument(postgres, "-c", weir_strdup("dynamic_shared_memory_type=mmap"));
    postgres->env[0] = weir_strdup("LC_ALL=C.UTF-8");
    postgres->env[1] = weir_strdup("PATH=/usr/local/bin:/usr/bin:/bin");
    postgres->env[2] = weir_strdup("TZ=UTC");
}

/* A socket directory as libpq's conninfo takes it: quoted, with \ and ' escaped. */
static char *conninfo(const char *socket_dir, const char *database)
{
    WEIR_AUTO_BUF quoted = {0};
    for (const char *c = socket_dir; *c; c++) {
        if (*c == '\\' || *c == '\'')
            weir_buf_append(&quoted, "\\", 1);
        weir_buf_append(&quoted, c, 1);
    }
    return weir_format("host='%s' port=5432 user=weir dbname=%s connect_timeout=5",
                       weir_buf_text(&quoted), database);
}

enum weir_status orchestrator_postgres_prepare(const struct orchestrator_postgres_options *options,
                                               struct orchestrator_postgres **ret_postgres,
                                               struct weir_error *err)
{
    WEIR_AUTO(orchestrator_postgres) postgres = weir_calloc(1, sizeof(*postgres));
    postgres->cluster =
        (struct orchestrator_cluster){weir_strdup(options->cluster), options->identity};
    postgres->log_path = weir_strdup(options->log_path);
    postgres->conninfo = conninfo(options->socket_dir, "weir");
    postgres->admin_conninfo = conninfo(options->socket_dir, "postgres");
    postgres->socket_lock = weir_format("%s/.s.PGSQL.5432.lock", options->socket_dir);
    enum weir_status status = orchestrator_cluster_find_programs(
        &postgres->cluster, options->bin_dir, &postgres->bin_dir, err);
    if (status != WEIR_OK)
        return status;
    if (options->is_used && !orchestrator_postgres_has_cluster(postgres))
        return weir_fail(err, WEIR_CORRUPT,
                         "the database of this data directory is missing, expected it in %s: copy "
                         "or restore it along with the directory",
                         options->cluster);
    build_command(postgres, options);
    *ret_postgres = WEIR_TAKE(postgres);
    return WEIR_OK;
}

bool orchestrator_postgres_has_cluster(const struct orchestrator_postgres *postgres)
{
    return orchestrator_cluster_is_made(&postgres->cluster);
}

enum weir_status orchestrator_postgres_begin_cluster(const struct orchestrator_postgres *postgres,
                                                     const struct orchestrator_cluster_maker *maker,
                                                     struct weir_error *err)
{
    return orchestrator_cluster_begin(&postgres->cluster, postgres->bin_dir, postgres->env, maker,
                                      err);
}

int64_t orchestrator_postgres_written_ns(const struct orchestrator_postgres *postgres)
{
    return orchestrator_cluster_written_ns(&postgres->cluster);
}

enum weir_status orchestrator_postgres_finish_cluster(const struct orchestrator_postgres *postgres,
                                                      const struct orchestrator_child_exit *ended,
                                                      struct weir_error *err)
{
    return orchestrator_cluster_finish(&postgres->cluster, ended, err);
}

void orchestrator_postgres_free(struct orchestrator_postgres *postgres)
{
    if (postgres == NULL)
        return;
    for (size_t i = 0; i < postgres->argc; i++)
        free(postgres->argv[i]);
    for (size_t i = 0; i < WEIR_COUNT(postgres->env); i++)
        free(postgres->env[i]);
    free(postgres->bin_dir);
    free(postgres->cluster.path);
    free(postgres->log_path);
    free(postgres->conninfo);
    free(postgres->admin_conninfo);
    free(postgres->socket_lock);
    free(postgres);
}

char *const *orchestrator_postgres_argv(const struct orchestrator_postgres *postgres)
{
    return postgres->argv;
}

char *const *orchestrator_postgres_env(const struct orchestrator_postgres *postgres)
{
    return postgres->env;
}

const char *orchestrator_postgres_conninfo(const struct orchestrator_postgres *postgres)
{
    return postgres->conninfo;
}

/* The pid in postmaster.pid, or 0. */
static pid_t recorded_pid(const char *pid_path)
{
    WEIR_AUTO_BUF text = {0};
    if (weir_file_read(pid_path, 4096, &text, NULL) != WEIR_OK)
        return 0;
    long pid = strtol(weir_buf_text(&text), NULL, 10);
    return pid > 1 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* A server works inside its cluster, so where a process stands tells whether it is ours. */
static bool serves_cluster(pid_t pid, const char *cluster)
{
    WEIR_AUTO_FREE char *link = weir_format("/proc/%ld/cwd", (long)pid);
    char *stands = realpath(link, NULL);
    char *expected = realpath(cluster, NULL);
    bool same = stands != NULL && expected != NULL && weir_str_equal(stands, expected);
    free(stands);
    free(expected);
    return same;
}

static bool await_end(pid_t pid, const char *cluster, int64_t wait_ms)
{
    for (int64_t end_ms = weir_now_ms() + wait_ms; weir_now_ms() < end_ms; sleep_ms(POLL_MS))
        if (kill(pid, 0) != 0 || !serves_cluster(pid, cluster))
            return true;
    return false;
}

/* A person's shell may stand in the cluster too. */
static bool is_postgres(pid_t pid)
{
    WEIR_AUTO_BUF name = {0};
    WEIR_AUTO_FREE char *path = weir_format("/proc/%ld/comm", (long)pid);
    return weir_file_read(path, 64, &name, NULL) == WEIR_OK &&
           weir_str_equal(weir_buf_text(&name), "postgres\n");
}

/* Ends the children of a killed postmaster. They end by themselves, but those amidst a recovery
 * take long, and as long as one lives its shared memory keeps a new server from starting. */
static void end_orphans(const char *cluster)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry = NULL;
    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid <= INT_MAX && serves_cluster((pid_t)pid, cluster) &&
            is_postgres((pid_t)pid)) {
            (void)kill((pid_t)pid, SIGKILL);
            (void)await_end((pid_t)pid, cluster, LEFTOVER_KILL_MS);
        }
    }
    if (processes != NULL)
        (void)closedir(processes);
}

static void end_server(const struct orchestrator_postgres *postgres)
{
    WEIR_AUTO_FREE char *pid_path = weir_format("%s/postmaster.pid", postgres->cluster.path);
    pid_t pid = recorded_pid(pid_path);
    if (pid == 0 || kill(pid, 0) != 0 || !serves_cluster(pid, postgres->cluster.path))
        return; /* none, dead, or the number is another program's now */
    (void)kill(pid, SIGINT);
    if (await_end(pid, postgres->cluster.path, LEFTOVER_FAST_MS))
        return;
    (void)kill(pid, SIGQUIT);
    (void)await_end(pid, postgres->cluster.path, LEFTOVER_QUIT_MS);
}

/* Removes a lock file that keeps a new server from starting though nobody works here: one whose number is another
 * program's now, and one without a number, which a server leaves that dies amidst making it. Of one whose server is
 * dead Postgres itself disposes. */
static void remove_lock(const struct orchestrator_postgres *postgres, const char *path)
{
    pid_t pid = recorded_pid(path);
    bool is_foreign = pid != 0 && kill(pid, 0) == 0 && !serves_cluster(pid, postgres->cluster.path);

    if (pid == 0 || is_foreign)
        (void)unlink(path);
}

void orchestrator_postgres_clear_stale(const struct orchestrator_postgres *postgres)
{
    end_server(postgres);
    end_orphans(postgres->cluster.path);
    WEIR_AUTO_FREE char *pid_path = weir_format("%s/postmaster.pid", postgres->cluster.path);
    remove_lock(postgres, pid_path);
    remove_lock(postgres, postgres->socket_lock);
}

/* The server's own word: whoever asks it by connecting makes it fork for each refusal. */
static bool says_ready(const struct orchestrator_postgres *postgres)
{
    WEIR_AUTO_FREE char *pid_path = weir_format("%s/postmaster.pid", postgres->cluster.path);
    WEIR_AUTO_BUF text = {0};
    return weir_file_read(pid_path, 4096, &text, NULL) == WEIR_OK &&
           strstr(weir_buf_text(&text), "\nready") != NULL;
}

enum weir_status orchestrator_postgres_probe(const struct orchestrator_postgres *postgres,
                                             int64_t within_ms, struct weir_error *err)
{
    if (!says_ready(postgres))
        return weir_fail(err, WEIR_UNAVAILABLE, "Postgres does not answer yet (see %s)",
                         postgres->log_path);
    return orchestrator_database_make(postgres->conninfo, postgres->admin_conninfo, within_ms, err);
}
