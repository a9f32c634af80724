#include "count_doubts.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::hlo {

std::vector<std::string> count_doubts(const exec::ExecProfile& profile,
                                      const std::vector<const exec::RangeRow*>& ranges) {
    std::vector<std::string> doubts;
    if (!profile.complete) {
        doubts.emplace_back("The profile is not complete: it was written while the command still ran.");
    }
    for (const exec::ProcessRow& process : profile.processes) {
        const auto say = [&](const std::string& clause) {
            doubts.push_back(fmt::format("Process {}: {}.", process.process, clause));
        };
        if (!process.failure.empty()) {
            say(fmt::format("{} is recorded: {}", process.launches == 0 ? "nothing" : "nothing more", process.failure));
        } else if (!process.all_sent && process.has_gpu_work()) {
            say("it did not hand over all its records");
        }
        if (process.dropped > 0) {
            say(fmt::format("CUPTI dropped {} record(s)", process.dropped));
        }
        if (process.without_submission > 0) {
            say(fmt::format("{} record(s) are of no submission that was seen", process.without_submission));
        }
        if (process.without_record > 0) {
            say(fmt::format("{} submission(s) have no record", process.without_record));
        }
    }
    for (const exec::RangeRow* range : ranges) {
        if (range->without_record > 0) {
            doubts.push_back(fmt::format("{} submission(s) in the range {} have no record.", range->without_record,
                                         text_of(*range)));
        }
    }
    const bool merged = std::any_of(profile.work.kernels.begin(), profile.work.kernels.end(),
                                    [](const exec::KernelRow& kernel) { return kernel.name == exec::others_name; });
    if (merged) {
        doubts.emplace_back("There were too many kernels for all to have a row of their own.");
    }
    return doubts;
}

}  // namespace qkprof::hlo
