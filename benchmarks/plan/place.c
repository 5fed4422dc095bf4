/* See place.h. */
#include "benchmarks/plan/place.h"

#include "benchmarks/slice/pictures.h"
#include "core/base/clock.h"
#include "core/base/file.h"

enum { PICTURES = 512, EPOCHS = 2, WORKERS = 2 };

static const struct jpeg_picture PICTURE = {
    .height = 250, .width = 330, .quality = 85, .components = 3, .noise = 20};
static const char SECTION[] =
    "  operators:\n"
    "    - {op: decode_jpeg}\n"
    "    - {op: random_resized_crop, size: 224}\n"
    "    - {op: normalize, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}\n"
    "    - {op: to_chw}\n"
    "  plan: {place: %s}\n"
    "  batch: {samples: 32, shuffle: full}\n";

static enum weir_status prepare(struct place *place, enum place_side side, const char *name,
                                struct weir_error *err)
{
    WEIR_AUTO_FREE char *source = weir_format(PICTURES_SOURCE, place->corpus.directory);
    WEIR_AUTO_FREE char *section = weir_format(SECTION, name);
    place->workload[side] = (struct workload){.corpus = &place->corpus, .epochs = EPOCHS};
    return workload_prepare(&place->workload[side], place->rig, name, source, section, err);
}

enum weir_status place_open(struct place *place, const char *directory, double scale,
                            struct weir_error *err)
{
    WEIR_AUTO_FREE char *platform = weir_format("%s/apart", directory);
    *place = (struct place){
        .corpus = {.directory = weir_format("%s/pictures", directory),
                   .samples = (size_t)(PICTURES * scale) * WORKLOAD_STRIDE + WORKLOAD_STRIDE}};
    enum weir_status status = pictures_write(&place->corpus, &PICTURE, err);
    if (status == WEIR_OK)
        status = weir_make_directories(platform, 0755, err);
    if (status == WEIR_OK)
        status = rig_start_apart(platform, WORKERS, &place->rig, err);
    if (status == WEIR_OK)
        status = prepare(place, PLACE_POOL, "pool", err);
    if (status == WEIR_OK)
        status = prepare(place, PLACE_HOST, "host", err);
    return status;
}

void place_close(struct place *place)
{
    for (enum place_side side = PLACE_POOL; side < PLACE_SIDES; side++)
        workload_fini(&place->workload[side]);
    corpus_fini(&place->corpus);
    rig_stop(place->rig);
}

enum weir_status place_run(struct place *place, enum place_side side, struct place_taken *ret_taken,
                           struct weir_error *err)
{
    struct workload *workload = &place->workload[side];
    struct workload_run run = {.job = ++place->jobs};
    int64_t before_ns = weir_cpu_ns();
    enum weir_status status = workload_run_there(workload, place->rig, &run, err);
    double samples = (double)workload->samples;
    *ret_taken = (struct place_taken){.seconds = run.seconds / samples,
                                      .bytes = (double)run.sent_bytes / samples,
                                      .cpu_s = (double)(weir_cpu_ns() - before_ns) / 1e9 / samples};
    return status == WEIR_OK ? workload_check(workload, &run.tally, err) : status;
}
