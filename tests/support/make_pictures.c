/* Makes JPEG files for tests: make_pictures FOLDER COUNT writes FOLDER/CLASS/NUMBER.jpg, the class (dark or
 * light) in turns, of changing sizes. */
#include "core/base/file.h"
#include "tests/support/jpeg_picture.h"

#include <stdio.h>

static void write_picture(const char *folder, size_t number)
{
    static const char *const CLASSES[] = {"dark", "light"};
    struct weir_error err;
    WEIR_AUTO_BUF file = {0};
    WEIR_AUTO_FREE char *class = weir_format("%s/%s", folder, CLASSES[number % 2]);
    WEIR_AUTO_FREE char *path = weir_format("%s/%04zu.jpg", class, number);
    const struct jpeg_picture picture = {.height = 40 + (uint32_t)(number * 7 % 50),
                                         .width = 40 + (uint32_t)(number * 11 % 60),
                                         .seed = number,
                                         .quality = 80,
                                         .components = 3,
                                         .noise = number % 2 == 0 ? 10 : 250};
    jpeg_picture_write(&picture, &file);
    enum weir_status status = weir_make_directories(class, 0755, &err);
    if (status == WEIR_OK)
        status = weir_file_write_atomic(path, weir_buf_view(&file), &err);
    if (status != WEIR_OK)
        fprintf(stderr, "%s\n", err.text);
    weir_require(status == WEIR_OK);
}

int main(int argc, char **argv)
{
    weir_require(argc == 3);
    size_t count = strtoul(argv[2], NULL, 10);
    for (size_t i = 0; i < count; i++)
        write_picture(argv[1], i);
    return 0;
}
