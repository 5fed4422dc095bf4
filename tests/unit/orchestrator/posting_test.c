/* Signatures of posted events, and pauses between tries. */
#include "orchestrator/webhooks/posting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* printf '1700000000.{"event":"x"}' | openssl dgst -sha256 -hmac 0123456789abcdef */
static void a_signature_is_what_openssl_computes(void **state)
{
    char signature[WEBHOOK_SIGNATURE_TEXT];
    (void)state;
    orchestrator_webhook_sign("0123456789abcdef", 16, 1700000000, "{\"event\":\"x\"}", signature);
    assert_string_equal(signature,
                        "f362b67a3fbd182351d978392c6e948bfc342bac2f789c9f6a55abf0c4b68925");
}

static void pauses_are_drawn_below_a_bound_that_doubles_up_to_ten_minutes(void **state)
{
    int64_t most_ms = 1000;
    (void)state;
    for (unsigned failures = 0; failures < 40; failures++) {
        assert_int_equal(orchestrator_webhook_pause_ms(failures, 0), 1);
        assert_int_equal(orchestrator_webhook_pause_ms(failures, (uint64_t)most_ms - 1), most_ms);
        assert_true(orchestrator_webhook_pause_ms(failures, UINT64_MAX) <= most_ms);
        most_ms = most_ms * 2 < 600000 ? most_ms * 2 : 600000;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signature_is_what_openssl_computes),
        cmocka_unit_test(pauses_are_drawn_below_a_bound_that_doubles_up_to_ten_minutes),
    };
    return cmocka_run_group_tests_name("posting", tests, NULL, NULL);
}
