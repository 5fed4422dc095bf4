/* Objects that a worker reads by grants, against a store that speaks TLS, on threads of its own: what comes, what does
 * not, and for how long no grants are used then. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "preprocess/worker/objects.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    PART_BYTES = 20000,
    PARTS_MAX = 64,
    SIGNATURE_BYTES = 32,
    PATIENCE_MS = 120000,
    GRANT_MS = 2000,
    PARTIAL = 206,
};

static const char ETAG[] = "\"first\"";
static const char HASH[] = "ours";

/* Of 127.0.0.1, until 2120. */
static const char CERTIFICATE[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBUzCB+qADAgECAgEBMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMMBXN0b3JlMCAX\n"
    "DTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAQMQ4wDAYDVQQDDAVzdG9y\n"
    "ZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKIVBX1PCh/6J/PRcWSQUza4FR2U\n"
    "AHKwkMp/pgmQSl20pwIDF6dsgP8SluWoCaRESBsfoz7oB5gxebhizfqL64ujQzBB\n"
    "MA8GA1UdEwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAdBgNVHQ4EFgQU0Vjh\n"
    "VeuQ6FS58c1O1J95sw/0nkEwCgYIKoZIzj0EAwIDSAAwRQIgMOuSEzwgvU0KJc0T\n"
    "rcSsJ1mo36OeKUaM9pp3F8IJT5gCIQDRFqp+qpPHATBR1G3bA4xPQ/wKTyKwEfdx\n"
    "69LDbWKwcg==\n"
    "-----END CERTIFICATE-----\n";
static const char KEY[] = "-----BEGIN PRIVATE KEY-----\n"
                          "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgemObqiF88vMtm4S/\n"
                          "xYFvphO2U+7Trgc8U/UdQ+wfE8WhRANCAASiFQV9Twof+ifz0XFkkFM2uBUdlABy\n"
                          "sJDKf6YJkEpdtKcCAxenbID/EpblqAmkREgbH6M+6AeYMXm4Ys36i+uL\n"
                          "-----END PRIVATE KEY-----\n";

/* ---- the store: a path begins with what is wrong with its answers ---- */

struct answering {
    const char *path;
    unsigned status;
    int range, bytes; /* more than there should be */
    const char *etag;
    bool is_held;
};

static const struct answering ANSWERS[] = {
    {"/good", PARTIAL, 0, 0, ETAG, false},
    {"/held", PARTIAL, 0, 0, ETAG, true},
    {"/gone", MHD_HTTP_NOT_FOUND, 0, 0, "", false},
    {"/changed", MHD_HTTP_PRECONDITION_FAILED, 0, 0, "", false},
    {"/refused", MHD_HTTP_FORBIDDEN, 0, 0, "", false},
    {"/broken", MHD_HTTP_INTERNAL_SERVER_ERROR, 0, 0, "", false},
    {"/whole", MHD_HTTP_OK, 0, 0, ETAG, false},
    {"/shifted", PARTIAL, 1, 0, ETAG, false},
    {"/other", PARTIAL, 0, 0, "\"second\"", false},
    {"/short", PARTIAL, 0, -1, ETAG, false},
    {"/long", PARTIAL, 0, 1, ETAG, false},
};

struct lab {
    struct weir_loop *loop;
    int64_t ahead_ms; /* of the loop's clock */
    struct objects *objects;
    struct MHD_Daemon *store;
    uint16_t port;
    bool is_done;

    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t released;
    bool is_released;
    size_t held;
};

static void hold(struct lab *lab)
{
    pthread_mutex_lock(&lab->mutex);
    lab->held++;
    while (!lab->is_released)
        pthread_cond_wait(&lab->released, &lab->mutex);
    pthread_mutex_unlock(&lab->mutex);
}

static size_t held(struct lab *lab)
{
    pthread_mutex_lock(&lab->mutex);
    size_t count = lab->held;
    pthread_mutex_unlock(&lab->mutex);
    return count;
}

static void release(struct lab *lab)
{
    pthread_mutex_lock(&lab->mutex);
    lab->is_released = true;
    pthread_cond_broadcast(&lab->released);
    pthread_mutex_unlock(&lab->mutex);
}

static enum MHD_Result answer(void *owner, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *content,
                              size_t *content_size, void **state)
{
    static char bytes[PART_BYTES + 1] = "abc"; /* never written: the library takes no const */
    const char *asked = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Range");
    const struct answering *how = ANSWERS;
    unsigned long long from = 0, last = 0;
    char range[96];
    (void)method, (void)version, (void)content, (void)content_size, (void)state;
    while (strncmp(url, how->path, strlen(how->path)) != 0)
        weir_require(++how < ANSWERS + WEIR_COUNT(ANSWERS));
    weir_require(asked != NULL && sscanf(asked, "bytes=%llu-%llu", &from, &last) == 2);
    if (how->is_held)
        hold(owner);
    snprintf(range, sizeof(range), "bytes %llu-%llu/%llu", from + (unsigned)how->range,
             last + (unsigned)how->range, 2 * last);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        PART_BYTES + (size_t)(ptrdiff_t)how->bytes, bytes, MHD_RESPMEM_PERSISTENT);
    if (how->status == PARTIAL)
        MHD_add_response_header(response, "Content-Range", range);
    MHD_add_response_header(response, "ETag", how->etag);
    enum MHD_Result result = MHD_queue_response(connection, how->status, response);
    MHD_destroy_response(response);
    return result;
}

static void open_store(struct lab *lab)
{
    const struct sockaddr_in here = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    lab->store = MHD_start_daemon(
        MHD_USE_TLS | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL,
        NULL, answer, lab, MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_HTTPS_MEM_KEY, KEY,
        MHD_OPTION_HTTPS_MEM_CERT, CERTIFICATE, MHD_OPTION_END);
    assert_non_null(lab->store);
    lab->port = MHD_get_daemon_info(lab->store, MHD_DAEMON_INFO_BIND_PORT)->port;
}

/* ---- the lab ---- */

static int64_t now_of_test(void *owner)
{
    return weir_now_ms() + ((const struct lab *)owner)->ahead_ms;
}

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    pthread_mutex_init(&lab->mutex, NULL);
    pthread_cond_init(&lab->released, NULL);
    lab->loop = weir_loop_new();
    weir_loop_use_clock(lab->loop, now_of_test, lab);
    weir_loop_step(lab->loop, 0);
    lab->objects = preprocess_objects_new(lab->loop);
    open_store(lab);
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    preprocess_objects_free(lab->objects);
    release(lab);
    MHD_stop_daemon(lab->store);
    weir_loop_free(lab->loop);
    pthread_cond_destroy(&lab->released);
    pthread_mutex_destroy(&lab->mutex);
    free(lab);
    return 0;
}

static void learn(struct lab *lab, const char *hash)
{
    struct weir_error err;
    assert_int_equal(preprocess_objects_learn(lab->objects, hash, weir_bytes_of(CERTIFICATE), &err),
                     WEIR_OK);
}

/* An answer of storage: one part of each of the paths, each of which another certificate may vouch for. */
struct grant {
    struct msg_granted answer;
    uint64_t ids[PARTS_MAX], offsets[PARTS_MAX], lengths[PARTS_MAX];
    uint32_t objects[PARTS_MAX], buckets[PARTS_MAX], samples[PARTS_MAX];
    const char *urls[PARTS_MAX], *etags[PARTS_MAX], *queries[PARTS_MAX], *hashes[PARTS_MAX];
    char texts[PARTS_MAX][64];
    uint8_t signatures[PARTS_MAX * SIGNATURE_BYTES];
    size_t count;
};

static void add(const struct lab *lab, struct grant *grant, const char *path, const char *hash)
{
    size_t i = grant->count++;
    weir_require(i < PARTS_MAX);
    snprintf(grant->texts[i], sizeof(grant->texts[i]), "https://127.0.0.1:%u%s", lab->port, path);
    grant->ids[i] = i;
    grant->offsets[i] = i * PART_BYTES;
    grant->lengths[i] = PART_BYTES;
    grant->objects[i] = (uint32_t)i + 1;
    grant->buckets[i] = grant->samples[i] = (uint32_t)i;
    grant->urls[i] = grant->texts[i];
    grant->etags[i] = ETAG;
    grant->queries[i] = "X-Amz-Expires=2";
    grant->hashes[i] = hash;
}

static const struct msg_granted *granted(struct grant *grant)
{
    size_t count = grant->count;
    grant->answer =
        (struct msg_granted){.ids = {grant->ids, count},
                             .queries = {grant->queries, count},
                             .authorities = {grant->hashes, count},
                             .urls = {grant->urls, count},
                             .etags = {grant->etags, count},
                             .buckets = {grant->buckets, count},
                             .objects = {grant->objects, count},
                             .offsets = {grant->offsets, count},
                             .lengths = {grant->lengths, count},
                             .signatures = weir_bytes(grant->signatures, count * SIGNATURE_BYTES)};
    return &grant->answer;
}

static void on_done(void *owner)
{
    struct lab *lab = owner;
    assert_false(lab->is_done);
    lab->is_done = true;
}

static struct objects_read *begin(struct lab *lab, struct grant *grant)
{
    struct objects_read *read = NULL;
    struct weir_error err;
    const struct objects_job job = {
        .answer = granted(grant), .samples = grant->samples, .done = on_done, .owner = lab};
    lab->is_done = false;
    if (preprocess_objects_read(lab->objects, &job, &read, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    return read;
}

static void step(struct lab *lab, int64_t limit_ms)
{
    weir_require(weir_now_ms() < limit_ms);
    weir_loop_step(lab->loop, 1);
}

/* Returns the number of parts that have come, of those that were read. */
static size_t end(struct lab *lab, struct objects_read *read, size_t *ret_count)
{
    size_t come = 0;
    for (int64_t limit_ms = weir_now_ms() + PATIENCE_MS; !lab->is_done;)
        step(lab, limit_ms);
    const struct object_part *parts = preprocess_objects_parts(read, ret_count);
    for (size_t i = 0; i < *ret_count; i++) {
        assert_true(parts[i].is_there == (parts[i].bytes != NULL));
        assert_true(!parts[i].is_there || memcmp(parts[i].bytes, "abc", 3) == 0);
        come += parts[i].is_there;
    }
    preprocess_objects_end(read);
    return come;
}

/* The same of paths that HASH vouches for. */
static size_t come_of(struct lab *lab, const char *const *paths, size_t count)
{
    struct grant grant = {.count = 0};
    size_t read = 0;
    for (size_t i = 0; i < count; i++)
        add(lab, &grant, paths[i], HASH);
    size_t come = end(lab, begin(lab, &grant), &read);
    assert_int_equal(read, count);
    return come;
}

/* ---- tests ---- */

static void parts_that_are_gone_or_have_changed_say_nothing_of_the_others(void **state)
{
    static const char *const PATHS[] = {"/good/1", "/gone/2", "/changed/3", "/good/4"};
    struct lab *lab = *state;
    learn(lab, HASH);
    assert_int_equal(come_of(lab, PATHS, WEIR_COUNT(PATHS)), 2);
    struct objects_tally tally = preprocess_objects_tally(lab->objects);
    assert_int_equal(tally.come, 2);
    assert_int_equal(tally.refused, 2);
    assert_true(preprocess_objects_use_grants(lab->objects));
}

static void an_answer_that_is_not_the_part_ends_grants_for_a_while(void **state)
{
    static const char *const PATHS[] = {"/refused", "/broken", "/whole", "/shifted",
                                        "/other",   "/short",  "/long"};
    struct lab *lab = *state;
    learn(lab, HASH);
    for (size_t i = 0; i < WEIR_COUNT(PATHS); i++) {
        assert_int_equal(come_of(lab, &PATHS[i], 1), 0);
        if (preprocess_objects_use_grants(lab->objects))
            fail_msg("%s: grants are used", PATHS[i]);
        lab->ahead_ms += OBJECT_PAUSE_MAX_MS;
        weir_loop_step(lab->loop, 0);
        assert_true(preprocess_objects_use_grants(lab->objects));
    }
}

static void pauses_double_until_a_part_comes(void **state)
{
    static const char *const REFUSED[] = {"/refused"}, *const GOOD[] = {"/good"};
    struct lab *lab = *state;
    learn(lab, HASH);
    assert_int_equal(come_of(lab, REFUSED, 1), 0);
    for (int64_t pause_ms = OBJECT_PAUSE_MS; pause_ms < OBJECT_PAUSE_MAX_MS; pause_ms *= 2) {
        assert_false(preprocess_objects_use_grants(lab->objects));
        lab->ahead_ms += pause_ms;
        weir_loop_step(lab->loop, 0);
        assert_true(preprocess_objects_use_grants(lab->objects));
        assert_int_equal(come_of(lab, REFUSED, 1), 0);
    }
    lab->ahead_ms += OBJECT_PAUSE_MAX_MS;
    weir_loop_step(lab->loop, 0);
    assert_int_equal(come_of(lab, GOOD, 1), 1);
    assert_int_equal(come_of(lab, REFUSED, 1), 0);
    lab->ahead_ms += OBJECT_PAUSE_MS;
    weir_loop_step(lab->loop, 0);
    assert_true(preprocess_objects_use_grants(lab->objects));
}

static void grants_that_end_while_they_wait_for_parts_before_them_say_nothing_of_the_store(
    void **state)
{
    struct lab *lab = *state;
    struct grant grant = {.count = 0};
    int64_t limit_ms = weir_now_ms() + PATIENCE_MS;
    size_t count;
    learn(lab, HASH);
    for (size_t i = 0; i < PARTS_MAX; i++)
        add(lab, &grant, i < OBJECTS_AT_ONCE ? "/held" : "/refused", HASH);
    struct objects_read *read = begin(lab, &grant);
    while (held(lab) < OBJECTS_AT_ONCE)
        step(lab, limit_ms);
    lab->ahead_ms += GRANT_MS;
    release(lab);
    assert_int_equal(end(lab, read, &count), OBJECTS_AT_ONCE);
    assert_int_equal(count, PARTS_MAX);
    assert_true(preprocess_objects_use_grants(lab->objects));
    assert_int_equal(preprocess_objects_tally(lab->objects).refused, PARTS_MAX - OBJECTS_AT_ONCE);
}

/* Twice as many certificates as are kept: the first are asked for, once each, and the rest is storage's to read. */
static void certificates_that_do_not_fit_are_not_asked_for_again_and_again(void **state)
{
    static char hashes[2 * AUTHORITIES_MAX][8];
    struct lab *lab = *state;
    struct grant grant = {.count = 0};
    const char *lacking;
    size_t asked = 0, count;
    for (size_t i = 0; i < WEIR_COUNT(hashes); i++) {
        snprintf(hashes[i], sizeof(hashes[i]), "%zu", i);
        add(lab, &grant, "/good", hashes[i]);
        add(lab, &grant, "/good", hashes[i]); /* the bucket of another dataset */
    }
    while ((lacking = preprocess_objects_lack(lab->objects, granted(&grant))) != NULL) {
        if (++asked > AUTHORITIES_MAX)
            fail_msg("asked for certificates again: %s", lacking);
        learn(lab, lacking);
    }
    assert_int_equal(asked, AUTHORITIES_MAX);
    assert_int_equal(end(lab, begin(lab, &grant), &count), 2 * AUTHORITIES_MAX);
    assert_int_equal(count, 2 * AUTHORITIES_MAX);
    assert_true(preprocess_objects_use_grants(lab->objects));
}

/* The other lease learns as many as fit, while this one waits for its first parts. */
static void a_read_keeps_its_certificates_while_others_are_learnt(void **state)
{
    static char hashes[AUTHORITIES_MAX][8];
    struct lab *lab = *state;
    struct grant grant = {.count = 0};
    struct weir_error err;
    size_t count;
    learn(lab, HASH);
    for (size_t i = 0; i < PARTS_MAX; i++)
        add(lab, &grant, i < OBJECTS_AT_ONCE ? "/held" : "/good", HASH);
    struct objects_read *read = begin(lab, &grant);
    for (size_t i = 0; i < AUTHORITIES_MAX; i++) {
        snprintf(hashes[i], sizeof(hashes[i]), "%zu", i);
        assert_int_equal(
            preprocess_objects_learn(lab->objects, hashes[i], weir_bytes_of("another"), &err),
            WEIR_OK);
    }
    release(lab);
    assert_int_equal(end(lab, read, &count), PARTS_MAX);
}

static void a_store_that_nobody_vouches_for_is_not_believed(void **state)
{
    struct lab *lab = *state;
    struct grant grant = {.count = 0};
    size_t count;
    add(lab, &grant, "/good", ""); /* the system's authorities do not know it */
    assert_int_equal(end(lab, begin(lab, &grant), &count), 0);
    assert_false(preprocess_objects_use_grants(lab->objects));
}

static void a_read_that_is_given_up_makes_room(void **state)
{
    static const char *const GOOD[] = {"/good"};
    struct lab *lab = *state;
    struct grant grant = {.count = 0};
    learn(lab, HASH);
    for (size_t i = 0; i < PARTS_MAX; i++)
        add(lab, &grant, "/held", HASH);
    preprocess_objects_end(begin(lab, &grant));
    assert_int_equal(come_of(lab, GOOD, 1), 1);
}

static void columns_that_do_not_fit_each_other_are_refused(void **state)
{
    struct lab *lab = *state;
    struct grant grant = {.count = 0};
    struct objects_read *read = NULL;
    struct weir_error err;
    add(lab, &grant, "/good", "");
    struct msg_granted wrong[] = {*granted(&grant), *granted(&grant), *granted(&grant)};
    static const uint32_t FAR = 2;
    wrong[0].buckets.at = &FAR;
    wrong[1].objects.at = &FAR;
    wrong[2].signatures.size--;
    for (size_t i = 0; i < WEIR_COUNT(wrong); i++) {
        const struct objects_job job = {
            .answer = &wrong[i], .samples = grant.samples, .done = on_done, .owner = lab};
        assert_int_equal(preprocess_objects_read(lab->objects, &job, &read, &err), WEIR_INVALID);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(parts_that_are_gone_or_have_changed_say_nothing_of_the_others),
        CASE(an_answer_that_is_not_the_part_ends_grants_for_a_while),
        CASE(pauses_double_until_a_part_comes),
        CASE(grants_that_end_while_they_wait_for_parts_before_them_say_nothing_of_the_store),
        CASE(certificates_that_do_not_fit_are_not_asked_for_again_and_again),
        CASE(a_read_keeps_its_certificates_while_others_are_learnt),
        CASE(a_store_that_nobody_vouches_for_is_not_believed),
        CASE(a_read_that_is_given_up_makes_room),
        CASE(columns_that_do_not_fit_each_other_are_refused),
    };
    return cmocka_run_group_tests_name("preprocess: objects by grants", tests, NULL, NULL);
}
