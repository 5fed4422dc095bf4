/* JPEG files from strangers: as a whole, as a crop, smaller, in grey. Whatever the bytes: no crash, and a
 * row that is either failed or whole. */
#include "preprocess/operators/chain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const CHAINS[] = {
    "[{op: decode_jpeg, pixels_max: 1000000}, {op: resize, size: [9, 7]}]",
    "[{op: decode_jpeg, pixels_max: 1000000}, {op: center_crop, size: [30, 20]}]",
    ("[{op: decode_jpeg, pixels_max: 1000000, channels: grey, strict: true}, "
     "{op: random_resized_crop, size: 32}, {op: flip}, {op: normalize}, {op: to_chw}]"),
};

static void decode(const char *operators, struct weir_bytes file)
{
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(chain) chain = NULL;
    weir_require(weir_yaml_parse("fuzz", weir_bytes_of(operators), &document, &err) == WEIR_OK);
    weir_require(preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err) == WEIR_OK);
    for (uint64_t id = 0; id < 2; id++) { /* the decoder is kept from one picture to the next */
        const struct operator_batch batch = {.rows = 1, .ids = &id, .trains = true};
        struct column *payload = preprocess_chain_begin(chain);
        weir_buf_append(&payload->values, file.at, file.size);
        preprocess_column_end_row(payload);
        uint64_t before = preprocess_chain_cost(chain, 0).failed;
        const uint8_t *failed = preprocess_chain_run(chain, &batch);
        weir_require(preprocess_chain_output(chain, 0)->values.size ==
                     preprocess_chain_row_bytes(chain));
        weir_require(failed[0] == preprocess_chain_cost(chain, 0).failed - before);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < WEIR_COUNT(CHAINS); i++)
        decode(CHAINS[i], weir_bytes(data, size));
    return 0;
}
