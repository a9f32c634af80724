// Of the gate: whether a time is worse. The ratio of two runs' medians is known to an interval, by how their samples
// scatter; beyond that the runs themselves differ (noise.h). It is worse only where the whole interval is beyond both
// the threshold and that noise, and the same only where the noise allows to say so.
#pragma once

#include "compare.h"
#include "noise.h"

namespace qkprof {

// Fills in what `difference`, which has its allowance, lacks. `base` and `now` hold a run each, at least.
void judge_time(Difference& difference, const Runs& base, const Runs& now, Timed timed,
                const std::optional<RunTimes::Deviation>& of_base, const std::optional<RunTimes::Deviation>& of_now);

}  // namespace qkprof
