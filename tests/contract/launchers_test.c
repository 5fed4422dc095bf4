/* Launchers with real processes: groups that are started once, all or none, adopted, listed and stopped. That of Slurm
 * is among them where there is one (SLURM_CONF), as ctest has it do among the slow tests. */
#include "orchestrator/launchers/launcher.h"
#include "tests/support/platform_case.h"

#include <sched.h>

enum { PROCESSES_MAX = 8 };

/* A launcher at work. */
struct stage {
    const struct launcher *launcher;
    void *state;
    struct weir_loop *loop;
    struct orchestrator_supervisor *supervisor;
    struct ends ends;
    char platform[32]; /* beginning of the names of groups */
    bool has_left;
};

static void open_stage(struct stage *stage, const struct launcher *launcher,
                       const struct fixture *fixture)
{
    struct weir_error err;
    *stage = (struct stage){.launcher = launcher, .loop = weir_loop_new()};
    stage->supervisor = orchestrator_supervisor_new(stage->loop, fixture->directory);
    stage->state = weir_calloc(1, launcher->state_size);
    static unsigned stages;
    (void)snprintf(stage->platform, sizeof(stage->platform), "weir-%d.%u-", (int)getpid(),
                   stages++);
    const struct launcher_context context = {
        .loop = stage->loop,
        .supervisor = stage->supervisor,
        .bin_dir = "/usr/bin",
        .data_dir = fixture->directory,
    };
    if (launcher->init(stage->state, &context, &err) != WEIR_OK) {
        fprintf(stderr, "%s\n", err.text);
        expect(false);
    }
}

static void note_left(void *owner)
{
    struct stage *stage = owner;
    stage->has_left = true;
}

static void close_stage(struct stage *stage)
{
    if (stage->launcher->elsewhere != NULL) {
        stage->launcher->elsewhere->leave(stage->state, note_left, stage);
        step_until(stage->loop, &stage->has_left);
    }
    if (stage->launcher->fini != NULL)
        stage->launcher->fini(stage->state);
    free(stage->state);
    orchestrator_supervisor_free(stage->supervisor);
    weir_loop_free(stage->loop);
}

/* A group of processes that live until they are ended, under these names; NULL: one fewer. */
struct asked {
    char name[64];
    struct orchestrator_child members[2];
    struct launcher_group group;
};

static void ask_for(struct asked *asked, struct stage *stage, const char *name,
                    const char *const names[2])
{
    static char shell[] = "/bin/sh", flag[] = "-c", script[] = "exec sleep 1000";
    static char *const argv[] = {shell, flag, script, NULL};
    *asked = (struct asked){.group = {.name = asked->name, .place = "pool"}};
    (void)snprintf(asked->name, sizeof(asked->name), "%s%s", stage->platform, name);
    asked->group.members = asked->members;
    for (size_t i = 0; i < 2 && names[i] != NULL; i++)
        asked->members[asked->group.count++] = (struct orchestrator_child){
            .name = names[i],
            .argv = argv,
            .stage = ORCHESTRATOR_STAGE_LAUNCHED,
            .exited = note_end,
            .owner = &stage->ends,
        };
}

static bool is_listed(const struct stage *stage, const char *name, enum launcher_state *ret_state)
{
    struct launcher_process processes[PROCESSES_MAX];
    size_t count = stage->launcher->list(stage->state, processes, PROCESSES_MAX);
    for (size_t i = 0; i < count; i++)
        if (strcmp(processes[i].name, name) == 0) {
            expect(processes[i].host != NULL && processes[i].reason != NULL);
            *ret_state = processes[i].state;
            return true;
        }
    return false;
}

static void await_state(const struct stage *stage, const char *name, enum launcher_state wanted)
{
    enum launcher_state found = LAUNCHER_ENDED;
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS;
         !is_listed(stage, name, &found) || found != wanted;
         weir_loop_step(stage->loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
}

static void await_gone(const struct stage *stage, const char *name)
{
    enum launcher_state found = LAUNCHER_ENDED;
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS; is_listed(stage, name, &found);
         weir_loop_step(stage->loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
}

/* Runs `fn` on a stage of each launcher. */
static void on_each(const struct fixture *fixture, void (*fn)(struct stage *stage))
{
    expect(orchestrator_launcher_count() > 0);
    for (size_t i = 0; i < orchestrator_launcher_count(); i++) {
        struct stage stage;
        bool is_slurm = weir_str_equal(orchestrator_launcher_at(i)->name, "slurm");
        if (is_slurm && getenv("SLURM_CONF") == NULL)
            continue;
        open_stage(&stage, orchestrator_launcher_at(i), fixture);
        fn(&stage);
        close_stage(&stage);
    }
}

static const char *const TWO[] = {"worker-1", "worker-2"};

static void start_twice(struct stage *stage)
{
    struct weir_error err;
    struct asked asked, other;
    static const char *const OVERLAP[] = {"worker-3", "worker-2"};
    ask_for(&asked, stage, "group-1", TWO);
    expect(stage->launcher->start(stage->state, &asked.group, &err) == WEIR_OK);
    expect(stage->launcher->start(stage->state, &asked.group, &err) == WEIR_EXISTS);
    ask_for(&other, stage, "group-2", OVERLAP);
    expect(stage->launcher->start(stage->state, &other.group, &err) == WEIR_EXISTS);
    await_gone(stage, "worker-3"); /* all or none */
    await_state(stage, "worker-1", LAUNCHER_RUNNING);
    await_state(stage, "worker-2", LAUNCHER_RUNNING);
    struct launcher_process none;
    expect(stage->launcher->list(stage->state, &none, 0) == 2);
}

static void case_once(const struct fixture *fixture)
{
    on_each(fixture, start_twice);
}

static void a_group_is_started_once_and_all_of_it_or_nothing(void **state)
{
    run_case(state, case_once);
}

static void adopt_both(struct stage *stage)
{
    struct weir_error err = {0};
    struct asked asked;
    enum launcher_state found;
    ask_for(&asked, stage, "group-1", TWO);
    expect(stage->launcher->adopt(stage->state, &asked.group, &err) == WEIR_NOT_FOUND);
    expect(err.text[0] != '\0');
    expect(!is_listed(stage, "worker-1", &found)); /* nothing is started */
    expect(stage->launcher->start(stage->state, &asked.group, &err) == WEIR_OK);
    await_state(stage, "worker-2", LAUNCHER_RUNNING);
    expect(stage->launcher->adopt(stage->state, &asked.group, &err) == WEIR_OK);
    expect(is_listed(stage, "worker-2", &found) && found == LAUNCHER_RUNNING);
}

static void case_adopted(const struct fixture *fixture)
{
    on_each(fixture, adopt_both);
}

static void a_group_is_adopted_if_there_is_any_of_it(void **state)
{
    run_case(state, case_adopted);
}

static void stop_one(struct stage *stage)
{
    struct weir_error err;
    struct asked asked, again;
    static const char *const ONE[] = {"worker-1", NULL};
    ask_for(&asked, stage, "group-1", TWO);
    expect(stage->launcher->start(stage->state, &asked.group, &err) == WEIR_OK);
    stage->launcher->stop(stage->state, "worker-7", 1000);
    stage->launcher->stop(stage->state, "worker-1", 1000);
    stage->launcher->stop(stage->state, "worker-1", 1000);
    await_gone(stage, "worker-1");
    expect(strcmp(stage->ends.order, "worker-1 ") == 0 && !stage->ends.restarted);
    await_state(stage, "worker-2", LAUNCHER_RUNNING);
    ask_for(&again, stage, "group-2", ONE); /* the name is free */
    expect(stage->launcher->start(stage->state, &again.group, &err) == WEIR_OK);
    await_state(stage, "worker-1", LAUNCHER_RUNNING);
}

static void case_stopped(const struct fixture *fixture)
{
    on_each(fixture, stop_one);
}

static void one_of_a_group_is_stopped_and_its_name_is_free(void **state)
{
    run_case(state, case_stopped);
}

static void die_and_return(struct stage *stage)
{
    struct weir_error err;
    struct asked asked;
    struct launcher_process process;
    static const char *const ONE[] = {"worker-1", NULL};
    ask_for(&asked, stage, "group-1", ONE);
    asked.members[0].restart = true;
    expect(stage->launcher->start(stage->state, &asked.group, &err) == WEIR_OK);
    pid_t pid = orchestrator_supervisor_pid(stage->supervisor, "worker-1");
    if (pid <= 0) /* it is no child of ours: nobody here can kill it */
        return;
    expect(kill(pid, SIGKILL) == 0);
    await_state(stage, "worker-1", LAUNCHER_PENDING);
    expect(stage->launcher->list(stage->state, &process, 1) == 1);
    expect(strstr(process.reason, "signal 9") != NULL);
    await_state(stage, "worker-1", LAUNCHER_RUNNING);
}

static void case_returns(const struct fixture *fixture)
{
    on_each(fixture, die_and_return);
}

static void one_that_is_kept_and_dies_says_why_and_returns(void **state)
{
    run_case(state, case_returns);
}

/* At once, or when whoever has the machines has said so. */
static void be_refused(struct stage *stage, const struct asked *asked)
{
    struct weir_error err = {0};
    struct launcher_process process;
    enum weir_status status = stage->launcher->start(stage->state, &asked->group, &err);
    if (status == WEIR_LIMIT) {
        expect(strstr(err.text, asked->name) != NULL);
        expect(stage->launcher->list(stage->state, &process, 1) == 0);
        return;
    }
    expect(status == WEIR_OK);
    await_state(stage, "worker-1", LAUNCHER_REFUSED);
    await_state(stage, "worker-2", LAUNCHER_REFUSED);
    expect(stage->launcher->list(stage->state, &process, 1) == 2 && process.reason[0] != '\0');
}

static void ask_too_much(struct stage *stage)
{
    struct weir_error err = {0};
    struct asked asked;
    ask_for(&asked, stage, "group-1", TWO);
    asked.group.each.cores = 1000000;
    be_refused(stage, &asked);
    ask_for(&asked, stage, "group-2", TWO);
    asked.group.each.memory = UINT64_MAX;
    be_refused(stage, &asked);
    ask_for(&asked, stage, "group-3", TWO);
    asked.group.each = (struct launcher_resources){.cores = 1, .memory = 1 << 20};
    expect(stage->launcher->start(stage->state, &asked.group, &err) == WEIR_OK);
    await_state(stage, "worker-2", LAUNCHER_RUNNING);
}

static void case_too_much(const struct fixture *fixture)
{
    on_each(fixture, ask_too_much);
}

static void more_than_there_is_is_refused_in_words(void **state)
{
    run_case(state, case_too_much);
}

/* Returns the number of cores that the process may run on, and those of them; 0: it is no child of ours. */
static int cores_of(const struct stage *stage, const char *name, cpu_set_t *ret_cores)
{
    pid_t pid = orchestrator_supervisor_pid(stage->supervisor, name);
    if (pid <= 0)
        return 0;
    expect(sched_getaffinity(pid, sizeof(*ret_cores), ret_cores) == 0);
    return CPU_COUNT(ret_cores);
}

static void start_beside_trainers(struct stage *stage)
{
    struct weir_error err;
    struct asked beside, pool;
    cpu_set_t all, first, second;
    static const char *const BESIDE[] = {"host-1", "host-2"};
    ask_for(&beside, stage, "group-1", BESIDE);
    ask_for(&pool, stage, "group-2", TWO);
    beside.group.place = "host";
    beside.group.each.cores = pool.group.each.cores = 1;
    expect(stage->launcher->start(stage->state, &beside.group, &err) == WEIR_OK);
    expect(stage->launcher->start(stage->state, &pool.group, &err) == WEIR_OK);
    int usable = cores_of(stage, "worker-1", &all);
    if (usable == 0)
        return;
    expect(cores_of(stage, "host-1", &first) == 1 && cores_of(stage, "host-2", &second) == 1);
    expect(usable == 1 || (!CPU_EQUAL(&first, &second) && usable > 1));
}

static void case_beside(const struct fixture *fixture)
{
    on_each(fixture, start_beside_trainers);
}

static void workers_beside_trainers_keep_to_a_core_each(void **state)
{
    run_case(state, case_beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_group_is_started_once_and_all_of_it_or_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_group_is_adopted_if_there_is_any_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(one_of_a_group_is_stopped_and_its_name_is_free, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_is_kept_and_dies_says_why_and_returns, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(more_than_there_is_is_refused_in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(workers_beside_trainers_keep_to_a_core_each, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("launchers", tests, NULL, NULL);
}
