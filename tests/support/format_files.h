/* Files of samples as others write them, byte by byte: members of a tar, records of a tfrecord, a Mosaic shard. */
#ifndef WEIR_TESTS_SUPPORT_FORMAT_FILES_H
#define WEIR_TESTS_SUPPORT_FORMAT_FILES_H

#include "core/base/bytes.h"
#include "core/base/crc32c.h"
#include "storage/formats/tar_member.h"

#include <string.h>

static inline void put_member(const char *name, struct weir_bytes content, struct weir_buf *out)
{
    static const uint8_t ZEROS[TAR_BLOCK];
    uint8_t header[TAR_BLOCK];

    storage_tar_header_write(header, name, content.size);
    weir_buf_append(out, header, sizeof(header));
    weir_buf_append(out, content.at, content.size);
    weir_buf_append(out, ZEROS, (TAR_BLOCK - content.size % TAR_BLOCK) % TAR_BLOCK);
}

/* A length-delimited field of a protocol buffer, of less than 2 MiB. */
static inline void put_field(uint8_t tag, const struct weir_buf *in, struct weir_buf *out)
{
    const uint8_t head[] = {tag, (uint8_t)(in->size & 127) | 128,
                            (uint8_t)(in->size >> 7 & 127) | 128, (uint8_t)(in->size >> 14)};

    weir_buf_append(out, head, sizeof(head));
    weir_buf_append(out, in->at, in->size);
}

/* A text among the features of a tf.train.Example. */
static inline void put_feature(const char *name, const char *value, struct weir_buf *out)
{
    WEIR_AUTO_BUF text = {0}, list = {0}, feature = {0}, key = {0}, entry = {0};

    weir_buf_append_text(&text, value);
    put_field(0x0a, &text, &list);
    put_field(0x0a, &list, &feature);
    weir_buf_append_text(&key, name);
    put_field(0x0a, &key, &entry);
    put_field(0x12, &feature, &entry);
    put_field(0x0a, &entry, out);
}

static inline uint32_t masked_crc(const void *at, size_t size)
{
    uint32_t crc = weir_crc32c_portable(weir_bytes(at, size));

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* A record of a tfrecord. */
static inline void put_framed(struct weir_bytes data, struct weir_buf *out)
{
    uint8_t footer[4], header[12];

    weir_put_u64(header, data.size);
    weir_put_u32(header + 8, masked_crc(header, 8));
    weir_put_u32(footer, masked_crc(data.at, data.size));
    weir_buf_append(out, header, sizeof(header));
    weir_buf_append(out, data.at, data.size);
    weir_buf_append(out, footer, sizeof(footer));
}

/* A Mosaic shard of `count` samples, each as `put_sample` writes it. */
static inline void put_mosaic(const char *config, uint32_t count,
                              void (*put_sample)(int number, struct weir_buf *out),
                              struct weir_buf *out)
{
    WEIR_AUTO_BUF samples = {0};
    uint8_t word[4];
    size_t data = 4 + 4 * (count + 1) + strlen(config);

    weir_put_u32(word, count);
    weir_buf_append(out, word, sizeof(word));
    for (uint32_t i = 0; i <= count; i++) {
        weir_put_u32(word, (uint32_t)(data + samples.size));
        weir_buf_append(out, word, sizeof(word));
        if (i < count)
            put_sample((int)i, &samples);
    }
    weir_buf_append_text(out, config);
    weir_buf_append(out, samples.at, samples.size);
}

#endif
