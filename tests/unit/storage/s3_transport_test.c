/* All calls share the connections of one transport, which bounds them; a call sends its request again while that may
 * help. The object store is a socket of the same loop. */
#include "storage/objects/s3_call.h"

#include "core/base/memory.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLIENTS_MAX = S3_HOST_REQUESTS_MAX + 8, ANSWERS_MAX = 8, BYTES_MAX = 64 << 10 };

struct client {
    struct server *server;
    int fd;
    struct weir_buf request;
};

struct server {
    struct weir_loop *loop;
    int fd;
    uint16_t port;
    struct client clients[CLIENTS_MAX];
    size_t client_count;  /* connections so far */
    size_t request_count; /* so far */
    int answers[ANSWERS_MAX];
    bool holds;        /* requests stay unanswered until release() */
    size_t body_bytes; /* of the newest request */
};

static size_t body_bytes_of(const char *head)
{
    const char *length = strstr(head, "Content-Length: ");

    return length != NULL ? (size_t)strtoul(length + strlen("Content-Length: "), NULL, 10) : 0;
}

static void answer(struct client *client)
{
    struct server *server = client->server;
    int code =
        server->request_count <= ANSWERS_MAX ? server->answers[server->request_count - 1] : 0;
    char text[128];
    int size = snprintf(text, sizeof(text), "HTTP/1.1 %d Said\r\nContent-Length: 2\r\n\r\nok",
                        code > 0 ? code : 200);

    assert_int_equal(write(client->fd, text, (size_t)size), size);
    weir_buf_clear(&client->request);
}

static void on_bytes(void *owner)
{
    struct client *client = owner;
    char bytes[4096];
    ssize_t got = read(client->fd, bytes, sizeof(bytes));
    const char *head, *end;

    if (got <= 0) {
        weir_loop_unwatch_fd(client->server->loop, client->fd);
        return;
    }
    weir_buf_append(&client->request, bytes, (size_t)got);
    weir_buf_append(&client->request, "", 1);
    client->request.size--;
    head = (const char *)client->request.at;
    end = strstr(head, "\r\n\r\n");
    if (end == NULL || client->request.size < (size_t)(end + 4 - head) + body_bytes_of(head))
        return;
    client->server->body_bytes = client->request.size - (size_t)(end + 4 - head);
    client->server->request_count++;
    if (!client->server->holds)
        answer(client);
}

static void on_connection(void *owner)
{
    struct server *server = owner;
    struct client *client = &server->clients[server->client_count++];

    assert_true(server->client_count <= CLIENTS_MAX);
    client->server = server;
    client->fd = accept(server->fd, NULL, NULL);
    assert_true(client->fd >= 0);
    weir_loop_watch_fd(server->loop, client->fd, POLLIN, on_bytes, client);
}

static void release(struct server *server)
{
    server->holds = false;
    for (size_t i = 0; i < server->client_count; i++) {
        if (server->clients[i].request.size > 0)
            answer(&server->clients[i]);
    }
}

struct fixture {
    struct weir_loop *loop;
    struct server server;
    struct s3_transport *transport;
};

static int set_up(void **state)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);

    fixture->loop = weir_loop_new();
    fixture->server.loop = fixture->loop;
    fixture->server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fixture->server.fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fixture->server.fd, CLIENTS_MAX), 0);
    assert_int_equal(getsockname(fixture->server.fd, (struct sockaddr *)&at, &size), 0);
    fixture->server.port = ntohs(at.sin_port);
    weir_loop_watch_fd(fixture->loop, fixture->server.fd, POLLIN, on_connection, &fixture->server);
    fixture->transport = storage_s3_transport_new(fixture->loop);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    storage_s3_transport_free(fixture->transport);
    for (size_t i = 0; i < fixture->server.client_count; i++) {
        close(fixture->server.clients[i].fd);
        weir_buf_fini(&fixture->server.clients[i].request);
    }
    close(fixture->server.fd);
    weir_loop_free(fixture->loop);
    free(fixture);
    return 0;
}

struct ended {
    bool is_done;
    bool is_answered;
    long code;
    size_t count;
};

static void on_done(void *owner, const struct s3_answer *answer, const struct weir_error *err)
{
    struct ended *ended = owner;

    assert_true((answer == NULL) == (err != NULL));
    ended->is_done = true;
    ended->is_answered = answer != NULL;
    ended->code = answer != NULL ? answer->code : 0;
    ended->count++;
}

static void begin(struct fixture *fixture, struct s3_call *call, const struct s3_upload *upload,
                  struct ended *ended)
{
    struct s3_sending sending = {.method = upload != NULL ? "PUT" : "GET",
                                 .bytes_max = BYTES_MAX,
                                 .tries = 2,
                                 .upload = upload};

    sending.request.url = weir_format("http://127.0.0.1:%d/object", fixture->server.port);
    *ended = (struct ended){.is_done = false};
    storage_s3_call_send(call, &sending, on_done, ended);
}

static struct ended ask(struct fixture *fixture, const struct s3_upload *upload)
{
    struct s3_call *call = storage_s3_call_new(fixture->transport);
    struct ended ended;

    begin(fixture, call, upload, &ended);
    test_loop_until(fixture->loop, &ended.is_done);
    storage_s3_call_free(call);
    assert_int_equal(ended.count, 1);
    return ended;
}

static void calls_that_follow_each_other_share_a_connection(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(ask(fixture, NULL).code, 200);
    assert_int_equal(ask(fixture, NULL).code, 200);
    assert_int_equal(fixture->server.request_count, 2);
    assert_int_equal(fixture->server.client_count, 1);
}

static void what_may_pass_is_asked_again(void **state)
{
    struct fixture *fixture = *state;

    fixture->server.answers[0] = 503;
    assert_int_equal(ask(fixture, NULL).code, 200);
    assert_int_equal(fixture->server.request_count, 2);
}

static void after_the_last_try_its_answer_is_reported(void **state)
{
    struct fixture *fixture = *state;

    fixture->server.answers[0] = 429;
    fixture->server.answers[1] = 503;
    assert_int_equal(ask(fixture, NULL).code, 503);
    assert_int_equal(fixture->server.request_count, 2);
}

static void what_does_not_pass_is_asked_once(void **state)
{
    struct fixture *fixture = *state;

    fixture->server.answers[0] = 501;
    assert_int_equal(ask(fixture, NULL).code, 501);
    fixture->server.answers[1] = 404;
    assert_int_equal(ask(fixture, NULL).code, 404);
    assert_int_equal(fixture->server.request_count, 2);
}

static void a_store_that_cannot_be_reached_is_reported(void **state)
{
    struct fixture *fixture = *state;

    weir_loop_unwatch_fd(fixture->loop, fixture->server.fd);
    close(fixture->server.fd);
    assert_false(ask(fixture, NULL).is_answered);
}

static void a_body_is_sent_whole_at_every_try(void **state)
{
    struct fixture *fixture = *state;
    struct temp_dir dir;
    WEIR_AUTO_FREE char *path = NULL;
    struct s3_upload upload = {.size = 10000};

    temp_dir_make(&dir);
    path = weir_format("%s/object", dir.path);
    upload.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(upload.fd, (off_t)upload.size), 0);
    fixture->server.answers[0] = 500;
    assert_int_equal(ask(fixture, &upload).code, 200);
    assert_int_equal(fixture->server.request_count, 2);
    assert_int_equal(fixture->server.body_bytes, upload.size);
    close(upload.fd);
    temp_dir_remove(&dir);
}

static void a_dropped_request_is_not_reported(void **state)
{
    struct fixture *fixture = *state;
    struct s3_call *call = storage_s3_call_new(fixture->transport);
    struct ended dropped, ended;

    fixture->server.holds = true;
    begin(fixture, call, NULL, &dropped);
    while (fixture->server.request_count == 0)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    storage_s3_call_drop(call);
    fixture->server.holds = false;
    begin(fixture, call, NULL, &ended);
    test_loop_until(fixture->loop, &ended.is_done);
    assert_int_equal(dropped.count, 0);
    assert_int_equal(ended.code, 200);
    storage_s3_call_free(call);
}

static void a_host_is_asked_no_more_than_the_limit_at_once(void **state)
{
    enum { CALLS = S3_HOST_REQUESTS_MAX + 6 };
    struct fixture *fixture = *state;
    struct s3_call *calls[CALLS];
    struct ended ended[CALLS];

    fixture->server.holds = true;
    for (size_t i = 0; i < CALLS; i++) {
        calls[i] = storage_s3_call_new(fixture->transport);
        begin(fixture, calls[i], NULL, &ended[i]);
    }
    while (fixture->server.request_count < S3_HOST_REQUESTS_MAX)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    test_loop_rounds(fixture->loop, 20);
    assert_int_equal(fixture->server.client_count, S3_HOST_REQUESTS_MAX);
    release(&fixture->server);
    for (size_t i = 0; i < CALLS; i++) {
        test_loop_until(fixture->loop, &ended[i].is_done);
        assert_int_equal(ended[i].code, 200);
        storage_s3_call_free(calls[i]);
    }
    assert_int_equal(fixture->server.request_count, CALLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_that_follow_each_other_share_a_connection, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_may_pass_is_asked_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_the_last_try_its_answer_is_reported, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_pass_is_asked_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_store_that_cannot_be_reached_is_reported, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_body_is_sent_whole_at_every_try, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dropped_request_is_not_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_host_is_asked_no_more_than_the_limit_at_once, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("the transport to object stores", tests, NULL, NULL);
}
