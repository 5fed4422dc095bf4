/* PNG files from strangers. Whatever the bytes: no crash, and a row that is either failed or whole. */
#include "preprocess/operators/chain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char OPERATORS[] = "[{op: decode_png, pixels_max: 100000, channels: grey}, "
                                "{op: resize, size: [9, 7]}]";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(chain) chain = NULL;
    weir_require(weir_yaml_parse("fuzz", weir_bytes_of(OPERATORS), &document, &err) == WEIR_OK);
    weir_require(chain_new(weir_yaml_root(document), &chain, &err) == WEIR_OK);
    struct column *payload = chain_begin(chain);
    weir_buf_append(&payload->values, data, size);
    column_end_row(payload);
    const uint8_t *failed = chain_run(chain, &(struct operator_batch){.rows = 1});
    weir_require(chain_output(chain, 0)->values.size == chain_row_bytes(chain));
    weir_require(failed[0] == chain_cost(chain, 0).failed);
    return 0;
}
