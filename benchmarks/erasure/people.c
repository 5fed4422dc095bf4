/* Data sets of people, and what becomes of them when they are erased. */
#include "benchmarks/erasure/bench.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/erasure.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { POLL_MS = 5 };

static const char DATASET[] =
    "pipeline: {name: people-%" PRIu64 "}\n"
    "datasets:\n"
    "  - name: people-%" PRIu64 "\n"
    "    source: {path: %s, format: jsonl, import: copy, on_erase: scrub, settle: 0s}\n"
    "    time: {from: field, field: ts}\n"
    "    subject: {field: user}\n";

char *people_name(const struct people *people, size_t line)
{
    return weir_format("person-%" PRIu64 "-%zu", people->number, line);
}

/* ---- files ---- */

/* Content that differs from line to line, as what people write does. */
static void put_line(const struct people *people, size_t line, const char *name,
                     struct weir_buf *out)
{
    size_t end = out->size + LINE_BYTES - 3;
    uint64_t noise = weir_mix64(people->number << 32 | line);

    weir_buf_printf(out, "{\"ts\":%zu,\"user\":\"%s\",\"text\":\"", line + 1, name);
    for (; out->size < end; noise = weir_mix64(noise)) {
        char word[20];
        size_t size = (size_t)snprintf(word, sizeof(word), "%016" PRIx64 " ", noise);

        weir_buf_append(out, word, size < end - out->size ? size : end - out->size);
    }
    weir_buf_append_text(out, "\"}\n");
}

enum weir_status people_write(struct erasure_bench *bench, const struct people *people,
                              char **ret_folder, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder =
        weir_format("%s/people-%" PRIu64, bench->directory, people->number);
    WEIR_AUTO_FREE char *path = weir_format("%s/a.jsonl", folder);
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_make_directories(folder, 0755, err);

    weir_buf_reserve(&text, bench->lines * LINE_BYTES);
    for (size_t i = 0; i < bench->lines; i++) {
        WEIR_AUTO_FREE char *name =
            people_name(people, people->has_owner && i < bench->lines / 2 ? 0 : i);

        put_line(people, i, name, &text);
    }
    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, weir_buf_view(&text), err);
    if (status == WEIR_OK)
        *ret_folder = WEIR_TAKE(folder);
    return status;
}

enum weir_status people_register(struct erasure_bench *bench, const struct people *people,
                                 struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = NULL;
    WEIR_AUTO_FREE char *name = weir_format("people-%" PRIu64, people->number);
    WEIR_AUTO_BUF config = {0};
    struct msg_dataset_is dataset;
    enum weir_status status = people_write(bench, people, &folder, err);

    if (status != WEIR_OK)
        return status;
    weir_buf_printf(&config, DATASET, people->number, people->number, folder);
    status = rig_scan(bench->rig, weir_buf_text(&config), name, &dataset, err);
    if (status == WEIR_OK && dataset.live != bench->lines)
        status = weir_fail(err, WEIR_INTERNAL, "storage found %" PRIu64 " samples, expected %zu",
                           dataset.live, bench->lines);
    return status;
}

/* ---- erasures ---- */

/* Nobody else holds samples here, and Postgres is not looked at: what is overwritten is searched for at once. */
static enum weir_status seal_all(struct erasure_bench *bench, struct weir_error *err)
{
    const struct rig_call ask = {RIG_STORAGE, MSG_erase_scrubbed_request, NULL, MSG_erase_scrubbed};
    struct msg_erase_scrubbed scrubbed;
    struct msg_erase_search_noted noted;
    enum weir_status status = rig_request(bench->rig, &ask, &scrubbed, err);
    WEIR_AUTO_FREE uint64_t *numbers = NULL;

    if (status != WEIR_OK || scrubbed.erasures.count == 0)
        return status;
    numbers = weir_calloc(scrubbed.erasures.count, sizeof(*numbers));
    memcpy(numbers, scrubbed.erasures.at, scrubbed.erasures.count * sizeof(*numbers));
    const struct msg_erase_search search = {.erasures = {numbers, scrubbed.erasures.count},
                                            .cluster = ""};
    const struct rig_call call = {RIG_STORAGE, MSG_erase_search, &search, MSG_erase_search_noted};
    return rig_request(bench->rig, &call, &noted, err);
}

/* Erasures on their way, as the orchestrator follows them. */
struct progress {
    uint64_t first, cursor;
    size_t verified;
};

static struct progress follow(const struct weir_u64s *numbers)
{
    struct progress progress = {.first = UINT64_MAX};

    for (size_t i = 0; i < numbers->count; i++)
        progress.first = numbers->at[i] < progress.first ? numbers->at[i] : progress.first;
    return progress;
}

/* Takes in what has moved on. */
static enum weir_status look_on(struct erasure_bench *bench, struct progress *progress,
                                struct weir_error *err)
{
    const struct msg_erase_progress_request ask = {.after = progress->cursor,
                                                   .first = progress->first};
    const struct rig_call call = {RIG_STORAGE, MSG_erase_progress_request, &ask,
                                  MSG_erase_progress};
    struct msg_erase_progress moved;
    enum weir_status status = rig_request(bench->rig, &call, &moved, err);

    for (size_t i = 0; status == WEIR_OK && i < moved.erasures.count; i++)
        progress->verified += moved.states.at[i] == WEIR_ERASURE_VERIFIED;
    if (status == WEIR_OK)
        progress->cursor = moved.cursor;
    return status;
}

static enum weir_status check_verified(struct erasure_bench *bench, const struct weir_u64s *numbers,
                                       struct weir_error *err)
{
    const struct msg_erase_reports_request ask = {.erasures = *numbers};
    const struct rig_call call = {RIG_STORAGE, MSG_erase_reports_request, &ask, MSG_erase_reports};
    struct msg_erase_reports reported;
    enum weir_status status = rig_request(bench->rig, &call, &reported, err);

    if (status == WEIR_OK && reported.erasures.count != numbers->count)
        status = weir_fail(err, WEIR_INTERNAL, "%zu of %zu erasures are reported",
                           reported.erasures.count, numbers->count);
    for (size_t i = 0; status == WEIR_OK && i < reported.erasures.count; i++) {
        if (reported.found.at[i] > 0 || reported.states.at[i] != WEIR_ERASURE_VERIFIED)
            status = weir_fail(
                err, WEIR_INTERNAL, "erasure %" PRIu64 ": state %u, found %" PRIu64 " places",
                reported.erasures.at[i], reported.states.at[i], reported.found.at[i]);
    }
    return status;
}

/* Until it is worth asking again. */
static enum weir_status wait_a_little(struct erasure_bench *bench, struct weir_error *err)
{
    int64_t until_ms = weir_now_ms() + POLL_MS;
    enum weir_status status = WEIR_OK;

    if (bench->answers == NULL)
        (void)poll(NULL, 0, POLL_MS);
    while (status == WEIR_OK && bench->answers != NULL && weir_now_ms() < until_ms)
        status = answers_ask(bench, bench->answers, err);
    return status;
}

enum weir_status await_verified(struct erasure_bench *bench, const struct weir_u64s *numbers,
                                struct weir_error *err)
{
    struct progress progress = follow(numbers);
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && progress.verified < numbers->count) {
        status = seal_all(bench, err);
        if (status == WEIR_OK)
            status = wait_a_little(bench, err);
        if (status == WEIR_OK)
            status = look_on(bench, &progress, err);
    }
    return status == WEIR_OK ? check_verified(bench, numbers, err) : status;
}

enum weir_status people_erase(struct erasure_bench *bench, const char *const *names, size_t count,
                              uint64_t *ret_samples, struct weir_error *err)
{
    const struct msg_erase_accept accept = {
        .uuid = names[0], .dataset = "", .subjects = {names, count}, .reference = ""};
    const struct rig_call call = {RIG_STORAGE, MSG_erase_accept, &accept, MSG_erase_accepted};
    struct msg_erase_accepted accepted;
    enum weir_status status = rig_request(bench->rig, &call, &accepted, err);

    if (status != WEIR_OK)
        return status;
    *ret_samples = accepted.matched;
    return await_verified(bench, &(const struct weir_u64s){&accepted.erasure, 1}, err);
}
