/* Every command of weir. To add one: a row here, a topic in orchestrator/topics/, a rendering, a page in
 * docs/reference/json.md. */
#include "cli/commands.h"

#include "cli/arguments.h"
#include "cli/compare.h"
#include "cli/config.h"
#include "cli/contexts.h"
#include "cli/erase_each.h"
#include "cli/follow.h"
#include "cli/import.h"
#include "cli/init.h"
#include "cli/insist.h"
#include "cli/keys.h"
#include "cli/older.h"
#include "cli/predict_rows.h"
#include "cli/push.h"
#include "cli/receipts.h"
#include "cli/render.h"
#include "cli/report.h"
#include "cli/submit.h"
#include "cli/tokens.h"
#include "cli/watch.h"
#include "core/wire/export_formats.h"

#include <stddef.h>
#include <stdint.h>

enum { REPORTED_MAX = 100 }; /* pipelines on a page */

#define OPTION(member) offsetof(struct cli_options, member)

const struct weir_option CLI_COMMON_OPTIONS[] = {
    {"data-dir", "DIR",
     "data directory of the platform (default: .weir/default); a platform that nobody "
     "serves is served for this command",
     OPTION(place.data_dir)},
    {"key", "FILE",
     "key file for a platform elsewhere, instead of --data-dir: weir keys new makes it (default: that of the "
     "context in use, if there is one); before the command where that has a --key of its own",
     OPTION(place.key)},
    {"endpoint", "ENDPOINT",
     "the platform's orchestrator: tcp://HOST:PORT, if it is not where the key file says; or its socket on this "
     "host (ipc://DIR/orchestrator.sock), instead of --data-dir",
     OPTION(place.endpoint)},
    {"json", NULL, "the answer as JSON; docs/reference/json.md has the shapes", OPTION(json)},
    {"help", NULL, "print this", OPTION(help)},
    {"version", NULL, "print the version", OPTION(version)},
    WEIR_OPTION_END,
};

static const struct weir_option PIPELINE_OPTIONS[] = {
    {"pipeline", "NAME", "pipeline (default: all, or the newest one)", OPTION(pipeline)},
    WEIR_OPTION_END,
};

static const struct weir_option REPORT_OPTIONS[] = {
    {"pipeline", "NAME", "pipeline (default: the newest one)", OPTION(pipeline)},
    {"output", "FILE",
     "page to write (-o): one HTML file with pictures and their numbers, which needs no network",
     OPTION(file)},
    WEIR_OPTION_END,
};

static const struct weir_option DOCTOR_OPTIONS[] = {
    {"deep", NULL, "read every byte that the platform owns, and compare it", OPTION(deep)},
    WEIR_OPTION_END,
};

static const struct weir_option LINEAGE_OPTIONS[] = {
    {"id", "N…", "sample whose models are listed; may be given again", OPTION(ids)},
    {"erasure", "N", "erasure whose samples' models are listed", OPTION(erasure)},
    WEIR_OPTION_END,
};

static const struct weir_option REQUEST_OPTIONS[] = {
    {"subject", "VALUE…",
     "value of the dataset's subject field; may be given again; other users of this machine "
     "can read it while the command runs",
     OPTION(subjects)},
    {"subject-file", "FILE", "subjects from a file, one a line; - reads them from standard input",
     OPTION(subject_file)},
    {"key", "VALUE…", "value of the dataset's key field; may be given again", OPTION(keys)},
    {"id", "N…", "a sample; may be given again", OPTION(ids)},
    {"csv", "FILE", "a file of them: columns subject, key, id, one or more, with a header",
     OPTION(csv)},
    {"each", NULL, "every subject, key and id is an erasure of its own, with its own receipt",
     OPTION(each)},
    {"allow-none", NULL,
     "goes on when no sample has any of these names, and makes a receipt that says so (default: asks on a "
     "terminal, else refuses)",
     OPTION(allow_none)},
    {"drop-refused", NULL,
     "also overwrites refused records and duplicates, which are no samples, in copies, mirrors of buckets and "
     "files of sources that declare on_erase: scrub; needs no subject, key or id: "
     "weir erase request --drop-refused --dataset NAME",
     OPTION(drop_refused)},
    {"dataset", "NAME", "dataset to search (default: all)", OPTION(dataset)},
    {"reference", "TEXT", "your own file number, kept with the receipt", OPTION(reference)},
    {"wait", NULL,
     "until the receipt is written, telling how it goes; exit code 3 when it could not be verified, or "
     "is overdue and something stands in its way",
     OPTION(wait)},
    WEIR_OPTION_END,
};

static const struct weir_option STATUS_OPTIONS[] = {
    {"wait", NULL, "until the receipt is written, as for weir erase request", OPTION(wait)},
    WEIR_OPTION_END,
};

static const struct weir_option PLAN_OPTIONS[] = {
    {"subject", "VALUE…",
     "value of the dataset's subject field; may be given again; other users of this machine "
     "can read it while the command runs",
     OPTION(subjects)},
    {"subject-file", "FILE", "subjects from a file, one a line; - reads them from standard input",
     OPTION(subject_file)},
    {"key", "VALUE…", "value of the dataset's key field; may be given again", OPTION(keys)},
    {"id", "N…", "a sample; may be given again", OPTION(ids)},
    {"csv", "FILE", "a file of them: columns subject, key, id, one or more, with a header",
     OPTION(csv)},
    {"dataset", "NAME", "dataset to search (default: all)", OPTION(dataset)},
    {"erasure", "N", "the samples of this erasure", OPTION(erasure)},
    WEIR_OPTION_END,
};

static const struct weir_option VERIFY_OPTIONS[] = {
    {"all", NULL, "every erasure there is, instead of one", OPTION(all)},
    {"key", "HEX|FILE…",
     "of files: a key that may have signed them, or a file of keys, one a line, as weir erase key "
     "prints; may be given again (default: the keys of the platform in --data-dir)",
     OPTION(keys)},
    {"accept-unsigned", NULL,
     "of files: let receipts pass that an older Weir made without a signature; anybody can forge those",
     OPTION(accept_unsigned)},
    WEIR_OPTION_END,
};

static const struct weir_option PREDICT_OPTIONS[] = {
    {"pipeline", "NAME", "pipeline of the samples (default: the newest)", OPTION(pipeline)},
    {"model", "MODEL", "model that predicts (default: the active one)", OPTION(model)},
    {"from", "TIME", "samples from this event time on", OPTION(from)},
    {"to", "TIME", "samples before this event time", OPTION(to)},
    {"limit", "N", "maximum number of samples (default: 20)", OPTION(limit)},
    {"dataset", "NAME", "dataset that rows are like (default: the pipeline's first)",
     OPTION(dataset)},
    WEIR_OPTION_END,
};

static const struct weir_option EVALUATE_OPTIONS[] = {
    {"evaluation", "NAME", "evaluation of the pipeline's file (default: all)", OPTION(evaluation)},
    {"model", "MODEL", "model to measure (default: all; with an interval the newest one)",
     OPTION(model)},
    {"from", "TIME", "on samples from this event time on, instead of the intervals of the file",
     OPTION(from)},
    {"to", "TIME", "on samples before this event time", OPTION(to)},
    WEIR_OPTION_END,
};

static const struct weir_option SELECT_OPTIONS[] = {
    {"dry-run", NULL, "show the choice of the next trigger, if it fired now; changes nothing",
     OPTION(dry_run)},
    WEIR_OPTION_END,
};

static const struct weir_option PUSH_OPTIONS[] = {
    {"client", "NAME", "client name (default: random); reuse it with the same input to resume",
     OPTION(client)},
    WEIR_OPTION_END,
};

static const struct weir_option EXPORT_OPTIONS[] = {
    {"format", "FORMAT",
     "safetensors; file: the bytes that its trainer stored; directory: the files of a model that is one (default: the "
     "first of them that there is, directory before file)",
     OPTION(format)},
    {"to", "FILE",
     "file or directory to write (default: MODEL.safetensors, MODEL.weirmodel or MODEL in the working directory)",
     OPTION(to)},
    WEIR_OPTION_END,
};

#define X(name, index, doc) #name ": " doc "; "
static const struct weir_option MATERIALIZE_OPTIONS[] = {
    {"to", "DIR",
     "folder to write: a new one, whose parent is there; or the one in which the same export was begun",
     OPTION(to)},
    {"format", "FORMAT", EXPORT_FORMATS(X) "see docs/guides/materialize.md", OPTION(format)},
    {"shard-bytes", "SIZE", "size from which a shard is complete, 1KiB to 1GiB (default: 64MiB)",
     OPTION(shard_bytes)},
    WEIR_OPTION_END,
};
#undef X

static const struct weir_option CHECK_OPTIONS[] = {
    {"data", NULL,
     "open the first records of each dataset, too, some hundred, and run everything once: formats, "
     "times, labels, operators, model, loss, metrics; prints five samples of each as every operator "
     "makes them, so what is in them",
     OPTION(data)},
    {"elsewhere", NULL,
     "the data is on another host, or comes later: a folder that is missing here is no mistake",
     OPTION(elsewhere)},
    {"system", NULL, "FILE is a system file: where things run, who shares what, what it costs",
     OPTION(system)},
    {"with", "FILE",
     "system file that the pipeline is to run with: its programs, folders and credentials count",
     OPTION(with)},
    WEIR_OPTION_END,
};

static const struct weir_option INIT_OPTIONS[] = {
    {"from", "DATA",
     "folder or file to look at: CSV, JSON lines, pictures or texts in folders of classes (default: none, a table "
     "that is made up)",
     OPTION(from)},
    {"output", "FILE", "file to write (-o; default: called after DATA, in the working directory)",
     OPTION(file)},
    WEIR_OPTION_END,
};

static const struct weir_option IMPORT_OPTIONS[] = {
    {"check", NULL, "only say what maps; write nothing", OPTION(check)},
    {"output", "DIR",
     "folder that NAME.yaml is written to, for each NAME.yml (-o; default: the working directory)",
     OPTION(file)},
    WEIR_OPTION_END,
};

static const struct weir_option SUBMIT_OPTIONS[] = {
    {"dry-run", NULL, "show the triggers, sample counts and cost of the pipeline; changes nothing",
     OPTION(dry_run)},
    WEIR_OPTION_END,
};

static const struct weir_option COMPARE_OPTIONS[] = {
    {"check", NULL,
     "only say what is wrong with the grid and the pipelines that come of it; exit code 2 when anything is; needs no "
     "platform",
     OPTION(check)},
    WEIR_OPTION_END,
};

static const struct weir_option COMPARISON_OPTIONS[] = {
    {"cells", NULL, "every cell, too: its quality, cost and pipeline", OPTION(cells)},
    WEIR_OPTION_END,
};

static const struct weir_option APPLY_OPTIONS[] = {
    {"dry-run", NULL, "show the differences, and when each would take effect; changes nothing",
     OPTION(dry_run)},
    {"rerun", NULL,
     "begin again from the first sample with the file; the models of the earlier run stay",
     OPTION(rerun)},
    WEIR_OPTION_END,
};

static const struct weir_option PAUSE_OPTIONS[] = {
    {"wait", NULL, "until it is paused: the trigger under way is finished first", OPTION(wait)},
    WEIR_OPTION_END,
};

static const struct weir_option LOGS_OPTIONS[] = {
    {"follow", NULL, "and what happens from now on, until the pipeline ends (-f)", OPTION(follow)},
    {"output", NULL,
     "instead of events, what its trainers print; with -f, how far they are and their metrics, too",
     OPTION(output)},
    WEIR_OPTION_END,
};

#define TENANT_OPTION                                                                   \
    {                                                                                   \
        "tenant", "WORD", "tenant whose pipelines alone the key is for (default: all)", \
            OPTION(tenant)                                                              \
    }
#define PASS_OPTION                                                                                    \
    {                                                                                                  \
        "output", "FILE",                                                                              \
            "key file to write, which its owner alone can read (-o; default: NAME.key in the working " \
            "directory); - prints it",                                                                 \
            OPTION(file)                                                                               \
    }

static const struct weir_option KEYS_NEW_OPTIONS[] = {TENANT_OPTION, PASS_OPTION, WEIR_OPTION_END};
static const struct weir_option TOKENS_NEW_OPTIONS[] = {
    {"tenant", "WORD", "tenant at whose pipelines alone it may look (default: all)",
     OPTION(tenant)},
    WEIR_OPTION_END,
};
static const struct weir_option KEYS_ALLOW_OPTIONS[] = {TENANT_OPTION, WEIR_OPTION_END};
static const struct weir_option KEYS_ROTATE_OPTIONS[] = {PASS_OPTION, WEIR_OPTION_END};
static const struct weir_option KEYS_LIST_OPTIONS[] = {
    {"all", NULL, "and the newest that were revoked", OPTION(all)},
    WEIR_OPTION_END,
};

static const struct weir_option AUDIT_OPTIONS[] = {
    {"verify", NULL, "instead of the records, whether any was changed, put in or taken out",
     OPTION(verify)},
    {"since", "TIME", "records from this time on", OPTION(since)},
    WEIR_OPTION_END,
};

// clang-format off
static const struct cli_command COMMANDS[] = {
    {.words = "init",
     .summary = "look at a folder or a file, and write a commented pipeline file for it, which runs as it is",
     .example = "weir init --from data/visits",
     .needs_no_platform = true, .options = INIT_OPTIONS, .answer = cli_answer_init, .render = cli_render_init,
     .exit_code = cli_exit_of_check},
    {.words = "import modyn", .operands = "FILE…", .operands_min = 1, .operands_max = SIZE_MAX,
     .summary = "pipeline files of Modyn, in either dialect, as pipeline files of Weir; says of each key whether it "
                "maps, maps with a difference, or has no equivalent; runs no code; exit code 1 when a file is none",
     .example = "weir import modyn pipelines/*.yml modyn_config.yaml -o imported",
     .needs_no_platform = true, .options = IMPORT_OPTIONS,
     .answer = cli_answer_import_modyn, .render = cli_render_import,
     .exit_code = cli_exit_of_import},
    {.words = "context add", .operands = "NAME", .operands_min = 1, .operands_max = 1,
     .summary = "give a platform elsewhere a name: the key file stays where it is",
     .example = "weir context add lab --key rosa.key",
     .needs_no_platform = true, .answer = cli_answer_context_add, .render = cli_render_contexts},
    {.words = "context use", .operands = "[NAME]", .operands_max = 1,
     .summary = "ask that platform from now on, where neither --data-dir nor --key is given; no name: none",
     .example = "weir context use lab",
     .needs_no_platform = true, .answer = cli_answer_context_use, .render = cli_render_contexts},
    {.words = "context list", .summary = "names of platforms elsewhere, and the one in use (WEIR_CONTEXT counts more)",
     .example = "weir context list",
     .needs_no_platform = true, .answer = cli_answer_context_list, .render = cli_render_contexts},
    {.words = "context remove", .operands = "NAME", .operands_min = 1, .operands_max = 1,
     .summary = "forget the name; the key file stays",
     .example = "weir context remove lab",
     .needs_no_platform = true, .answer = cli_answer_context_remove, .render = cli_render_contexts},
    {.words = "submit", .operands = "FILE", .operands_min = 1, .operands_max = 1,
     .summary = "hand a pipeline file to the platform, which works on it; the same file again changes nothing",
     .example = "weir submit config/pipelines/quickstart.yaml",
     .options = SUBMIT_OPTIONS, .topic = "submit", .arguments = cli_arguments_submit, .follow = cli_follow_submit,
     .render = cli_render_submit},
    {.words = "apply", .operands = "FILE", .operands_min = 1, .operands_max = 1,
     .summary = "give a pipeline another file, between two triggers; models, lineage and position stay",
     .example = "weir apply config/pipelines/quickstart.yaml --dry-run",
     .options = APPLY_OPTIONS, .topic = "apply", .arguments = cli_arguments_submit, .follow = cli_follow_apply,
     .render = cli_render_apply},
    {.words = "compare", .operands = "GRID", .operands_min = 1, .operands_max = 1,
     .summary = "run each cell of a grid of triggers, selections, trainings and seeds as a pipeline, and say which "
                "policy is worth its cost; interrupted, or with more cells, it goes on with what is missing; exit "
                "code 1 when a cell has failed",
     .example = "weir compare config/grids/quickstart.yaml",
     .options = COMPARE_OPTIONS, .answer = cli_answer_compare, .render = cli_render_comparison,
     .exit_code = cli_exit_of_compare},
    {.words = "comparisons", .summary = "grids that were handed in, and how far they are",
     .example = "weir comparisons",
     .topic = "comparisons", .follow = cli_follow_comparisons,
     .render = cli_render_comparisons},
    {.words = "comparison remove", .operands = "NAME", .operands_min = 1, .operands_max = 1,
     .summary = "begin no further cell, and remove the pipelines of all cells; their results stay",
     .example = "weir comparison remove quickstart",
     .topic = "comparison_remove", .arguments = cli_arguments_comparison, .render = cli_render_comparison_removed},
    {.words = "comparison", .operands = "[NAME]", .operands_max = 1,
     .summary = "what came of a comparison (default: the newest): quality and cost of each policy, and quality by "
                "window, as a heat map in a terminal",
     .example = "weir comparison quickstart --cells",
     .options = COMPARISON_OPTIONS, .topic = "comparison", .arguments = cli_arguments_comparison,
     .follow = cli_follow_comparison, .render = cli_render_comparison},
    {.words = "list", .summary = "every pipeline and its state",
     .example = "weir list",
     .topic = "list", .render = cli_render_list},
    {.words = "watch", .operands = "PIPELINE", .operands_min = 1, .operands_max = 1,
     .summary = "past and new events of a pipeline, one line each, until it ends; exit code 1 when it "
                "fails",
     .example = "weir watch quickstart",
     .answer = cli_answer_watch, .streams = true, .render = cli_render_nothing, .exit_code = cli_exit_of_watch},
    {.words = "logs", .operands = "[PIPELINE]", .operands_max = 1,
     .summary = "past events of a pipeline, or of all, one line each",
     .example = "weir logs quickstart -f",
     .options = LOGS_OPTIONS,
     .answer = cli_answer_logs, .streams = true, .render = cli_render_nothing, .exit_code = cli_exit_of_watch},
    {.words = "pause", .operands = "PIPELINE", .operands_min = 1, .operands_max = 1,
     .summary = "begin no further trigger; the one under way is finished, and no change is lost",
     .example = "weir pause quickstart --wait",
     .options = PAUSE_OPTIONS, .topic = "pause", .arguments = cli_arguments_named,
     .follow = cli_follow_pause, .render = cli_render_order},
    {.words = "resume", .operands = "PIPELINE", .operands_min = 1, .operands_max = 1,
     .summary = "go on with a paused or stopped pipeline, or try a failed one again",
     .example = "weir resume quickstart",
     .topic = "resume", .arguments = cli_arguments_named, .render = cli_render_order},
    {.words = "stop", .operands = "PIPELINE", .operands_min = 1, .operands_max = 1,
     .summary = "break off what is under way, now; storage no longer keeps changes for it",
     .example = "weir stop quickstart",
     .topic = "stop", .arguments = cli_arguments_named, .render = cli_render_order},
    {.words = "remove", .operands = "PIPELINE", .operands_min = 1, .operands_max = 1,
     .summary = "give back what a pipeline holds: sets, scores, unfinished runs, models that no other pipeline needs",
     .example = "weir remove quickstart",
     .topic = "remove", .arguments = cli_arguments_named, .follow = cli_follow_removal,
     .render = cli_render_removed},
    {.words = "rerun", .operands = "PIPELINE", .operands_min = 1, .operands_max = 1,
     .summary = "begin again from the first sample, on all data there are now; the models of the earlier run stay",
     .example = "weir rerun quickstart",
     .topic = "rerun", .arguments = cli_arguments_named, .follow = cli_follow_removal,
     .render = cli_render_removed},
    {.words = "status", .summary = "state of the platform and its pipelines",
     .example = "weir status",
     .topic = "status", .render = cli_render_status},
    {.words = "datasets remove", .operands = "DATASET", .operands_min = 1, .operands_max = 1,
     .summary = "drop a dataset that nothing depends on: samples, keys and files that Weir owns; sources that were "
                "only read stay",
     .example = "weir datasets remove notes",
     .topic = "dataset_remove", .arguments = cli_arguments_feed, .render = cli_render_dataset_removed},
    {.words = "datasets", .summary = "the accounting of every dataset",
     .example = "weir datasets --json",
     .topic = "datasets", .render = cli_render_datasets},
    {.words = "doctor", .summary = "examine everything that is stored; exit code 1 when something is wrong",
     .example = "weir doctor --deep",
     .options = DOCTOR_OPTIONS, .topic = "doctor", .arguments = cli_arguments_doctor,
     .follow = cli_follow_doctor, .render = cli_render_doctor, .exit_code = cli_exit_of_doctor},
    {.words = "feed list", .operands = "DATASET", .operands_min = 1, .operands_max = 1,
     .summary = "consumers of a dataset's changes, how far behind each is, and the changes kept for it",
     .example = "weir feed list clicks",
     .topic = "feed_list", .arguments = cli_arguments_feed, .render = cli_render_feed},
    {.words = "feed forget", .operands = "DATASET CONSUMER", .operands_min = 2, .operands_max = 2,
     .summary = "drop the changes kept for a consumer; if it returns, it begins with what is live",
     .example = "weir feed forget clicks orchestrator:clicks",
     .topic = "feed_forget", .arguments = cli_arguments_feed, .render = cli_render_feed_forgotten},
    {.words = "push", .operands = "DATASET [FILE]", .operands_min = 1, .operands_max = 2,
     .summary = "append samples from a file or stdin; exit code 1 when some are refused",
     .example = "weir push notes notes.jsonl",
     .options = PUSH_OPTIONS, .answer = cli_answer_push, .render = cli_render_push,
     .exit_code = cli_exit_of_push},
    {.words = "report", .operands = "[PIPELINE… | COMPARISON]", .operands_max = REPORTED_MAX,
     .summary = "a row per trigger: why, what was selected, how training went, how good it is, cost; checks and "
                "quality over data time, in a terminal as small pictures; or all of it as a page",
     .example = "weir report quickstart -o report.html",
     .options = REPORT_OPTIONS, .topic = "report", .arguments = cli_arguments_report,
     .follow = cli_follow_report,
     .answer = cli_answer_report, .by_itself = cli_reports_to_file, .render = cli_render_report},
    {.words = "select", .operands = "PIPELINE", .operands_min = 1, .operands_max = 1,
     .summary = "number of samples of each label, time and trigger that the next trigger would pick, "
                "and why",
     .example = "weir select quickstart --dry-run",
     .options = SELECT_OPTIONS, .topic = "select", .arguments = cli_arguments_select,
     .render = cli_render_select},
    {.words = "sets", .summary = "sealed sample sets: their size, the reason they are kept, and for how long",
     .example = "weir sets --pipeline quickstart",
     .options = PIPELINE_OPTIONS, .topic = "sets", .arguments = cli_arguments_pipeline,
     .render = cli_render_sets},
    {.words = "materialize", .operands = "PIPELINE[@TRIGGER]", .operands_min = 1, .operands_max = 1,
     .summary = "write what the operators make of each sample of a trigger's set (default: the newest one) to a folder "
                "that other tools read; interrupted, it goes on when asked again",
     .example = "weir materialize quickstart@3 --to quickstart-3 --format mds",
     .options = MATERIALIZE_OPTIONS, .topic = "materialize", .arguments = cli_arguments_materialize,
     .follow = cli_follow_materialize, .render = cli_render_materialized, .exit_code = cli_exit_of_materialize},
    {.words = "exports drop", .operands = "EXPORT", .operands_min = 1, .operands_max = 1,
     .summary = "end an export, remove what it wrote to its folder, and forget it: erasures no longer name it",
     .example = "weir exports drop 3",
     .topic = "exports_drop", .arguments = cli_arguments_exported, .render = cli_render_export_dropped},
    {.words = "exports", .summary = "folders that sets were written to by weir materialize, and how far they are",
     .example = "weir exports",
     .topic = "exports", .follow = cli_follow_exports,
     .render = cli_render_exports},
    {.words = "workers set", .operands = "N|auto", .operands_min = 1, .operands_max = 1,
     .summary = "hold the pool at N workers, within the bounds of the system file, or let it have as many as needed",
     .example = "weir workers set 4",
     .topic = "workers_set", .arguments = cli_arguments_workers, .render = cli_render_pool},
    {.words = "workers",
     .summary = "time that each worker has spent on each operator, and the stage that trainers wait for",
     .example = "weir workers",
     .topic = "workers", .render = cli_render_workers},
    {.words = "plan verify", .operands = "FILE", .operands_min = 1, .operands_max = 1,
     .summary = "run the operators of a pipeline file in the orders that a plan may choose, on records of its data, "
                "and compare what they make; needs no platform",
     .example = "weir plan verify pipeline.yaml",
     .needs_no_platform = true, .answer = cli_answer_plan_verify, .render = cli_render_plan_verify,
     .exit_code = cli_exit_of_check},
    {.words = "plan", .operands = "[PIPELINE|RUN]", .operands_max = 1,
     .summary = "the order in which the operators of a pipeline run, why, and what it saves; a number means a run",
     .example = "weir plan quickstart",
     .topic = "plan", .arguments = cli_arguments_plan, .render = cli_render_plan},
    {.words = "webhooks",
     .summary = "who is posted events: how many were, how many wait, and why one does not take them",
     .example = "weir webhooks",
     .topic = "webhooks", .render = cli_render_webhooks},
    {.words = "cache drop", .summary = "remove all rows that are kept of samples; what is still needed is made again",
     .example = "weir cache drop",
     .topic = "cache_drop", .render = cli_render_cache_dropped},
    {.words = "cache", .summary = "rows that are kept of samples: how many, how large, and when they were used last",
     .example = "weir cache",
     .topic = "cache", .render = cli_render_cache},
    {.words = "predict", .operands = "[FILE…]", .operands_max = SIZE_MAX,
     .summary = "predictions of a model for the samples of a time interval, or for rows of files or stdin",
     .example = "weir predict --from 2002-12-01 --to 2003-01-01 --limit 5, or weir predict < rows.jsonl",
     .options = PREDICT_OPTIONS, .topic = "predict", .arguments = cli_arguments_predict,
     .answer = cli_answer_predict_rows, .by_itself = cli_predicts_rows, .streams = true,
     .render = cli_render_predict, .exit_code = cli_exit_of_predict_rows},
    {.words = "evaluate", .operands = "PIPELINE", .operands_min = 1, .operands_max = 1,
     .summary = "measure models now, where that is not done yet, and show how good they are",
     .example = "weir evaluate quickstart --from 2002-12-01 --to 2003-01-01",
     .options = EVALUATE_OPTIONS, .topic = "evaluate", .arguments = cli_arguments_evaluate,
     .render = cli_render_evaluate},
    {.words = "models list", .summary = "every model that was stored",
     .example = "weir models list",
     .options = PIPELINE_OPTIONS, .topic = "models", .arguments = cli_arguments_pipeline,
     .follow = cli_follow_models, .render = cli_render_models},
    {.words = "models show", .operands = "MODEL", .operands_min = 1, .operands_max = 1,
     .summary = "one model: where it lies, what it came from, how good it is",
     .example = "weir models show quickstart-3",
     .topic = "model", .arguments = cli_arguments_model, .follow = cli_follow_model,
     .render = cli_render_model},
    {.words = "models promote", .operands = "MODEL", .operands_min = 1, .operands_max = 1,
     .summary = "make a model the active one of its pipeline",
     .example = "weir models promote quickstart-3",
     .topic = "model_promote", .arguments = cli_arguments_model, .render = cli_render_promoted},
    {.words = "models rollback", .summary = "make the model active that was it before the active one",
     .example = "weir models rollback --pipeline quickstart",
     .options = PIPELINE_OPTIONS, .topic = "model_rollback", .arguments = cli_arguments_pipeline,
     .render = cli_render_promoted},
    {.words = "models lineage", .operands = "[MODEL]", .operands_max = 1,
     .summary = "sample sets that a model learnt from, or models that have seen a sample",
     .example = "weir models lineage --id 1099511627776",
     .options = LINEAGE_OPTIONS, .topic = "lineage", .arguments = cli_arguments_lineage,
     .follow = cli_follow_lineage, .render = cli_render_lineage},
    {.words = "models export", .operands = "MODEL", .operands_min = 1, .operands_max = 1,
     .summary = "write a model to a file that other programs read",
     .example = "weir models export quickstart-3 --format safetensors --to quickstart.safetensors",
     .options = EXPORT_OPTIONS, .topic = "model_export", .arguments = cli_arguments_export,
     .follow = cli_follow_export, .render = cli_render_exported},
    {.words = "models diff", .operands = "MODEL MODEL", .operands_min = 2, .operands_max = 2,
     .summary = "difference of two models: their weights, the samples of their sets, their lines",
     .example = "weir models diff quickstart-2 quickstart-3",
     .topic = "model_diff", .arguments = cli_arguments_diff, .render = cli_render_diff},
    {.words = "erase request", .summary = "erase samples: from every batch, file and model",
     .example = "weir erase request --subject someone@example.org --wait",
     .options = REQUEST_OPTIONS, .topic = "erase_request", .arguments = cli_arguments_erase_request,
     .insist = cli_insist_on_none, .follow = cli_follow_erasure,
     .answer = cli_answer_erase_each, .by_itself = cli_erases_each,
     .render = cli_render_erase_accepted, .exit_code = cli_exit_of_erasure},
    {.words = "erase plan", .summary = "samples, bytes and models that an erasure would concern; changes nothing",
     .example = "weir erase plan --subject someone@example.org",
     .options = PLAN_OPTIONS, .topic = "erase_plan", .arguments = cli_arguments_erase_plan,
     .follow = cli_follow_erase_plan, .render = cli_render_erase_plan},
    {.words = "erase status", .operands = "ERASURE", .operands_min = 1, .operands_max = 1,
     .summary = "progress of an erasure; exit code 3 when it is overdue, or could not be verified",
     .example = "weir erase status 1 --wait",
     .options = STATUS_OPTIONS, .topic = "erase_status", .arguments = cli_arguments_erasure,
     .follow = cli_follow_erasure, .render = cli_render_erasure,
     .exit_code = cli_exit_of_erasure},
    {.words = "erase list", .summary = "every erasure; exit code 3 when one is overdue, or could not be verified",
     .example = "weir erase list",
     .topic = "erase_list", .render = cli_render_erasures, .exit_code = cli_exit_of_erasures},
    {.words = "erase receipt", .operands = "ERASURE", .operands_min = 1, .operands_max = 1,
     .summary = "receipt of an erasure: each place that held samples, and the time of each step",
     .example = "weir erase receipt 1 --json",
     .topic = "erase_receipt", .arguments = cli_arguments_erasure, .render = cli_render_receipt},
    {.words = "erase verify", .operands = "[ERASURE|FILE…]", .operands_max = 1000,
     .summary = "check that receipts, samples, scores and models still are as an erasure left them; "
                "exit code 3 when they are not, or one is overdue. Given receipts as files, check that "
                "one of the known keys signed them and that they follow each other; exit code 1 when "
                "not; nothing is written",
     .example = "weir erase verify --all",
     .options = VERIFY_OPTIONS, .topic = "erase_verify", .arguments = cli_arguments_erase_verify,
     .follow = cli_follow_verify, .answer = cli_answer_receipts, .by_itself = cli_names_receipts,
     .render = cli_render_erase_verify, .exit_code = cli_exit_of_erase_verify},
    {.words = "erase key",
     .summary = "the public key that receipts are signed with, to be given to whom receipts are given",
     .example = "weir erase key",
     .topic = "erase_key", .render = cli_render_erase_key},
    {.words = "keys new", .operands = "ROLE NAME", .operands_min = 2, .operands_max = 2,
     .summary = "make a key for somebody elsewhere, let it in, and write its file; ROLE is trainer, worker, operator, "
                "submitter, privacy or viewer",
     .example = "weir keys new submitter rosa --tenant red -o rosa.key",
     .options = KEYS_NEW_OPTIONS, .answer = cli_answer_keys_new, .render = cli_render_key_made},
    {.words = "keys list", .summary = "the keys that are let in, and the services that have not heard of them yet",
     .example = "weir keys list",
     .options = KEYS_LIST_OPTIONS, .topic = "keys_list", .arguments = cli_arguments_keys_list,
     .follow = cli_follow_keys_list, .render = cli_render_keys},
    {.words = "keys allow", .operands = "ROLE NAME PUBLIC", .operands_min = 3, .operands_max = 3,
     .summary = "let in a key that somebody has made at home, by its public half",
     .example = "weir keys allow viewer ben 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7'",
     .options = KEYS_ALLOW_OPTIONS, .topic = "keys_allow", .arguments = cli_arguments_keys_allow,
     .render = cli_render_key_allowed},
    {.words = "keys revoke", .operands = "NAME", .operands_min = 1, .operands_max = 1,
     .summary = "let a key in no longer, and close its connections; answers when every service has noted it",
     .example = "weir keys revoke rosa",
     .topic = "keys_revoke", .arguments = cli_arguments_keys_revoke, .render = cli_render_key_revoked},
    {.words = "keys rotate", .operands = "NAME", .operands_min = 1, .operands_max = 1,
     .summary = "make another key with the role and the tenant of the one of that name, which ends",
     .example = "weir keys rotate rosa -o rosa.key",
     .options = KEYS_ROTATE_OPTIONS, .answer = cli_answer_keys_rotate, .render = cli_render_key_made},
    {.words = "tokens new", .operands = "NAME", .operands_min = 1, .operands_max = 1,
     .summary = "make a token for a browser that shall see the live page from elsewhere; it is shown once",
     .example = "weir tokens new wall-display",
     .options = TOKENS_NEW_OPTIONS, .answer = cli_answer_tokens_new, .render = cli_render_token_made},
    {.words = "tokens list", .summary = "the tokens that are let in, by their names",
     .example = "weir tokens list",
     .topic = "tokens_list", .render = cli_render_tokens},
    {.words = "tokens revoke", .operands = "NAME", .operands_min = 1, .operands_max = 1,
     .summary = "let a token in no longer, and close the pages that came with it",
     .example = "weir tokens revoke wall-display",
     .topic = "tokens_revoke", .arguments = cli_arguments_tokens_revoke, .render = cli_render_token_revoked},
    {.words = "audit", .summary = "orders that changed something, and refusals: who, what, when; exit code 1 when "
                                  "--verify finds that the log is not as it was written",
     .example = "weir audit --since 2026-01-01",
     .options = AUDIT_OPTIONS, .topic = "audit", .arguments = cli_arguments_audit, .follow = cli_follow_audit,
     .render = cli_render_audit, .exit_code = cli_exit_of_audit},
    {.words = "policies",
     .summary = "everything a pipeline file may name: triggers, selections, operators, models, metrics",
     .example = "weir policies",
     .needs_no_platform = true, .answer = cli_answer_policies, .render = cli_render_policies},
    {.words = "config check", .operands = "FILE", .operands_min = 1, .operands_max = 1,
     .summary = "check a pipeline or system file, with its data if that is wanted; all mistakes at once, "
                "exit code 2 when there are any; needs no platform",
     .example = "weir config check pipeline.yaml --data",
     .needs_no_platform = true, .options = CHECK_OPTIONS,
     .answer = cli_answer_config_check, .render = cli_render_config_check,
     .exit_code = cli_exit_of_check},
    {.words = "config explain", .operands = "KEY|FILE", .operands_min = 1, .operands_max = 1,
     .summary = "meaning of a key, section or policy; or a file with every default written out",
     .example = "weir config explain training.epochs",
     .needs_no_platform = true, .answer = cli_answer_config_explain, .render = cli_render_config_explain},
};
// clang-format on

size_t cli_command_count(void)
{
    return WEIR_COUNT(COMMANDS);
}

const struct cli_command *cli_command_at(size_t index)
{
    return &COMMANDS[index];
}
