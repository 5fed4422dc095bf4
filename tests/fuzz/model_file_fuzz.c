/* Model files and checkpoints. An odd first byte asks for right checksums, so that what lies after
 * them is reached. */
#include "core/wire/model_file.h"
#include "tests/fuzz/mapped_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DIGEST_AT = 32, SUMMED = 48 };

static void repair(struct weir_buf *file)
{
    struct weir_digest digest = weir_digest_of(
        weir_bytes(file->at + MAPPED_HEADER_BYTES, file->size - MAPPED_HEADER_BYTES));
    memcpy(file->at, "WEIRMDL1", 8);
    memcpy(file->at + DIGEST_AT, digest.bytes, sizeof(digest.bytes));
    weir_put_u64(file->at + SUMMED, weir_hash64(weir_bytes(file->at, SUMMED), 0));
}

/* Reads everything that a trainer may read. */
static void check(const struct weir_model_file *model)
{
    size_t parameters = 0, count = 0;
    for (size_t i = 0; i < model->block_count; i++) {
        parameters += (size_t)model->blocks[i].rows * model->blocks[i].width;
        weir_require(model->blocks[i].name != NULL);
    }
    for (size_t i = 0; i < parameters; i++) {
        count += model->parameters[i] > 0.0f;
        for (size_t b = 0; b < model->state_blocks; b++)
            count += model->optimizer_state[b * parameters + i] > 0.0f;
    }
    for (size_t i = 0; i < model->classes.count; i++)
        count += strlen(model->classes.at[i]) > 0;
    weir_require(count <= (1 + model->state_blocks) * parameters + model->classes.count);
    weir_require((model->state_blocks == 0) == (model->optimizer_state == NULL));
    weir_require(model->model != NULL && model->options != NULL && model->loss != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mapped_file file;
    struct weir_model_file model;
    struct weir_error err;
    WEIR_AUTO_BUF bytes = {0};
    if (size == 0)
        return 0;
    weir_buf_append(&bytes, data + 1, size - 1);
    if (data[0] % 2 == 1 && bytes.size >= MAPPED_HEADER_BYTES)
        repair(&bytes);
    mapped_file_make(&file, weir_buf_view(&bytes));
    if (weir_model_file_read(file.path, &model, &err) == WEIR_OK) {
        check(&model);
        weir_model_file_fini(&model);
    }
    mapped_file_remove(&file);
    return 0;
}
