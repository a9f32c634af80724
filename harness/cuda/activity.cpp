#include "activity.h"

#include <fmt/format.h>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

namespace qkprof::cuda {
namespace {

template <class Record>
bool has_no_time(const Record& record) {
    return record.start == 0 || record.end < record.start;
}

template <class Record>
std::vector<Record> started_within(const std::vector<Record>& records, std::uint64_t from, std::uint64_t to) {
    std::vector<Record> within;
    std::copy_if(records.begin(), records.end(), std::back_inserter(within),
                 [&](const Record& record) { return record.start >= from && record.start < to; });
    std::sort(within.begin(), within.end(), [](const Record& a, const Record& b) { return a.start < b.start; });
    return within;
}

// As it is written in the source, with its arguments; a name that is not C++'s stays as it is.
std::string readable(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                           &std::free);
    return status == 0 && text != nullptr ? text.get() : name;
}

}  // namespace

Between between_sentinels(const Activities& activities, std::string_view sentinel) {
    Between between;
    if (!activities.failure.empty()) {
        between.unknown = activities.failure;
        return between;
    }
    if (activities.dropped != 0) {
        between.unknown = fmt::format("CUPTI dropped {} activity record(s)", activities.dropped);
        return between;
    }
    const auto timeless =
        std::count_if(activities.kernels.begin(), activities.kernels.end(), has_no_time<KernelRecord>) +
        std::count_if(activities.transfers.begin(), activities.transfers.end(), has_no_time<TransferRecord>);
    if (timeless != 0) {
        between.unknown = fmt::format("{} activity record(s) of CUPTI carry no time", timeless);
        return between;
    }
    std::vector<KernelRecord> sentinels;
    std::vector<KernelRecord> others;
    for (const KernelRecord& kernel : activities.kernels) {
        (kernel.name == sentinel ? sentinels : others).push_back(kernel);
    }
    if (sentinels.size() != 2) {
        between.unknown = fmt::format("CUPTI recorded {} of the 2 sentinel kernels around the calls", sentinels.size());
        return between;
    }
    const auto [first, last] = std::minmax(sentinels[0].start, sentinels[1].start);
    between.kernels = started_within(others, first, last);
    between.transfers = started_within(activities.transfers, first, last);
    return between;
}

Counters launch_counters(const Activities& activities, std::string_view sentinel, int calls) {
    const Between between = between_sentinels(activities, sentinel);
    Counters counters;
    if (!between.unknown.empty()) {
        for (const char* name : {"launches", "submissions", "transfers", "registers", "local_bytes", "shared_bytes"}) {
            counters[name].reason = between.unknown;
        }
        return counters;
    }
    std::set<std::uint32_t> submissions;
    for (const KernelRecord& kernel : between.kernels) {
        submissions.insert(kernel.submission);
    }
    for (const TransferRecord& transfer : between.transfers) {
        submissions.insert(transfer.submission);
    }
    const auto per_call = [&](std::size_t total) { return static_cast<double>(total) / calls; };
    counters["launches"].value = per_call(between.kernels.size());
    counters["submissions"].value = per_call(submissions.size());
    counters["transfers"].value = per_call(between.transfers.size());
    if (between.kernels.empty()) {
        for (const char* name : {"registers", "local_bytes", "shared_bytes"}) {
            counters[name].reason = "the call launches no kernel";
        }
        return counters;
    }
    int registers = 0;
    std::int64_t local_bytes = 0;
    std::int64_t shared_bytes = 0;
    for (const KernelRecord& kernel : between.kernels) {
        registers = std::max(registers, kernel.registers);
        local_bytes = std::max(local_bytes, kernel.local_bytes);
        shared_bytes = std::max(shared_bytes, kernel.dynamic_shared);
    }
    counters["registers"].value = registers;
    counters["local_bytes"].value = static_cast<double>(local_bytes);
    counters["shared_bytes"].value = static_cast<double>(shared_bytes);
    return counters;
}

std::vector<KernelUse> kernels_of(const Activities& activities, std::string_view sentinel, int calls) {
    std::vector<KernelUse> kernels;
    for (const KernelRecord& record : between_sentinels(activities, sentinel).kernels) {
        KernelUse use;
        use.name = readable(record.name);
        use.grid = record.grid;
        use.block = record.block;
        use.registers = record.registers;
        use.static_shared = record.static_shared;
        use.dynamic_shared = record.dynamic_shared;
        add_launches(kernels, std::move(use), 1.0 / calls);
    }
    return kernels;
}

}  // namespace qkprof::cuda
