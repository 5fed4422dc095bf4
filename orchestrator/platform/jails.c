/* Jails of trainers and of programs of operators. */
#include "orchestrator/platform/jails.h"

#include "core/base/log.h"
#include "core/service/programs.h"

#include <unistd.h>

static const char *why_not_hidden(void)
{
    if (!weir_jail_is_possible()) /* the mounts of another process can be entered then */
        return "this kernel has no Landlock";
    return geteuid() == 0 ? "Weir runs as root" : "user namespaces are not allowed here";
}

static void report(const struct orchestrator_jails *jails)
{
    if (!weir_jail_is_possible())
        weir_log(WEIR_LOG_WARN,
                 "programs of the user are not jailed: they may read all of the data directory",
                 "because=\"this kernel has no Landlock\"");
    if (!weir_jail_is_possible() || jails->trainers.hidden == NULL)
        weir_log(WEIR_LOG_WARN,
                 "trainers can reach all sockets of the platform, that of Postgres included: they "
                 "may do what its processes may",
                 "because=\"%s\"", why_not_hidden());
    if (!weir_jail_keeps_signals())
        weir_log(WEIR_LOG_WARN, "programs of the user can signal the processes of the platform",
                 "because=\"that takes Landlock of Linux 6.12\"");
}

void orchestrator_jails_prepare(const struct orchestrator_datadir *datadir, const char *folder,
                                bool has_tcp, struct orchestrator_jails *ret_jails)
{
    *ret_jails = (struct orchestrator_jails){
        .closed = {datadir->path, datadir->socket_dir, datadir->cluster,
                   datadir->cluster_socket_dir, folder},
        .hidden = {datadir->cluster_socket_dir, datadir->socket_dir},
    };
    ret_jails->trainers = (struct weir_jail){
        .closed = ret_jails->closed,
        .hidden = ret_jails->hidden,
        .shown = datadir->trainer_dir,
        .sockets = has_tcp ? WEIR_JAIL_ALL_SOCKETS : WEIR_JAIL_LOCAL_SOCKETS,
    };
    if (!weir_jail_can_hide(&ret_jails->trainers))
        ret_jails->trainers.hidden = NULL;
    weir_programs_close(ret_jails->closed);
    report(ret_jails);
}
