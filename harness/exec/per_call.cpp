#include "per_call.h"

#include "error.h"
#include "exec_table.h"
#include "names.h"
#include "quantities.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace qkprof::exec {
namespace {

constexpr std::size_t most_listed = 12;

std::string list_of(const std::set<std::string>& names) {
    std::vector<std::string> listed;
    for (const std::string& name : names) {
        if (listed.size() < most_listed) {
            listed.push_back(shortened(name, 80));
        }
    }
    return names.size() > listed.size()
               ? fmt::format("{} and {} more", fmt::join(listed, ", "), names.size() - listed.size())
               : joined(listed);
}

// "3 launches in each of 200 calls", or "2 to 5 launches a call in 200 calls (2 in 150, 5 in 50)".
std::string count_line(const RangeRow& range, const char* one, const char* many, std::uint64_t RangeCall::*field) {
    std::map<std::uint64_t, std::uint64_t> calls;  // by count
    for (const RangeCall& call : range.first_calls) {
        ++calls[call.*field];
    }
    const std::uint64_t kept = range.first_calls.size();
    const std::string of = kept == range.calls
                               ? counted(kept, "call", "calls")
                               : fmt::format("the first {} of {} calls", count_text(kept), count_text(range.calls));
    const std::uint64_t least = calls.begin()->first;
    const std::uint64_t most = calls.rbegin()->first;
    if (least == most) {
        return fmt::format("{} per call, in each of {}", counted(least, one, many), of);
    }
    std::vector<std::string> parts;
    for (const auto& [count, times] : calls) {
        if (parts.size() < most_listed) {
            parts.push_back(fmt::format("{} in {}", count_text(count), count_text(times)));
        }
    }
    if (calls.size() > parts.size()) {
        parts.emplace_back("and so on");
    }
    return fmt::format("{} to {} per call, in {}: {}", count_text(least), counted(most, one, many), of,
                       fmt::join(parts, ", "));
}

template <class F>
std::string spread_line(const RangeRow& range, F value) {
    std::vector<double> values;
    for (const RangeCall& call : range.first_calls) {
        if (const std::optional<double> one = value(call)) {
            values.push_back(*one);
        }
    }
    if (values.empty()) {
        return "unknown";
    }
    std::sort(values.begin(), values.end());
    return fmt::format("{} (median; {} to {})", time_text(values[(values.size() - 1) / 2]), time_text(values.front()),
                       time_text(values.back()));
}

std::string kernel_line(const RangeRow& range, const KernelRow& kernel, std::size_t longest) {
    const std::string each =
        kernel.count % range.calls == 0
            ? count_text(kernel.count / range.calls)
            : fmt::format("{:.2f} on average", static_cast<double>(kernel.count) / static_cast<double>(range.calls));
    return fmt::format("    {} x {}{}\n", each, shortened(kernel.name, longest),
                       kernel.seconds ? fmt::format(", median {}", time_text(kernel.seconds->median)) : "");
}

}  // namespace

std::vector<const RangeRow*> ranges_of(const ExecProfile& profile, std::string_view text, std::string_view option) {
    std::vector<const RangeRow*> exact;
    std::vector<const RangeRow*> matching;
    std::set<std::string> names;
    for (const RangeRow& range : profile.ranges) {
        const std::string whole = text_of(range);
        names.insert(whole);
        if (text == whole || text == range.name) {
            exact.push_back(&range);
        } else if (matches_glob(text, whole) || matches_glob(text, range.name)) {
            matching.push_back(&range);
        }
    }
    if (!exact.empty() || !matching.empty()) {
        return exact.empty() ? matching : exact;
    }
    if (names.empty()) {
        throw InputError(fmt::format("{} {}: the command had no NVTX range.", option, text));
    }
    const std::vector<std::string> all(names.begin(), names.end());
    const std::string near = nearest_name(text, all);
    throw InputError(fmt::format("{} {}: there was no such range.{} There were {}.", option, text,
                                 near.empty() ? "" : fmt::format(" Did you mean '{}'?", near), list_of(names)));
}

std::string per_call_text(const RangeRow& range, std::size_t longest) {
    std::string text = shortened(text_of(range), 2 * longest);
    if (!range.inside.empty()) {
        text += fmt::format(" in {}", fmt::join(range.inside, " > "));
    }
    text += "\n";
    text += fmt::format("  {}\n", count_line(range, "launch", "launches", &RangeCall::launches));
    text += fmt::format("  {}\n", count_line(range, "transfer", "transfers", &RangeCall::transfers));
    text += fmt::format("  {}\n", count_line(range, "submission", "submissions", &RangeCall::submissions));
    text +=
        fmt::format("  GPU busy {}\n",
                    spread_line(range, [](const RangeCall& call) { return std::optional<double>(call.busy_seconds); }));
    text += fmt::format("  between push and pop {}\n",
                        spread_line(range, [](const RangeCall& call) { return call.host_seconds; }));
    if (range.first_calls.size() < range.calls) {
        text += fmt::format("  launches over all calls: {}\n",
                            range.least_launches == range.most_launches
                                ? count_text(range.least_launches)
                                : fmt::format("{} to {}", range.least_launches, range.most_launches));
    }
    if (range.open > 0) {
        text += fmt::format("  {} never popped\n", counted(range.open, "call was", "calls were"));
    }
    if (range.without_record > 0) {
        text += fmt::format("  {} in it got no record: the counts of launches and transfers may be too small\n",
                            counted(range.without_record, "submission", "submissions"));
    }
    if (range.late_records > 0) {
        text += fmt::format("  {} came after the calls were counted: their counts may be too small\n",
                            counted(range.late_records, "record", "records"));
    }
    text += range.work.kernels.empty() ? "" : "  kernels per call:\n";
    for (const KernelRow& kernel : range.work.kernels) {
        text += kernel_line(range, kernel, longest);
    }
    return text;
}

}  // namespace qkprof::exec
