/* Headers and names. A header that is read is made again from its name and size and compared: whatever else an archive
 * may say is thereby refused. */
#include "core/wire/model_pack.h"

#include <stdio.h>
#include <string.h>

static const char USER[] = "weir-model";

bool weir_model_pack_begins(struct weir_bytes bytes)
{
    return bytes.size >= WEIR_TAR_BLOCK &&
           memcmp(bytes.at + offsetof(struct weir_ustar, magic), "ustar", sizeof("ustar")) == 0 &&
           memcmp(bytes.at + offsetof(struct weir_ustar, user), USER, sizeof(USER)) == 0;
}

/* ---- names ---- */

static bool is_component(const char *at, size_t size)
{
    return size > 0 && !(size == 1 && at[0] == '.') && !(size == 2 && at[0] == '.' && at[1] == '.');
}

/* Relative, below a directory, as short as it can be written. */
static bool is_plain(const char *name)
{
    size_t depth = 0;

    for (const char *at = name;; depth++) {
        size_t size = strcspn(at, "/");
        if (!is_component(at, size) || depth > WEIR_MODEL_PACK_DEPTH_MAX)
            return false;
        if (at[size] == '\0')
            return true;
        at += size + 1;
    }
}

enum weir_status weir_model_pack_header(const char *name, uint64_t size,
                                        uint8_t header[WEIR_TAR_BLOCK], struct weir_error *err)
{
    if (!is_plain(name) || strlen(name) > WEIR_MODEL_PACK_NAME_MAX ||
        !weir_ustar_header(name, size, USER, header))
        return weir_fail(
            err, WEIR_INVALID,
            "'%.300s': expected a relative name of at most %d bytes, the last 100 in at "
            "most one part, below at most %d directories",
            name, WEIR_MODEL_PACK_NAME_MAX, WEIR_MODEL_PACK_DEPTH_MAX);
    return WEIR_OK;
}

/* ---- reading ---- */

static enum weir_status corrupt(const struct weir_model_pack_reader *reader, struct weir_error *err,
                                const char *what)
{
    return weir_fail(err, WEIR_CORRUPT, "packed model: file %zu: %s", reader->count + 1, what);
}

static void read_name(const struct weir_ustar *header, char name[WEIR_MODEL_PACK_NAME_MAX + 2])
{
    (void)snprintf(name, WEIR_MODEL_PACK_NAME_MAX + 2, "%.*s%s%.*s", WEIR_TAR_PREFIX_BYTES,
                   header->prefix, header->prefix[0] != '\0' ? "/" : "", WEIR_TAR_NAME_BYTES,
                   header->name);
}

static uint64_t read_octal(const char *field, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i + 1 < size; i++)
        number = number * 8 + (uint64_t)(field[i] & 7);
    return number;
}

/* Two blocks of zeros, and nothing behind them. */
static bool is_end(struct weir_bytes rest)
{
    for (size_t i = 0; i < rest.size; i++)
        if (rest.at[i] != 0)
            return false;
    return rest.size == 2 * (size_t)WEIR_TAR_BLOCK;
}

static enum weir_status read_header(struct weir_model_pack_reader *reader, const uint8_t *block,
                                    struct weir_error *err)
{
    struct weir_ustar header;
    uint8_t expected[WEIR_TAR_BLOCK];
    char name[WEIR_MODEL_PACK_NAME_MAX + 2];
    struct weir_error problem;

    memcpy(&header, block, WEIR_TAR_BLOCK);
    read_name(&header, name);
    uint64_t size = read_octal(header.size, sizeof(header.size));
    if (weir_model_pack_header(name, size, expected, &problem) != WEIR_OK)
        return corrupt(reader, err, "its name leads elsewhere, or is too long");
    if (memcmp(expected, block, WEIR_TAR_BLOCK) != 0)
        return corrupt(reader, err, "its header is not as Weir writes it");
    if (reader->count > 0 && strcmp(reader->name, name) >= 0)
        return corrupt(reader, err, "its name is not after the one before");
    size_t left = reader->pack.size - reader->at - WEIR_TAR_BLOCK;
    if (size > left)
        return corrupt(reader, err, "it is cut short");
    memcpy(reader->name, name, strlen(name) + 1);
    reader->bytes = weir_bytes(block + WEIR_TAR_BLOCK, (size_t)size);
    return WEIR_OK;
}

enum weir_status weir_model_pack_next(struct weir_model_pack_reader *reader, struct weir_error *err)
{
    size_t left = reader->pack.size - reader->at;
    struct weir_bytes rest = weir_bytes(left > 0 ? reader->pack.at + reader->at : NULL, left);

    if (reader->count > 0 && is_end(rest))
        return weir_fail(err, WEIR_NOT_FOUND, "packed model: there is no further file");
    if (rest.size < WEIR_TAR_BLOCK)
        return corrupt(reader, err, "it is cut short");
    if (reader->count == WEIR_MODEL_PACK_FILES_MAX)
        return corrupt(reader, err, "there are too many");
    enum weir_status status = read_header(reader, rest.at, err);
    if (status != WEIR_OK)
        return status;
    size_t padded = (reader->bytes.size + WEIR_TAR_BLOCK - 1) / WEIR_TAR_BLOCK * WEIR_TAR_BLOCK;
    if (padded > rest.size - WEIR_TAR_BLOCK)
        return corrupt(reader, err, "it is cut short");
    for (size_t i = reader->bytes.size; i < padded; i++)
        if (reader->bytes.at[i] != 0)
            return corrupt(reader, err, "there is something between it and the next");
    reader->at += WEIR_TAR_BLOCK + padded;
    reader->count++;
    return WEIR_OK;
}
