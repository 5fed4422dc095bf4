/* See grants.h. */
#include "benchmarks/cluster/grants.h"

#include "benchmarks/rig.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/service/credentials.h"
#include "core/wire/sample.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ASKED_AT_ONCE = 256,
    COMES_UP_MS = 60000,
    ADDRESS_MAX = 256,
};

static const char CREDENTIALS[] =
    "store: {hosts: [\"*\"], file: %s/storage.key, ca: %s/authority.pem}\n";
static const char CONFIG[] =
    "pipeline: {name: grants}\n"
    "datasets:\n"
    "  - name: records\n"
    "    source:\n"
    "      s3: {endpoint: \"%s\", bucket: data, prefix: day/, region: eu-test-1, every: 100ms, "
    "credentials: store}\n"
    "      format: jsonl\n"
    "      import: reference\n"
    "      settle: 0ms\n"
    "    time: {from: field, field: ts}\n";

struct grants {
    char *folder;
    pid_t store; /* 0: it has not been started */
    struct rig *rig;
    uint64_t *ids;
    size_t count;
};

/* ---- what is asked ---- */

/* Asks about the first of the ids: `*ret_answered` are answered, and of these `*ret_good` as they should be. */
typedef enum weir_status ask_fn(struct grants *grants, const struct weir_u64s *ids,
                                size_t *ret_answered, size_t *ret_good, struct weir_error *err);

static enum weir_status ask_grants(struct grants *grants, const struct weir_u64s *ids,
                                   size_t *ret_answered, size_t *ret_good, struct weir_error *err)
{
    const struct msg_grant asked = {.ids = *ids};
    struct msg_granted answer;
    enum weir_status status = rig_request(
        grants->rig, &(struct rig_call){RIG_STORAGE, MSG_grant, &asked, MSG_granted}, &answer, err);
    *ret_answered = *ret_good = 0;
    if (status != WEIR_OK)
        return status;
    *ret_answered = answer.ids.count;
    for (size_t i = 0; i < answer.objects.count; i++)
        *ret_good += answer.objects.at[i] != 0;
    return WEIR_OK;
}

static enum weir_status ask_bytes(struct grants *grants, const struct weir_u64s *ids,
                                  size_t *ret_answered, size_t *ret_good, struct weir_error *err)
{
    const struct msg_read asked = {.ids = *ids};
    struct msg_read_is answer;
    enum weir_status status = rig_request(
        grants->rig, &(struct rig_call){RIG_STORAGE, MSG_read, &asked, MSG_read_is}, &answer, err);
    *ret_answered = *ret_good = 0;
    if (status != WEIR_OK)
        return status;
    *ret_answered = answer.ids.count;
    for (size_t i = 0; i < answer.lengths.count; i++)
        *ret_good += answer.lengths.at[i] + 1 == GRANTS_SAMPLE_BYTES; /* without the line end */
    return WEIR_OK;
}

static enum weir_status ask_all(struct grants *grants, ask_fn *ask, double *ret_rate,
                                struct weir_error *err)
{
    int64_t before_ns = rig_cpu_ns(grants->rig, RIG_STORAGE);
    size_t answered, good;
    for (size_t at = 0; at < grants->count; at += answered) {
        size_t left = grants->count - at;
        const struct weir_u64s ids = {grants->ids + at,
                                      left < ASKED_AT_ONCE ? left : ASKED_AT_ONCE};
        enum weir_status status = ask(grants, &ids, &answered, &good, err);
        if (status != WEIR_OK)
            return status;
        if (answered == 0 || good != answered)
            return weir_fail(err, WEIR_INTERNAL, "of %zu samples %zu were answered, and %zu good",
                             ids.count, answered, good);
    }
    *ret_rate =
        (double)grants->count / ((double)(rig_cpu_ns(grants->rig, RIG_STORAGE) - before_ns) / 1e9);
    return WEIR_OK;
}

enum weir_status grants_ask(struct grants *grants, double *ret_rate, struct weir_error *err)
{
    return ask_all(grants, ask_grants, ret_rate, err);
}

enum weir_status grants_read(struct grants *grants, double *ret_rate, struct weir_error *err)
{
    return ask_all(grants, ask_bytes, ret_rate, err);
}

/* ---- life ---- */

static enum weir_status start_store(struct grants *grants, struct weir_buf *endpoint,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *log = weir_format("%s/store.log", grants->folder);
    WEIR_AUTO_FREE char *path = weir_format("%s/endpoint", grants->folder);
    WEIR_AUTO_FREE char *samples = weir_format("%zu", grants->count);
    WEIR_AUTO_FREE char *bytes = weir_format("%d", GRANTS_SAMPLE_BYTES);
    char *const argv[] = {(char[]){"/usr/bin/python3"},
                          (char[]){WEIR_SOURCE_DIR "/benchmarks/cluster/store.py"},
                          grants->folder,
                          samples,
                          bytes,
                          NULL};
    enum weir_status status = orchestrator_spawn(
        &(struct orchestrator_spawn){.argv = argv, .log_path = log}, &grants->store, err);
    int64_t until_ms = weir_now_ms() + COMES_UP_MS;
    while (status == WEIR_OK && access(path, F_OK) != 0) {
        if (weir_now_ms() > until_ms)
            return weir_fail(err, WEIR_TIMEOUT, "the object store did not come up: see %s", log);
        rig_step(grants->rig);
    }
    return status == WEIR_OK ? weir_file_read(path, ADDRESS_MAX, endpoint, err) : status;
}

static enum weir_status hand_on_keys(const struct grants *grants, struct weir_error *err)
{
    WEIR_AUTO_FREE char *text = weir_format(CREDENTIALS, grants->folder, grants->folder);
    WEIR_AUTO(weir_yaml) document = NULL;
    enum weir_status status = weir_yaml_parse("credentials", weir_bytes_of(text), &document, err);
    if (status == WEIR_OK)
        weir_credentials_hand_on(weir_yaml_root(document), false);
    return status;
}

/* Nothing is granted until storage knows what time the store has. */
static enum weir_status await_grants(struct grants *grants, struct weir_error *err)
{
    const struct weir_u64s first = {grants->ids, 1};
    int64_t until_ms = weir_now_ms() + COMES_UP_MS;
    size_t answered, good = 0;
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && good == 0) {
        if (weir_now_ms() > until_ms)
            return weir_fail(err, WEIR_TIMEOUT, "nothing is granted");
        rig_step(grants->rig);
        status = ask_grants(grants, &first, &answered, &good, err);
    }
    return status;
}

static enum weir_status open_all(struct grants *grants, const char *directory,
                                 struct weir_error *err)
{
    WEIR_AUTO_BUF endpoint = {0};
    struct msg_dataset_is dataset;
    enum weir_status status = hand_on_keys(grants, err);
    if (status == WEIR_OK) /* it becomes another user, who is to read the keys */
        status = rig_start(directory, 0, &grants->rig, err);
    if (status == WEIR_OK)
        status = weir_make_directories(grants->folder, 0755, err);
    if (status == WEIR_OK)
        status = start_store(grants, &endpoint, err);
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *config = weir_format(CONFIG, weir_buf_text(&endpoint));
    status = rig_scan(grants->rig, config, "records", &dataset, err);
    if (status == WEIR_OK && dataset.live != grants->count)
        status = weir_fail(err, WEIR_INTERNAL, "%lu samples of %zu", dataset.live, grants->count);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < grants->count; i++)
        grants->ids[i] = weir_sample_id((uint32_t)dataset.dataset, 0, (uint32_t)i);
    return await_grants(grants, err);
}

enum weir_status grants_open(const char *directory, size_t samples, struct grants **ret_grants,
                             struct weir_error *err)
{
    struct grants *grants = weir_calloc(1, sizeof(*grants));
    grants->folder = weir_format("%s/store", directory);
    grants->count = samples;
    grants->ids = weir_calloc(samples, sizeof(*grants->ids));
    enum weir_status status = open_all(grants, directory, err);
    if (status != WEIR_OK) {
        grants_close(grants);
        return status;
    }
    *ret_grants = grants;
    return WEIR_OK;
}

void grants_close(struct grants *grants)
{
    if (grants == NULL)
        return;
    rig_stop(grants->rig);
    if (grants->store > 0 && kill(grants->store, SIGTERM) == 0)
        (void)waitpid(grants->store, NULL, 0);
    free(grants->folder);
    free(grants->ids);
    free(grants);
}
