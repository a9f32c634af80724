// Collects CUPTI's activity records of stretches of work.
#pragma once

#include "activity.h"

#include <cupti.h>

#include <functional>

namespace qkprof::cuda {

// While one lives, CUPTI is attached to the process. Attached, it slows every node of a graph, also with no activity
// switched on: it must be gone before anything is timed. Attaching takes longer than most that is recorded.
class ActivityRecorder {
  public:
    ActivityRecorder() = default;
    ~ActivityRecorder();
    ActivityRecorder(const ActivityRecorder&) = delete;
    ActivityRecorder& operator=(const ActivityRecorder&) = delete;

    // Runs `work`, which must wait for all that it enqueues, with the records of kernels, copies and fills switched on.
    // Where CUPTI cannot be used, `failure` says why and the work is not run. What `work` throws passes through.
    Activities record(const std::function<void()>& work) const;
};

// Adds one of CUPTI's records to `activities`; a kind that is none of the three is left out.
void add_record(const CUpti_Activity& record, Activities& activities);

}  // namespace qkprof::cuda
