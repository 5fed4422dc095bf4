/* Curves through the points that the logs of Pecan's artifact show (Graur et al., USENIX ATC 2024): throughputs, end
 * points and prices are theirs, what lies between is drawn. A remote worker is an n2-standard-8 machine, the trainer a
 * TPU v2-8 host.
 *
 * ResNet50 on ImageNet: Cachew, with a threshold of 3 % as in that artifact, ends at 18 to 19 remote workers and about
 * 2800 samples a second; Pecan climbs to 12 to 13 remote workers and ends at 4 and 10 local ones, with 3234. Each of
 * the first seven remote workers makes as much as the one before; from there on they slow one another down.
 *
 * RetinaNet on COCO: Cachew ends at 2 remote workers, Pecan at 10 local ones and none remote, both with 197.7. */
#include "benchmarks/pool/curves.h"

const struct curve CURVES[] = {
    {
        .name = "resnet50",
        .remote = {0,    235,  470,  705,  940,  1175, 1410, 1645, 1800, 1935, 2060, 2170, 2271,
                   2362, 2452, 2540, 2628, 2714, 2800, 2881, 2959, 3033, 3103, 3168, 3231},
        .local = {0, 229, 459, 688, 918, 1147, 1376, 1606, 1835, 2065, 2294},
        .consumer = 3300,
        .epoch = 1281167,
        .trainer_hour = 4.96,
        .remote_hour = 0.427,
        .cachew_remote = 18,
        .pecan_remote = 4,
        .pecan_local = 10,
    },
    {
        .name = "retinanet",
        .remote = {0,    110,  205,  300,  395,  490,  585,  680,  775,  870,  965,  1060, 1155,
                   1250, 1345, 1440, 1535, 1630, 1725, 1820, 1915, 2010, 2105, 2200, 2295},
        .local = {0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300},
        .consumer = 197.7,
        .epoch = 117266,
        .trainer_hour = 4.96,
        .remote_hour = 0.427,
        .cachew_remote = 2,
        .pecan_remote = 0,
        .pecan_local = 10,
    },
};

const size_t CURVE_COUNT = sizeof(CURVES) / sizeof(*CURVES);
