/* Rows at the cut of a chain: those that are made are handed on to be kept, and those that were kept take their places.
 * A row is, of each column by its slot:
 *
 *     DENSE     its numbers
 *     RAGGED    u32 numbers, then they
 *     PICTURES  struct picture_place, then the pixels
 *
 * Little-endian, end to end. */
#include "preprocess/operators/chain_steps.h"

#include <string.h>

enum { WHOLE_EIGHTHS = 8 };

static bool is_known(const struct chain *chain, size_t row)
{
    return chain->cut.kept != NULL && chain->cut.kept->is_known[row] != 0;
}

void preprocess_chain_use_kept(struct chain *chain, const struct chain_kept *kept)
{
    chain->cut.kept = chain->cut.end > 0 ? kept : NULL;
}

bool preprocess_chain_has_lost(const struct chain *chain)
{
    return chain->cut.has_lost;
}

/* ---- a row as it is kept ---- */

static const struct picture_place *place_of(const struct column *column, size_t row)
{
    return (const struct picture_place *)(const void *)column->pictures.at + row;
}

/* Returns the values of a row. */
static struct weir_bytes values_of(const struct column *column, size_t row)
{
    if (column->about.kind == COLUMN_DENSE) {
        size_t size = column_row_bytes(column);
        return weir_bytes(column->values.at + row * size, size);
    }
    const uint32_t *offsets = column_offsets(column);
    size_t unit = column->about.kind == COLUMN_RAGGED ? weir_dtype_bytes(column->about.type) : 1;
    return weir_bytes(column->values.at + offsets[row] * unit,
                      (offsets[row + 1] - offsets[row]) * unit);
}

static void pack(const struct column *column, size_t row, struct weir_buf *out)
{
    struct weir_bytes values = values_of(column, row);
    if (column->about.kind == COLUMN_RAGGED)
        weir_buf_append_u32(out, (uint32_t)(values.size / weir_dtype_bytes(column->about.type)));
    if (column->about.kind == COLUMN_PICTURES)
        weir_buf_append(out, place_of(column, row), sizeof(struct picture_place));
    weir_buf_append(out, values.at, values.size);
}

/* True when a part of so many pixels from `first` on lies in a whole of so many before it was scaled. */
static bool lies_within(uint32_t first, uint32_t count, uint32_t whole, uint32_t eighths)
{
    uint64_t scaled = ((uint64_t)whole * eighths + WHOLE_EIGHTHS - 1) / WHOLE_EIGHTHS;
    return count > 0 && (uint64_t)first + count <= scaled;
}

/* Rows in a mapping may be overwritten meanwhile, if their sample is erased: nothing is believed of them. */
static bool is_place(const struct picture_place *place)
{
    return place->eighths > 0 && place->eighths <= WHOLE_EIGHTHS &&
           lies_within(place->top, place->height, place->whole_height, place->eighths) &&
           lies_within(place->left, place->width, place->whole_width, place->eighths);
}

/* Takes the place of a picture off `*rest`, and its pixels. */
static bool take_picture(const struct column *column, struct weir_bytes *rest,
                         struct picture_place *ret_place, struct weir_bytes *ret_values)
{
    struct weir_bytes place;
    if (!weir_take(rest, sizeof(*ret_place), &place))
        return false;
    memcpy(ret_place, place.at, sizeof(*ret_place));
    if (!is_place(ret_place))
        return false;
    uint64_t pixels = (uint64_t)ret_place->height * ret_place->width;
    return pixels <= UINT32_MAX && weir_take(rest, pixels * column->about.width, ret_values);
}

/* Takes the values of a row off `*rest`; *ret_place is set for a picture. */
static bool take(const struct column *column, struct weir_bytes *rest,
                 struct picture_place *ret_place, struct weir_bytes *ret_values)
{
    struct weir_bytes head;
    if (column->about.kind == COLUMN_PICTURES)
        return take_picture(column, rest, ret_place, ret_values);
    if (column->about.kind == COLUMN_DENSE)
        return weir_take(rest, column_row_bytes(column), ret_values);
    return weir_take(rest, sizeof(uint32_t), &head) &&
           weir_take(rest, (uint64_t)weir_get_u32(head.at) * weir_dtype_bytes(column->about.type),
                     ret_values);
}

static void append(struct column *column, const struct picture_place *place,
                   struct weir_bytes values)
{
    weir_buf_append(&column->values, values.at, values.size);
    if (column->about.kind == COLUMN_PICTURES)
        weir_buf_append(&column->pictures, place, sizeof(*place));
    if (column->about.kind != COLUMN_DENSE)
        preprocess_column_end_row(column);
}

/* ---- one row after the other ---- */

static bool load(struct chain *chain, size_t row, struct weir_bytes *ret_row)
{
    const struct chain_kept *kept = chain->cut.kept;
    if (!chain->cut.has_lost)
        chain->cut.has_lost = !kept->load(kept->owner, row, ret_row);
    return !chain->cut.has_lost;
}

/* The columns at the cut, of which the only one that is wanted has this picture alone, borrowed. */
static void set_alone(struct chain *chain, struct weir_bytes pixels)
{
    struct chain_cut *cut = &chain->cut;
    for (size_t i = 0; i < cut->end; i++) {
        if (!chain->step[i].is_absorbed)
            preprocess_chain_advance(chain, &chain->step[i]);
    }
    cut->offsets[0] = 0;
    cut->offsets[1] = (uint32_t)pixels.size;
    cut->alone =
        (struct column){.about = cut->whole[0].about,
                        .is_piece = true,
                        .values = {.at = (uint8_t *)(uintptr_t)pixels.at, .size = pixels.size},
                        .offsets = {.at = (uint8_t *)cut->offsets, .size = sizeof(cut->offsets)},
                        .pictures = {.at = (uint8_t *)&cut->place, .size = sizeof(cut->place)}};
    chain->column[cut->column[0]] = &cut->alone;
}

bool preprocess_chain_cut_load(struct chain *chain, size_t row)
{
    struct chain_cut *cut = &chain->cut;
    struct weir_bytes rest, pixels;
    if (!cut->is_in_run || row >= cut->batch.rows || !is_known(chain, row) ||
        !load(chain, row, &rest))
        return false;
    cut->has_lost = !take(&cut->whole[0], &rest, &cut->place, &pixels) || rest.size > 0;
    if (!cut->has_lost)
        set_alone(chain, pixels);
    return !cut->has_lost;
}

void preprocess_chain_cut_keep(struct chain *chain, size_t row)
{
    struct chain_cut *cut = &chain->cut;
    if (!cut->is_in_run || cut->kept == NULL || row >= cut->batch.rows ||
        chain->rows.flags.at[row] != OPERATOR_ROW_OK)
        return;
    weir_buf_clear(&cut->row);
    pack(chain->column[cut->column[0]], 0, &cut->row);
    cut->kept->keep(cut->kept->owner, row, weir_buf_view(&cut->row));
}

/* ---- all of a batch ---- */

void preprocess_chain_cut_begin(struct chain *chain)
{
    enum { KNOWN = UINT8_MAX /* a flag of no other meaning */ };
    struct chain_rows *rows = &chain->rows;
    chain->cut.batch = rows->batch;
    if (chain->cut.kept == NULL || chain->cut.is_in_run)
        return;
    for (size_t i = 0; i < rows->batch.rows; i++) {
        if (!is_known(chain, i))
            continue;
        rows->flags.at[i] = KNOWN;
        rows->marked++;
    }
    if (rows->marked > 0)
        preprocess_chain_rows_let_go(chain, NULL);
}

/* Number of a row of the batch as it came. */
static size_t origin_of(const struct chain *chain, size_t row)
{
    const uint32_t *origins = (const uint32_t *)(const void *)chain->rows.origins.at;
    return chain->rows.are_fewer ? origins[row] : row;
}

static void keep_all(struct chain *chain)
{
    struct chain_cut *cut = &chain->cut;
    for (size_t row = 0; row < chain->rows.batch.rows; row++) {
        if (chain->rows.flags.at[row] != OPERATOR_ROW_OK)
            continue;
        weir_buf_clear(&cut->row);
        for (size_t i = 0; i < cut->columns; i++)
            pack(chain->column[cut->column[i]], row, &cut->row);
        cut->kept->keep(cut->kept->owner, origin_of(chain, row), weir_buf_view(&cut->row));
    }
}

/* Appends a row that was made to all columns. */
static void add_made(struct chain *chain, size_t row)
{
    struct chain_cut *cut = &chain->cut;
    for (size_t i = 0; i < cut->columns; i++) {
        const struct column *from = chain->column[cut->column[i]];
        bool is_picture = from->about.kind == COLUMN_PICTURES;
        append(&cut->whole[i], is_picture ? place_of(from, row) : NULL, values_of(from, row));
    }
}

/* … and one that was kept. */
static void add_kept(struct chain *chain, size_t row)
{
    struct chain_cut *cut = &chain->cut;
    struct weir_bytes rest, values = {0};
    if (!load(chain, row, &rest))
        return;
    for (size_t i = 0; i < cut->columns && !cut->has_lost; i++) {
        cut->has_lost = !take(&cut->whole[i], &rest, &cut->place, &values);
        if (!cut->has_lost)
            append(&cut->whole[i], &cut->place, values);
    }
    cut->has_lost = cut->has_lost || rest.size > 0;
}

/* Puts the rows that were let go for good, and what becomes of the others, into the batch as it goes on. */
static void set_rows(struct chain *chain, const uint32_t *origins, size_t count)
{
    struct chain_rows *rows = &chain->rows;
    const struct operator_batch *all = &chain->cut.batch;
    preprocess_chain_rows_begin(chain, all);
    weir_buf_append(&rows->origins, origins, count * sizeof(*origins));
    rows->are_fewer = count < all->rows;
    rows->batch.rows = count;
    rows->flags.size = count;
    for (size_t i = 0; i < count; i++) {
        uint8_t flag = is_known(chain, origins[i]) ? OPERATOR_ROW_OK : chain->flags.at[origins[i]];
        rows->flags.at[i] = flag;
        rows->marked += flag != OPERATOR_ROW_OK;
    }
    preprocess_chain_rows_gather(chain, all);
}

/* Takes the columns over as those of the chain. Values that are made in lent memory stay there. */
static void set_columns(struct chain *chain)
{
    struct chain_cut *cut = &chain->cut;
    for (size_t i = 0; i < cut->columns; i++) {
        struct column *whole = &cut->whole[i], *to = chain->column[cut->column[i]];
        struct column before = *to;
        *to = *whole;
        *whole = before;
        if (!before.values.is_lent)
            continue;
        struct weir_buf values = to->values;
        to->values = before.values;
        weir_buf_clear(&to->values);
        weir_buf_append(&to->values, values.at, values.size);
        whole->values = values;
    }
}

/* All rows in their order: of those that were made, the ones that are left. */
static void merge(struct chain *chain)
{
    struct chain_cut *cut = &chain->cut;
    WEIR_AUTO_BUF origins = {0};
    size_t made = 0;
    for (size_t i = 0; i < cut->columns; i++)
        preprocess_column_begin(&cut->whole[i]);
    for (uint32_t row = 0; row < cut->batch.rows && !cut->has_lost; row++) {
        bool is_made = made < chain->rows.batch.rows && origin_of(chain, made) == row;
        if (is_made)
            add_made(chain, made++);
        else if (is_known(chain, row))
            add_kept(chain, row);
        if (is_made || is_known(chain, row))
            weir_buf_append(&origins, &row, sizeof(row));
    }
    if (cut->has_lost)
        return;
    set_columns(chain);
    set_rows(chain, (const uint32_t *)(const void *)origins.at, origins.size / sizeof(uint32_t));
}

void preprocess_chain_cut_pass(struct chain *chain)
{
    const struct chain_kept *kept = chain->cut.kept;
    if (kept == NULL)
        return;
    preprocess_chain_rows_end(chain);
    keep_all(chain);
    size_t row = 0;
    while (row < chain->cut.batch.rows && !is_known(chain, row))
        row++;
    if (row < chain->cut.batch.rows)
        merge(chain);
}
