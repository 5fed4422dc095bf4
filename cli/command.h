/* Commands of `weir`, each a row of a const table, and the call that a person typed. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/page.h"
#include "cli/place.h"
#include "core/base/error.h"
#include "core/service/options.h"

#include <jansson.h>

enum {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_OVERDUE = 3, /* an erasure is later than its pipeline allows */
};

/* Every option of every command; a command's table names those it takes. */
struct cli_options {
    struct cli_place place;
    bool json;
    bool help;
    bool version;
    struct weir_option_values subjects;
    const char *subject_file;
    struct weir_option_values keys;
    struct weir_option_values ids;
    const char *dataset;
    const char *reference;
    const char *csv;
    bool wait;
    bool each;
    bool allow_none;
    bool drop_refused;
    bool deep;
    bool dry_run;
    bool rerun;
    bool all;
    const char *erasure;
    const char *pipeline;
    const char *model;
    const char *from;
    const char *to;
    const char *limit;
    const char *evaluation;
    const char *client;
    bool accept_unsigned;
    const char *format;
    const char *shard_bytes;
    bool follow;
    bool output;
    bool system;
    bool data;
    bool elsewhere;
    const char *with;
    const char *file; /* to write; or a folder */
    bool check;
    bool cells;
    const char *tenant;
    const char *since;
    bool verify;
};

struct cli_command;
struct cli_platform;

struct cli_call {
    const struct cli_command *command;
    const char *group; /* with --help and without a command: "erase" */
    struct cli_options options;
    char *const *operands;
    size_t operand_count;
    json_t *arguments; /* as the topic is asked; NULL: none. Known once arguments() has returned */
};

/* The arguments of the topic as a JSON object, or NULL with INVALID in `err`. */
typedef json_t *cli_arguments_fn(const struct cli_call *call, struct weir_error *err);
/* After a refusal: true when the person wants it all the same, as `arguments` say then. */
typedef bool cli_insist_fn(const struct cli_call *call, const struct weir_error *err,
                           json_t *arguments);
/* Goes on asking from the first answer to the last, telling on stderr how it goes; replaces `*answer`. */
typedef enum weir_status cli_follow_fn(struct cli_platform *platform, const struct cli_call *call,
                                       json_t **answer, struct weir_error *err);
/* Makes the answer by itself: without a platform, or with one in a way of its own. */
typedef enum weir_status cli_answer_fn(const struct cli_call *call, json_t **ret_answer,
                                       struct weir_error *err);
/* Writes the answer for a person. Any field may be missing: an older or newer orchestrator may have answered. */
typedef void cli_render_fn(const json_t *answer, struct cli_page *page);
typedef int cli_exit_fn(const json_t *answer);

/* Either `topic` or `answer` is given; or both, and `by_itself` says when it is the latter. */
struct cli_command {
    const char *words;    /* "erase request" */
    const char *operands; /* "MODEL", "[MODEL]"; "": none */
    size_t operands_min, operands_max;
    const char *summary;
    const char *example;
    const struct weir_option *options; /* besides the common ones; NULL: none */
    const char *topic;                 /* what the orchestrator is asked */
    cli_arguments_fn *arguments;       /* of the topic; NULL: none */
    cli_insist_fn *insist;             /* optional, after the topic's refusal */
    cli_follow_fn *follow;             /* optional, after the topic's answer */
    cli_answer_fn *answer;
    bool (*by_itself)(const struct cli_call *call);
    bool needs_no_platform; /* nor looks for one */
    bool streams; /* has shown what there is when the answer comes, which is rendered no more */
    cli_render_fn *render;
    cli_exit_fn *exit_code; /* of a good answer; NULL: 0 */
};

#endif
