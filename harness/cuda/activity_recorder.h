// Collects CUPTI's activity records of a stretch of work. They slow the kernels of graphs, so they are on only while
// it runs.
#pragma once

#include "activity.h"

#include <cupti.h>

#include <functional>

namespace qkprof::cuda {

// Runs `work`, which must wait for all that it enqueues, with the records of kernels, copies and fills switched on.
// Where CUPTI cannot be used, `failure` says why and the work is not run. What `work` throws passes through.
Activities record_activities(const std::function<void()>& work);

// Adds one of CUPTI's records to `activities`; a kind that is none of the three is left out.
void add_record(const CUpti_Activity& record, Activities& activities);

}  // namespace qkprof::cuda
