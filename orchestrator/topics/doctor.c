/* doctor: storage examines the data, in pieces; then the files of models and sealed sets are looked at here. The
 * asker comes again, with the session it has drawn, until it is done. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "orchestrator/models/content.h"
#include "orchestrator/topics/finding.h"
#include "orchestrator/topics/topic.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

enum { SETS_MAX = 100000 };

static const char *const VERDICTS[] = {"fine", "note", "wrong"};

static void add(json_t *findings, const char *dataset, const struct finding *finding)
{
    finding_add(findings, "dataset", json_string(dataset), finding);
}

/* ---- models ---- */

/* True: its file is what was stored. */
static bool check_model(struct orchestrator *orch, const struct stored_model *model,
                        json_t *findings)
{
    struct model_content content = {.mapped = NULL};
    struct weir_error err;
    enum weir_status status = orchestrator_model_content(orch, model, &content, &err);
    orchestrator_model_content_fini(&content);
    if (status == WEIR_OK)
        return true;
    add(findings, "",
        &(struct finding){"models", "wrong", err.text, model->checksum,
                          "restore the file from a backup, or train the model again"});
    return false;
}

static enum weir_status check_models(struct orchestrator *orch, json_t *findings,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    size_t fine = 0, looked_at = 0;
    enum weir_status status = orchestrator_model_all(orch, 0, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct stored_model model;
        orchestrator_model_row(rows, i, &model);
        if (!orchestrator_model_is_live(&model))
            continue; /* its file may be gone on purpose */
        looked_at++;
        fine += check_model(orch, &model, findings);
    }
    if (status == WEIR_OK && fine == looked_at) {
        WEIR_AUTO_FREE char *found = weir_format("%zu models have their checksum", fine);
        add(findings, "", &(struct finding){"models", "fine", found, "", ""});
    }
    return status;
}

/* ---- sealed sets ---- */

static bool check_set(const char *folder, const char *name, json_t *findings)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", folder, name);
    char digest[WEIR_DIGEST_TEXT_MAX];
    struct weir_sample_set set = {0};
    struct weir_error err;
    enum weir_status status = weir_sample_set_open(path, &set, &err);
    if (status == WEIR_OK)
        weir_digest_text(&set.digest, digest);
    weir_sample_set_close(&set);
    if (status == WEIR_OK && strncmp(name, digest, strlen(digest)) == 0)
        return true;
    add(findings, "",
        &(struct finding){"sets", "wrong", status == WEIR_OK ? name : err.text,
                          status == WEIR_OK ? digest : "a sealed set with its digest",
                          "restore the file from a backup: models that were trained on it stay"});
    return false;
}

static bool is_set(const char *name)
{
    size_t size = strlen(name);
    return size > 4 && strcmp(name + size - 4, ".set") == 0;
}

static void check_sets(const struct orchestrator *orch, json_t *findings)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/sets", orch->data_dir);
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    size_t fine = 0, looked_at = 0;
    while (directory && looked_at < SETS_MAX && (entry = readdir(directory)) != NULL) {
        if (!is_set(entry->d_name))
            continue;
        looked_at++;
        fine += check_set(folder, entry->d_name, findings);
    }
    if (directory)
        closedir(directory);
    if (fine < looked_at)
        return;
    WEIR_AUTO_FREE char *found = weir_format("%zu sealed sets have their digest", fine);
    add(findings, "", &(struct finding){"sets", "fine", found, "", ""});
}

/* ---- together ---- */

static bool is_whole(const struct msg_doctor_is *answer)
{
    size_t count = answer->checks.count;
    return answer->datasets.count == count && answer->verdicts.count == count &&
           answer->found.count == count && answer->expected.count == count &&
           answer->advice.count == count;
}

static json_t *findings_of(const struct msg_doctor_is *answer)
{
    json_t *findings = json_array();
    for (size_t i = 0; is_whole(answer) && i < answer->checks.count; i++) {
        uint32_t verdict = answer->verdicts.at[i];
        add(findings, answer->datasets.at[i],
            &(struct finding){answer->checks.at[i],
                              verdict < WEIR_COUNT(VERDICTS) ? VERDICTS[verdict] : "note",
                              answer->found.at[i], answer->expected.at[i], answer->advice.at[i]});
    }
    return findings;
}

static void on_examined(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        topic_refuse(call, err);
        return;
    }
    const struct msg_doctor_is *answer = reply->message;
    if (!answer->done) {
        topic_answer(call, json_pack("{sb,ss,sO?}", "done", false, "doing", answer->doing,
                                     "session", json_object_get(call->arguments, "session")));
        return;
    }
    json_t *findings = findings_of(answer);
    struct weir_error own;
    if (check_models(call->orch, findings, &own) != WEIR_OK) {
        json_decref(findings);
        topic_refuse(call, &own);
        return;
    }
    check_sets(call->orch, findings);
    topic_answer(call,
                 json_pack("{sb,sI,so}", "done", true, "wrong",
                           (json_int_t)findings_wrong(findings) + (json_int_t)answer->unlisted,
                           "findings", findings));
}

void topic_doctor(struct topic_call *call)
{
    struct msg_doctor_ask ask = {
        .session = (uint64_t)topic_number(call, "session", 1),
        .deep = topic_flag(call, "deep"),
    };
    weir_rpc_call(call->orch->storage, MSG_doctor_ask, &ask, ORCHESTRATOR_ASK_MS, on_examined,
                  call);
}
