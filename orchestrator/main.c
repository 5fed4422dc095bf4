/* orchestrator: the command line of whoever runs pipelines. */
#include "core/base/clock.h"
#include "core/base/dumps.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/service/options.h"
#include "orchestrator/checking.h"
#include "orchestrator/comparing/grid.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/erasures/signing.h"
#include "orchestrator/local.h"
#include "orchestrator/monitoring/measures.h"
#include "orchestrator/pipeline/machine.h"
#include "orchestrator/platform/platform.h"
#include "orchestrator/processes/confined.h"
#include "orchestrator/scratch_dir.h"
#include "orchestrator/siblings.h"
#include "orchestrator/values/loopback_address.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command {
    const char *data_dir;
    const char *system;
    struct weir_option_values programs;
    const char *workers;
    const char *listen;
    const char *advertise;
    const char *metrics;
    const char *page;
    const char *log_level;
    const char *check_config;
    const char *check_system;
    const char *print_config;
    const char *read_receipt;
    bool data;
    bool before_run;
    bool elsewhere;
    bool submitted;
    bool describe_config;
    bool describe_states;
    bool describe_metrics;
    bool json;
    bool hold;
    bool digests;
    bool explain;
    bool dry_run;
    bool new_receipt_key;
    bool help;
    bool version;
};

#define OPTION(member) offsetof(struct command, member)
static const struct weir_option OPTIONS[] = {
    {"data-dir", "DIR", "data directory (default: .weir/default)", OPTION(data_dir)},
    {"system", "FILE", "system file: places, shares and prices; config/system/local.yaml explains",
     OPTION(system)},
    {"program", "NAME=COMMAND…",
     "run: a program that the pipeline may name (training.program), in all modes, for this run; may be given again",
     OPTION(programs)},
    {"workers", "N", "worker processes (2, or as many as the system file says)", OPTION(workers)},
    {"listen", "ENDPOINT",
     "tcp://ADDRESS:PORT for those elsewhere who have keys (weir keys): this process; storage, selector and "
     "dispatcher have the three ports after it",
     OPTION(listen)},
    {"advertise", "HOST",
     "name or address by which those elsewhere reach this host (default: that of --listen)",
     OPTION(advertise)},
    {"metrics", "ADDRESS",
     "serve /metrics to Prometheus, such as 127.0.0.1:9464; the loopback alone; port 0: any that is free",
     OPTION(metrics)},
    {"page", "ADDRESS",
     "serve the live page to browsers, such as 127.0.0.1:9470; beyond the loopback with page.certificate and page.key "
     "of the system file alone; port 0: any that is free",
     OPTION(page)},
    {"json", NULL, "one event a line, as JSON, on stdout", OPTION(json)},
    {"dry-run", NULL,
     "run: what the pipeline would trigger, train on and cost; looks at the data in a folder of its own",
     OPTION(dry_run)},
    {"hold", NULL, "serve: leave unfinished pipelines as they are", OPTION(hold)},
    {"digests", NULL,
     "keep a digest of each batch of every run, as training.digests does: the audit tells their sum",
     OPTION(digests)},
    {"explain", NULL,
     "tell after each training what ran, why, and what else was looked at, as `weir plan` does",
     OPTION(explain)},
    {"new-receipt-key", NULL,
     "sign receipts with another key from now on: once, when receipt.key is lost or was read by others",
     OPTION(new_receipt_key)},
    {"log-level", "LEVEL", "of this process: debug, info, warn or error (warn)", OPTION(log_level)},
    {"check-config", "FILE",
     "check a pipeline file, all sections; with --system, also what that allows",
     OPTION(check_config)},
    {"data", NULL,
     "with --check-config: open the first records of its datasets, too, and print samples of them",
     OPTION(data)},
    {"before-run", NULL,
     "with --check-config: open the first records, too, as `run` does first in --data-dir",
     OPTION(before_run)},
    {"elsewhere", NULL,
     "with --check-config: the data is on another host, or comes later: a missing folder is no mistake",
     OPTION(elsewhere)},
    {"submitted", NULL,
     "with --check-config: a platform is given the file, and holds it against its system file itself",
     OPTION(submitted)},
    {"check-system", "FILE", "check a system file", OPTION(check_system)},
    {"print-config", "FILE", "print its effective values", OPTION(print_config)},
    {"read-receipt", "FILE", "print what a receipt says of itself, if it is as it was signed",
     OPTION(read_receipt)},
    {"describe-config", NULL, "print the reference of all sections", OPTION(describe_config)},
    {"describe-states", NULL, "print the states of a pipeline and what leads from one to the next",
     OPTION(describe_states)},
    {"describe-metrics", NULL, "print the reference of the names at /metrics",
     OPTION(describe_metrics)},
    {"help", NULL, "print this", OPTION(help)},
    {"version", NULL, "print the version", OPTION(version)},
    WEIR_OPTION_END,
};
#undef OPTION

static int print_help(void)
{
    printf(
        "orchestrator: decides when to train, drives each run, keeps the models\n\n"
        "usage: orchestrator run PIPELINE.yaml [OPTIONS]   runs a pipeline to its end, or goes on with it;\n"
        "                                                  first it is checked with its first records\n"
        "       orchestrator serve [OPTIONS]               keeps the platform up for weir until SIGTERM\n\n");
    weir_options_print(OPTIONS);
    printf("\nexamples:\n  orchestrator run config/pipelines/quickstart.yaml\n"
           "  orchestrator run pipeline.yaml --program net='python3 train.py --width 64'\n\n"
           "exit codes: 0 done, 2 bad usage or configuration, 1 failed\n");
    return EXIT_DONE;
}

static int usage(const char *text)
{
    (void)fprintf(stderr, "orchestrator: %s\n", text);
    return EXIT_USAGE;
}

/* ---- the pipeline file ---- */

static int code_of(enum weir_status status)
{
    return status == WEIR_OK ? EXIT_DONE : status == WEIR_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

/* The system file, and programs of the command line beside those that it names. */
static enum weir_status load_system(const struct command *command,
                                    struct orchestrator_system *ret_system, struct weir_error *err)
{
    struct orchestrator_system system;
    enum weir_status status = orchestrator_system_load(command->system, &system, err);
    if (status != WEIR_OK)
        return status;
    status = orchestrator_system_give_programs(&system, command->programs.at,
                                               command->programs.count, err);
    if (status == WEIR_OK)
        *ret_system = system;
    else
        orchestrator_system_fini(&system);
    return status;
}

/* Those that are started from now on know which programs, folders and credentials of the user are allowed. */
static enum weir_status hand_on_allowed(const struct command *command,
                                        struct orchestrator_system *ret_system,
                                        struct weir_error *err)
{
    enum weir_status status = load_system(command, ret_system, err);
    if (status == WEIR_OK)
        orchestrator_system_hand_on(ret_system);
    return status;
}

/* Alone it may name any program, folder and credential, and limit any money. */
static int check_config(const struct command *command)
{
    struct weir_error err;
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_BUF shown = {0};
    CFG_AUTO_COMPLAINTS complaints = {0};
    const char *file = command->check_config;
    struct orchestrator_system system = {.user = NULL};
    const struct orchestrator_site site = {&system.prices, &system.sharing}, of_platform = {0};
    enum weir_status status;
    bool is_alone = command->system == NULL && command->programs.count == 0;
    struct orchestrator_checked checked = {.path = file, .is_elsewhere = command->elsewhere};
    bool is_allowed =
        is_alone || cfg_note(&complaints, hand_on_allowed(command, &system, &err), &err);
    if (is_allowed && command->system != NULL)
        checked.site = &site;
    else if (command->submitted)
        checked.site = &of_platform;
    checked.user = system.user;
    if (!is_allowed) {
        status = orchestrator_checking_file(&checked, &text, &complaints); /* by itself */
        status = status == WEIR_OK ? complaints.status : status;
    } else if (command->before_run)
        status = orchestrator_checking_run(
            file, checked.site,
            &(struct orchestrator_datadir_options){.path = command->data_dir, .user = system.user},
            &text, &complaints);
    else if (command->data)
        status = orchestrator_checking_data(&checked, &text, &shown, &complaints);
    else
        status = orchestrator_checking_file(&checked, &text, &complaints);
    orchestrator_system_fini(&system);
    (void)fwrite(shown.at, 1, shown.size, stdout);
    (void)fputs(weir_buf_text(&complaints.lines), stderr); /* of a file that is good: remarks */
    return code_of(status);
}

static int check_system(const char *file)
{
    CFG_AUTO_COMPLAINTS wrong = {0};
    orchestrator_system_check(file, &wrong);
    (void)fputs(weir_buf_text(&wrong.lines), stderr);
    return wrong.status == WEIR_OK ? EXIT_DONE : EXIT_USAGE;
}

static int read_receipt(const char *file)
{
    struct weir_error err;
    struct receipt_claims claims;
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(file, RECEIPT_BYTES_MAX, &text, &err);
    if (status == WEIR_OK)
        status = orchestrator_receipt_read(weir_buf_view(&text), &claims, &err);
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return EXIT_USAGE;
    }
    printf("{\"erasure\":%" PRId64 ",\"samples\":%" PRId64
           ",\"hash\":\"%s\",\"previous\":\"%s\",\"public_key\":\"%s\"}\n",
           claims.erasure, claims.samples, claims.hash, claims.previous, claims.key);
    return EXIT_DONE;
}

static int print_config(const char *file)
{
    struct weir_error err;
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO_BUF out = {0};
    WEIR_AUTO_BUF said = {0};
    CFG_AUTO_COMPLAINTS complaints = {0};
    WEIR_AUTO(orchestrator_config) config = NULL;
    WEIR_AUTO_FREE char *bin_dir = orchestrator_platform_own_directory();
    const struct orchestrator_checked checked = {.path = file, .is_elsewhere = true};
    enum weir_status status = orchestrator_checking_file(&checked, &text, &complaints);
    if (status != WEIR_OK) {
        (void)fputs(weir_buf_text(&complaints.lines), stderr);
        return code_of(status);
    }
    status = orchestrator_config_parse(file, weir_buf_view(&text), &config, &err);
    if (status == WEIR_OK)
        status = orchestrator_config_print(config, &out, &err);
    if (status == WEIR_OK) {
        status = orchestrator_siblings_query(bin_dir, "--print-config", file, &out, &said, &err);
    }
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILED;
    }
    (void)fwrite(out.at, 1, out.size, stdout);
    return EXIT_DONE;
}

static int describe_config(void)
{
    struct weir_error err;
    WEIR_AUTO_BUF out = {0};
    WEIR_AUTO_BUF complaints = {0};
    WEIR_AUTO_FREE char *bin_dir = orchestrator_platform_own_directory();
    weir_buf_append_text(&out,
                         "# The pipeline file\n\nGenerated from the key tables in the code.\n\n");
    orchestrator_config_describe(&out);
    weir_buf_append_text(&out, "\n");
    if (orchestrator_siblings_query(bin_dir, "--describe-config", NULL, &out, &complaints, &err) !=
        WEIR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILED;
    }
    orchestrator_system_describe(&out);
    weir_buf_append_text(&out, "\n");
    orchestrator_grid_describe(&out);
    (void)fwrite(out.at, 1, out.size, stdout);
    return EXIT_DONE;
}

static int describe_states(void)
{
    WEIR_AUTO_BUF out = {0};
    weir_buf_append_text(
        &out, "# The states of a pipeline\n\n"
              "Generated from the table in `orchestrator/pipeline/machine.c`. An edge is one "
              "transaction: the new state, its effect, and the event that tells people. A "
              "state's work may begin again from its front at any time.\n\n");
    orchestrator_pipeline_states_describe(&out);
    (void)fwrite(out.at, 1, out.size, stdout);
    return EXIT_DONE;
}

static int describe_metrics(void)
{
    WEIR_AUTO_BUF out = {0};
    orchestrator_measures_describe(&out);
    (void)fwrite(out.at, 1, out.size, stdout);
    return EXIT_DONE;
}

/* ---- run and serve ---- */

static bool read_workers(const struct command *command, const struct orchestrator_system *system,
                         struct orchestrator_workers *ret_workers)
{
    *ret_workers = system->workers;
    if (command->workers == NULL)
        return true;
    uint64_t workers = 0;
    bool is_number = cfg_parse_u64(command->workers, &workers);
    ret_workers->min = ret_workers->max = (uint32_t)workers;
    return is_number && workers >= 1 && workers <= ORCHESTRATOR_WORKERS_MAX - ret_workers->host_max;
}

static void fail_workers(const struct command *command, const struct orchestrator_system *system,
                         struct screen *screen)
{
    WEIR_AUTO_FREE char *text =
        weir_format("orchestrator: --workers: expected a number from 1 to %u, found '%.40s'",
                    ORCHESTRATOR_WORKERS_MAX - system->workers.host_max, command->workers);
    orchestrator_screen_fail(screen, text);
}

/* Reads where it listens to those elsewhere: the command line, else the system file. False: it was complained of. */
static bool read_listen(const struct command *command, struct orchestrator_system *system,
                        struct listen_address *address, struct local_options *options)
{
    struct weir_error err;
    if (command->listen != NULL)
        system->remote = command->listen;
    if (command->advertise != NULL)
        system->advertise = command->advertise;
    if (system->remote == NULL)
        return true;
    options->remote = address;
    if (orchestrator_listen_address_read(system->remote, system->advertise, address, &err) ==
        WEIR_OK)
        return true;
    orchestrator_screen_fail(options->screen, err.text);
    return false;
}

/* Takes the address of the command line. False: it was complained of. */
static bool read_page(const struct command *command, struct orchestrator_system *system,
                      struct screen *screen)
{
    struct weir_error err, why;
    if (command->page == NULL)
        return true;
    system->page.address = command->page;
    if (orchestrator_page_place_check(&system->page, &why) == WEIR_OK)
        return true;
    weir_ignore(weir_fail(&err, why.status, "--page: %s", why.text));
    orchestrator_screen_fail(screen, err.text);
    return false;
}

/* Reads where it is reached: by those elsewhere, by Prometheus and by browsers. A dry run is reached by nobody: the
 * platform whose file this is may be up. False: it was complained of. */
static bool read_addresses(const struct command *command, struct orchestrator_system *system,
                           struct listen_address *remote, struct local_options *options)
{
    if (command->dry_run)
        return true;
    if (!read_listen(command, system, remote, options) ||
        !read_page(command, system, options->screen))
        return false;
    options->watchers.metrics = command->metrics != NULL ? command->metrics : system->metrics;
    options->watchers.page = system->page;
    return true;
}

/* Works with the system file that was loaded. */
static int work_with(const struct command *command, struct orchestrator_system *system,
                     struct local_options *options)
{
    struct listen_address remote;
    if (!read_addresses(command, system, &remote, options))
        return EXIT_USAGE;
    orchestrator_scratch_dir_sweep(weir_now_wall_us());
    orchestrator_system_hand_on(system);
    if (read_workers(command, system, &options->workers))
        return orchestrator_local(options);
    fail_workers(command, system, options->screen);
    return EXIT_USAGE;
}

static int work(const struct command *command, const char *file, struct weir_bytes text)
{
    struct weir_error err;
    struct screen screen;
    struct orchestrator_system system;
    int code = EXIT_USAGE;
    struct local_options options = {
        .data_dir = command->data_dir,
        .pipeline_file = file,
        .pipeline_text = text,
        .system = &system,
        .screen = &screen,
        .hold = command->hold || command->dry_run,
        .dry_run = command->dry_run,
        .digests = command->digests,
        .explain = command->explain,
        .watchers = {.version = WEIR_VERSION},
        .new_receipt_key = command->new_receipt_key,
    };
    orchestrator_screen_init(&screen, command->json);
    bool is_loaded = load_system(command, &system, &err) == WEIR_OK;
    if (is_loaded)
        code = work_with(command, &system, &options);
    else
        orchestrator_screen_fail(&screen, err.text);
    orchestrator_screen_end(&screen);
    if (is_loaded)
        orchestrator_system_fini(&system);
    return code;
}

/* On a data directory that nobody has seen and that goes again. */
static int dry_run(const struct command *command, const char *file, struct weir_bytes text)
{
    struct weir_error err;
    struct command scratch = *command;
    WEIR_AUTO_FREE char *data_dir = NULL;
    if (orchestrator_scratch_dir_make(&data_dir, &err) != WEIR_OK) {
        (void)fprintf(stderr, "orchestrator: %s\n", err.text);
        return EXIT_FAILED;
    }
    scratch.data_dir = data_dir;
    int code = work(&scratch, file, text);
    orchestrator_scratch_dir_remove(data_dir);
    return code;
}

/* The lines without the last line break. */
static const char *trimmed(struct cfg_complaints *complaints)
{
    struct weir_buf *lines = &complaints->lines;
    if (lines->size > 0)
        lines->size--;
    return weir_buf_text(lines);
}

static int run(const struct command *command, const char *file)
{
    struct weir_error err;
    WEIR_AUTO_BUF text = {0};
    CFG_AUTO_COMPLAINTS complaints = {0};
    struct orchestrator_system system = {.user = NULL};
    enum weir_status status = WEIR_INVALID;
    if (cfg_note(&complaints, hand_on_allowed(command, &system, &err), &err)) {
        const struct orchestrator_datadir_options place = {.path = command->data_dir,
                                                           .user = system.user};
        const struct orchestrator_site site = {&system.prices, &system.sharing};
        status = orchestrator_checking_run(file, &site, &place, &text, &complaints);
    }
    orchestrator_system_fini(&system);
    if (status != WEIR_OK) {
        struct screen screen;
        orchestrator_screen_init(&screen, command->json);
        orchestrator_screen_fail(&screen, trimmed(&complaints));
        orchestrator_screen_end(&screen);
        return code_of(status);
    }
    (void)fputs(weir_buf_text(&complaints.lines), stderr);
    return command->dry_run ? dry_run(command, file, weir_buf_view(&text))
                            : work(command, file, weir_buf_view(&text));
}

/* False: it was complained of. */
static bool is_address(const char *text)
{
    struct weir_error err;
    struct loopback_address address;
    if (orchestrator_loopback_address_read(text, &address, &err) == WEIR_OK)
        return true;
    (void)fprintf(stderr, "orchestrator: --metrics: %s\n", err.text);
    return false;
}

static int dispatch(const struct command *command, int count, char **words)
{
    if (command->check_config != NULL)
        return check_config(command);
    if (command->check_system != NULL)
        return check_system(command->check_system);
    if (command->print_config != NULL)
        return print_config(command->print_config);
    if (command->read_receipt != NULL)
        return read_receipt(command->read_receipt);
    if (command->describe_config)
        return describe_config();
    if (command->describe_states)
        return describe_states();
    if (command->describe_metrics)
        return describe_metrics();
    if (count == 2 && strcmp(words[0], "run") == 0)
        return run(command, words[1]);
    if (count == 1 && strcmp(words[0], "serve") == 0 && command->programs.count > 0)
        return usage("serve: --program is for one run: name the program in the system file");
    if (count == 1 && strcmp(words[0], "serve") == 0)
        return work(command, NULL, weir_bytes(NULL, 0));
    if (count >= 1 && strcmp(words[0], "run") == 0) {
        return usage(
            "run: expected one pipeline file, for example: orchestrator run config/pipelines/quickstart.yaml");
    }
    return usage("expected `run PIPELINE.yaml` or `serve`; see orchestrator --help");
}

int main(int argc, char **argv)
{
    struct command command = {.data_dir = ".weir/default", .log_level = "warn"};
    struct weir_error err;
    enum weir_log_level level = WEIR_LOG_WARN;
    int operands = 0;
    if (argc > 1 && strcmp(argv[1], ORCHESTRATOR_CONFINED) == 0) {
        weir_log_setup("orchestrator", level);
        return orchestrator_confined((size_t)argc - 2, argv + 2);
    }
    if (weir_options_read(OPTIONS, argc, argv, &command, &operands, &err) != WEIR_OK)
        return usage(err.text);
    if (command.help)
        return print_help();
    if (command.version) {
        printf("orchestrator (weir) %s\n", WEIR_VERSION);
        return EXIT_DONE;
    }
    if (!weir_log_level_from_name(command.log_level, &level))
        return usage("--log-level: expected debug, info, warn or error");
    if (command.metrics != NULL && !is_address(command.metrics))
        return EXIT_USAGE;
    weir_log_setup("orchestrator", level);
    weir_dumps_forbid(true);
    int code = dispatch(&command, operands, argv);
    weir_option_values_fini(&command.programs);
    return code;
}
