/* Processes that outlive the trainer that started them: a daemon with a session of its own is in no process group that
 * could be killed. They inherit its environment, and are known by the token of its run in it. One that clears its
 * environment is not found. */
#ifndef ORCHESTRATOR_PROCESSES_STRAYS_H
#define ORCHESTRATOR_PROCESSES_STRAYS_H

/* Kills the processes whose environment has the token and the rank of `env`, that of the trainer; none without a token.
 * Those of a person who took the trainer's place (WEIR_ATTENDED) stay. */
void orchestrator_strays_end(char *const *env);

#endif
