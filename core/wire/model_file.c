/* Writing and reading model files. Sizes in a file are believed only after its checksum, and
 * checked even then. */
#include "core/wire/model_file.h"

#include "core/base/file.h"
#include "core/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 64, HEADER_SUMMED = 48, ALIGNMENT = 64, CLASSES_MAX = 1 << 20 };
enum { VERSION_ONE_BLOCK = 1, VERSION = 2 };
static const char MAGIC[8] = {'W', 'E', 'I', 'R', 'M', 'D', 'L', '1'};
/* Parameters and state, each block of LEARNER_FLOATS_MAX, and room. */
static const size_t FILE_BYTES_MAX = (size_t)(4 * (1 + WEIR_MODEL_STATE_BLOCKS_MAX) + 1) << 30;

/* ---- writing ---- */

static void put_bytes(struct weir_buf *buf, struct weir_bytes bytes)
{
    weir_buf_append_u32(buf, (uint32_t)bytes.size);
    weir_buf_append(buf, bytes.at, bytes.size);
}

/* The block of a file that names none. */
static struct weir_model_block only_block(const struct weir_model_file *file)
{
    return (struct weir_model_block){"parameters", file->rows, file->width};
}

static void put_block(struct weir_buf *buf, const struct weir_model_block *block)
{
    put_bytes(buf, weir_bytes_of(block->name));
    weir_buf_append_u64(buf, block->rows);
    weir_buf_append_u32(buf, block->width);
}

static void put_blocks(struct weir_buf *buf, const struct weir_model_file *file)
{
    const struct weir_model_block only = only_block(file);
    weir_buf_append_u32(buf, file->block_count > 0 ? (uint32_t)file->block_count : 1);
    if (file->block_count == 0)
        put_block(buf, &only);
    for (size_t i = 0; i < file->block_count; i++)
        put_block(buf, &file->blocks[i]);
}

static void put_description(struct weir_buf *buf, const struct weir_model_file *file)
{
    weir_buf_append_u32(buf, VERSION);
    weir_buf_append_u64(buf, file->rows);
    weir_buf_append_u32(buf, file->width);
    weir_buf_append_u32(buf, file->embedding);
    weir_buf_append_u32(buf, file->label_kind);
    put_bytes(buf, weir_bytes_of(file->model));
    put_bytes(buf, weir_bytes_of(file->options));
    put_bytes(buf, weir_bytes_of(file->loss));
    put_bytes(buf, weir_bytes_of(file->optimizer));
    weir_buf_append_u32(buf, (uint32_t)file->classes.count);
    for (size_t i = 0; i < file->classes.count; i++)
        put_bytes(buf, weir_bytes_of(file->classes.at[i]));
    put_bytes(buf, file->fitted);
    weir_buf_append_u64(buf, file->progress.run);
    weir_buf_append_u64(buf, file->progress.samples);
    weir_buf_append_u64(buf, file->progress.epoch);
    weir_buf_append_f64(buf, file->progress.loss_sum);
    weir_buf_append_f64(buf, file->progress.loss_count);
    put_bytes(buf, file->progress.position);
    weir_buf_append_u64(buf, file->steps);
    put_blocks(buf, file);
}

/* Of a file that is to be written. */
static size_t count_floats(const struct weir_model_file *file)
{
    size_t floats = file->block_count > 0 ? 0 : (size_t)file->rows * file->width;
    for (size_t i = 0; i < file->block_count; i++)
        floats += (size_t)file->blocks[i].rows * file->blocks[i].width;
    return floats;
}

static void pad(struct weir_buf *buf)
{
    static const uint8_t ZEROS[ALIGNMENT];
    weir_buf_append(buf, ZEROS, (ALIGNMENT - buf->size % ALIGNMENT) % ALIGNMENT);
}

enum weir_status weir_model_file_write(const char *path, const struct weir_model_file *file,
                                       struct weir_error *err)
{
    WEIR_AUTO_BUF buf = {0};
    size_t parameters = count_floats(file);
    size_t state = parameters * file->state_blocks;
    weir_buf_reserve(&buf, (parameters + state) * sizeof(float) + 4096);
    weir_buf_append(&buf, MAGIC, sizeof(MAGIC));
    pad(&buf);
    put_description(&buf, file);
    weir_put_u64(buf.at + 8, buf.size - HEADER_BYTES);
    pad(&buf);
    weir_put_u64(buf.at + 16, parameters);
    weir_buf_append(&buf, file->parameters, parameters * sizeof(float));
    pad(&buf);
    weir_put_u64(buf.at + 24, state);
    weir_buf_append(&buf, file->optimizer_state, state * sizeof(float));
    struct weir_digest digest =
        weir_digest_of(weir_bytes(buf.at + HEADER_BYTES, buf.size - HEADER_BYTES));
    memcpy(buf.at + 32, digest.bytes, sizeof(digest.bytes));
    weir_put_u64(buf.at + HEADER_SUMMED, weir_hash64(weir_bytes(buf.at, HEADER_SUMMED), 0));
    return weir_file_write_atomic(path, weir_buf_view(&buf), err);
}

/* ---- reading ---- */

/* Rest of the description; `bad` once something did not fit, and then everything reads as
 * zero. */
struct reader {
    struct weir_bytes left;
    struct weir_arena *arena;
    bool bad;
};

static const uint8_t *get(struct reader *reader, size_t size)
{
    static const uint8_t ZEROS[8];
    if (reader->bad || size > reader->left.size) {
        reader->bad = true;
        return size <= sizeof(ZEROS) ? ZEROS : NULL;
    }
    const uint8_t *at = reader->left.at;
    reader->left = weir_bytes(at + size, reader->left.size - size);
    return at;
}

static uint32_t get_u32(struct reader *reader)
{
    return weir_get_u32(get(reader, 4));
}

static uint64_t get_u64(struct reader *reader)
{
    return weir_get_u64(get(reader, 8));
}

static double get_f64(struct reader *reader)
{
    return weir_get_f64(get(reader, 8));
}

static struct weir_bytes get_bytes(struct reader *reader)
{
    size_t size = get_u32(reader);
    const uint8_t *at = get(reader, size);
    return reader->bad ? weir_bytes(NULL, 0) : weir_bytes(at, size);
}

static const char *get_text(struct reader *reader)
{
    struct weir_bytes bytes = get_bytes(reader);
    return weir_arena_strndup(reader->arena, (const char *)bytes.at, bytes.size);
}

static struct weir_strs get_classes(struct reader *reader)
{
    uint32_t count = get_u32(reader);
    if (count > CLASSES_MAX || count > reader->left.size) {
        reader->bad = true;
        count = 0;
    }
    const char **names = weir_arena_alloc(reader->arena, (count + 1) * sizeof(*names));
    for (uint32_t i = 0; i < count; i++)
        names[i] = get_text(reader);
    return (struct weir_strs){.at = names, .count = count};
}

static void get_blocks(struct reader *reader, struct weir_model_file *file)
{
    uint32_t count = get_u32(reader);
    if (count < 1 || count > WEIR_MODEL_BLOCKS_MAX) {
        reader->bad = true;
        return;
    }
    for (; file->block_count < count; file->block_count++) {
        struct weir_model_block *block = &file->blocks[file->block_count];
        block->name = get_text(reader);
        block->rows = get_u64(reader);
        block->width = get_u32(reader);
    }
    const struct weir_model_block only = only_block(file), *first = &file->blocks[0];
    reader->bad =
        reader->bad ||
        (count == 1 ? first->rows != only.rows || first->width != only.width : file->rows != 0);
}

static enum weir_status get_description(struct reader *reader, struct weir_model_file *file,
                                        struct weir_error *err)
{
    uint32_t version = get_u32(reader);
    if (version != VERSION && version != VERSION_ONE_BLOCK)
        return weir_fail(err, WEIR_UNSUPPORTED, "version %u, this program reads %d and %d", version,
                         VERSION_ONE_BLOCK, VERSION);
    file->rows = get_u64(reader);
    file->width = get_u32(reader);
    file->embedding = get_u32(reader);
    file->label_kind = get_u32(reader);
    file->model = get_text(reader);
    file->options = get_text(reader);
    file->loss = get_text(reader);
    file->optimizer = get_text(reader);
    file->classes = get_classes(reader);
    file->fitted = get_bytes(reader);
    file->progress.run = get_u64(reader);
    file->progress.samples = get_u64(reader);
    file->progress.epoch = get_u64(reader);
    file->progress.loss_sum = get_f64(reader);
    file->progress.loss_count = get_f64(reader);
    file->progress.position = get_bytes(reader);
    if (version == VERSION) {
        file->steps = get_u64(reader);
        get_blocks(reader, file);
    } else {
        file->blocks[file->block_count++] = only_block(file);
    }
    if (reader->bad)
        return weir_fail(err, WEIR_CORRUPT, "its description is cut short");
    return WEIR_OK;
}

static size_t rounded(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

bool weir_model_file_begins(struct weir_bytes bytes)
{
    return bytes.size >= sizeof(MAGIC) && memcmp(bytes.at, MAGIC, sizeof(MAGIC)) == 0;
}

static enum weir_status check_header(struct weir_bytes bytes, struct weir_error *err)
{
    if (!weir_model_file_begins(bytes))
        return weir_fail(err, WEIR_CORRUPT,
                         "not a model of Weir's own trainer: it begins with other bytes than "
                         "WEIRMDL1");
    if (bytes.size < HEADER_BYTES)
        return weir_fail(err, WEIR_CORRUPT, "its header is cut short");
    if (weir_get_u64(bytes.at + HEADER_SUMMED) !=
        weir_hash64(weir_bytes(bytes.at, HEADER_SUMMED), 0))
        return weir_fail(err, WEIR_CORRUPT, "the checksum of its header differs");
    return WEIR_OK;
}

enum weir_status weir_model_file_layout(struct weir_bytes bytes,
                                        struct weir_model_layout *ret_layout,
                                        struct weir_error *err)
{
    enum weir_status status = check_header(bytes, err);
    if (status != WEIR_OK)
        return status;
    uint64_t described = weir_get_u64(bytes.at + 8);
    uint64_t parameters = weir_get_u64(bytes.at + 16), state = weir_get_u64(bytes.at + 24);
    if (described > bytes.size || parameters > bytes.size || state > bytes.size ||
        (state != 0 && (parameters == 0 || state % parameters != 0)))
        return weir_fail(err, WEIR_CORRUPT, "sizes in its header do not fit");
    size_t blocks = state != 0 ? state / parameters : 0;
    if (blocks > WEIR_MODEL_STATE_BLOCKS_MAX)
        return weir_fail(err, WEIR_CORRUPT, "%zu blocks of optimizer state, expected at most %d",
                         blocks, WEIR_MODEL_STATE_BLOCKS_MAX);
    size_t first = HEADER_BYTES + rounded(described);
    size_t second = rounded(first + parameters * sizeof(float));
    if (second + state * sizeof(float) != bytes.size)
        return weir_fail(err, WEIR_CORRUPT, "%zu bytes, expected %zu", bytes.size,
                         second + state * sizeof(float));
    *ret_layout = (struct weir_model_layout){
        .described = described,
        .floats = parameters,
        .state_blocks = blocks,
        .parameters_at = first,
        .state_at = state > 0 ? second : 0,
    };
    return WEIR_OK;
}

static enum weir_status check_sum(struct weir_bytes bytes, struct weir_error *err)
{
    struct weir_digest digest =
        weir_digest_of(weir_bytes(bytes.at + HEADER_BYTES, bytes.size - HEADER_BYTES));
    if (memcmp(bytes.at + 32, digest.bytes, sizeof(digest.bytes)) != 0)
        return weir_fail(err, WEIR_CORRUPT, "its checksum differs");
    return WEIR_OK;
}

/* True when the blocks have `floats` floats in all. */
static bool fits(const struct weir_model_file *file, size_t floats)
{
    for (size_t i = 0; i < file->block_count; i++) {
        const struct weir_model_block *block = &file->blocks[i];
        if (block->width == 0 || block->rows > floats / block->width)
            return false;
        floats -= (size_t)block->rows * block->width;
    }
    return file->width != 0 && floats == 0;
}

static enum weir_status parse(struct weir_bytes bytes, struct weir_model_file *file,
                              struct weir_error *err)
{
    struct weir_model_layout layout;
    enum weir_status status = weir_model_file_layout(bytes, &layout, err);
    if (status == WEIR_OK)
        status = check_sum(bytes, err);
    if (status != WEIR_OK)
        return status;
    struct reader reader = {
        .left = weir_bytes(bytes.at + HEADER_BYTES, layout.described),
        .arena = file->arena,
    };
    status = get_description(&reader, file, err);
    if (status != WEIR_OK)
        return status;
    if (!fits(file, layout.floats))
        return weir_fail(err, WEIR_CORRUPT, "%zu parameters do not fit its shape", layout.floats);
    const uint8_t *state = layout.state_at > 0 ? bytes.at + layout.state_at : NULL;
    file->parameters = /* malloc, or a page, and 64 align it */
        (const float *)(const void *)(bytes.at + layout.parameters_at);
    file->optimizer_state = (const float *)(const void *)state;
    file->state_blocks = (uint32_t)layout.state_blocks;
    return WEIR_OK;
}

enum weir_status weir_model_file_read(const char *path, struct weir_model_file *ret_file,
                                      struct weir_error *err)
{
    struct weir_model_file file = {.arena = weir_arena_new()};
    enum weir_status status = weir_file_read(path, FILE_BYTES_MAX, &file.bytes, err);
    if (status == WEIR_OK)
        status = parse(weir_buf_view(&file.bytes), &file, err);
    if (status != WEIR_OK) {
        weir_model_file_fini(&file);
        return weir_error_wrap(err, status, "model file '%s'", path);
    }
    *ret_file = file;
    return WEIR_OK;
}

enum weir_status weir_model_file_view(struct weir_bytes bytes, struct weir_model_file *ret_file,
                                      struct weir_error *err)
{
    struct weir_model_file file = {.arena = weir_arena_new()};
    enum weir_status status = parse(bytes, &file, err);
    if (status == WEIR_OK)
        *ret_file = file;
    else
        weir_model_file_fini(&file);
    return status;
}

void weir_model_file_fini(struct weir_model_file *file)
{
    weir_arena_free(file->arena);
    weir_buf_fini(&file->bytes);
    *file = (struct weir_model_file){0};
}
