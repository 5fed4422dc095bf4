/* Stands for a flaw in a decoder: loaded before libjpeg (LD_PRELOAD), it writes where nothing is when a
 * picture is 66 pixels wide. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <stdio.h>

#include <jpeglib.h>

enum { FATAL_WIDTH = 66 };

typedef boolean start_fn(j_decompress_ptr info);

boolean jpeg_start_decompress(j_decompress_ptr info)
{
    union {
        void *object;
        start_fn *function;
    } next = {.object = dlsym(RTLD_NEXT, "jpeg_start_decompress")};
    if (info->image_width == FATAL_WIDTH)
        *(volatile int *)8 = 1;
    return next.function(info);
}
