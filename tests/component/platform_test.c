/* The platform with real processes: a private Postgres, children that die, a parent that is killed. */
#include "core/service/service.h"
#include "orchestrator/launchers/launcher.h"
#include "orchestrator/platform/platform.h"
#include "tests/support/small_platform.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static void case_database(const struct fixture *fixture)
{
    struct small small = {0};
    /* The others get copies: tests/support/clusters.py. */
    expect(unsetenv("WEIR_POSTGRES_BIN") == 0);
    start_small(&small, fixture);
    expect(geteuid() != 0 || small.datadir->cluster_drops);
    query(&small, "CREATE TABLE kept AS SELECT 42 AS value", NULL);
    query(&small, "SHOW data_checksums", "on");
    pid_t first = orchestrator_supervisor_pid(small.supervisor, "postgres");
    stop_small(&small);
    expect(kill(first, 0) != 0 && errno == ESRCH);

    struct small again = {0};
    start_small(&again, fixture);
    query(&again, "SELECT value FROM kept", "42");
    struct stat found;
    expect(stat(again.datadir->path, &found) == 0 && (found.st_mode & 07777) == 0700);
    expect(stat(again.datadir->socket_dir, &found) == 0 && (found.st_mode & 07777) == 0700);
    stop_small(&again);
}

static void a_database_is_made_once_and_kept(void **state)
{
    run_case(state, case_database);
}

static void case_postgres_killed(const struct fixture *fixture)
{
    struct small small = {0};
    start_small(&small, fixture);
    query(&small, "CREATE TABLE kept AS SELECT 42 AS value", NULL);
    pid_t first = orchestrator_supervisor_pid(small.supervisor, "postgres");
    expect(kill(first, SIGKILL) == 0);
    struct weir_error err;
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS;
         orchestrator_supervisor_pid(small.supervisor, "postgres") == first ||
         orchestrator_supervisor_pid(small.supervisor, "postgres") == 0 ||
         orchestrator_postgres_probe(small.postgres, TEST_PATIENCE_MS, &err) != WEIR_OK;
         weir_loop_step(small.loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
    query(&small, "SELECT value FROM kept", "42");
    stop_small(&small);
}

static void a_killed_postgres_comes_back_with_its_data(void **state)
{
    run_case(state, case_postgres_killed);
}

static void empty_file(const char *folder, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    expect(file != NULL && fclose(file) == 0);
    expect(geteuid() != 0 || chmod(path, 0666) == 0);
}

static void case_torn_locks(const struct fixture *fixture)
{
    struct small small = {0};
    start_small(&small, fixture);
    WEIR_AUTO_FREE char *cluster = weir_strdup(small.datadir->cluster);
    WEIR_AUTO_FREE char *sockets = weir_strdup(small.datadir->cluster_socket_dir);
    stop_small(&small);

    struct small again = {0};
    empty_file(cluster, "postmaster.pid");
    empty_file(sockets, ".s.PGSQL.5432.lock");
    start_small(&again, fixture);
    query(&again, "SELECT 42", "42");
    stop_small(&again);
}

static void a_postgres_that_died_amidst_making_its_lock_files_starts_again(void **state)
{
    run_case(state, case_torn_locks);
}

static void case_in_use(const struct fixture *fixture)
{
    struct orchestrator_datadir *first = open_datadir(fixture);
    struct orchestrator_datadir *second = NULL;
    struct weir_error err;
    const struct orchestrator_datadir_options options = {.path = fixture->data_dir};
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "is in use by process %d", getpid());
    expect(orchestrator_datadir_open(&options, &second, &err) == WEIR_LIMIT);
    expect(strstr(err.text, expected) != NULL);
    WEIR_AUTO_FREE char *lock = orchestrator_datadir_file(first, "lock");
    expect(unlink(lock) == 0);
    expect(orchestrator_datadir_open(&options, &second, &err) == WEIR_LIMIT);
    expect(strstr(err.text, "is in use by another process (its lock file was removed)") != NULL);
    expect(access(lock, F_OK) != 0);
    orchestrator_datadir_close(first);
    first = open_datadir(fixture);
    orchestrator_datadir_close(first);
}

static void a_data_directory_in_use_is_refused_naming_the_process(void **state)
{
    run_case(state, case_in_use);
}

static void expect_taken_over(const struct fixture *fixture, bool is)
{
    struct orchestrator_datadir *opened = NULL;
    struct weir_error err;
    const struct orchestrator_datadir_options options = {.path = fixture->data_dir};
    enum weir_status status = orchestrator_datadir_open(&options, &opened, &err);
    expect(status == (is ? WEIR_OK : WEIR_EXISTS));
    expect(is || strstr(err.text, "is not one of Weir") != NULL);
    orchestrator_datadir_close(opened);
}

static void case_foreign(const struct fixture *fixture)
{
    WEIR_AUTO_FREE char *lock = weir_format("%s/lock", fixture->data_dir);
    WEIR_AUTO_FREE char *thesis = weir_format("%s/thesis.txt", fixture->data_dir);
    struct weir_error err;
    struct stat before, after;
    expect(weir_make_directories(fixture->data_dir, 0755, &err) == WEIR_OK);
    empty_file(fixture->data_dir, "thesis.txt");
    expect(stat(fixture->data_dir, &before) == 0);
    expect_taken_over(fixture, false);
    expect(access(lock, F_OK) != 0 && stat(fixture->data_dir, &after) == 0);
    expect(before.st_uid == after.st_uid && before.st_mode == after.st_mode);
    empty_file(fixture->data_dir, "lock"); /* package managers have one, too */
    expect_taken_over(fixture, false);
    expect(unlink(thesis) == 0);
    expect_taken_over(fixture, true); /* as a first start leaves it that dies at once */
    WEIR_AUTO_FREE char *cluster = weir_format("%s/postgres.tmp", fixture->data_dir);
    expect(weir_make_directories(cluster, 0700, &err) == WEIR_OK);
    expect_taken_over(fixture, true); /* and one that dies while it makes the cluster */
    empty_file(fixture->data_dir, "secret");
    empty_file(fixture->data_dir, "thesis.txt");
    expect_taken_over(fixture, true); /* what people put beside Weir's own is their affair */
}

static void a_folder_of_somebody_else_is_not_taken_over(void **state)
{
    run_case(state, case_foreign);
}

static void case_not_installed(const struct fixture *fixture)
{
    WEIR_AUTO(orchestrator_datadir) datadir = open_datadir(fixture);
    struct orchestrator_postgres *postgres = NULL;
    struct weir_error err;
    const struct orchestrator_postgres_options options = {
        .bin_dir = "/nowhere",
        .cluster = datadir->cluster,
        .socket_dir = datadir->socket_dir,
        .log_path = "/dev/null",
    };
    expect(orchestrator_postgres_prepare(&options, &postgres, &err) == WEIR_NOT_FOUND);
    expect(strstr(err.text, "install the package 'postgresql'") != NULL);
}

static void a_missing_postgres_names_the_package(void **state)
{
    run_case(state, case_not_installed);
}

static void case_long_path(const struct fixture *fixture)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%0100d", fixture->directory, 0);
    struct weir_error err;
    struct orchestrator_datadir *datadir = NULL;
    const struct orchestrator_datadir_options options = {.path = path};
    expect(orchestrator_datadir_open(&options, &datadir, &err) == WEIR_OK);
    expect(strncmp(datadir->socket_dir, "/tmp/weir-", 10) == 0);
    struct stat found;
    WEIR_AUTO_FREE char *first = weir_strdup(datadir->socket_dir);
    expect(stat(first, &found) == 0 && (found.st_mode & 0777) == 0700);
    orchestrator_datadir_close(datadir);
    expect(orchestrator_datadir_open(&options, &datadir, &err) == WEIR_OK);
    expect(strcmp(datadir->socket_dir, first) == 0); /* kept from start to start */
    orchestrator_datadir_close(datadir);
    expect(chmod(first, 0777) == 0); /* whatever others may enter is not taken */
    expect(orchestrator_datadir_open(&options, &datadir, &err) == WEIR_OK);
    expect(strcmp(datadir->socket_dir, first) != 0);
    expect(weir_remove_tree(first, &err) == WEIR_OK);
    expect(weir_remove_tree(datadir->socket_dir, &err) == WEIR_OK);
    orchestrator_datadir_close(datadir);
}

static void a_path_too_long_for_sockets_moves_them_to_tmp(void **state)
{
    run_case(state, case_long_path);
}

/* Below a directory that only root may enter, as a checkout in /root is. */
static void case_unreachable(const struct fixture *fixture)
{
    if (geteuid() != 0)
        return;
    expect(chmod(fixture->directory, 0700) == 0);
    struct small small = {0};
    start_small(&small, fixture);
    expect(geteuid() == 0 && small.datadir->cluster_drops);
    expect(strncmp(small.datadir->cluster, "/var/lib/weir/", 14) == 0);
    query(&small, "CREATE TABLE of_the_first AS SELECT 42 AS value", NULL);
    WEIR_AUTO_FREE char *outside = weir_strdup(small.datadir->cluster);
    *strrchr(outside, '/') = '\0';
    stop_small(&small);

    expect(weir_remove_tree(fixture->data_dir, NULL) == WEIR_OK); /* the cluster stays behind */
    struct small again = {0};
    start_small(&again, fixture);
    query(&again, "SELECT count(*) FROM pg_tables WHERE tablename = 'of_the_first'", "0");
    stop_small(&again);
    expect(weir_remove_tree(outside, NULL) == WEIR_OK);
}

static void an_unreachable_directory_moves_only_the_database_away(void **state)
{
    run_case(state, case_unreachable);
}

/* ---- the whole platform, with services that only answer `health`: this program under their names */

struct whole {
    struct orchestrator_platform *platform;
    bool ready, failed, stopped;
    char error[512];
};

static void note_ready(void *owner)
{
    ((struct whole *)owner)->ready = true;
}

static void note_failed(void *owner, const struct weir_error *err)
{
    struct whole *whole = owner;
    whole->failed = true;
    (void)snprintf(whole->error, sizeof(whole->error), "%s", err->text);
}

static void note_stopped(void *owner)
{
    ((struct whole *)owner)->stopped = true;
}

/* A directory of executables: links to `target` under the names of the services. */
static void link_programs(const struct fixture *fixture, const char *target, char *bin_dir,
                          size_t size)
{
    static const char *const NAMES[] = {"storage", "selector", "dispatcher", "worker"};
    (void)snprintf(bin_dir, size, "%s/bin", fixture->directory);
    expect(mkdir(bin_dir, 0755) == 0);
    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", bin_dir, NAMES[i]);
        expect(symlink(target, path) == 0);
    }
}

static enum weir_status start_whole_with(struct whole *whole, struct weir_loop *loop,
                                         const struct orchestrator_platform_options *options)
{
    const struct orchestrator_platform_events events = {
        .owner = whole,
        .ready = note_ready,
        .failed = note_failed,
        .stopped = note_stopped,
    };
    struct weir_error err;
    enum weir_status status =
        orchestrator_platform_start(loop, options, &events, &whole->platform, &err);
    if (status != WEIR_OK)
        (void)snprintf(whole->error, sizeof(whole->error), "%s", err.text);
    return status;
}

static enum weir_status start_whole(struct whole *whole, struct weir_loop *loop,
                                    const struct fixture *fixture, const char *bin_dir,
                                    const char *postgres)
{
    const struct orchestrator_platform_options options = {
        .data_dir = fixture->data_dir,
        .bin_dir = bin_dir,
        .postgres = postgres,
        .postgres_bin_dir = getenv("WEIR_POSTGRES_BIN"),
    };
    return start_whole_with(whole, loop, &options);
}

static void stop_whole(struct whole *whole, struct weir_loop *loop)
{
    orchestrator_platform_stop(whole->platform);
    step_until(loop, &whole->stopped);
    orchestrator_platform_free(whole->platform);
}

static void case_whole(const struct fixture *fixture)
{
    char bin_dir[128];
    char self[4096];
    expect(realpath("/proc/self/exe", self) != NULL);
    link_programs(fixture, self, bin_dir, sizeof(bin_dir));
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct whole whole = {0};
    expect(start_whole(&whole, loop, fixture, bin_dir, NULL) == WEIR_OK);
    step_until(loop, &whole.ready);
    struct orchestrator_supervisor *supervisor = orchestrator_platform_supervisor(whole.platform);
    static const char *const NAMES[] = {"postgres", "storage", "selector", "dispatcher"};
    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++)
        expect(orchestrator_supervisor_pid(supervisor, NAMES[i]) > 0);

    struct ends ends = {0};
    const char *const arguments[] = {"--run", "7"};
    const struct orchestrator_program ranks[] = {
        {.program = "worker",
         .name = "trainer-7",
         .arguments = arguments,
         .argument_count = 2,
         .exited = note_end,
         .owner = &ends},
        {.program = "worker", .name = "trainer-7.1", .arguments = arguments, .argument_count = 2},
    };
    const struct orchestrator_programs gang = {
        .group = "trainer-7", .place = "trainer", .at = ranks, .count = 2};
    struct launcher_process launched[3];
    struct weir_error err;
    expect(orchestrator_platform_adopt(whole.platform, &gang, &err) == WEIR_NOT_FOUND);
    expect(orchestrator_platform_launch(whole.platform, &gang, &err) == WEIR_OK);
    expect(orchestrator_platform_launch(whole.platform, &gang, &err) == WEIR_EXISTS);
    expect(orchestrator_platform_adopt(whole.platform, &gang, &err) == WEIR_OK);
    expect(orchestrator_platform_list(whole.platform, launched, 3) == 2);
    expect(strcmp(launched[1].name, "trainer-7.1") == 0 && launched[1].state == LAUNCHER_RUNNING);
    orchestrator_platform_end(whole.platform, "trainer-7", 5000);
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS; !ends.order[0];
         weir_loop_step(loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
    expect(strcmp(ends.order, "trainer-7 ") == 0 && !ends.restarted);
    stop_whole(&whole, loop);
}

static void the_platform_is_ready_once_every_service_answers(void **state)
{
    run_case(state, case_whole);
}

static void case_broken_service(const struct fixture *fixture)
{
    char bin_dir[128];
    link_programs(fixture, "/bin/false", bin_dir, sizeof(bin_dir));
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct whole whole = {0};
    expect(start_whole(&whole, loop, fixture, bin_dir, NULL) == WEIR_OK);
    step_until(loop, &whole.failed);
    expect(!whole.ready);
    expect(strstr(whole.error, " stops at its start (exit code 1)") != NULL);
    stop_whole(&whole, loop);
}

static void a_service_that_does_not_stay_up_fails_the_start(void **state)
{
    run_case(state, case_broken_service);
}

/* Programs of a person's shell. */
static void write_program(const char *directory, const char *name, const char *script)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", directory, name);
    WEIR_AUTO_FREE char *text = weir_format("#!/bin/sh\n%s\n", script);
    expect(weir_file_write_atomic(path, weir_bytes_of(text), &err) == WEIR_OK);
    expect(chmod(path, 0755) == 0);
}

/* Services that end nine times before they stay. */
static void case_outside_postgres_late(const struct fixture *fixture)
{
    char bin_dir[128];
    char self[4096];
    expect(realpath("/proc/self/exe", self) != NULL);
    WEIR_AUTO_FREE char *script =
        weir_format("echo >>%s/starts.${0##*/}\n"
                    "[ $(wc -l <%s/starts.${0##*/}) -gt 9 ] || exit 1\n"
                    "exec %s/real/${0##*/} \"$@\"",
                    fixture->directory, fixture->directory, fixture->directory);
    WEIR_AUTO_FREE char *shell = weir_format("%s/shell", fixture->directory);
    link_programs(fixture, self, bin_dir, sizeof(bin_dir));
    WEIR_AUTO_FREE char *real = weir_format("%s/real", fixture->directory);
    expect(rename(bin_dir, real) == 0);
    expect(mkdir(shell, 0755) == 0 && chmod(fixture->directory, 0777) == 0);
    write_program(shell, "service", script);
    WEIR_AUTO_FREE char *service = weir_format("%s/service", shell);
    link_programs(fixture, service, bin_dir, sizeof(bin_dir));
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct whole whole = {0};
    expect(start_whole(&whole, loop, fixture, bin_dir, "host=/nowhere") == WEIR_OK);
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS; !whole.ready && !whole.failed;
         weir_loop_step(loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
    expect(whole.ready);
    stop_whole(&whole, loop);
}

static void services_wait_for_an_outside_postgres_as_long_as_for_an_own_one(void **state)
{
    run_case(state, case_outside_postgres_late);
}

static void case_impatient(const struct fixture *fixture)
{
    char bin_dir[128];
    link_programs(fixture, "/bin/false", bin_dir, sizeof(bin_dir));
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    const struct orchestrator_platform_options options = {.data_dir = fixture->data_dir,
                                                          .bin_dir = bin_dir,
                                                          .postgres = "host=/nowhere",
                                                          .patience_ms = 500};
    struct whole whole = {0};
    expect(start_whole_with(&whole, loop, &options) == WEIR_OK);
    step_until(loop, &whole.failed);
    expect(!whole.ready);
    expect(strstr(whole.error, "not all services answered within 0.5 s: see the logs in ") != NULL);
    expect(strstr(whole.error, " stops at its start (exit code 1)") != NULL);
    stop_whole(&whole, loop);
}

static void a_start_that_comes_no_further_ends_with_its_newest_problem(void **state)
{
    run_case(state, case_impatient);
}

static void start_initdb(struct whole *whole, struct weir_loop *loop, const struct fixture *fixture,
                         const char *script, int64_t patience_ms)
{
    char bin_dir[128];
    WEIR_AUTO_FREE char *postgres = weir_format("%s/postgres", fixture->directory);
    link_programs(fixture, "/bin/false", bin_dir, sizeof(bin_dir));
    expect(mkdir(postgres, 0755) == 0);
    write_program(postgres, "postgres", "exit 1");
    write_program(postgres, "initdb", script);
    const struct orchestrator_platform_options options = {.data_dir = fixture->data_dir,
                                                          .bin_dir = bin_dir,
                                                          .postgres_bin_dir = postgres,
                                                          .patience_ms = patience_ms};
    expect(start_whole_with(whole, loop, &options) == WEIR_OK);
}

/* A Postgres whose initdb never ends. */
static void start_hanging_initdb(struct whole *whole, struct weir_loop *loop,
                                 const struct fixture *fixture, int64_t patience_ms)
{
    start_initdb(whole, loop, fixture, "exec sleep 1000", patience_ms);
}

static void case_initdb_hangs(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct whole whole = {0};
    start_hanging_initdb(&whole, loop, fixture, 200);
    step_until(loop, &whole.failed);
    expect(strstr(whole.error, "Postgres did not answer within 0.2 s: see the logs in ") != NULL);
    stop_whole(&whole, loop);
}

static void an_initdb_that_hangs_ends_the_start_when_patience_is_over(void **state)
{
    run_case(state, case_initdb_hangs);
}

static void case_stopped_amidst_initdb(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct whole whole = {0};
    start_hanging_initdb(&whole, loop, fixture, 0);
    struct orchestrator_supervisor *supervisor = orchestrator_platform_supervisor(whole.platform);
    pid_t initdb = orchestrator_supervisor_pid(supervisor, "initdb");
    expect(initdb > 0 && kill(initdb, 0) == 0);
    stop_whole(&whole, loop);
    expect(kill(initdb, 0) != 0 && !whole.failed);
}

static void a_stop_ends_an_initdb_that_hangs(void **state)
{
    run_case(state, case_stopped_amidst_initdb);
}

/* It writes for three times as long as the start has patience, then fails, and at once when it is tried again. */
static void case_initdb_takes_long(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct whole whole = {0};
    start_initdb(&whole, loop, fixture,
                 "test -e \"$2.again\" && exit 1; touch \"$2.again\"; mkdir -p \"$2\"\n"
                 "for i in $(seq 90); do echo $i >> \"$2/log\"; sleep 0.1; done; exit 1",
                 3000);
    step_until(loop, &whole.failed);
    expect(strstr(whole.error, "initdb failed (exit code 1)") != NULL);
    stop_whole(&whole, loop);
}

static void an_initdb_that_goes_on_writing_is_waited_for(void **state)
{
    run_case(state, case_initdb_takes_long);
}

/* A server that says it is ready, takes a connection, and never says a word. */
static void case_mute_server(const struct fixture *fixture)
{
    WEIR_AUTO(orchestrator_datadir) datadir = open_datadir(fixture);
    struct orchestrator_postgres *postgres = NULL;
    struct weir_error err = {0};
    const struct orchestrator_postgres_options options = {.cluster = datadir->cluster,
                                                          .socket_dir = datadir->cluster_socket_dir,
                                                          .log_path = "/dev/null"};
    expect(orchestrator_postgres_prepare(&options, &postgres, &err) == WEIR_OK);
    WEIR_AUTO_FREE char *ready = weir_format("%s/postmaster.pid", datadir->cluster);
    expect(weir_make_directories(datadir->cluster, 0700, &err) == WEIR_OK);
    expect(weir_file_write_atomic(ready, weir_bytes_of("1\nready\n"), &err) == WEIR_OK);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL.5432",
                   datadir->cluster_socket_dir);
    int mute = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(mute >= 0 && bind(mute, (const struct sockaddr *)&address, sizeof(address)) == 0);
    expect(listen(mute, 1) == 0);
    expect(orchestrator_postgres_probe(postgres, 100, &err) == WEIR_UNAVAILABLE);
    expect(strstr(err.text, "no answer within 100 ms") != NULL);
    (void)close(mute);
    orchestrator_postgres_free(postgres);
}

static void a_postgres_that_never_answers_keeps_nobody_longer_than_asked(void **state)
{
    run_case(state, case_mute_server);
}

static void case_no_programs(const struct fixture *fixture)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct whole whole = {0};
    expect(start_whole(&whole, loop, fixture, fixture->directory, "host=/nowhere") ==
           WEIR_NOT_FOUND);
    expect(strstr(whole.error, "process storage: cannot start ") != NULL);
}

static void a_missing_service_fails_the_start(void **state)
{
    run_case(state, case_no_programs);
}

static enum weir_status open_nothing(const struct weir_service_options *options,
                                     struct weir_loop *loop, struct weir_rpc_server *server,
                                     void **ret_state, struct weir_error *err)
{
    (void)options;
    (void)loop;
    (void)server;
    (void)ret_state;
    (void)err;
    return WEIR_OK;
}

/* Runs under the name of a service. */
static int be_service(const char *name, int argc, char **argv)
{
    static const struct weir_rpc_handler NONE[] = {{MSG_none, NULL}};
    const struct weir_service service = {
        .name = name,
        .summary = "answers health",
        .example = name,
        .handlers = NONE,
        .open = open_nothing,
    };
    return weir_service_main(&service, argc, argv);
}

/* ---- what is left when the parent is killed ---- */

struct pids {
    pid_t postgres;
    pid_t child;
};

/* Serves until it is killed. */
WEIR_NORETURN static void be_parent(const struct fixture *fixture, int report_fd)
{
    struct small small = {0};
    struct ends ends = {0};
    start_small(&small, fixture);
    start_shell(small.supervisor, "child", "exec sleep 1000", ORCHESTRATOR_STAGE_SERVICE, &ends);
    const struct pids pids = {
        .postgres = orchestrator_supervisor_pid(small.supervisor, "postgres"),
        .child = orchestrator_supervisor_pid(small.supervisor, "child"),
    };
    expect(write(report_fd, &pids, sizeof(pids)) == (ssize_t)sizeof(pids));
    for (;;)
        weir_loop_step(small.loop, TEST_STEP_MS);
}

static void case_parent_killed(const struct fixture *fixture)
{
    expect(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); /* so that orphans are ours to wait for */
    int report[2];
    expect(pipe(report) == 0);
    pid_t parent = fork();
    if (parent == 0)
        be_parent(fixture, report[1]);
    struct pids pids;
    expect(read(report[0], &pids, sizeof(pids)) == (ssize_t)sizeof(pids));
    expect(kill(parent, SIGKILL) == 0);
    int ended = 0;
    expect(waitpid(parent, &ended, 0) == parent);

    /* A second parent may start at once, whatever the first one's Postgres is still doing. */
    struct small small = {0};
    start_small(&small, fixture);
    query(&small, "SELECT 1", "1");
    stop_small(&small);

    expect(waitpid(pids.child, &ended, 0) == pids.child);
    expect(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    expect(waitpid(pids.postgres, &ended, 0) == pids.postgres);
    expect(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}

static void killing_the_parent_leaves_nothing_behind(void **state)
{
    run_case(state, case_parent_killed);
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    if (strcmp(name, "platform_test") != 0)
        return be_service(name, argc, argv);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_database_is_made_once_and_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_postgres_comes_back_with_its_data, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_postgres_that_died_amidst_making_its_lock_files_starts_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_of_somebody_else_is_not_taken_over, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_data_directory_in_use_is_refused_naming_the_process,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_postgres_names_the_package, setup, teardown),
        cmocka_unit_test_setup_teardown(a_path_too_long_for_sockets_moves_them_to_tmp, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_unreachable_directory_moves_only_the_database_away,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_platform_is_ready_once_every_service_answers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_service_that_does_not_stay_up_fails_the_start, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            services_wait_for_an_outside_postgres_as_long_as_for_an_own_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_that_comes_no_further_ends_with_its_newest_problem,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_initdb_that_goes_on_writing_is_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_initdb_that_hangs_ends_the_start_when_patience_is_over,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_stop_ends_an_initdb_that_hangs, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_postgres_that_never_answers_keeps_nobody_longer_than_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_service_fails_the_start, setup, teardown),
        cmocka_unit_test_setup_teardown(killing_the_parent_leaves_nothing_behind, setup, teardown),
    };
    return cmocka_run_group_tests_name("platform", tests, NULL, NULL);
}
