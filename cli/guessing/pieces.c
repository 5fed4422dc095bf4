/* Reading the ends of files: see pieces.h. */
#include "cli/guessing/pieces.h"

#include "core/base/file.h"
#include "core/base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

static enum weir_status read_piece(int fd, const char *path, uint64_t offset, size_t size,
                                   struct weir_buf *out, struct weir_error *err)
{
    ssize_t got;

    weir_buf_reserve(out, size);
    got = weir_read_at(fd, out->at + out->size, size, offset);
    if (got < 0)
        return weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
    out->size += (size_t)got;
    return WEIR_OK;
}

/* As much as fits into the head; the rest of the file is not looked at. */
static enum weir_status decompress(struct weir_bytes packed, const char *path,
                                   struct cli_guess_pieces *pieces, struct weir_error *err)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed.at, packed.size, 0};
    ZSTD_outBuffer out = {NULL, CLI_GUESS_HEAD_BYTES, 0};
    size_t left = 1;

    weir_buf_reserve(&pieces->head, CLI_GUESS_HEAD_BYTES);
    out.dst = pieces->head.at;
    while (in.pos < in.size && out.pos < out.size && !ZSTD_isError(left))
        left = ZSTD_decompressStream(stream, &out, &in);
    ZSTD_freeDStream(stream);
    pieces->head.size = out.pos;
    pieces->is_whole = pieces->is_whole && out.pos < out.size;
    return ZSTD_isError(left)
               ? weir_fail(err, WEIR_INVALID, "%s: %s", path, ZSTD_getErrorName(left))
               : WEIR_OK;
}

static void drop_first_line(struct weir_buf *tail)
{
    size_t line = weir_line(weir_buf_view(tail)), size = line > 0 ? line : tail->size;

    memmove(tail->at, tail->at + size, tail->size - size);
    tail->size -= size;
}

static enum weir_status read_pieces(int fd, const char *path, bool is_compressed,
                                    struct cli_guess_pieces *pieces, struct weir_error *err)
{
    WEIR_AUTO_BUF packed = {0};
    struct stat about;
    enum weir_status status;

    if (fd < 0 || fstat(fd, &about) != 0)
        return weir_fail(err, errno == ENOENT ? WEIR_NOT_FOUND : WEIR_IO, "%s: %s", path,
                         strerror(errno));
    pieces->is_whole = about.st_size <= CLI_GUESS_HEAD_BYTES;
    status =
        read_piece(fd, path, 0, CLI_GUESS_HEAD_BYTES, is_compressed ? &packed : &pieces->head, err);
    if (status != WEIR_OK || is_compressed)
        return status == WEIR_OK ? decompress(weir_buf_view(&packed), path, pieces, err) : status;
    if (pieces->is_whole)
        return WEIR_OK;
    status = read_piece(fd, path, (uint64_t)about.st_size - CLI_GUESS_TAIL_BYTES,
                        CLI_GUESS_TAIL_BYTES, &pieces->tail, err);
    if (status == WEIR_OK)
        drop_first_line(&pieces->tail);
    return status;
}

enum weir_status cli_guess_pieces_read(const char *path, bool is_compressed,
                                       struct cli_guess_pieces *ret_pieces, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct cli_guess_pieces pieces = {0};
    enum weir_status status = read_pieces(fd, path, is_compressed, &pieces, err);

    if (status == WEIR_OK)
        *ret_pieces = pieces;
    else
        cli_guess_pieces_fini(&pieces);
    return status;
}

void cli_guess_pieces_fini(struct cli_guess_pieces *pieces)
{
    weir_buf_fini(&pieces->head);
    weir_buf_fini(&pieces->tail);
}
