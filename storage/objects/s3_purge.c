/* Request by request: see s3_purge.h. */
#include "storage/objects/s3_purge.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "storage/objects/s3_call.h"
#include "storage/objects/s3_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct s3_purge {
    struct s3_purge_job job;
    struct s3_call *call;
    struct s3_write *write;
    char *etag;  /* of what is written again, */
    char **also; /* and what that was sent with; NULL-terminated */

    struct weir_arena *arena; /* of the versions at hand */
    struct s3_versions versions;
    size_t at_version;
    bool takes_newest;
    char *deleted_first; /* the id in the round before; NULL: there was none */
    char *refusal;       /* while it is asked whether there is a lock */
};

static void request_versions(struct s3_purge *purge);
static void delete_next(struct s3_purge *purge);

/* ---- the end ---- */

static void forget_written(struct s3_purge *purge)
{
    for (char **also = purge->also; also != NULL && *also; also++)
        free(*also);
    free(purge->also);
    free(purge->etag);
    purge->also = NULL;
    purge->etag = NULL;
}

static void end(struct s3_purge *purge, enum s3_end how, const char *why)
{
    forget_written(purge);
    free(purge->deleted_first);
    purge->deleted_first = NULL;
    purge->job.done(purge->job.owner, &(struct s3_outcome){.end = how, .why = why});
}

static bool is_refusal(long code)
{
    return code == 401 || code == 403 || code == 405 || code == 501;
}

/* False, and it has ended, unless the answer is what was hoped for. */
static bool is_good(struct s3_purge *purge, const char *what, const struct s3_answer *answer,
                    const struct weir_error *err)
{
    char code[64], text[160];

    if (answer != NULL && answer->code / 100 == 2)
        return true;
    if (answer == NULL) {
        end(purge, err->status == WEIR_UNAVAILABLE ? S3_END_SILENT : S3_END_REFUSED, err->text);
        return false;
    }
    storage_s3_error_code(answer->body, code);
    snprintf(text, sizeof(text), "%s was answered HTTP status %ld %s", what, answer->code, code);
    end(purge, is_refusal(answer->code) ? S3_END_REFUSED : S3_END_LATER, text);
    return false;
}

static void send_request(struct s3_purge *purge, const char *method,
                         struct s3_signed_request request, s3_done_fn *on_answer)
{
    storage_s3_call_send(purge->call,
                         &(struct s3_sending){.method = method,
                                              .request = request,
                                              .bytes_max = S3_PAGE_BYTES_MAX,
                                              .tries = S3_ERASE_TRIES},
                         on_answer, purge);
}

/* ---- writing ---- */

static void on_written(void *owner, const struct s3_answer *answer,
                       const struct weir_error *problem)
{
    struct s3_purge *purge = owner;
    struct weir_error err;

    if (answer != NULL && (answer->code == 412 || answer->code == 409))
        end(purge, S3_END_LATER, "another object was written there meanwhile");
    else if (!is_good(purge, "rewriting it", answer, problem))
        return;
    else if (!*answer->etag)
        end(purge, S3_END_LATER, "rewriting it was answered without an ETag");
    else if (purge->job.wrote(purge->job.owner, answer->etag, &err) != WEIR_OK)
        end(purge, S3_END_LATER, err.text);
    else
        request_versions(purge);
}

static void send(struct s3_purge *purge)
{
    const struct s3_write_job job = {.remote = purge->job.remote,
                                     .key = purge->job.key,
                                     .etag = purge->etag,
                                     .path = purge->job.path,
                                     .also = (const char *const *)purge->also};

    storage_s3_write_begin(purge->write, &job, on_written, purge);
}

void storage_s3_purge_prepared(struct s3_purge *purge, const struct s3_outcome *problem)
{
    if (problem != NULL)
        end(purge, problem->end, problem->why);
    else
        send(purge);
}

/* All that it was sent with, and what it takes the place of. */
static void copy_kept(struct s3_purge *purge, const char *const *kept)
{
    size_t count = 0;

    purge->also = weir_calloc(S3_ALSO_MAX, sizeof(*purge->also));
    for (; *kept != NULL; kept++) {
        if (strncmp(*kept, S3_REPLACES ":", sizeof(S3_REPLACES)) != 0)
            purge->also[count++] = weir_strdup(*kept);
    }
    purge->also[count] = weir_format("%s: %s", S3_REPLACES, purge->etag);
}

static void on_first_byte(void *owner, const struct s3_answer *answer,
                          const struct weir_error *problem)
{
    struct s3_purge *purge = owner;

    if (answer != NULL && (answer->code == 412 || answer->code == 404))
        end(purge, S3_END_LATER, "another object was written there meanwhile");
    else if (!is_good(purge, "asking what it was sent with", answer, problem))
        return;
    else if (answer->is_cut)
        end(purge, S3_END_REFUSED, "it has more metadata than S3 allows: rewrite it there");
    else {
        copy_kept(purge, answer->kept);
        if (purge->job.prepare != NULL)
            purge->job.prepare(purge->job.owner, purge->etag);
        else
            send(purge);
    }
}

/* Its first byte comes with all that it was sent with. */
static void write_again(struct s3_purge *purge, const char *etag)
{
    struct s3_piece piece = {.key = purge->job.key, .etag = etag, .from = 0, .to = 0};
    struct s3_signed_request request;

    forget_written(purge);
    purge->etag = weir_strdup(etag);
    storage_s3_request_piece(purge->job.remote, &piece, &request);
    send_request(purge, "GET", request, on_first_byte);
}

/* ---- versions ---- */

static const struct s3_outcome ENDS[] = {
    [S3_DONE] = {S3_END_CLEAN, ""},
    [S3_LEFT] = {S3_END_LEFT, "it is another object by now"},
    [S3_LATER] = {S3_END_LATER, "another object is there by now, which is read in first"},
};

static void act(struct s3_purge *purge, enum s3_step step, const struct s3_aim *aim)
{
    purge->at_version = 0;
    purge->takes_newest = step == S3_DELETE_NEWEST;
    if (step < WEIR_COUNT(ENDS))
        end(purge, ENDS[step].end, ENDS[step].why);
    else if (step == S3_WRITE)
        write_again(purge, aim->ready);
    else
        delete_next(purge);
}

static void on_versions(void *owner, const struct s3_answer *answer,
                        const struct weir_error *problem)
{
    struct s3_purge *purge = owner;
    struct s3_aim aim = {0};
    struct weir_error err;

    if (!is_good(purge, "listing its versions", answer, problem))
        return;
    weir_arena_clear(purge->arena);
    if (storage_s3_versions_read(answer->body, purge->job.key, purge->arena, &purge->versions,
                                 &err) == WEIR_OK &&
        purge->job.look(purge->job.owner, &purge->versions, &aim, &err) == WEIR_OK)
        act(purge, storage_s3_next_step(&purge->versions, &aim), &aim);
    else
        end(purge, S3_END_LATER, err.text);
}

static void request_versions(struct s3_purge *purge)
{
    struct s3_signed_request request;

    storage_s3_request_versions(purge->job.remote, purge->job.key, &request);
    send_request(purge, "GET", request, on_versions);
}

/* ---- deleting ---- */

/* The answer on locks: a key that may not delete may still learn why. */
static void on_lock(void *owner, const struct s3_answer *answer, const struct weir_error *problem)
{
    struct s3_purge *purge = owner;
    WEIR_AUTO_FREE char *why = WEIR_TAKE(purge->refusal);
    char until[WEIR_TIME_TEXT_MAX];
    int64_t until_us;

    (void)problem;
    if (answer != NULL && answer->code == 200 &&
        storage_s3_lock_read(answer->body, purge->arena, &until_us)) {
        weir_time_format(until_us, until);
        free(why);
        why = weir_format("an object lock holds a version until %s, and nobody can delete it "
                          "before",
                          until);
    }
    end(purge, S3_END_REFUSED, why);
}

static void request_lock(struct s3_purge *purge, const struct s3_answer *answer)
{
    struct s3_signed_request request;
    char code[64];

    storage_s3_error_code(answer->body, code);
    purge->refusal =
        weir_format("deleting a version was answered HTTP status %ld %s", answer->code, code);
    storage_s3_request_lock(purge->job.remote, purge->job.key,
                            purge->versions.at[purge->at_version].id, &request);
    send_request(purge, "GET", request, on_lock);
}

static void on_deleted(void *owner, const struct s3_answer *answer,
                       const struct weir_error *problem)
{
    struct s3_purge *purge = owner;

    if (answer != NULL && answer->code == 403) {
        request_lock(purge, answer);
        return;
    }
    if (!(answer != NULL && answer->code == 404) &&
        !is_good(purge, "deleting a version", answer, problem))
        return;
    purge->at_version++;
    delete_next(purge);
}

/* The next of this round; after the last one the versions are listed again. */
static void delete_next(struct s3_purge *purge)
{
    const struct s3_versions *versions = &purge->versions;
    struct s3_signed_request request;
    const char *id;
    bool is_first = true;

    for (size_t i = 0; i < purge->at_version; i++)
        is_first = is_first && versions->at[i].is_latest != purge->takes_newest;
    while (purge->at_version < versions->count &&
           versions->at[purge->at_version].is_latest != purge->takes_newest)
        purge->at_version++;
    if (purge->at_version == versions->count) {
        request_versions(purge);
        return;
    }
    id = versions->at[purge->at_version].id;
    if (is_first && weir_str_equal(purge->deleted_first, id)) {
        end(purge, S3_END_LATER, "a version is still listed after it was deleted");
        return;
    }
    if (is_first) {
        free(purge->deleted_first);
        purge->deleted_first = weir_strdup(id);
    }
    storage_s3_request_delete(purge->job.remote, purge->job.key, id, &request);
    send_request(purge, "DELETE", request, on_deleted);
}

/* ---- life ---- */

void storage_s3_purge_begin(struct s3_purge *purge, const struct s3_purge_job *job)
{
    purge->job = *job;
    request_versions(purge);
}

struct s3_purge *storage_s3_purge_new(struct s3_transport *transport)
{
    struct s3_purge *purge = weir_calloc(1, sizeof(*purge));

    purge->call = storage_s3_call_new(transport);
    purge->write = storage_s3_write_new(transport);
    purge->arena = weir_arena_new();
    return purge;
}

void storage_s3_purge_free(struct s3_purge *purge)
{
    if (purge == NULL)
        return;
    storage_s3_call_free(purge->call);
    storage_s3_write_free(purge->write);
    weir_arena_free(purge->arena);
    forget_written(purge);
    free(purge->deleted_first);
    free(purge->refusal);
    free(purge);
}
