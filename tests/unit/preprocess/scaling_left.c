/* Another program: writes what one keeps of a scaling policy to its standard output. */
#include "preprocess/dispatcher/scaling.h"

#include <stdio.h>

int main(void)
{
    static const struct scale_setting SETTING = {.min.at = {1}, .max.at = {16, 2}};
    struct scaling_job job = {.policy = preprocess_scale_policy_find("rates")};
    WEIR_AUTO_BUF kept = {0};
    (void)preprocess_scaling_begin(&job, &SETTING);
    preprocess_scaling_keep(&job, &kept);
    preprocess_scaling_job_fini(&job);
    return fwrite(kept.at, 1, kept.size, stdout) == kept.size ? 0 : 1;
}
