/* The lab: see storage_lab.h. */
#include "tests/component/storage_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "tests/support/child.h"
#include "tests/support/loop.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUND_MS = 10, LENT_BYTES = 1 << 20 };

const char STORAGE_LAB_MIXED[] =
    "{\"ts\": 1, \"user\": \"anna\", \"id\": \"1\", \"x\": \"kept1\"}\n"
    "{\"ts\": 2, \"user\": \"anna\", \"id\": \"2\", \"x\": \"lost\"\n"
    "{\"ts\": \"when\", \"user\": \"anna\", \"id\": \"3\", \"x\": \"lost\"}\n"
    "\n"
    "{\"ts\": 4, \"user\": \"anna\", \"id\": \"1\", \"x\": \"lost\"}\n"
    "{\"ts\": 5, \"user\": \"bob\", \"id\": \"5\", \"x\": \"kept2\"}\n"
    "{\"ts\": 6, \"user\": \"anna\", \"id\": \"5\", \"x\": \"lost\"}\n"
    "not even an object: lost";

const char STORAGE_LAB_MAILS[] = "  - name: mails\n"
                                 "    source: {path: %s, format: files, include: \"*.txt\",\n"
                                 "             import: copy, on_erase: unlink, settle: 0ms}\n"
                                 "    time: {from: manifest}\n"
                                 "    label: {from: manifest, classes: [ham, spam]}\n"
                                 "    subject: {from: manifest}\n";

void storage_lab_open(struct storage_lab *lab)
{
    *lab = (struct storage_lab){0};
    weir_test_postgres_start(&lab->postgres);
}

void storage_lab_close(struct storage_lab *lab)
{
    weir_test_postgres_stop(&lab->postgres);
}

const char *storage_lab_path(struct storage_lab *lab, const char *name)
{
    return weir_arena_format(lab->arena, "%s/%s", lab->dir.path, name);
}

void storage_lab_begin(struct storage_lab *lab)
{
    struct weir_error err;

    if (lab->is_used)
        weir_test_postgres_reset(&lab->postgres);
    lab->is_used = true;
    temp_dir_make(&lab->dir);
    lab->arena = weir_arena_new();
    lab->lent = weir_segment_new(LENT_BYTES);
    lab->faults = NULL;
    lab->obeys_modes = false;
    lab->cluster = NULL;
    weir_require(weir_make_directories(storage_lab_path(lab, "data"), 0700, &err) == WEIR_OK);
    weir_require(weir_make_directories(storage_lab_path(lab, "source"), 0700, &err) == WEIR_OK);
}

void storage_lab_end(struct storage_lab *lab)
{
    if (lab->pid)
        storage_lab_stop(lab);
    temp_dir_remove(&lab->dir);
    weir_arena_free(lab->arena);
    weir_segment_free(lab->lent);
}

/* ---- fixtures ---- */

int storage_lab_setup_stopped(void **state)
{
    storage_lab_begin(*state);
    return 0;
}

int storage_lab_setup(void **state)
{
    storage_lab_begin(*state);
    storage_lab_start(*state);
    return 0;
}

int storage_lab_teardown(void **state)
{
    storage_lab_end(*state);
    return 0;
}

int storage_lab_run(struct storage_lab *lab, const char *name, const struct CMUnitTest *tests,
                    size_t count)
{
    int failed;

    storage_lab_open(lab);
    failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    storage_lab_close(lab);
    return failed;
}

/* ---- the process ---- */

/* Postgres is another user's, and must stay within reach. */
static void obey_modes(const struct storage_lab *lab)
{
    WEIR_AUTO_FREE char *socket = weir_format("%s/.s.PGSQL.5432", lab->postgres.dir.path);

    weir_require(chmod(lab->postgres.dir.path, 0711) == 0 && chmod(socket, 0777) == 0);
    weir_require(prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0 &&
                 prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0) == 0);
}

static void prepare_storage(const void *argument)
{
    const struct storage_lab *lab = argument;

    if (lab->obeys_modes && geteuid() == 0)
        obey_modes(lab);
    if (lab->faults != NULL)
        setenv("WEIR_FAULTS", lab->faults, 1);
}

void storage_lab_start(struct storage_lab *lab)
{
    const char *data = storage_lab_path(lab, "data");
    const char *run = storage_lab_path(lab, "run");
    const char *postgres = lab->postgres.conninfo;
    const char *level = getenv("WEIR_TEST_LOG") != NULL ? getenv("WEIR_TEST_LOG") : "error";
    const char *const argv[] = {
        WEIR_BIN_DIR "/storage", "--data-dir", data, "--socket-dir", run, "--postgres", postgres,
        "--log-level",           level,        NULL};
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(run, "storage");
    struct weir_error err;

    lab->pid = child_start(argv, prepare_storage, lab);
    lab->loop = weir_loop_new();
    weir_require(weir_rpc_connect(lab->loop, endpoint, NULL, lab, &lab->peer, &err) == WEIR_OK);
}

static void disconnect(struct storage_lab *lab)
{
    weir_rpc_peer_close(lab->peer);
    weir_loop_free(lab->loop);
    lab->peer = NULL;
    lab->loop = NULL;
    lab->pid = 0;
}

static int end_process(struct storage_lab *lab, int with)
{
    int status = child_end(lab->pid, with);

    disconnect(lab);
    return status;
}

void storage_lab_stop(struct storage_lab *lab)
{
    int status = end_process(lab, SIGTERM);

    if (status != 0)
        fprintf(stderr, "storage ended with wait status 0x%x\n", (unsigned)status);
    weir_require(WIFEXITED(status) && WEXITSTATUS(status) == 0); /* no leak either, with asan */
}

void storage_lab_kill(struct storage_lab *lab)
{
    (void)end_process(lab, SIGKILL);
}

bool storage_lab_has_died(struct storage_lab *lab)
{
    int status;

    if (waitpid(lab->pid, &status, WNOHANG) != lab->pid)
        return false;
    weir_require(WIFSIGNALED(status));
    disconnect(lab);
    return true;
}

void storage_lab_await_death(struct storage_lab *lab)
{
    int status;

    weir_require(waitpid(lab->pid, &status, 0) == lab->pid);
    weir_require(WIFSIGNALED(status));
    disconnect(lab);
}

/* ---- files ---- */

static void write_file(struct storage_lab *lab, const char *name, const char *text, int flags)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/source/%s", lab->dir.path, name);
    struct weir_error err;
    char *slash = strrchr(path, '/');

    *slash = '\0';
    weir_require(weir_make_directories(path, 0700, &err) == WEIR_OK);
    *slash = '/';
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
    weir_require(fd >= 0);
    weir_require(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

void storage_lab_write(struct storage_lab *lab, const char *name, const char *text)
{
    write_file(lab, name, text, O_TRUNC);
}

void storage_lab_append(struct storage_lab *lab, const char *name, const char *text)
{
    write_file(lab, name, text, O_APPEND);
}

void storage_lab_remove(struct storage_lab *lab, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/source/%s", lab->dir.path, name);

    weir_require(unlink(path) == 0);
}

static bool file_holds(const char *path, const char *text)
{
    WEIR_AUTO_BUF bytes = {0};
    struct weir_error err;

    return weir_file_read(path, 1 << 30, &bytes, &err) == WEIR_OK && bytes.size > 0 &&
           memmem(bytes.at, bytes.size, text, strlen(text)) != NULL;
}

static bool folder_holds(const char *folder, const char *text)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    bool holds = false;

    while (directory != NULL && !holds && (entry = readdir(directory)) != NULL) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, entry->d_name);
        struct stat found;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            lstat(path, &found) < 0)
            continue;
        if (S_ISDIR(found.st_mode))
            holds = folder_holds(path, text);
        else if (S_ISREG(found.st_mode))
            holds = file_holds(path, text);
    }
    if (directory != NULL)
        closedir(directory);
    return holds;
}

void storage_lab_flip(struct storage_lab *lab, const char *name, off_t at)
{
    WEIR_AUTO_FD int fd = open(storage_lab_path(lab, name), O_RDWR);
    struct stat found;
    uint8_t byte;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &found), 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    assert_int_equal(futimens(fd, (const struct timespec[]){found.st_atim, found.st_mtim}), 0);
}

bool storage_lab_holds(struct storage_lab *lab, const char *place, const char *text)
{
    const char *path = *place == '/' ? place : storage_lab_path(lab, place);
    struct stat found;

    if (stat(path, &found) == 0 && S_ISREG(found.st_mode))
        return file_holds(path, text);
    return folder_holds(path, text);
}

/* ---- questions ---- */

enum weir_status storage_lab_request(struct storage_lab *lab, enum weir_message type,
                                     const void *message, enum weir_message expected,
                                     void *ret_message)
{
    return weir_rpc_request(lab->peer, type, message, TEST_PATIENCE_MS, expected, lab->arena,
                            ret_message, &lab->err);
}

enum weir_status storage_lab_declare(struct storage_lab *lab, const char *yaml)
{
    WEIR_AUTO_BUF config = {0};
    struct msg_dataset_declared declared;
    const char *mark = strstr(yaml, "%s");
    const char *source = storage_lab_path(lab, "source");

    weir_buf_append_text(&config, "datasets:\n");
    for (; mark != NULL; mark = strstr(yaml, "%s")) {
        weir_buf_append(&config, yaml, (size_t)(mark - yaml));
        weir_buf_append_text(&config, source);
        yaml = mark + 2;
    }
    weir_buf_append_text(&config, yaml);
    return storage_lab_request(
        lab, MSG_dataset_declare,
        &(struct msg_dataset_declare){.file = "pipeline.yaml", .config = weir_buf_view(&config)},
        MSG_dataset_declared, &declared);
}

void storage_lab_must_declare(struct storage_lab *lab, const char *yaml)
{
    if (storage_lab_declare(lab, yaml) != WEIR_OK)
        fail_msg("%s", lab->err.text);
}

struct msg_dataset_is storage_lab_dataset(struct storage_lab *lab, const char *name)
{
    struct msg_dataset_is answer;
    enum weir_status status =
        storage_lab_request(lab, MSG_dataset_request, &(struct msg_dataset_request){.name = name},
                            MSG_dataset_is, &answer);

    if (status != WEIR_OK)
        fprintf(stderr, "dataset_request: %s\n", lab->err.text);
    weir_require(status == WEIR_OK);
    return answer;
}

struct msg_dataset_is storage_lab_await(struct storage_lab *lab, const char *name,
                                        uint64_t sequence)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct msg_dataset_is answer = storage_lab_dataset(lab, name);

    while (!answer.scanned || answer.sequence < sequence) {
        weir_require(weir_now_ms() < limit_ms);
        weir_loop_step(lab->loop, ROUND_MS);
        answer = storage_lab_dataset(lab, name);
    }
    weir_require(answer.ingested == answer.live + answer.erased + answer.removed + answer.replaced);
    return answer;
}

struct msg_dataset_is storage_lab_await_counts(struct storage_lab *lab, const char *name,
                                               uint64_t live, uint64_t refused)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct msg_dataset_is is = storage_lab_dataset(lab, name);

    while (is.live != live || is.quarantined + is.duplicate != refused) {
        if (weir_now_ms() > limit_ms)
            fail_msg("%llu live, %llu quarantined, %llu duplicate", (unsigned long long)is.live,
                     (unsigned long long)is.quarantined, (unsigned long long)is.duplicate);
        weir_loop_step(lab->loop, ROUND_MS);
        is = storage_lab_dataset(lab, name);
    }
    return is;
}

struct msg_feed_is storage_lab_feed(struct storage_lab *lab, uint64_t dataset, const char *consumer,
                                    uint64_t after)
{
    struct msg_feed_is answer;

    weir_require(storage_lab_request(
                     lab, MSG_feed_read,
                     &(struct msg_feed_read){
                         .dataset = dataset, .consumer = consumer, .after = after, .limit = 4096},
                     MSG_feed_is, &answer) == WEIR_OK);
    for (size_t i = 0; i < answer.sequences.count; i++)
        weir_require(answer.sequences.at[i] == after + 1 + i);
    return answer;
}

struct payload {
    struct storage_lab *lab;
    bool is_done;
    uint32_t state;
    char *text;
};

static void on_payload(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct payload *payload = owner;
    const struct msg_read_is *answer = reply != NULL ? reply->message : NULL;
    struct weir_bytes bytes;

    (void)err;
    payload->is_done = true;
    if (answer == NULL)
        return;
    payload->state = answer->states.at[0];
    bytes = weir_segment_answer(payload->lab->lent, answer->written, reply->frames);
    if (payload->state == 0)
        payload->text = weir_arena_strndup(payload->lab->arena, (const char *)bytes.at, bytes.size);
}

const char *storage_lab_read(struct storage_lab *lab, uint64_t id, uint32_t *ret_state)
{
    struct payload payload = {.lab = lab};
    const struct msg_read message = {.ids = {&id, 1}, .loan = weir_segment_lend(lab->lent)};

    weir_rpc_call(lab->peer, MSG_read, &message, TEST_PATIENCE_MS, on_payload, &payload);
    while (!payload.is_done)
        weir_loop_step(lab->loop, ROUND_MS);
    *ret_state = payload.state;
    return payload.text;
}

/* True when an erasure in `state` has reached `wanted`. */
static bool has_reached(const char *state, const char *wanted)
{
    static const char *const STATES[] = {"accepted", "tombstoned", "in_force", "scrubbed",
                                         "verified"};
    bool reached = false;

    for (size_t i = 0; i < WEIR_COUNT(STATES); i++) {
        reached = reached || strcmp(STATES[i], wanted) == 0;
        if (strcmp(STATES[i], state) == 0)
            return reached;
    }
    return false;
}

/* Storage alone holds samples here: nothing else is to be purged before it searches. */
void storage_lab_seal(struct storage_lab *lab)
{
    struct msg_erase_scrubbed scrubbed;
    struct msg_erase_search_noted noted;

    weir_require(storage_lab_request(lab, MSG_erase_scrubbed_request, NULL, MSG_erase_scrubbed,
                                     &scrubbed) == WEIR_OK);
    weir_require(storage_lab_request(
                     lab, MSG_erase_search,
                     &(struct msg_erase_search){.erasures = scrubbed.erasures,
                                                .cluster = lab->cluster != NULL ? lab->cluster : "",
                                                .places = "storage\npostgres"},
                     MSG_erase_search_noted, &noted) == WEIR_OK);
}

struct msg_erase_is storage_lab_await_erasure(struct storage_lab *lab, uint64_t number,
                                              const char *state)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct msg_erase_is answer = {.state = "", .trouble = ""};

    while (!has_reached(answer.state, state)) {
        if (weir_now_ms() > limit_ms)
            fail_msg("%s, not %s: %s", answer.state, state, answer.trouble);
        weir_loop_step(lab->loop, ROUND_MS);
        if (strcmp(state, "verified") == 0)
            storage_lab_seal(lab);
        weir_require(storage_lab_request(lab, MSG_erase_request,
                                         &(struct msg_erase_request){.erasure = number, .page = 1},
                                         MSG_erase_is, &answer) == WEIR_OK);
    }
    return answer;
}

struct msg_erase_is storage_lab_erase(struct storage_lab *lab, const char *uuid,
                                      const char *subject, const char *state)
{
    struct msg_erase_accepted accepted;

    weir_require(
        storage_lab_request(lab, MSG_erase_accept,
                            &(struct msg_erase_accept){.uuid = uuid, .subjects = {&subject, 1}},
                            MSG_erase_accepted, &accepted) == WEIR_OK);
    return storage_lab_await_erasure(lab, accepted.erasure, state);
}

struct msg_doctor_is storage_lab_examine(struct storage_lab *lab, bool deep)
{
    const struct msg_doctor_request ask = {.session = weir_random_u64(), .deep = deep};
    struct msg_doctor_is answer = {.done = false};

    while (!answer.done) {
        weir_require(storage_lab_request(lab, MSG_doctor_request, &ask, MSG_doctor_is, &answer) ==
                     WEIR_OK);
        weir_loop_step(lab->loop, 1);
    }
    return answer;
}

void storage_lab_expect_fine(struct storage_lab *lab)
{
    enum { WRONG = 2 };
    struct msg_doctor_is is = storage_lab_examine(lab, true);

    for (size_t i = 0; i < is.verdicts.count; i++) {
        if (is.verdicts.at[i] == WRONG)
            fail_msg("%s: %s", is.checks.at[i], is.found.at[i]);
    }
}

const char *storage_lab_said_of_bytes(const struct msg_doctor_is *answer, uint32_t verdict)
{
    for (size_t i = 0; i < answer->checks.count; i++) {
        if (strcmp(answer->checks.at[i], "bytes") == 0 && answer->verdicts.at[i] == verdict)
            return answer->found.at[i];
    }
    return NULL;
}

unsigned long storage_lab_await_sums(struct storage_lab *lab)
{
    enum { FINE, WRONG = 2 };
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    for (;;) {
        struct msg_doctor_is answer = storage_lab_examine(lab, true);
        const char *fine = storage_lab_said_of_bytes(&answer, FINE);
        unsigned long summed, unsummed;

        if (fine == NULL)
            fail_msg("%s", storage_lab_said_of_bytes(&answer, WRONG));
        assert_int_equal(sscanf(fine,
                                "%*u bytes read; %lu blocks are what their checksums say, "
                                "%lu have none yet",
                                &summed, &unsummed),
                         2);
        if (unsummed == 0)
            return summed;
        if (weir_now_ms() > limit_ms)
            fail_msg("%s", fine);
        weir_loop_step(lab->loop, ROUND_MS);
    }
}

void storage_lab_move(struct storage_lab *lab, const char *command)
{
    WEIR_AUTO_FREE char *copy =
        weir_format("cd '%s' && mv data old && cp -a old data && rm -r old && cd data/storage && "
                    "{ %s; }",
                    lab->dir.path, command != NULL ? command : "true");

    assert_int_equal(system(copy), 0);
}

void storage_lab_restore(struct storage_lab *lab, const char *command)
{
    storage_lab_stop(lab);
    storage_lab_move(lab, command);
    storage_lab_start(lab);
}
