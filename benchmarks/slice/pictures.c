/* See pictures.h. */
#include "benchmarks/slice/pictures.h"

#include "core/base/file.h"
#include "core/base/memory.h"

enum weir_status pictures_write(const struct corpus *corpus, const struct jpeg_picture *like,
                                struct weir_error *err)
{
    struct weir_buf drawn[PICTURES_DRAWN] = {{0}};
    enum weir_status status = weir_make_directories(corpus->directory, 0755, err);
    for (size_t i = 0; i < PICTURES_DRAWN; i++) {
        struct jpeg_picture picture = *like;
        picture.seed = i;
        jpeg_picture_write(&picture, &drawn[i]);
    }
    for (size_t i = 0; i < corpus->samples && status == WEIR_OK; i++) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%05zu.jpg", corpus->directory, i);
        status = weir_file_write_atomic(path, weir_buf_view(&drawn[i % PICTURES_DRAWN]), err);
    }
    for (size_t i = 0; i < PICTURES_DRAWN; i++)
        weir_buf_fini(&drawn[i]);
    return status;
}
