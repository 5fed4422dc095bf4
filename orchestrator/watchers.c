/* Opening and closing of what is looked at: see watchers.h. */
#include "orchestrator/watchers.h"

#include "core/base/log.h"
#include "core/base/memory.h"

static enum weir_status open_monitor(struct watchers *watchers, struct weir_loop *loop,
                                     const struct watchers_options *options, struct screen *screen,
                                     struct weir_error *err)
{
    if (options->metrics == NULL)
        return WEIR_OK;
    enum weir_status status = orchestrator_monitor_open(loop, options->metrics, options->version,
                                                        &watchers->monitor, err);
    if (status != WEIR_OK)
        return status;
    const char *address = orchestrator_monitor_address(watchers->monitor);
    WEIR_AUTO_FREE char *text = weir_format("metrics at http://%s/metrics", address);
    weir_log(WEIR_LOG_INFO, "metrics", "address=%s", address);
    orchestrator_screen_say(screen, text);
    return WEIR_OK;
}

static enum weir_status open_page(struct watchers *watchers, struct weir_loop *loop,
                                  const struct watchers_options *options, struct screen *screen,
                                  struct weir_error *err)
{
    if (options->page.address == NULL)
        return WEIR_OK;
    enum weir_status status = orchestrator_live_open(loop, &options->page, &watchers->live, err);
    if (status != WEIR_OK)
        return status;
    const char *address = orchestrator_live_address(watchers->live);
    WEIR_AUTO_FREE char *text = weir_format("page at %s", address);
    weir_log(WEIR_LOG_INFO, "page", "address=%s", address);
    orchestrator_screen_say(screen, text);
    return WEIR_OK;
}

enum weir_status orchestrator_watchers_open(struct watchers *watchers, struct weir_loop *loop,
                                            const struct watchers_options *options,
                                            struct screen *screen, struct weir_error *err)
{
    enum weir_status status = open_monitor(watchers, loop, options, screen, err);
    return status == WEIR_OK ? open_page(watchers, loop, options, screen, err) : status;
}

void orchestrator_watchers_attach(const struct watchers *watchers, struct orchestrator *orch,
                                  const char *postgres)
{
    const struct monitor_origins origins = {
        .context = &orch->context,
        .runs = &orch->runs,
        .pipelines = &orch->pipelines,
        .server = orch->topics.server,
        .pool = orch->pool,
        .postgres = postgres,
        .started_ms = orch->topics.started_ms,
    };
    if (watchers->monitor != NULL) {
        orchestrator_monitor_attach(watchers->monitor, &origins);
        orch->topics.metrics = orchestrator_monitor_address(watchers->monitor);
    }
    if (watchers->live != NULL) {
        orch->topics.page = orchestrator_live_address(watchers->live);
        orchestrator_live_attach(watchers->live, &orch->topics);
    }
}

void orchestrator_watchers_detach(const struct watchers *watchers)
{
    orchestrator_monitor_detach(watchers->monitor);
    orchestrator_live_detach(watchers->live);
}

void orchestrator_watchers_close(struct watchers *watchers)
{
    orchestrator_monitor_close(watchers->monitor);
    orchestrator_live_close(watchers->live);
}
