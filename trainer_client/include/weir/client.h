/* The library a training loop links: it hands out the batches of one run, each exactly once, and
 * tells Weir what was done with them. The only installed header; plain C99, no other header of Weir
 * is needed.
 *
 *     struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
 *     struct weir_client *client = NULL;
 *     struct weir_client_error error;
 *     if (weir_client_task(&options, &task, &error) != WEIR_CLIENT_OK)
 *         fail(error.text);
 *     options.task = task;
 *     if (weir_client_open(&options, &client, &error) != WEIR_CLIENT_OK)
 *         fail(error.text);
 *     struct weir_batch *batch;
 *     enum weir_client_status status;
 *     while ((status = weir_client_next(client, -1, &batch, &error)) == WEIR_CLIENT_OK) {
 *         step(batch);
 *         weir_client_consumed(client, batch->number, NULL);
 *         weir_batch_release(batch);
 *     }
 *     save_model("model");
 *     result.model = "model";
 *     if (status != WEIR_CLIENT_END ||
 *         weir_client_finish(client, &result, -1, &error) != WEIR_CLIENT_OK)
 *         fail(error.text);
 *
 * Task and end. weir_client_task() asks what the run is to do: to train a model, or to use one (modes evaluate,
 * predict, score, gradient, embed, features). A mode that uses a model says weir_client_output() of each batch.
 * weir_client_finish() ends the run: its outputs, or the model, are handed over, all at once, and are the platform's
 * from then on. Then the program leaves, or asks for the next task (weir_client_next_task()).
 *
 * Consumed and committed. A batch is *consumed* once weir_client_consumed() says that it is in the
 * weights; weir_batch_release() only gives its memory back, before or after. It becomes *committed* when state that
 * contains it is durable: save what weir_client_state() returns together with the model, in one
 * file, then call weir_client_commit(). A loop that dies returns with the saved state in
 * weir_client_options.state and gets exactly the batches that this state does not contain.
 *
 * Ranks. A run may have several consumers, one per rank: each opens with its `rank` and gets its
 * slice of every batch, and all get equally many (one of nothing but holes is shown too: samples is
 * 0 then), in number order. global_samples and global_weight of a batch are exact on every rank, holes and
 * all, so that the sum over ranks of weight times loss, divided by global_weight, is the batch's mean; and
 * global_longest is how wide each makes its rectangle of ragged rows, if all are to be alike.
 * weir_client_open() waits until all ranks have come. They save their states at the same
 * step, that is, when each has consumed equally many batches; a step is committed when every rank has
 * committed it, and weir_client_finish(), which each of them calls, waits for the others: the model is rank 0's.
 * Processes that a pipeline has started (training.ranks) end together when one of them does, and start again from what
 * they saved. Where they are started by hand and one dies, the whole group
 * begins again: weir_client_next() and weir_client_commit() return RESTART to those that lived. They
 * close, load the newest state they have, model included, and open again, as does the one that
 * returns. Ranks whose state is newer than another's get RESTART from weir_client_open(), with the
 * number of batches of the state to load instead (weir_client_state_batches() tells it of a saved
 * one). So keep every state newer than weir_client_stats.common; what is older may go.
 *
 * Other promises. What is said above is `delivery: exactly_once`. With at_least_once a loop may
 * return without going back: it names no state, and gets again what it had not committed. With
 * at_most_once a loop that returns gets nothing again that was, or may have been, handed to one
 * before; what its state does not contain of it is lost.
 *
 * Erasure. weir_client_next() returns no batch that holds a sample erased before the call, and
 * nothing at all while it cannot know (its use lease of 2 seconds, renewed in the background, has
 * run out: it waits). With several ranks the next eight batches are settled between them in advance: these
 * keep their samples, and count as in the loop's hands. An erasure is in force when, among others,
 * every batch in a loop's hands that holds an erased sample has been released; so release batches
 * as soon as the step is over, and keep no copies.
 *
 * Threads. One background thread owns every socket. All functions may be called from any thread;
 * two threads must not call functions of one client at the same time, but weir_batch_release() may
 * be called at any time. A client does not survive fork(). The signal mask of the calling thread at
 * weir_client_open() is not used: the background thread blocks all signals.
 */
#ifndef WEIR_CLIENT_H
#define WEIR_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface: raised when an existing program would have to change. */
#define WEIR_CLIENT_VERSION 3

/** Outcome of a call. Everything but OK and END comes with a text in struct weir_client_error. */
enum weir_client_status {
    WEIR_CLIENT_OK = 0,
    WEIR_CLIENT_INVALID = 1,     /**< an argument or an answer makes no sense */
    WEIR_CLIENT_NOT_FOUND = 2,   /**< there is no such run */
    WEIR_CLIENT_LIMIT = 4,       /**< too many batches in hand, or not consumed */
    WEIR_CLIENT_TIMEOUT = 5,     /**< not yet; the call may be repeated */
    WEIR_CLIENT_UNAVAILABLE = 6, /**< Weir cannot be reached */
    WEIR_CLIENT_STALE = 9,       /**< another session has taken this run over: stop */
    WEIR_CLIENT_DENIED = 10,     /**< not permitted */
    WEIR_CLIENT_UNSUPPORTED = 11,
    WEIR_CLIENT_INTERNAL = 12, /**< a defect in Weir */
    WEIR_CLIENT_RESTART = 13,  /**< the ranks begin again: close, load an earlier state, open */
    WEIR_CLIENT_END = 64 /**< nothing follows: every batch has been handed out, or every task */
};

/** Filled by a call that fails; untouched otherwise. Every function accepts NULL for it. */
struct weir_client_error {
    enum weir_client_status status;
    char text[512];   /**< what was found, what was expected, what to do */
    uint64_t batches; /**< RESTART from weir_client_open(): the state to load contains so many */
};

/** Address of the platform, and the session to open. Start from WEIR_CLIENT_OPTIONS_INIT; strings are copied
 * by weir_client_open(). */
struct weir_client_options {
    uint32_t version; /**< WEIR_CLIENT_VERSION */
    uint64_t run;     /**< number of the run; 0: the environment variable WEIR_RUN */
    /** directory of the platform's sockets for trainers, SOCKET_DIR/trainer; NULL: the variable WEIR_SOCKET_DIR */
    const char *socket_dir;
    const char *dispatcher;   /**< endpoint ("ipc:///…"); NULL: dispatcher.sock in socket_dir */
    const char *storage;      /**< endpoint; NULL: storage.sock in socket_dir */
    const char *orchestrator; /**< endpoint for progress; NULL: orchestrator.sock in socket_dir */
    const void *state; /**< what weir_client_state() returned when the model was saved; NULL: the
                          beginning, or in at_least_once what was committed */
    size_t state_size; /**< bytes of it */
    uint64_t prefetch_bytes;  /**< batches under way or waiting; 0: as measured */
    uint32_t open_timeout_ms; /**< how long weir_client_open() tries; 0: 60 s */
    uint64_t session;         /**< a number that names this opening; 0: drawn at random */
    uint32_t rank;            /**< number of this consumer of the run, from 0 */
    uint32_t ranks; /**< how many there are; 0: the variables WEIR_RANK and WEIR_RANKS, else 1 */
    /** what `run` and `session` are taken from, until weir_client_close(); NULL: the loop hands
     * nothing over, and ends with a commit that is final */
    const struct weir_client_task *task;
    int digests; /**< nonzero: keep a digest of each batch, see weir_batch.digest; 0: as the task
                    has it, or where the variable WEIR_DIGESTS is set and not empty */
};
#define WEIR_CLIENT_OPTIONS_INIT                                                        \
    {                                                                                   \
        WEIR_CLIENT_VERSION, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, 0 \
    }

/** An open run. */
struct weir_client;

/** The run, as weir_client_open() learnt it. */
struct weir_client_info {
    uint64_t run;
    uint64_t attempt; /**< 1 for the first session of the run, 2 for the next, … */
    uint32_t rank, ranks;
    uint64_t samples; /**< of one pass over the set, over all ranks */
    uint64_t epochs;  /**< passes */
    uint64_t batches_per_epoch;
    uint32_t batch_samples; /**< most samples of a batch, over all ranks */
    int is_deterministic;   /**< batches come in number order */
    const void *fitted; /**< fitted state of the operators, to be stored with the model; lives with
                           the client */
    size_t fitted_size;
};

/** Element types of tensors. */
enum weir_tensor_type {
    WEIR_TENSOR_U8 = 1,
    WEIR_TENSOR_I32 = 2,
    WEIR_TENSOR_I64 = 3,
    WEIR_TENSOR_F32 = 4,
    WEIR_TENSOR_F64 = 5,
    WEIR_TENSOR_U32 = 6
};

/** Type of the 64 bits of a label. */
enum weir_label_type {
    WEIR_LABELS_NONE = 0, /**< the samples have none; all 0 */
    WEIR_LABELS_INT = 1,
    WEIR_LABELS_FLOAT = 2, /**< the bits of a double */
    WEIR_LABELS_CLASS = 3, /**< index into the class names of the dataset */
    WEIR_LABELS_VALUES = 4 /**< 0: a label is a vector, see label_values */
};

#define WEIR_TENSOR_RANK_MAX        8
#define WEIR_BATCH_ALIGNMENT        64   /**< bytes; what every array of a batch is aligned to */
#define WEIR_BATCHES_HELD_MAX       64   /**< batches a loop may have in hand at the same time */
#define WEIR_METRIC_NAME_MAX        63   /**< bytes */
#define WEIR_METRICS_MAX            64   /**< names that a run may use */
#define WEIR_OUTPUT_NAME_MAX        127  /**< bytes */
#define WEIR_BATCHES_UNCONSUMED_MAX 1024 /**< batches that may be handed out and not consumed */

/** Work of a run: what to make of which batches, and the directory to write in. Made by weir_client_task(). */
struct weir_client_task {
    uint64_t run;
    uint64_t session;       /**< the number that this process is known by */
    const char *mode;       /**< train, evaluate, predict, score, gradient, embed or features */
    const char *pipeline;   /**< its name */
    const char *file;       /**< name of the pipeline's file, for complaints */
    const char *config;     /**< text of that file */
    size_t config_size;     /**< bytes of it */
    const char *options;    /**< training.options of that file, as JSON; "null": none */
    const char *directory;  /**< for checkpoints and the model; written by this process alone */
    const char *start_from; /**< model to use, a file or directory; NULL: initial weights */
    uint64_t seed;
    enum weir_label_type label_type;
    uint32_t outputs; /**< values that the model predicts per sample; 0: as the model has it */
    int reports;      /**< nonzero: a training says WEIR_OUTPUT_SCORES of each sample */
    size_t class_count;
    const char *const *classes; /**< names of the classes of a label, in order */
    /** selection.batch_then_sample of that file, as JSON, {"score": "loss", "ratio": 0.5,
     * "metric": "least_confidence"}: the part of each batch that a training is to learn from;
     * what it leaves out is consumed all the same; "null": it learns from all */
    const char *batch_then_sample;
    int digests;            /**< nonzero: a digest of each batch is kept, see weir_batch.digest */
    uint64_t epochs_before; /**< of a training that this run goes on with, on another set of samples
                               (selection.score.period): the model to start from has learnt for so
                               many; 0: this run begins one */
    uint64_t epochs_in_all; /**< of that training; those of this run are in weir_client_info */
};

/** Output of a sample, by what the mode asks for. */
enum weir_output {
    WEIR_OUTPUT_PREDICTIONS = 1, /**< evaluate, predict: what the model says */
    /** score, and train where the task says so: loss, norm of its gradient */
    WEIR_OUTPUT_SCORES = 2,
    WEIR_OUTPUT_GRADIENTS = 3, /**< gradient: of the loss by the outputs of the model */
    WEIR_OUTPUT_EMBEDDINGS = 4 /**< embed, features: where the sample lies */
};

/** Reason of a hole. */
enum weir_hole {
    WEIR_HOLE_ERASED = 1,   /**< by an erasure */
    WEIR_HOLE_GONE = 2,     /**< the file vanished or changed */
    WEIR_HOLE_FILTERED = 3, /**< an operator dropped the sample */
    WEIR_HOLE_FAILED = 4    /**< an operator could not read the sample */
};

/** One tensor of a batch, row-major. The first dimension is the sample.
 *
 * Dense: `shape` has `rank` entries and `data` their product of elements. Ragged: sample i owns the
 * elements offsets[i] up to offsets[i + 1] of `data` (times the product of shape[1 …], 1 for a
 * plain list). */
struct weir_tensor {
    const char *name;
    enum weir_tensor_type type;
    uint32_t rank;
    uint64_t shape[WEIR_TENSOR_RANK_MAX];
    const uint32_t *offsets; /**< samples + 1 of them, ascending from 0; NULL: dense */
    const void *data;
    size_t bytes; /**< of `data` */
};

/** A tensor of all batches of a run, as the operators make it. */
struct weir_client_tensor {
    const char *name;
    enum weir_tensor_type type;
    int is_ragged; /**< nonzero: a row has any number of elements, and `rank` is 0 */
    uint32_t rank; /**< dimensions of a row, which in batches come after that of the samples */
    uint64_t shape[WEIR_TENSOR_RANK_MAX]; /**< of a row */
    /** its integers are 0 … below - 1, such as rows of an embedding: words of a vocabulary fitted on this set
     * and one for the unknown, buckets of a hash; 0: no bound is known */
    uint64_t below;
    /** the same of the model that the training starts from, whose numbers keep their meaning; 0: it starts
     * from none, or no bound is known */
    uint64_t below_before;
};

/** One batch. All memory belongs to it and lives until weir_batch_release(); it may be pinned and
 * handed to a GPU as it is, but not written to. `ids`, `labels`, `label_values`, `weights` and
 * each tensor's `data` and `offsets` start at a multiple of WEIR_BATCH_ALIGNMENT bytes and are readable up to the next
 * such multiple after their end. (Frames arrive from the socket at arbitrary addresses; the
 * background thread lays each batch out once, in one allocation, so the loop pays for no copy.) */
struct weir_batch {
    uint64_t number; /**< counted over all epochs, from 0 */
    uint64_t epoch;  /**< pass over the set, from 0 */
    size_t samples;  /**< live samples; > 0 unless there are several ranks */
    size_t holes;    /**< samples of this batch that were erased, filtered, unreadable or gone */
    const uint64_t *ids;
    const int64_t *labels;
    enum weir_label_type label_type;
    const float *weights; /**< of the selection; all 1 when it gave none */
    size_t tensor_count;
    const struct weir_tensor *tensors;
    const float *label_values; /**< (samples, label_width), row-major; NULL unless labels are
                                  vectors */
    size_t label_width;        /**< numbers of a label; 0 unless it is a vector */
    /** live samples of this batch over all ranks: all `samples`, added up */
    uint64_t global_samples;
    double global_weight;       /**< their weights, added up; the same bits on every rank */
    const uint64_t *hole_ids;   /**< `holes` of them, in no particular order */
    const uint32_t *hole_kinds; /**< of each, an enum weir_hole */
    const char *digest;         /**< of everything above but the totals over ranks, 32
                           hexadecimal digits: an XXH3-128 that depends neither on who made the batch nor
                           on how it came (docs/reference/batch-digest.md); NULL: not asked for */
    /** elements of the longest row of its ragged tensors over all ranks, 0 when there are none: as wide as a rectangle
     * must be that is alike on every rank */
    uint64_t global_longest;
};

/** Work of a loop since weir_client_open(). */
struct weir_client_stats {
    uint64_t batches; /**< released */
    uint64_t samples; /**< in them */
    uint64_t bytes;   /**< of them */
    int64_t wait_ns;  /**< inside weir_client_next(): the data stall */
    int64_t busy_ns;  /**< outside of it, from the first batch on */
    uint64_t waiting; /**< batches ready now */
    uint64_t refused; /**< arrivals that were copies, outdated or erased */
    uint64_t common;  /**< batches in the newest state that all ranks have committed */
    uint64_t digests; /**< in the state that weir_client_state() returns: batches with one */
    char digest[33];  /**< of all these together, whatever their order: their sum as numbers, modulo
                         2^128, 32 hexadecimal digits; equal for equal batches */
    int64_t digest_ns; /**< spent on digests, within busy_ns */
};

/** Samples of the run that are in the state weir_client_state() returns without having been delivered, by reason,
 * over all epochs of this rank. A loop that ends without any batch has its model to explain: with `erased` or `gone`
 * above 0 it may finish without one (a final commit); otherwise what it was to learn from is at fault. */
struct weir_client_holes {
    uint64_t erased;   /**< by an erasure */
    uint64_t gone;     /**< the file vanished or changed */
    uint64_t filtered; /**< an operator dropped the sample */
    uint64_t failed;   /**< an operator could not read the sample */
};

/** Asks the orchestrator for the task of `options->run`, for at most open_timeout_ms. `*ret_task` is to be freed with
 * weir_client_task_free(), after weir_client_close(). Asked again with the same session, the answer is the same.
 * @return INVALID for missing options, NOT_FOUND when the run is not to be done, UNAVAILABLE when nobody answers. */
enum weir_client_status weir_client_task(const struct weir_client_options *options,
                                         struct weir_client_task **ret_task,
                                         struct weir_client_error *ret_error);

/** Asks what comes after `options->task`, which is finished and whose client is closed: a program that stays is spared
 * its start. Waits at most `timeout_ms` (negative: for ever) until the same pipeline has another run for it. The task
 * begins with an empty directory (the same one as before to this process, under another name), and is to be done from
 * its files and its seed alone: nothing that an earlier task left in memory may count. To be freed like any other; the
 * finished one is to be freed after this call has returned something else than TIMEOUT.
 * @return OK with `*ret_task`; END when the program is to leave (training.keep_warm is over, or nobody stays there);
 * TIMEOUT; INVALID; UNAVAILABLE. */
enum weir_client_status weir_client_next_task(const struct weir_client_options *options,
                                              int64_t timeout_ms,
                                              struct weir_client_task **ret_task,
                                              struct weir_client_error *ret_error);

/** NULL is fine. */
void weir_client_task_free(struct weir_client_task *task);

/** Opens the run: connects, announces the state the loop starts from, waits for the dispatcher.
 * `*ret_client` is to be closed with weir_client_close().
 * @return INVALID for missing options, a state of another run or a rank it does not have, NOT_FOUND,
 * UNAVAILABLE after open_timeout_ms, RESTART when the other ranks cannot have this state, STALE when
 * a later process has taken the rank over. */
enum weir_client_status weir_client_open(const struct weir_client_options *options,
                                         struct weir_client **ret_client,
                                         struct weir_client_error *ret_error);

/** Ends the session. Batches still in hand become invalid. Consumed but uncommitted batches will be
 * delivered again to the next session. NULL is fine. */
void weir_client_close(struct weir_client *client);

void weir_client_info(const struct weir_client *client, struct weir_client_info *ret_info);

/** Name of number `index`, counted along a row, of a dense tensor, where the operators know one: the column of the
 * table or the field of the record that it is. Lives with the client.
 * @return NULL when there is no such number, or it has no name. */
const char *weir_client_element_name(const struct weir_client *client, const char *tensor,
                                     uint64_t index);

/** The tensors that batches will have, in their order, before there is one: a network can be made as large as they say.
 * `*ret_tensors` lives with the client. @return how many they are. */
size_t weir_client_tensors(const struct weir_client *client,
                           const struct weir_client_tensor **ret_tensors);

/** Mean and deviation of the labels of the set that the run is, or its model was, fitted on, where the
 * operator `scale_label` is among those of the pipeline; else 0 and 1. Labels of batches are as they are:
 * a loop that learns to say (label - mean) / deviation says output * deviation + mean. */
void weir_client_label_scale(const struct weir_client *client, double *ret_mean,
                             double *ret_deviation);

/** Waits for the next batch, at most `timeout_ms` (negative: for ever). Batches of nothing but
 * holes are not shown.
 * @return OK with `*ret_batch`; END; TIMEOUT; LIMIT when WEIR_BATCHES_HELD_MAX are in hand or
 * WEIR_BATCHES_UNCONSUMED_MAX are not consumed; STALE;
 * RESTART; or what made the session fail. */
enum weir_client_status weir_client_next(struct weir_client *client, int64_t timeout_ms,
                                         struct weir_batch **ret_batch,
                                         struct weir_client_error *ret_error);

/** Says that the batch of that number is in the weights, or that whatever the loop does with it is done: the next
 * weir_client_state() contains it. Said in any order, before or after the release, and of several at once where
 * gradients of several batches make one step.
 * @return INVALID unless it was handed out by this session and is not consumed yet. */
enum weir_client_status weir_client_consumed(struct weir_client *client, uint64_t number,
                                             struct weir_client_error *ret_error);

/** The loop does not look at the batch again: its memory is gone, and erasures may go on. NULL is fine. */
void weir_batch_release(struct weir_batch *batch);

/** Says what the model makes of a batch: `values` has a row of `width` numbers for each of its samples, in order. The
 * library adds ids, labels, groups and slices. Said before the batch is released; of a sample that is said again the
 * last row counts. A training says it of its last epoch only in effect: another epoch begins again.
 * @return INVALID when the mode asks for another kind, the width differs from an earlier one, or the run was opened
 * without its task. */
enum weir_client_status weir_client_output(struct weir_client *client,
                                           const struct weir_batch *batch, enum weir_output kind,
                                           uint32_t width, const float *values,
                                           struct weir_client_error *ret_error);

/** Names the numbers that weir_client_output() says of each sample: what a trigger of drift calls them when it tells
 * which of them have moved. Names are UTF-8; longer ones than WEIR_OUTPUT_NAME_MAX bytes are cut off.
 * @return INVALID when there are not as many as an earlier weir_client_output() had numbers. */
enum weir_client_status weir_client_output_names(struct weir_client *client, uint32_t width,
                                                 const char *const *names,
                                                 struct weir_client_error *ret_error);

/** Says how the run goes, in a number of any name: `weir status` shows the newest value of each, the event
 * training_finished the last. Sent in the background. "loss" is what people are shown first; how many samples are
 * done is known without.
 * @return INVALID for a value that is no number, or a name that is not 1 to WEIR_METRIC_NAME_MAX letters, digits,
 * and _ . / -; LIMIT for more than WEIR_METRICS_MAX names. */
enum weir_client_status weir_client_metric(struct weir_client *client, const char *name,
                                           double value, struct weir_client_error *ret_error);

/** Nonzero when the orchestrator wants the loop to stop: save a checkpoint, commit it, close. */
int weir_client_stopping(struct weir_client *client);

/** Nonzero when the ranks begin again, as weir_client_next() will say: what a loop asks while it waits
 * for the other ranks, so as not to wait for one that has died. */
int weir_client_restarting(struct weir_client *client);

/** The state that contains every batch consumed so far: opaque bytes, at most 4096, to be saved
 * with the model and given to weir_client_commit(). Valid until the next call. What was said by weir_client_output() in
 * a training is durable then.
 * @return INTERNAL or LIMIT when that cannot be written. */
enum weir_client_status weir_client_state(struct weir_client *client, const void **ret_state,
                                          size_t *ret_size, struct weir_client_error *ret_error);

/** States that a model containing `state` is durable, and waits (at most `timeout_ms`, negative:
 * for ever) until that is recorded. The loop syncs the file that it has written, and this the names in the task's
 * directory. `final`: the model is made, the run is over; needs every batch consumed, and waits until every rank has
 * made its own. Repeating it is harmless.
 * @return INVALID, TIMEOUT, STALE, RESTART; INTERNAL when the directory cannot be synced. */
enum weir_client_status weir_client_commit(struct weir_client *client, const void *state,
                                           size_t state_size, int final, int64_t timeout_ms,
                                           struct weir_client_error *ret_error);

/** Outcome of a run. */
struct weir_client_result {
    /** of a training: name of a file or directory in the task's; NULL: there was nothing to
     * learn from, see weir_client_holes() */
    const char *model;
    double loss; /**< mean over the last epoch, for people; 0 where nothing learns */
};

/** Ends a run that was opened with its task: needs every batch consumed, writes the outputs, commits, and hands over
 * what the run has come to; of several ranks each does, with a model on rank 0 alone, and each waits for the others.
 * Waits at most `timeout_ms` (negative: for ever) until that is recorded; repeating it is
 * harmless. Afterwards checkpoints are of no use to anybody.
 * @return INVALID when the model is missing, outputs of some samples are, or `loss` is no number; TIMEOUT, STALE,
 * RESTART. */
enum weir_client_status weir_client_finish(struct weir_client *client,
                                           const struct weir_client_result *result,
                                           int64_t timeout_ms, struct weir_client_error *ret_error);

/** Returns the number of batches that a state contains; 0 when these bytes are none. */
uint64_t weir_client_state_batches(const void *state, size_t state_size);

void weir_client_stats(struct weir_client *client, struct weir_client_stats *ret_stats);

void weir_client_holes(struct weir_client *client, struct weir_client_holes *ret_holes);

#ifdef __cplusplus
}
#endif

#endif
