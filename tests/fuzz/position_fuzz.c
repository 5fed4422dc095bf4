/* Positions and tallies, as they lie in a checkpoint or arrive from a client. There is one encoding
 * of each. */
#include "core/wire/position.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_position(struct weir_bytes bytes)
{
    struct weir_error err;
    struct weir_position position = {0};
    WEIR_AUTO_BUF packed = {0};
    if (weir_position_unpack(bytes, &position, &err) == WEIR_OK && bytes.size > 0) {
        weir_position_pack(&position, &packed);
        weir_require(weir_bytes_equal(weir_buf_view(&packed), bytes));
        weir_require(packed.size <= WEIR_POSITION_BYTES_MAX);
        weir_require(weir_position_consume(&position, position.oldest));
        weir_require(!weir_position_consumed(&position, position.oldest));
    }
    weir_position_fini(&position);
}

static void check_tally(struct weir_bytes bytes)
{
    struct weir_error err;
    struct weir_tally tally = {0};
    WEIR_AUTO_BUF packed = {0};
    if (weir_tally_unpack(bytes, &tally, &err) == WEIR_OK && bytes.size > 0) {
        weir_tally_pack(&tally, &packed);
        weir_require(weir_bytes_equal(weir_buf_view(&packed), bytes));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_position(weir_bytes(data, size));
    check_tally(weir_bytes(data, size));
    return 0;
}
