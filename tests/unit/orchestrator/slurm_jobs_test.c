/* Jobs of Slurm as they are submitted, seen, put back, cancelled, lost and forgotten; and never two of a name. */
#include "core/base/file.h"
#include "core/base/jail.h"
#include "core/base/memory.h"
#include "orchestrator/launchers/slurm_folder.h"
#include "orchestrator/launchers/slurm_jobs.h"
#include "orchestrator/launchers/slurm_script.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A table, and a Slurm that knows these jobs. */
struct world {
    struct slurm_jobs jobs;
    int64_t now_ms;
    const char *queue; /* lines of squeue */
    unsigned dropped;
};

static const char GROUP[] = "weir-00ff-7";
#define LINE(index, state, node, reason) "weir-00ff-7|41|" index "|" state "|" node "|" reason "\n"

static void count_drop(void *owner, const struct slurm_group *group)
{
    struct world *world = owner;
    assert_non_null(group->name);
    world->dropped++;
}

static void add(struct world *world, const char *name, bool is_gang, bool is_adopted)
{
    const struct orchestrator_child members[] = {{.name = "worker-1"}, {.name = "worker-2"}};
    const struct launcher_group group = {
        .name = name, .place = "pool", .members = members, .count = 2, .is_gang = is_gang};
    struct weir_error err;
    assert_int_equal(orchestrator_slurm_jobs_check(&world->jobs, &group, &err), WEIR_OK);
    orchestrator_slurm_jobs_add(&world->jobs, &group, is_adopted);
}

static void begin(struct world *world)
{
    *world = (struct world){.now_ms = 100000, .queue = ""};
    world->jobs.looked_ms = world->now_ms;
}

static void end(struct world *world)
{
    orchestrator_slurm_jobs_fini(&world->jobs);
}

static void look(struct world *world)
{
    struct slurm_sight sights[8];
    size_t count = 0;
    for (const char *line = world->queue; *line != '\0'; line = strchr(line, '\n') + 1)
        count +=
            orchestrator_slurm_sight_read(weir_bytes(line, strcspn(line, "\n")), &sights[count]);
    orchestrator_slurm_jobs_seen(&world->jobs, sights, count, world->now_ms);
}

/* The next command in words; squeue and sbatch are answered at once. "" when there is nothing to do for now. */
static const char *step(struct world *world, uint64_t job, const char *complaint)
{
    static char text[400];
    struct slurm_order order = orchestrator_slurm_jobs_next(&world->jobs, world->now_ms);
    text[0] = '\0';
    switch (order.kind) {
    case SLURM_WAIT:
        break;
    case SLURM_SUBMIT:
        (void)snprintf(text, sizeof(text), "sbatch %s", order.group->name);
        orchestrator_slurm_jobs_submitted(&world->jobs, order.group->name, job, complaint,
                                          world->now_ms);
        break;
    case SLURM_LOOK:
        (void)snprintf(text, sizeof(text), "squeue");
        look(world);
        break;
    case SLURM_SIGNAL:
    case SLURM_CANCEL:
        (void)snprintf(text, sizeof(text), "%s%s%s",
                       order.kind == SLURM_SIGNAL ? "term" : "scancel",
                       order.name[0] != '\0' ? " of " : "", order.name);
        for (size_t i = 0; i < order.count; i++)
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s",
                           order.targets[i]);
        break;
    }
    return text;
}

/* Lets time pass until Slurm is looked at. */
static void pass(struct world *world)
{
    for (;;) {
        world->now_ms += SLURM_LOOK_IDLE_MS;
        if (strcmp(step(world, 0, ""), "squeue") == 0)
            return;
    }
}

static const struct slurm_task *task_of(const struct world *world, size_t index)
{
    return &world->jobs.groups[0]->tasks[index];
}

static void submit(struct world *world, bool is_gang)
{
    begin(world);
    add(world, GROUP, is_gang, false);
    assert_string_equal(step(world, 41, ""), "sbatch weir-00ff-7");
    world->queue = is_gang ? LINE("N/A", "RUNNING", "n[1-2]", "None")
                           : LINE("0", "RUNNING", "n1", "None") LINE("1", "RUNNING", "n2", "None");
    pass(world);
    assert_int_equal(task_of(world, 1)->state, LAUNCHER_RUNNING);
}

static void an_array_is_submitted_once_and_its_tasks_are_seen_where_they_run(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, GROUP, false, false);
    assert_string_equal(step(&world, 41, ""), "sbatch weir-00ff-7");
    assert_string_equal(step(&world, 0, ""), "");
    world.queue = LINE("0", "RUNNING", "n1", "None")
        LINE("1", "PENDING", "", "Resources") "other|5|0|RUNNING|n3|None\n";
    pass(&world);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_RUNNING);
    assert_string_equal(task_of(&world, 0)->host, "n1");
    assert_int_equal(task_of(&world, 1)->state, LAUNCHER_PENDING);
    assert_string_equal(task_of(&world, 1)->reason, "it waits in Slurm: Resources");
    assert_string_equal(step(&world, 0, ""), "");
    end(&world);
}

static void a_job_whose_number_was_not_heard_is_found_by_its_name(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, GROUP, false, false);
    assert_string_equal(step(&world, 0, "Socket timed out on send/recv operation"),
                        "sbatch weir-00ff-7");
    world.queue = LINE("0", "RUNNING", "n1", "None") LINE("1", "RUNNING", "n2", "None");
    pass(&world);
    assert_int_equal(world.jobs.groups[0]->job, 41);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_RUNNING);
    end(&world);
}

static void it_is_submitted_again_only_when_slurm_was_heard_and_does_not_know_it(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, GROUP, false, false);
    assert_string_equal(step(&world, 0, "Unable to contact slurm controller (connect failure)"),
                        "sbatch weir-00ff-7");
    for (int i = 0; i < SLURM_MISSING_MAX; i++) {
        world.now_ms += SLURM_LOOK_IDLE_MS;
        assert_string_equal(step(&world, 0, ""), "squeue");
    }
    world.now_ms += SLURM_SUBMIT_MS_MIN;
    assert_string_equal(step(&world, 41, ""), "sbatch weir-00ff-7");
    end(&world);
}

static void what_slurm_refuses_is_refused_in_its_words(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, GROUP, false, false);
    (void)step(&world, 0, "Invalid partition name specified");
    for (int i = 0; i < SLURM_MISSING_MAX; i++)
        pass(&world);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_REFUSED);
    assert_string_equal(task_of(&world, 1)->reason,
                        "Slurm refuses it: Invalid partition name specified");
    end(&world);
}

static void what_would_wait_for_ever_is_cancelled_and_refused(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, GROUP, false, false);
    (void)step(&world, 41, "");
    world.queue = LINE("0", "PENDING", "", "PartitionTimeLimit")
        LINE("1", "PENDING", "", "PartitionTimeLimit");
    for (int i = 0; i < SLURM_HOPELESS_MAX; i++) {
        assert_string_equal(step(&world, 0, ""), "");
        pass(&world);
    }
    assert_string_equal(step(&world, 0, ""), "scancel 41_0 41_1");
    world.queue = ""; /* tasks that never began are forgotten at once */
    for (int i = 0; i < SLURM_MISSING_MAX; i++)
        pass(&world);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_REFUSED);
    assert_non_null(strstr(task_of(&world, 0)->reason, "PartitionTimeLimit"));
    end(&world);
}

static void ends_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum launcher_state state;
        const char *words;
    } ENDS[] = {
        {LINE("0", "CANCELLED", "n1", "None"), LAUNCHER_LOST, "somebody cancelled it"},
        {LINE("0", "TIMEOUT", "n1", "TimeLimit"), LAUNCHER_LOST, "time limit"},
        {LINE("0", "NODE_FAIL", "n1", "NodeDown"), LAUNCHER_DRAINED, "its node failed"},
        {LINE("0", "PREEMPTED", "n1", "None"), LAUNCHER_DRAINED, "preempted"},
        {LINE("0", "OUT_OF_MEMORY", "n1", "OutOfMemory"), LAUNCHER_LOST, "memory"},
        {LINE("0", "FAILED", "n1", "NonZeroExitCode"), LAUNCHER_LOST, "failed: NonZeroExitCode"},
        {LINE("0", "FAILED", "", "BadConstraints"), LAUNCHER_REFUSED, "BadConstraints"},
        {LINE("0", "COMPLETED", "n1", "None"), LAUNCHER_ENDED, "by itself"},
    };
    for (size_t i = 0; i < WEIR_COUNT(ENDS); i++) {
        struct world world;
        submit(&world, false);
        world.queue = ENDS[i].line;
        pass(&world);
        assert_true(task_of(&world, 0)->is_over);
        assert_int_equal(task_of(&world, 0)->state, ENDS[i].state);
        assert_non_null(strstr(task_of(&world, 0)->reason, ENDS[i].words));
        end(&world);
    }
}

static void one_that_is_put_back_into_the_queue_is_the_same(void **state)
{
    (void)state;
    struct world world;
    submit(&world, false);
    world.queue = LINE("0", "PENDING", "", "BeginTime") LINE("1", "RUNNING", "n2", "None");
    pass(&world);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_PENDING);
    assert_false(task_of(&world, 0)->is_over);
    world.queue = LINE("0", "RUNNING", "n3", "None") LINE("1", "RUNNING", "n2", "None");
    pass(&world);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_RUNNING);
    assert_string_equal(task_of(&world, 0)->host, "n3");
    end(&world);
}

static void one_that_slurm_forgot_is_lost_but_not_at_the_first_look(void **state)
{
    (void)state;
    struct world world;
    submit(&world, false);
    world.queue = LINE("1", "RUNNING", "n2", "None");
    pass(&world);
    assert_false(task_of(&world, 0)->is_over);
    pass(&world);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_LOST);
    assert_int_equal(task_of(&world, 1)->state, LAUNCHER_RUNNING);
    end(&world);
}

static void one_is_asked_to_end_then_cancelled_and_then_forgotten(void **state)
{
    (void)state;
    struct world world;
    submit(&world, false);
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-2", world.now_ms + 500);
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-9", world.now_ms + 500); /* unknown */
    assert_string_equal(step(&world, 0, ""), "term of weir-00ff-7 41_1");
    world.now_ms += 500;
    assert_string_equal(step(&world, 0, ""), "scancel of weir-00ff-7 41_1");
    orchestrator_slurm_jobs_undone(&world.jobs); /* slurmctld was away */
    assert_string_equal(step(&world, 0, ""), "squeue");
    assert_string_equal(step(&world, 0, ""), "scancel of weir-00ff-7 41_1");
    world.queue = LINE("0", "RUNNING", "n1", "None") LINE("1", "CANCELLED", "n2", "None");
    pass(&world);
    assert_int_equal(task_of(&world, 1)->state, LAUNCHER_ENDED);
    world.jobs.groups[0]->tasks[1].is_told = true;
    orchestrator_slurm_jobs_clean(&world.jobs, world.now_ms, count_drop, &world);
    assert_null(task_of(&world, 1)->name);
    assert_int_equal(world.dropped, 0);
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-1", world.now_ms);
    assert_string_equal(step(&world, 0, ""), "scancel of weir-00ff-7 41_0");
    world.queue = "";
    for (int i = 0; i < SLURM_MISSING_MAX; i++)
        pass(&world);
    world.jobs.groups[0]->tasks[0].is_told = true;
    orchestrator_slurm_jobs_clean(&world.jobs, world.now_ms, count_drop, &world);
    assert_int_equal(world.dropped, 1);
    assert_int_equal(world.jobs.count, 0);
    end(&world);
}

static void one_that_was_to_end_before_it_was_submitted_never_begins(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, GROUP, false, false);
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-1", world.now_ms);
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-2", world.now_ms);
    assert_string_equal(step(&world, 0, ""), "");
    assert_true(task_of(&world, 0)->is_over && task_of(&world, 1)->is_over);
    end(&world);
}

static void a_group_is_adopted_by_name_and_lost_when_slurm_does_not_know_it(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, GROUP, false, true);
    world.queue = LINE("0", "RUNNING", "n1", "None") LINE("1", "PENDING", "", "Priority");
    pass(&world);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_RUNNING);
    end(&world);
    begin(&world);
    add(&world, GROUP, false, true);
    for (int i = 0; i < SLURM_MISSING_MAX; i++)
        pass(&world);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_LOST);
    assert_string_equal(step(&world, 0, ""), ""); /* never submitted here */
    end(&world);
}

static void jobs_of_this_platform_that_nobody_knows_are_cancelled_and_no_others(void **state)
{
    (void)state;
    struct world world;
    submit(&world, false);
    world.queue = LINE("0", "RUNNING", "n1", "None") LINE(
        "1", "RUNNING", "n2",
        "None") "weir-00ff-6|40|0|RUNNING|n3|None\nweir-00fe-6|39|0|RUNNING|n3|None\ntrain|38|N/A|RUNNING|n3|None\n";
    pass(&world);
    assert_string_equal(step(&world, 0, ""), "scancel of weir-00ff-6 40");
    world.queue = LINE("0", "RUNNING", "n1", "None")
        LINE("1", "RUNNING", "n2",
             "None") "weir-00ff-7|44|0|RUNNING|n3|None\n"; /* the second one of its name */
    pass(&world);
    assert_string_equal(step(&world, 0, ""), "scancel of weir-00ff-7 44");
    assert_string_equal(step(&world, 0, ""), "");
    end(&world);
}

/* As many as a crash has left: a look at each would take that many seconds. */
static void all_that_one_look_shows_to_be_nobodys_is_cancelled_after_it(void **state)
{
    (void)state;
    struct world world;
    submit(&world, false);
    world.queue = LINE("0", "RUNNING", "n1", "None") LINE(
        "1", "RUNNING", "n2",
        "None") "weir-00ff-5|39|0|PENDING||None\nweir-00ff-5|39|1|PENDING||None\nweir-00ff-6|40|0|RUNNING|n3|None\n"
                "weir-00ff-6|45|N/A|RUNNING|n3|None\n";
    pass(&world);
    assert_string_equal(step(&world, 0, ""), "scancel of weir-00ff-5 39");
    assert_string_equal(step(&world, 0, ""), "scancel of weir-00ff-6 40 45");
    assert_string_equal(step(&world, 0, ""), "");
    end(&world);
}

static void one_that_comes_back_after_it_was_over_is_cancelled(void **state)
{
    (void)state;
    struct world world;
    submit(&world, false);
    world.queue = LINE("0", "NODE_FAIL", "n1", "NodeDown") LINE("1", "RUNNING", "n2", "None");
    pass(&world);
    assert_true(task_of(&world, 0)->is_over);
    world.queue = LINE("0", "PENDING", "", "BeginTime") LINE("1", "RUNNING", "n2", "None");
    pass(&world);
    assert_string_equal(step(&world, 0, ""), "scancel 41_0");
    end(&world);
}

static void a_number_that_was_given_out_again_is_in_no_command(void **state)
{
    (void)state;
    for (int is_gang = 0; is_gang < 2; is_gang++) {
        struct world world;
        submit(&world, is_gang != 0);
        world.now_ms += SLURM_FRESH_MS + 1;
        orchestrator_slurm_jobs_stop(&world.jobs, "worker-1", world.now_ms);
        world.queue = is_gang ? "train|41|N/A|RUNNING|n1|None\n"
                              : "train|41|0|RUNNING|n1|None\nweir-00fe-7|41|1|PENDING||None\n";
        for (int i = 0; i < SLURM_MISSING_MAX; i++) {
            assert_string_equal(step(&world, 0, ""), "squeue");
            assert_string_equal(step(&world, 0, ""), "");
            world.now_ms += SLURM_LOOK_MS;
        }
        assert_int_equal(task_of(&world, 0)->state, LAUNCHER_ENDED);
        assert_int_equal(task_of(&world, 1)->state, LAUNCHER_LOST);
        assert_string_equal(task_of(&world, 1)->reason, "Slurm has forgotten it");
        end(&world);
    }
}

static void what_squeue_has_just_shown_is_cancelled_by_its_name_or_alone(void **state)
{
    (void)state;
    struct world world;
    submit(&world, false);
    world.queue = LINE("0", "RUNNING", "n1", "None") LINE("1", "PENDING", "", "BeginTime");
    world.now_ms += SLURM_FRESH_MS + 1;
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-1", world.now_ms);
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-2", world.now_ms);
    assert_string_equal(step(&world, 0, ""), "squeue"); /* what is known is too old */
    assert_string_equal(step(&world, 0, ""), "scancel of weir-00ff-7 41_0");
    assert_string_equal(step(&world, 0, ""), "scancel 41_1"); /* by name: its whole array */
    assert_string_equal(step(&world, 0, ""), "");
    end(&world);
}

static void nothing_is_cancelled_that_squeue_has_not_shown_yet(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, GROUP, false, false);
    assert_string_equal(step(&world, 41, ""), "sbatch weir-00ff-7");
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-1", world.now_ms);
    assert_string_equal(step(&world, 0, ""), "");
    world.queue = LINE("0", "PENDING", "", "Resources") LINE("1", "PENDING", "", "Resources");
    world.now_ms += SLURM_LOOK_MS;
    assert_string_equal(step(&world, 0, ""), "squeue");
    assert_string_equal(step(&world, 0, ""), "scancel 41_0");
    end(&world);
}

static void a_gang_is_one_job(void **state)
{
    (void)state;
    struct world world;
    submit(&world, true);
    assert_int_equal(task_of(&world, 0)->state, LAUNCHER_RUNNING);
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-1", world.now_ms + 500);
    orchestrator_slurm_jobs_stop(&world.jobs, "worker-2", world.now_ms + 500);
    assert_string_equal(step(&world, 0, ""), "term of weir-00ff-7 41");
    world.queue = LINE("N/A", "COMPLETED", "n[1-2]", "None");
    pass(&world);
    assert_true(task_of(&world, 0)->is_over && task_of(&world, 1)->is_over);
    end(&world);
}

static void words_of_a_script_are_words_of_the_command_whatever_they_hold(void **state)
{
    (void)state;
    static char program[] = "/bin/it's", word[] = "$(rm -rf /) `x` \"y\" \\",
                listen[] = "tcp://{host}:*", scratch[] = "{scratch}",
                *argv[] = {program, word, listen, scratch, NULL};
    const struct orchestrator_child member = {.name = "worker-1", .argv = argv};
    const struct launcher_group group = {.name = GROUP, .members = &member, .count = 1};
    const struct slurm_script script = {
        .group = &group, .folder = "/shared/slurm/weir-00ff-7", .log_dir = "/shared/log"};
    WEIR_AUTO_BUF text = {0};
    orchestrator_slurm_script_write(&script, &text);
    assert_non_null(strstr(
        weir_buf_text(&text),
        "    set -- '/bin/it'\\''s' '$(rm -rf /) `x` \"y\" \\' 'tcp://'\"$host\"':*' ''\"$scratch\"''\n"));
    assert_non_null(strstr(weir_buf_text(&text), "log='/shared/log/worker-1.log'"));
}

/* Runs a script as a task of job 41; `limit` goes before it. */
static void run_task(const char *script, const char *limit)
{
    WEIR_AUTO_FREE char *command =
        weir_format("%s SLURM_JOB_ID=41 SLURM_ARRAY_TASK_ID=0 sh '%s' 2>/dev/null", limit, script);
    (void)!system(command);
}

/* A name that was not written is no other job's. */
static void a_job_whose_first_task_finds_the_disk_full_still_owns_its_folder(void **state)
{
    (void)state;
    static char program[] = "/bin/true", *argv[] = {program, NULL};
    const struct orchestrator_child member = {.name = "worker-1", .argv = argv};
    const struct launcher_group group = {.name = GROUP, .members = &member, .count = 1};
    struct temp_dir dir;
    struct weir_error err;
    WEIR_AUTO_BUF text = {0};
    temp_dir_make(&dir);
    const struct slurm_script script = {.group = &group, .folder = dir.path, .log_dir = dir.path};
    orchestrator_slurm_script_write(&script, &text);
    WEIR_AUTO_FREE char *path = weir_format("%s/script", dir.path);
    assert_int_equal(weir_file_write_unsynced(path, weir_buf_view(&text), &err), WEIR_OK);
    run_task(path, "ulimit -f 0; trap '' XFSZ;");
    run_task(path, "");
    weir_buf_clear(&text);
    assert_int_equal(weir_file_read(temp_path(&dir, "exit-0"), 100, &text, &err), WEIR_OK);
    assert_int_equal(weir_buf_text(&text)[0], '0');
    temp_dir_remove(&dir);
}

static void a_member_with_a_jail_is_locked_in_on_its_node(void **state)
{
    (void)state;
    static char program[] = "/opt/train.py", *argv[] = {program, NULL};
    static const char *const closed[] = {"/data", "/data/run", NULL},
                             *const open[] = {"/data/runs/7", NULL},
                             *const readable[] = {"/data/models/3", NULL};
    const struct weir_jail jail = {
        .closed = closed, .open = open, .readable = readable, .sockets = WEIR_JAIL_ALL_SOCKETS};
    const struct orchestrator_child member = {.name = "trainer-7", .argv = argv, .jail = &jail};
    const struct launcher_group group = {
        .name = GROUP, .members = &member, .count = 1, .key = "/data/keys/runs/7", .is_gang = true};
    const struct slurm_script script = {&group, "/shared/slurm/weir-00ff-7", "/data/log",
                                        "/opt/weir/orchestrator"};
    WEIR_AUTO_BUF text = {0};
    orchestrator_slurm_script_write(&script, &text);
    assert_non_null(strstr(
        weir_buf_text(&text),
        "    set -- '/opt/weir/orchestrator' 'confined' 'open='\"$scratch\"'' 'readable='\"$key\"'' "
        "'closed=/data' 'closed=/data/run' 'open=/data/runs/7' 'readable=/data/models/3' "
        "'sockets=all' '--' '/opt/train.py'\n"));
}

static void a_member_finds_what_it_is_told_also_where_we_have_it(void **state)
{
    (void)state;
    static char program[] = "/opt/train.py", ours[] = "TRIED_OURS=x", told[] = "TRIED_TOLD=y",
                other[] = "TRIED_OTHER=z", *argv[] = {program, NULL},
                *env[] = {ours, told, other, NULL};
    static const char *const names[] = {"TRIED_TOLD", NULL};
    char directory[] = "/tmp/weir-slurm-jobs-XXXXXX";
    const struct orchestrator_child member = {
        .name = "trainer-7", .argv = argv, .env = env, .told = names};
    const struct launcher_group group = {.name = GROUP, .members = &member, .count = 1};
    struct weir_error err;
    WEIR_AUTO_BUF text = {0};
    assert_non_null(mkdtemp(directory));
    const struct slurm_folders folders = {.directory = directory, .log_dir = directory};
    WEIR_AUTO_FREE char *path = weir_format("%s/%s/env-0", directory, GROUP);
    assert_int_equal(setenv("TRIED_OURS", "x", 1) | setenv("TRIED_TOLD", "y", 1), 0);
    assert_int_equal(orchestrator_slurm_folder_write(&folders, &group, &err), WEIR_OK);
    assert_int_equal(weir_file_read(path, 4096, &text, &err), WEIR_OK);
    assert_string_equal(weir_buf_text(&text), "export TRIED_TOLD='y'\nexport TRIED_OTHER='z'\n");
    assert_int_equal(weir_remove_tree(directory, &err), WEIR_OK);
}

static void records_of_ends_are_read_and_others_refused(void **state)
{
    (void)state;
    struct slurm_exit ended;
    assert_true(orchestrator_slurm_exit_read(weir_bytes_of("143 1 n2\n"), &ended));
    assert_true(ended.was_asked && ended.code == 143 && strcmp(ended.host, "n2") == 0);
    assert_int_equal(orchestrator_slurm_exit_status(&ended), 15);
    assert_true(orchestrator_slurm_exit_read(weir_bytes_of("3 0 n1"), &ended));
    assert_int_equal(orchestrator_slurm_exit_status(&ended), 3 << 8);
    static const char *const BAD[] = {"", "3", "3 0", "x 0 n1", "-1 0 n1", "999 0 n1"};
    for (size_t i = 0; i < WEIR_COUNT(BAD); i++)
        assert_false(orchestrator_slurm_exit_read(weir_bytes_of(BAD[i]), &ended));
}

static void answers_of_programs_are_read_and_others_refused(void **state)
{
    (void)state;
    struct slurm_sight sight;
    uint64_t job = 0;
    char complaint[80];
    static const char *const BAD[] = {"",      "a",       "a|b|c", "name|x|0|RUNNING|n1|None",
                                      "|||||", "name|1|0"};
    for (size_t i = 0; i < WEIR_COUNT(BAD); i++)
        assert_false(orchestrator_slurm_sight_read(weir_bytes_of(BAD[i]), &sight));
    assert_true(
        orchestrator_slurm_job_read(weir_bytes_of("sbatch: a warning\n17;cluster\n"), &job) &&
        job == 17);
    assert_false(orchestrator_slurm_job_read(weir_bytes_of("sbatch: error: 17 is no job\n"), &job));
    orchestrator_slurm_complaint(
        weir_bytes_of("sbatch: error: Memory specification can not be satisfied\n"
                      "sbatch: error: Batch job submission failed: Not available\n"),
        complaint, sizeof(complaint));
    assert_string_equal(complaint, "Memory specification can not be satisfied; Not available");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_is_submitted_once_and_its_tasks_are_seen_where_they_run),
        cmocka_unit_test(a_job_whose_number_was_not_heard_is_found_by_its_name),
        cmocka_unit_test(it_is_submitted_again_only_when_slurm_was_heard_and_does_not_know_it),
        cmocka_unit_test(what_slurm_refuses_is_refused_in_its_words),
        cmocka_unit_test(what_would_wait_for_ever_is_cancelled_and_refused),
        cmocka_unit_test(ends_are_told_apart),
        cmocka_unit_test(one_that_is_put_back_into_the_queue_is_the_same),
        cmocka_unit_test(one_that_slurm_forgot_is_lost_but_not_at_the_first_look),
        cmocka_unit_test(one_is_asked_to_end_then_cancelled_and_then_forgotten),
        cmocka_unit_test(one_that_was_to_end_before_it_was_submitted_never_begins),
        cmocka_unit_test(a_group_is_adopted_by_name_and_lost_when_slurm_does_not_know_it),
        cmocka_unit_test(jobs_of_this_platform_that_nobody_knows_are_cancelled_and_no_others),
        cmocka_unit_test(all_that_one_look_shows_to_be_nobodys_is_cancelled_after_it),
        cmocka_unit_test(one_that_comes_back_after_it_was_over_is_cancelled),
        cmocka_unit_test(a_number_that_was_given_out_again_is_in_no_command),
        cmocka_unit_test(what_squeue_has_just_shown_is_cancelled_by_its_name_or_alone),
        cmocka_unit_test(nothing_is_cancelled_that_squeue_has_not_shown_yet),
        cmocka_unit_test(a_gang_is_one_job),
        cmocka_unit_test(a_job_whose_first_task_finds_the_disk_full_still_owns_its_folder),
        cmocka_unit_test(words_of_a_script_are_words_of_the_command_whatever_they_hold),
        cmocka_unit_test(a_member_with_a_jail_is_locked_in_on_its_node),
        cmocka_unit_test(a_member_finds_what_it_is_told_also_where_we_have_it),
        cmocka_unit_test(records_of_ends_are_read_and_others_refused),
        cmocka_unit_test(answers_of_programs_are_read_and_others_refused),
    };
    return cmocka_run_group_tests_name("slurm_jobs", tests, NULL, NULL);
}
