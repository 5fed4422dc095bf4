/* Finding, preparing, starting and killing a Postgres for tests. */
#include "tests/support/postgres.h"

#include "core/base/memory.h"
#include "tests/support/postgres_ready.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SKIPPED = 77 };

/* The newest installation, or none. */
static bool find_binaries(char *bin_dir, size_t size)
{
    glob_t found;
    bool is_found = glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0;
    if (is_found) {
        const char *newest = found.gl_pathv[found.gl_pathc - 1];
        snprintf(bin_dir, size, "%.*s", (int)(strlen(newest) - strlen("/initdb")), newest);
    }
    globfree(&found);
    return is_found;
}

static void choose_user(struct weir_test_postgres *postgres)
{
    postgres->uid = geteuid();
    postgres->gid = getegid();
    if (postgres->uid != 0)
        return;
    const struct passwd *user = getpwnam("postgres");
    if (user == NULL)
        user = getpwnam("nobody");
    weir_require(user != NULL);
    postgres->uid = user->pw_uid;
    postgres->gid = user->pw_gid;
}

/* In a child: becomes the user Postgres runs as, and writes to `log`. */
static void become_user(const struct weir_test_postgres *postgres, const char *log)
{
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    weir_require(fd >= 0);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (geteuid() == 0) {
        weir_require(setgroups(0, NULL) == 0);
        weir_require(setresgid(postgres->gid, postgres->gid, postgres->gid) == 0);
        weir_require(setresuid(postgres->uid, postgres->uid, postgres->uid) == 0);
    }
    /* After setuid, which would clear it: the server ends with the test, however that ends. */
    weir_require(prctl(PR_SET_PDEATHSIG, SIGQUIT) == 0);
    weir_require(chdir("/") == 0);
    setenv("LC_ALL", "C", 1);
}

static pid_t spawn(const struct weir_test_postgres *postgres, const char *log,
                   const char *const argv[])
{
    fflush(NULL);
    pid_t pid = fork();
    weir_require(pid >= 0);
    if (pid == 0) {
        become_user(postgres, log);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

static void show_log(const char *log)
{
    WEIR_AUTO_BUF text = {0};
    weir_ignore(weir_file_read(log, 1 << 20, &text, NULL)); /* there may be none */
    fprintf(stderr, "%s:\n%s\n", log, weir_buf_text(&text));
}

static void run(const struct weir_test_postgres *postgres, const char *log,
                const char *const argv[])
{
    int status = 0;
    pid_t pid = spawn(postgres, log, argv);
    weir_require(waitpid(pid, &status, 0) == pid);
    if (status == 0)
        return;
    show_log(log);
    weir_require_failed(argv[0], __FILE__, __LINE__);
}

/* The folder of this program, where those lie that help tests. */
static char *programs_dir(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    weir_require(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return weir_strdup(path);
}

static pid_t spawn_server(const struct weir_test_postgres *postgres, const char *folder)
{
    WEIR_AUTO_FREE char *program = weir_format("%s/postgres", postgres->bin_dir);
    WEIR_AUTO_FREE char *data = weir_format("%s/data", folder);
    WEIR_AUTO_FREE char *log = weir_format("%s/postgres.log", folder);
    WEIR_AUTO_FREE char *sockets = weir_format("unix_socket_directories=%s", folder);
    return spawn(postgres, log,
                 (const char *const[]){program, "-D", data, "-c", sockets, "--listen_addresses=",
                                       "--shared_buffers=16MB", "--fsync=off", "--max_wal_size=1GB",
                                       "--wal_recycle=off", "--max_connections=40",
                                       "--unix_socket_permissions=0700", NULL});
}

static PGconn *connect_to(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);
    weir_require(PQstatus(conn) == CONNECTION_OK);
    return conn;
}

static void execute(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        weir_require_failed(PQerrorMessage(conn), __FILE__, __LINE__);
    PQclear(result);
}

static void run_sql(const char *conninfo, const char *sql)
{
    PGconn *conn = connect_to(conninfo);
    execute(conn, sql);
    PQfinish(conn);
}

/* Copied as files, which costs half of copying it through the log; before version 15 there is no other way. */
static void make_database(const char *conninfo)
{
    PGconn *conn = connect_to(conninfo);
    execute(conn, "DROP DATABASE IF EXISTS weir WITH (FORCE)");
    execute(conn, PQserverVersion(conn) >= 150000 ? "CREATE DATABASE weir STRATEGY file_copy"
                                                  : "CREATE DATABASE weir");
    PQfinish(conn);
}

/* Gives template1, which every database begins as, the schemas of all services, and leaves "weir" beside it alone: all
 * that is there is copied. */
static void fill_template(const char *conninfo)
{
    make_database(conninfo);
    PGconn *conn = connect_to(conninfo);
    execute(conn, "ALTER DATABASE template0 IS_TEMPLATE false");
    execute(conn, "DROP DATABASE template0");
    execute(conn, "DROP DATABASE postgres");
    PQfinish(conn);
}

static char *template_conninfo(const char *folder)
{
    return weir_format("host=%s user=weir dbname=template1", folder);
}

static void migrate_template(const struct weir_test_postgres *postgres, const char *folder)
{
    int status = 0;
    WEIR_AUTO_FREE char *programs = programs_dir();
    WEIR_AUTO_FREE char *conninfo = template_conninfo(folder);
    WEIR_AUTO_FREE char *migrate = /* faults are the test's */
        weir_format("env -u WEIR_FAULTS %s/migrate '%s'", programs, conninfo);
    pid_t server = spawn_server(postgres, folder);
    weir_require(system(migrate) == 0);
    fill_template(conninfo);
    weir_require(kill(server, SIGINT) == 0);
    weir_require(waitpid(server, &status, 0) == server && status == 0);
}

/* initdb once per folder of tests, version, user and schemas; renamed into place, so that test programs may race. */
static void make_template(const struct weir_test_postgres *postgres, const char *template)
{
    WEIR_AUTO_FREE char *initdb = weir_format("%s/initdb", postgres->bin_dir);
    WEIR_AUTO_FREE char *fresh = weir_format("%s-%d", template, getpid());
    WEIR_AUTO_FREE char *data = weir_format("%s/data", fresh);
    WEIR_AUTO_FREE char *log = weir_format("%s/initdb.log", fresh);
    weir_require(mkdir(fresh, 0700) == 0);
    weir_require(chown(fresh, postgres->uid, postgres->gid) == 0);
    run(postgres, log,
        (const char *const[]){initdb, "-D", data, "-U", "weir", "-A", "trust", "-E", "UTF8",
                              "--locale=C", "--no-sync", "--no-instructions", "--wal-segsize=1",
                              NULL});
    migrate_template(postgres, fresh);
    if (rename(fresh, template) != 0) /* another test program was faster */
        weir_ignore(weir_remove_tree(fresh, NULL));
}

/* Returns the digest of the schemas that migrate knows. */
static char *read_schemas(void)
{
    WEIR_AUTO_BUF digest = {0};
    struct weir_error err;
    WEIR_AUTO_FREE char *programs = programs_dir();
    WEIR_AUTO_FREE char *path = weir_format("%s/migrations", programs);
    if (weir_file_read(path, 64, &digest, &err) != WEIR_OK)
        weir_require_failed(err.text, __FILE__, __LINE__);
    return weir_format("%.*s", (int)strcspn(weir_buf_text(&digest), "\n"), weir_buf_text(&digest));
}

static void copy_template(const struct weir_test_postgres *postgres)
{
    struct stat found;
    const char *version = strrchr(postgres->bin_dir, '/') - 2; /* "15" of ".../15/bin" */
    const char *root = getenv("TMPDIR");
    WEIR_AUTO_FREE char *schemas = read_schemas();
    WEIR_AUTO_FREE char *template =
        weir_format("%s/weir-test-cluster-%.2s-%u-%s", root != NULL ? root : "/tmp", version,
                    postgres->uid, schemas);
    WEIR_AUTO_FREE char *from = weir_format("%s/data", template);
    WEIR_AUTO_FREE char *to = weir_format("%s/data", postgres->dir.path);
    WEIR_AUTO_FREE char *log = weir_format("%s/cp.log", postgres->dir.path);
    if (lstat(template, &found) != 0)
        make_template(postgres, template);
    /* Another user of this machine may not hand us a cluster. */
    weir_require(lstat(template, &found) == 0 && S_ISDIR(found.st_mode));
    weir_require(found.st_uid == postgres->uid);
    run(postgres, log, (const char *const[]){"/bin/cp", "-R", from, to, NULL});
}

void weir_test_postgres_resume(struct weir_test_postgres *postgres)
{
    WEIR_AUTO_FREE char *log = weir_format("%s/postgres.log", postgres->dir.path);
    weir_require(postgres->pid == 0);
    postgres->pid = spawn_server(postgres, postgres->dir.path);
    if (postgres_await(postgres->conninfo, postgres->pid))
        return;
    show_log(log);
    weir_require_failed("Postgres starts", __FILE__, __LINE__);
}

/* One that a test has stopped, for the next test of this program: its start costs three times what cleaning it does. */
static struct weir_test_postgres kept;
static pid_t keeper; /* this process; a child of a test ends nothing */

void weir_test_postgres_start(struct weir_test_postgres *postgres)
{
    *postgres = kept;
    kept = (struct weir_test_postgres){0};
    if (postgres->pid != 0) {
        weir_test_postgres_reset(postgres);
        return;
    }
    if (!find_binaries(postgres->bin_dir, sizeof(postgres->bin_dir))) {
        fprintf(stderr, "skipped: Postgres is not installed (apt-get install postgresql)\n");
        exit(SKIPPED);
    }
    choose_user(postgres);
    temp_dir_make(&postgres->dir);
    weir_require(chown(postgres->dir.path, postgres->uid, postgres->gid) == 0);
    copy_template(postgres);
    snprintf(postgres->conninfo, sizeof(postgres->conninfo), "host=%s user=weir dbname=weir",
             postgres->dir.path);
    weir_test_postgres_resume(postgres);
}

static void end(struct weir_test_postgres *postgres, int signal)
{
    int status;
    if (postgres->pid == 0)
        return;
    weir_require(kill(postgres->pid, signal) == 0);
    weir_require(waitpid(postgres->pid, &status, 0) == postgres->pid);
    postgres->pid = 0;
}

static void end_kept(void)
{
    if (keeper != getpid() || kept.pid == 0)
        return;
    end(&kept, SIGQUIT);
    temp_dir_remove(&kept.dir);
}

static bool is_running(const struct weir_test_postgres *postgres)
{
    return postgres->pid != 0 && waitpid(postgres->pid, NULL, WNOHANG) == 0;
}

void weir_test_postgres_stop(struct weir_test_postgres *postgres)
{
    if (is_running(postgres) && kept.pid == 0) {
        weir_require(keeper != 0 || atexit(end_kept) == 0);
        keeper = getpid();
        kept = *postgres;
        return;
    }
    end(postgres, SIGQUIT);
    temp_dir_remove(&postgres->dir);
}

/* SIGQUIT: the postmaster takes its children with it without any shutdown, and the next start recovers
 * from the log, as after a power cut. A SIGKILL would leave the children behind for a while. */
void weir_test_postgres_kill(struct weir_test_postgres *postgres)
{
    end(postgres, SIGQUIT);
}

/* The server first: it starts no more processes then. */
static void tell_all(const struct weir_test_postgres *postgres, int signal)
{
    int child;
    WEIR_AUTO_FREE char *path =
        weir_format("/proc/%d/task/%d/children", postgres->pid, postgres->pid);
    weir_require(kill(postgres->pid, signal) == 0);
    FILE *children = fopen(path, "re");
    weir_require(children != NULL);
    while (fscanf(children, "%d", &child) == 1)
        (void)kill(child, signal); /* it may have ended */
    fclose(children);
}

void weir_test_postgres_pause(const struct weir_test_postgres *postgres)
{
    tell_all(postgres, SIGSTOP);
}

void weir_test_postgres_go_on(const struct weir_test_postgres *postgres)
{
    tell_all(postgres, SIGCONT);
}

void weir_test_postgres_reset(struct weir_test_postgres *postgres)
{
    WEIR_AUTO_FREE char *conninfo = template_conninfo(postgres->dir.path);
    make_database(conninfo);
}

void weir_test_postgres_sql(struct weir_test_postgres *postgres, const char *sql)
{
    run_sql(postgres->conninfo, sql);
}

int weir_test_postgres_setup(void **state)
{
    static struct weir_test_postgres postgres;
    weir_test_postgres_start(&postgres);
    *state = &postgres;
    return 0;
}

int weir_test_postgres_teardown(void **state)
{
    weir_test_postgres_stop(*state);
    return 0;
}

int weir_test_postgres_clean(void **state)
{
    weir_test_postgres_reset(*state);
    return 0;
}
