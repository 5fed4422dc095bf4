/* Asking again: see s3_try.h. */
#include "storage/objects/s3_try.h"

#include "core/base/memory.h"
#include "storage/objects/s3_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct s3_try {
    struct weir_loop *loop;
    struct s3_http *http;
    struct s3_question question;
    size_t bytes_max;
    int tries;
    uint64_t timer;
    s3_tried_fn *done;
    void *owner;
};

static void on_answer(void *owner, const struct s3_answer *answer, const struct weir_error *err);

static void ask(void *owner)
{
    struct s3_try *question = owner;

    question->timer = 0;
    s3_http_ask(question->http,
                &(struct s3_call){.method = "GET",
                                  .url = question->question.url,
                                  .headers = (const char *const *)question->question.headers,
                                  .bytes_max = question->bytes_max},
                on_answer, question);
}

void s3_try_describe(const struct s3_answer *answer, long expected, char text[128])
{
    char code[64];

    s3_error_code(answer->body, code);
    snprintf(text, 128, "found HTTP status %ld %s, expected %ld", answer->code, code, expected);
}

/* Without its quotes. */
static struct weir_bytes bare(const char *etag)
{
    size_t size = strlen(etag);
    bool is_quoted = size >= 2 && etag[0] == '"' && etag[size - 1] == '"';

    return is_quoted ? weir_bytes(etag + 1, size - 2) : weir_bytes(etag, size);
}

bool s3_answer_is(const struct s3_answer *answer, const struct s3_range *asked, const char *etag,
                  char text[128])
{
    uint64_t from = 0, to = 0;
    bool is_said = sscanf(answer->range, "bytes %" SCNu64 "-%" SCNu64 "/", &from, &to) == 2;

    if (!is_said || from != asked->from || to != asked->from + asked->size - 1)
        snprintf(text, 128, "found an answer of the bytes '%.40s', expected %" PRIu64 "-%" PRIu64,
                 answer->range, asked->from, asked->from + asked->size - 1);
    else if (answer->body.size != asked->size)
        snprintf(text, 128, "found an answer of %zu bytes, expected %" PRIu64, answer->body.size,
                 asked->size);
    else if (*answer->etag && !weir_bytes_equal(bare(answer->etag), bare(etag)))
        snprintf(text, 128, "found an answer of another object than was asked for");
    else
        return true;
    return false;
}

void s3_try_again(struct s3_try *question, const char *why)
{
    if (++question->tries < S3_TRIES)
        question->timer =
            weir_loop_timer(question->loop, S3_PAUSE_MS << (question->tries - 1), 0, ask, question);
    else
        question->done(question->owner, NULL, why);
}

static void on_answer(void *owner, const struct s3_answer *answer, const struct weir_error *err)
{
    struct s3_try *question = owner;
    char text[128];

    if (!answer) {
        s3_try_again(question, err->text);
    } else if (answer->code >= 500 || answer->code == 429) {
        s3_try_describe(answer, 200, text);
        s3_try_again(question, text);
    } else {
        question->done(question->owner, answer, NULL);
    }
}

void s3_try_ask(struct s3_try *question, struct s3_question *asked, size_t bytes_max,
                s3_tried_fn *done, void *owner)
{
    s3_question_fini(&question->question);
    question->question = *asked;
    *asked = (struct s3_question){0};
    question->bytes_max = bytes_max;
    question->tries = 0;
    question->done = done;
    question->owner = owner;
    ask(question);
}

/* ---- life ---- */

struct s3_try *s3_try_new(struct weir_loop *loop)
{
    struct s3_try *question = weir_calloc(1, sizeof *question);

    question->loop = loop;
    question->http = s3_http_new(loop);
    return question;
}

void s3_try_drop(struct s3_try *question)
{
    weir_loop_cancel(question->loop, question->timer);
    question->timer = 0;
    s3_http_drop(question->http);
}

void s3_try_free(struct s3_try *question)
{
    if (!question)
        return;
    weir_loop_cancel(question->loop, question->timer);
    s3_http_free(question->http);
    s3_question_fini(&question->question);
    free(question);
}
