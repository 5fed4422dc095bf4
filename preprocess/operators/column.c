/* Columns of a batch. */
#include "preprocess/operators/column.h"

#include "core/base/error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static_assert((int)COLUMN_SHAPE_MAX == (int)WEIR_TENSOR_ROW_RANK_MAX, "a row has a form");

const char *preprocess_column_kind_name(enum column_kind kind)
{
    static const char *const NAMES[] = {"bytes", "text", "tokens", "dense", "ragged", "pictures"};
    return NAMES[kind];
}

void preprocess_column_about_print(const struct column_about *about, struct weir_buf *out)
{
    weir_buf_printf(out, "%s (%s", about->name, preprocess_column_kind_name(about->kind));
    if (about->kind == COLUMN_DENSE || about->kind == COLUMN_RAGGED)
        weir_buf_printf(out, " %s", weir_dtype_name(about->type));
    if (about->shape[0] != 0)
        weir_buf_printf(out, " x %u x %u x %u", about->shape[0], about->shape[1], about->shape[2]);
    else if (about->kind == COLUMN_DENSE)
        weir_buf_printf(out, " x %u", about->width);
    weir_buf_append_text(out, ")");
}

struct column_about preprocess_column_about(const char *name, enum column_kind kind,
                                            enum weir_dtype type, uint32_t width)
{
    struct column_about about = {.kind = kind, .type = type, .width = width};
    snprintf(about.name, sizeof(about.name), "%s", name);
    return about;
}

void preprocess_column_bound(struct column_about *about, uint64_t below)
{
    about->below = below;
    about->bounded_by = 0;
}

struct column_about preprocess_column_about_as(const struct column_about *about,
                                               enum weir_dtype type)
{
    struct column_about other = *about;
    other.type = type;
    if (type == WEIR_F32 || type == WEIR_F64) /* what is made of it may be larger */
        preprocess_column_bound(&other, 0);
    return other;
}

struct weir_tensor_form preprocess_column_form(const struct column_about *about)
{
    struct weir_tensor_form form = {.type = about->type, .is_ragged = about->kind == COLUMN_RAGGED};
    if (about->kind == COLUMN_DENSE && about->shape[0] == 0)
        form.shape[form.rank++] = about->width;
    for (size_t i = 0; i < COLUMN_SHAPE_MAX && about->shape[0] != 0; i++)
        form.shape[form.rank++] = about->shape[i];
    return form;
}

/* Size in bytes of an element: of what offsets count. */
static size_t unit_of(const struct column *column)
{
    enum column_kind kind = column->about.kind;
    if (kind == COLUMN_TOKENS)
        return sizeof(struct weir_span);
    return kind == COLUMN_RAGGED || kind == COLUMN_DENSE ? weir_dtype_bytes(column->about.type) : 1;
}

/* The buffer that offsets point into. */
static struct weir_buf *counted(struct column *column)
{
    return column->about.kind == COLUMN_TOKENS ? &column->spans : &column->values;
}

void preprocess_column_begin(struct column *column)
{
    weir_buf_clear(&column->values);
    weir_buf_clear(&column->offsets);
    weir_buf_clear(&column->places);
    weir_buf_clear(&column->spans);
    weir_buf_clear(&column->pictures);
    weir_buf_reserve(&column->values, 1); /* so that places in an empty column are places */
    weir_buf_reserve(&column->spans, 1);
    if (column->about.kind != COLUMN_DENSE)
        weir_buf_append(&column->offsets, &(uint32_t){0}, sizeof(uint32_t));
}

void preprocess_column_end_row(struct column *column)
{
    size_t end = counted(column)->size / unit_of(column);
    weir_require(end <=
                 UINT32_MAX); /* payloads, pixels and answers of programs are bounded far below */
    uint32_t offset = (uint32_t)end;
    weir_buf_append(&column->offsets, &offset, sizeof(offset));
}

/* Appends rows as long as those of `from`, whose first begins at offset `begin`. */
static void add_offsets(struct column *to, const struct column *from, uint32_t begin)
{
    size_t rows = from->offsets.size / sizeof(uint32_t) - 1;
    const uint32_t *offsets = column_offsets(from);
    uint32_t end = (uint32_t)(to->values.size / unit_of(to));
    uint32_t *added = (uint32_t *)(void *)weir_buf_extend(&to->offsets, rows * sizeof(uint32_t));
    for (size_t i = 0; i < rows; i++)
        added[i] = end + (offsets[i + 1] - begin);
}

struct column_elements preprocess_column_add_like(struct column *to, const struct column *from)
{
    size_t unit = unit_of(from), begin = 0;
    struct column_elements made = {.count = from->values.size / unit};
    if (from->about.kind != COLUMN_DENSE) {
        const uint32_t *offsets = column_offsets(from);
        begin = offsets[0];
        made.count = offsets[from->offsets.size / sizeof(uint32_t) - 1] - begin;
        add_offsets(to, from, (uint32_t)begin);
    }
    made.from = from->values.at + begin * unit;
    made.to = weir_buf_extend(&to->values, made.count * unit_of(to));
    return made;
}

void preprocess_column_fini(struct column *column)
{
    weir_buf_fini(&column->values);
    weir_buf_fini(&column->offsets);
    weir_buf_fini(&column->places);
    weir_buf_fini(&column->spans);
    weir_buf_fini(&column->pictures);
}

static struct weir_buf borrow(const struct weir_buf *buf, size_t offset, size_t size)
{
    return (struct weir_buf){.at = buf->at + offset, .size = size};
}

struct column preprocess_column_view(const struct column *column, size_t first, size_t rows)
{
    struct column view = {.about = column->about};
    if (column->about.kind == COLUMN_DENSE) {
        size_t bytes = column_row_bytes(column);
        view.values = borrow(&column->values, first * bytes, rows * bytes);
        return view;
    }
    view.values = borrow(&column->values, 0, column->values.size);
    view.offsets =
        borrow(&column->offsets, first * sizeof(uint32_t), (rows + 1) * sizeof(uint32_t));
    if (column->places.size > 0)
        view.places = borrow(&column->places, first * sizeof(uint8_t *), rows * sizeof(uint8_t *));
    if (column->about.kind == COLUMN_PICTURES)
        view.pictures = borrow(&column->pictures, first * sizeof(struct picture_place),
                               rows * sizeof(struct picture_place));
    return view;
}

static void drop_dense_rows(struct column *column, size_t rows, const uint8_t *flags)
{
    size_t width = column_row_bytes(column);
    uint8_t *to = column->values.at;
    for (size_t i = 0; i < rows; i++) {
        if (flags[i] != 0)
            continue;
        memmove(to, column->values.at + i * width, width);
        to += width;
    }
    column->values.size = (size_t)(to - column->values.at);
}

/* Rows that lie elsewhere stay there. */
static void drop_places(struct column *column, size_t rows, const uint8_t *flags)
{
    const uint8_t **places = (const uint8_t **)(void *)column->places.at;
    uint32_t *offsets = (uint32_t *)(void *)column->offsets.at;
    size_t kept = 0;
    for (size_t i = 0, start = 0; i < rows; i++) {
        uint32_t stop = offsets[i + 1], size = stop - (uint32_t)start;
        if (flags[i] == 0) {
            places[kept++] = places[i];
            offsets[kept] = offsets[kept - 1] + size;
        }
        start = stop;
    }
    column->places.size = kept * sizeof(*places);
    column->offsets.size = (kept + 1) * sizeof(uint32_t);
}

static void drop_pictures(struct column *column, size_t rows, const uint8_t *flags)
{
    struct picture_place *places = (struct picture_place *)(void *)column->pictures.at;
    size_t kept = 0;
    for (size_t i = 0; i < rows; i++) {
        if (flags[i] == 0)
            places[kept++] = places[i];
    }
    column->pictures.size = kept * sizeof(*places);
}

static void drop_counted_rows(struct column *column, size_t rows, const uint8_t *flags)
{
    struct weir_buf *buf = counted(column);
    size_t unit = unit_of(column), kept = 0;
    uint32_t *offsets = (uint32_t *)(void *)column->offsets.at;
    uint32_t end = 0;
    for (size_t i = 0, start = 0; i < rows; i++) {
        size_t stop = offsets[i + 1], count = stop - start;
        if (flags[i] == 0) {
            memmove(buf->at + end * unit, buf->at + start * unit, count * unit);
            end += (uint32_t)count;
            offsets[++kept] = end; /* kept <= i + 1: what is overwritten was read */
        }
        start = stop;
    }
    buf->size = end * unit;
    column->offsets.size = (kept + 1) * sizeof(uint32_t);
}

void preprocess_column_drop_rows(struct column *column, size_t rows, const uint8_t *flags)
{
    if (rows == 0)
        return;
    if (column->about.kind == COLUMN_DENSE)
        drop_dense_rows(column, rows, flags);
    else if (column->places.size > 0)
        drop_places(column, rows, flags);
    else
        drop_counted_rows(column, rows, flags);
    if (column->about.kind == COLUMN_PICTURES)
        drop_pictures(column, rows, flags);
}

size_t preprocess_column_bytes(const struct column *column)
{
    return column->values.size + column->offsets.size + column->spans.size + column->pictures.size;
}
