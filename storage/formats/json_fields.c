/* Members of JSON objects as a format wants them: see json_fields.h. */
#include "storage/formats/json_fields.h"

#include "core/base/json.h"
#include "core/base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct json_fields storage_json_fields_new(const struct format_fields *fields)
{
    struct json_fields made = {0};

    for (int i = 0; i < FORMAT_ROLES; i++)
        made.names[i] = fields->each[i].from == FORMAT_NAMED ? fields->each[i].name : NULL;
    return made;
}

void storage_json_fields_fini(struct json_fields *fields)
{
    for (int i = 0; i < FORMAT_ROLES; i++) {
        weir_buf_fini(&fields->unescaped[i]);
        free(fields->lists[i]);
    }
    weir_json_free(fields->json);
    *fields = (struct json_fields){0};
}

bool storage_json_fields_read(struct json_fields *fields, struct weir_bytes text)
{
    if (fields->json == NULL)
        fields->json = weir_json_new(fields->names, FORMAT_ROLES);
    bool is_right = weir_json_read(fields->json, text);
    fields->complaint = weir_json_complaint(fields->json, &fields->column);
    for (int i = 0; i < FORMAT_ROLES; i++)
        fields->found[i] = weir_json_found(fields->json, (size_t)i);
    return is_right;
}

enum { DIGITS_MAX = 64 };

static struct format_value number_of(struct weir_bytes text)
{
    char digits[DIGITS_MAX];
    bool is_real = false;
    struct format_value value = {.kind = FORMAT_TEXT, .text = text};
    int64_t plain;
    char *end;

    if (storage_format_plain_integer_of(text, &plain))
        return (struct format_value){.kind = FORMAT_INT, .i64 = plain};
    if (text.size >= sizeof(digits))
        return value;
    for (size_t i = 0; i < text.size; i++) {
        digits[i] = (char)text.at[i];
        is_real = is_real || digits[i] == '.' || (digits[i] | 0x20) == 'e';
    }
    digits[text.size] = '\0';
    errno = 0;
    if (is_real) {
        double real = strtod(digits, &end);

        return isfinite(real) ? (struct format_value){.kind = FORMAT_REAL, .f64 = real} : value;
    }
    value = (struct format_value){.kind = FORMAT_INT, .i64 = strtoll(digits, &end, 10)};
    if (errno == ERANGE && digits[0] != '-') {
        errno = 0;
        value = (struct format_value){.kind = FORMAT_UINT, .u64 = strtoull(digits, &end, 10)};
    }
    return errno == 0 ? value : (struct format_value){.kind = FORMAT_TEXT, .text = text};
}

static struct format_value list_of(struct json_fields *fields, enum format_role role,
                                   struct weir_bytes text)
{
    struct format_value value;

    if (fields->lists[role] == NULL)
        fields->lists[role] = weir_calloc(FORMAT_LIST_MAX, sizeof(double));
    value = storage_format_list_of(text, fields->lists[role]);
    return value.kind == FORMAT_LIST ? value : (struct format_value){.kind = FORMAT_ABSENT};
}

struct format_value storage_json_fields_value(struct json_fields *fields, enum format_role role)
{
    struct weir_bytes raw = fields->found[role];

    switch (raw.at != NULL ? raw.at[0] : 0) {
    case 0:
    case 'n':
    case '{':
        return (struct format_value){.kind = FORMAT_ABSENT};
    case '[':
        return list_of(fields, role, raw);
    case 't':
    case 'f':
        return (struct format_value){.kind = FORMAT_TRUTH, .i64 = raw.at[0] == 't'};
    case '"':
        return (struct format_value){
            .kind = FORMAT_TEXT,
            .text =
                weir_json_unescape(weir_bytes(raw.at + 1, raw.size - 2), &fields->unescaped[role])};
    default:
        return number_of(raw);
    }
}
