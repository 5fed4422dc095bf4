/* See rows.h. */
#include "benchmarks/plan/rows.h"
#include "tests/support/jpeg_picture.h"

#include "core/base/clock.h"

enum { WORDS = 250, LARGE_BYTES = 1 << 15 };

static void draw_text(struct weir_rng *rng, size_t words, struct weir_buf *row)
{
    for (size_t i = 0; i < words; i++) {
        for (size_t left = 2 + weir_rng_below(rng, 7); left > 0; left--)
            weir_buf_append(row, &(char){(char)('A' + weir_rng_below(rng, 26))}, 1);
        weir_buf_append(row, " ", 1);
    }
}

static void draw_numbers(struct weir_rng *rng, size_t count, struct weir_buf *row)
{
    for (size_t i = 0; i < count; i++) {
        float number = (float)weir_rng_unit(rng);
        weir_buf_append(row, &number, sizeof(number));
    }
}

static void draw_picture(struct weir_rng *rng, size_t noise, struct weir_buf *row)
{
    const struct jpeg_picture picture = {.height = 375,
                                         .width = 500,
                                         .seed = weir_rng_next(rng),
                                         .quality = 85,
                                         .components = 3,
                                         .noise = (uint32_t)noise};
    jpeg_picture_write(&picture, row);
}

static void draw(struct rows *rows,
                 void (*draw_row)(struct weir_rng *rng, size_t size, struct weir_buf *row),
                 size_t size, size_t different)
{
    struct weir_rng rng;
    weir_rng_init(&rng, 5);
    for (size_t i = 0; i < ROWS_COUNT; i++) {
        const struct weir_buf *as = &rows->bytes[i % different];
        if (i < different)
            draw_row(&rng, size, &rows->bytes[i]);
        else
            weir_buf_append(&rows->bytes[i], as->at, as->size);
    }
}

void rows_draw_text(struct rows *rows)
{
    draw(rows, draw_text, WORDS, ROWS_COUNT);
}

void rows_draw_numbers(struct rows *rows, size_t count)
{
    draw(rows, draw_numbers, count, ROWS_COUNT);
}

void rows_draw_pictures(struct rows *rows)
{
    enum { NOISE = 12, DIFFERENT = 16 };
    draw(rows, draw_picture, NOISE, DIFFERENT);
}

void rows_fini(struct rows *rows)
{
    for (size_t i = 0; i < ROWS_COUNT; i++)
        weir_buf_fini(&rows->bytes[i]);
}

/* Brings `count` rows through the chain, as a worker does. */
static void run(const struct rows *rows, struct chain *chain, size_t count)
{
    uint64_t ids[ROWS_COUNT];
    uint32_t end = 0;
    bool in_place = preprocess_chain_reads_in_place(chain);
    struct column *payload = preprocess_chain_begin(chain);
    for (size_t i = 0; i < count; i++) {
        const struct weir_buf *row = &rows->bytes[i];
        ids[i] = i;
        end += (uint32_t)row->size;
        if (in_place)
            weir_buf_append(&payload->places, &row->at, sizeof(row->at));
        else
            weir_buf_append(&payload->values, row->at, row->size);
        weir_buf_append(&payload->offsets, &end, sizeof(end));
    }
    preprocess_chain_run(chain,
                         &(struct operator_batch){
                             .rows = count, .ids = ids, .seed = 1, .trains = true, .drops = true});
}

double rows_rate(const struct rows *rows, struct chain *chain, int64_t at_least_ns)
{
    const size_t count = rows->bytes[0].size > LARGE_BYTES ? ROWS_COUNT / 8 : ROWS_COUNT;
    int64_t begun_ns = weir_cpu_thread_ns(), spent_ns = 0;
    size_t taken = 0;
    for (; spent_ns < at_least_ns; spent_ns = weir_cpu_thread_ns() - begun_ns, taken += count)
        run(rows, chain, count);
    return (double)taken * 1e9 / (double)spent_ns;
}
