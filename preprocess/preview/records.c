/* See records.h. */
#include "preprocess/preview/records.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/line_at.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <fcntl.h>

enum { FIELD_FILE, FIELD_OFFSET, FIELD_LENGTH, FIELD_TIME, FIELD_LABEL };
enum { FILE_FOLDER, FILE_PATH };

static const char *text_of(const json_t *dataset, const char *key)
{
    const char *text = json_string_value(json_object_get(dataset, key));
    return text != NULL ? text : "";
}

static bool flag_of(const json_t *dataset, const char *key)
{
    return json_is_true(json_object_get(dataset, key));
}

static const json_t *field_of(const json_t *dataset, size_t record, size_t field)
{
    return json_array_get(json_array_get(json_object_get(dataset, "records"), record), field);
}

static uint64_t number_of(const json_t *dataset, size_t record, size_t field)
{
    return (uint64_t)json_integer_value(field_of(dataset, record, field));
}

static const char *file_of(const json_t *dataset, size_t record, size_t part)
{
    const json_t *files = json_object_get(dataset, "files");
    const json_t *file = json_array_get(files, number_of(dataset, record, FIELD_FILE));
    const char *text = json_string_value(json_array_get(file, part));
    return text != NULL ? text : "";
}

/* Appends the record. False where it cannot be read, or is too much. */
static bool read_one(const json_t *dataset, size_t record, struct weir_buf *out)
{
    uint64_t length = number_of(dataset, record, FIELD_LENGTH);
    WEIR_AUTO_FD int fd =
        weir_open_beneath(file_of(dataset, record, FILE_FOLDER),
                          file_of(dataset, record, FILE_PATH), O_RDONLY | O_NONBLOCK);
    if (fd < 0 || length > RECORDS_BYTES_MAX - out->size)
        return false;
    weir_buf_reserve(out, length + 1);
    ssize_t got =
        weir_read_at(fd, out->at + out->size, length, number_of(dataset, record, FIELD_OFFSET));
    if (got < 0 || (uint64_t)got != length)
        return false;
    out->size += length;
    return true;
}

void preprocess_records_read(const json_t *dataset, struct records *ret_records)
{
    size_t count = json_array_size(json_object_get(dataset, "records"));
    size_t step = flag_of(dataset, "is_one_sample") ? count / RECORDS_READ_MAX + 1 : 1;
    *ret_records =
        (struct records){.dataset = dataset, .is_whole = flag_of(dataset, "is_whole") && step == 1};
    for (size_t record = 0; record < count; record += step) {
        if (!read_one(dataset, record, &ret_records->bytes)) {
            ret_records->is_whole = false;
            continue;
        }
        weir_buf_append(&ret_records->at, &record, sizeof(record));
        weir_buf_append(&ret_records->ends, &ret_records->bytes.size, sizeof(size_t));
        ret_records->count++;
    }
}

void preprocess_records_fini(struct records *records)
{
    weir_buf_fini(&records->at);
    weir_buf_fini(&records->bytes);
    weir_buf_fini(&records->ends);
}

static size_t record_of(const struct records *records, size_t index)
{
    return ((const size_t *)(const void *)records->at.at)[index];
}

struct weir_bytes preprocess_records_bytes(const struct records *records, size_t index)
{
    const size_t *ends = (const size_t *)(const void *)records->ends.at;
    size_t begin = index > 0 ? ends[index - 1] : 0;
    return weir_bytes(records->bytes.at + begin, ends[index] - begin);
}

int64_t preprocess_records_time(const struct records *records, size_t index)
{
    return (int64_t)number_of(records->dataset, record_of(records, index), FIELD_TIME);
}

int64_t preprocess_records_label(const struct records *records, size_t index)
{
    const json_t *label = field_of(records->dataset, record_of(records, index), FIELD_LABEL);
    double real = json_number_value(label);
    int64_t bits;
    if (!json_is_real(label))
        return json_integer_value(label);
    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

uint32_t preprocess_records_label_kind(const struct records *records)
{
    for (uint32_t kind = WEIR_LABEL_FLOAT; WEIR_LABEL_KIND_NAMES[kind] != NULL; kind++) {
        if (strcmp(text_of(records->dataset, "kind"), WEIR_LABEL_KIND_NAMES[kind]) == 0)
            return kind;
    }
    return WEIR_LABEL_INT;
}

char *preprocess_records_place(const struct records *records, size_t index)
{
    const json_t *dataset = records->dataset;
    size_t record = record_of(records, index);
    uint64_t offset = number_of(dataset, record, FIELD_OFFSET);
    const char *path = text_of(dataset, "path"), *file = file_of(dataset, record, FILE_PATH);
    WEIR_AUTO_FREE char *whole = weir_format("%s/%s", file_of(dataset, record, FILE_FOLDER), file);
    if (flag_of(dataset, "is_one_sample"))
        return weir_format("%s/%s", path, file);
    WEIR_AUTO_FREE char *name = weir_format("%s/%s", path, file);
    return weir_record_place(name, whole, offset, flag_of(dataset, "counts_lines"));
}

char *preprocess_records_about(const struct records *records, size_t index)
{
    const json_t *dataset = records->dataset;
    size_t record = record_of(records, index);
    const json_t *label = field_of(dataset, record, FIELD_LABEL);
    const char *class = json_string_value(
        json_array_get(json_object_get(dataset, "classes"), (size_t)json_integer_value(label)));
    char time[WEIR_TIME_TEXT_MAX];
    if (json_is_true(json_object_get(dataset, "is_bare")))
        return weir_strdup("time and label: not as declared");
    weir_time_format((int64_t)number_of(dataset, record, FIELD_TIME), time);
    if (strcmp(text_of(dataset, "kind"), "class") == 0 && class != NULL)
        return weir_format("%s, label %s", time, class);
    return json_is_number(label) ? weir_format("%s, label %g", time, json_number_value(label))
                                 : weir_strdup(time);
}
