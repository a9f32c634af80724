// The A/A measurement (run --aa): the same run again, in further processes, as BASE and NEW of a comparison are two.
// What differs between them is the noise that a difference must exceed.
#pragma once

#include "choice.h"
#include "profile.h"

#include <string>
#include <vector>

namespace qkprof::cli {

// What such a process is asked for.
struct FurtherRun {
    ChoiceOptions choice;  // with the device that the profile is of
    std::string metrics;
    int samples = 0;
    std::vector<std::string> benchmark_flags;
};

// Runs it once, and adds its times to the measurements of the profile, a list to each. Throws CannotMeasure, with what
// went wrong, where the process did not end well; the profile is as before then.
void add_further_run(const FurtherRun& run, Profile& profile);

}  // namespace qkprof::cli
