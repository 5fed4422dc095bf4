/* output: what the trainers of a pipeline print, run by run, and what the one at work says of itself. Whoever follows
 * asks again, with the place that the answer names. */
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "orchestrator/context/events.h"
#include "orchestrator/processes/trainer_name.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/topic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 64 << 10 };

struct piece {
    int64_t run, offset; /* of what comes next */
    bool is_open;        /* the run goes on */
    bool has_next;       /* another run is to be asked for */
    char *mode, *text;   /* owned */
};

/* Leaves half a line for the next piece, while its end may come. */
static size_t whole_lines(const char *text, size_t size, bool is_open)
{
    const char *end = memrchr(text, '\n', size);

    return is_open && size < PIECE_BYTES ? (end != NULL ? (size_t)(end + 1 - text) : 0) : size;
}

/* A log that was cut meanwhile is read from its beginning; one that is gone is empty. */
static void read_piece(const char *data_dir, struct piece *piece)
{
    char name[ORCHESTRATOR_TRAINER_NAME_SIZE];
    orchestrator_trainer_name(piece->run, 0, name);
    WEIR_AUTO_FREE char *path = weir_format("%s/log/%s.log", data_dir, name);
    FILE *file = fopen(path, "re");

    free(piece->text);
    piece->text = weir_calloc(1, PIECE_BYTES + 1);
    if (file == NULL)
        return;
    if (fseeko(file, 0, SEEK_END) == 0 && ftello(file) < piece->offset)
        piece->offset = 0;
    size_t size =
        fseeko(file, piece->offset, SEEK_SET) == 0 ? fread(piece->text, 1, PIECE_BYTES, file) : 0;
    (void)fclose(file);
    size = whole_lines(piece->text, size, piece->is_open);
    for (char *nul; (nul = memchr(piece->text, '\0', size)) != NULL;)
        *nul = '?';
    piece->text[size] = '\0';
    weir_utf8_repair(piece->text);
    piece->offset += (int64_t)size;
}

static json_t *progress_json(const struct topic_call *call, int64_t pipeline)
{
    struct run_progress progress;

    if (!orchestrator_run_progress(call->all->runs, pipeline, &progress))
        return json_null();
    return JSON_FIELDS(JSON_NUMBER("run", progress.number), JSON_TEXT("mode", progress.mode),
                       JSON_NUMBER("samples", (int64_t)progress.samples),
                       JSON_NUMBER("samples_total", (int64_t)progress.samples_total),
                       JSON_NEW("metrics", progress.metrics != NULL
                                               ? orchestrator_json_of(progress.metrics)
                                               : json_object()));
}

/* Fills the piece that begins at the place asked for, or that of the next run when this one has no more to come. */
static enum weir_status find_piece(const struct topic_call *call, int64_t pipeline,
                                   struct piece *piece, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(call->context->db, Q_runs_from, &rows, err, DB_I64(pipeline),
                                     DB_I64(orchestrator_topic_number(call, "run", 0)));
    size_t count = status == WEIR_OK ? weir_rows_count(rows) : 0;

    if (count == 0)
        return status;
    piece->run = weir_rows_i64(rows, 0, "number");
    if (piece->run == orchestrator_topic_number(call, "run", 0))
        piece->offset = orchestrator_topic_number(call, "offset", 0);
    piece->is_open = strcmp(weir_rows_text(rows, 0, "state"), "open") == 0;
    free(piece->mode);
    piece->mode = weir_strdup(weir_rows_text(rows, 0, "mode"));
    read_piece(call->context->data_dir, piece);
    piece->has_next = piece->text[0] == '\0' && !piece->is_open && count > 1;
    if (piece->has_next) {
        piece->run = weir_rows_i64(rows, 1, "number");
        piece->offset = 0;
    }
    return WEIR_OK;
}

void orchestrator_topic_output(struct topic_call *call)
{
    struct weir_error err;
    struct piece piece = {.mode = weir_strdup(""), .text = weir_strdup("")};
    const struct pipeline *pipeline = orchestrator_topic_pipeline(call);

    if (pipeline != NULL &&
        find_piece(call, orchestrator_pipeline_id(pipeline), &piece, &err) != WEIR_OK) {
        orchestrator_topic_refuse(call, &err);
    } else if (pipeline != NULL) {
        enum pipeline_state state = orchestrator_pipeline_state(pipeline);
        bool is_over = orchestrator_pipeline_at_rest(state) && state != PIPELINE_PAUSED;
        orchestrator_topic_answer(
            call, JSON_FIELDS(
                      JSON_NUMBER("run", piece.run), JSON_NUMBER("offset", piece.offset),
                      JSON_TEXT("mode", piece.mode), JSON_TEXT("text", piece.text),
                      JSON_FLAG("more", piece.has_next),
                      JSON_NEW("progress", progress_json(call, orchestrator_pipeline_id(pipeline))),
                      JSON_TEXT("state", orchestrator_pipeline_state_name(state)),
                      JSON_TEXT("error", orchestrator_pipeline_error(pipeline)),
                      JSON_FLAG("over", is_over)));
    }
    free(piece.mode);
    free(piece.text);
}
