/* See points.h. */
#include "benchmarks/points.h"

#include "core/base/file.h"
#include "core/base/memory.h"

enum weir_status points_write(const char *folder, int count, struct weir_error *err)
{
    WEIR_AUTO_FREE char *file = weir_format("%s/a.csv", folder);
    WEIR_AUTO_BUF rows = {0};
    weir_buf_append_text(&rows, "ts,x,y\n");
    for (int i = 0; i < count; i++)
        weir_buf_printf(&rows, "2024-01-01T%02d:00:00Z,%d.5,%d\n", i, i % 7, i % 2);
    enum weir_status status = weir_make_directories(folder, 0755, err);
    return status == WEIR_OK ? weir_file_write_atomic(file, weir_buf_view(&rows), err) : status;
}
