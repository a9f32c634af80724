#include "exec_table.h"

#include "quantities.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace qkprof::exec {
namespace {

constexpr const char* unknown = "?";

std::string extents_text(const std::array<std::int64_t, 3>& extents) {
    std::size_t last = extents.size();
    while (last > 1 && extents.at(last - 1) == 1) {
        --last;
    }
    return fmt::format("{}", fmt::join(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(last), "x"));
}

std::string part_text(double part, double whole) {
    return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : unknown;
}

std::string command_text(const ExecProfile& profile) {
    constexpr std::size_t longest = 200;
    return shortened(fmt::format("{}", fmt::join(profile.command, " ")), longest);
}

std::string end_text(const ExecProfile& profile) {
    if (!profile.signal.empty()) {
        return fmt::format("ended by {}", profile.signal);
    }
    return profile.exit_code ? fmt::format("exit code {}", *profile.exit_code) : "not ended";
}

// A column of a kernel's forms: what all of them share, or that it differs.
template <class F>
std::string of_forms(const KernelRow& kernel, F text) {
    if (kernel.forms.empty()) {
        return unknown;
    }
    const std::string first = text(kernel.forms.front());
    const bool same =
        kernel.in_other_forms == 0 && std::all_of(kernel.forms.begin(), kernel.forms.end(),
                                                  [&](const LaunchForm& form) { return text(form) == first; });
    return same ? first : first + " ..";
}

double seconds_of_kernels(const Work& work) {
    double total = 0;
    for (const KernelRow& kernel : work.kernels) {
        total += kernel.seconds ? kernel.seconds->total : 0;
    }
    return total;
}

std::vector<Cell> kernel_cells(const KernelRow& kernel, double total, std::size_t longest) {
    const auto time = [&](double Spread::*field) {
        return kernel.seconds ? time_text((*kernel.seconds).*field) : unknown;
    };
    const auto form = [&](auto text) { return Cell{of_forms(kernel, text)}; };
    return {{shortened(kernel.name, longest)},
            {count_text(kernel.count)},
            {time(&Spread::total)},
            {kernel.seconds ? part_text(kernel.seconds->total, total) : unknown},
            {time(&Spread::median)},
            {time(&Spread::p99)},
            form([](const LaunchForm& f) { return extents_text(f.grid); }),
            form([](const LaunchForm& f) { return extents_text(f.block); }),
            form([](const LaunchForm& f) { return std::to_string(f.registers); }),
            form([](const LaunchForm& f) { return std::to_string(f.static_shared + f.dynamic_shared); }),
            form([](const LaunchForm& f) { return std::to_string(f.stream); }),
            form([](const LaunchForm& f) { return std::string(f.graph ? "yes" : "no"); })};
}

Table kernel_table(const ExecProfile& profile, const TableChoice& choice) {
    Table table;
    table.columns = {{"kernel"},          {"count", true},  {"total", true},  {"share", true},
                     {"median", true},    {"p99", true},    {"grid", true},   {"block", true},
                     {"registers", true}, {"shared", true}, {"stream", true}, {"graph"}};
    Section section;
    section.heading = fmt::format("{}; {}, {}, {}", command_text(profile), time_text(profile.wall_seconds),
                                  end_text(profile), counted(profile.processes.size(), "process", "processes"));
    const Work& work = profile.work;
    const double total = seconds_of_kernels(work);
    for (std::size_t i = 0; i < std::min(choice.top, work.kernels.size()); ++i) {
        section.rows.push_back(kernel_cells(work.kernels[i], total, choice.longest));
    }
    if (work.kernels.size() > choice.top) {
        std::uint64_t count = 0;
        double seconds = 0;
        for (std::size_t i = choice.top; i < work.kernels.size(); ++i) {
            count += work.kernels[i].count;
            seconds += work.kernels[i].seconds ? work.kernels[i].seconds->total : 0;
        }
        std::vector<Cell> rest(table.columns.size());
        rest[0] = {counted(work.kernels.size() - choice.top, "further kernel", "further kernels"), Style::faint};
        rest[1] = {count_text(count)};
        rest[2] = {time_text(seconds)};
        rest[3] = {part_text(seconds, total)};
        section.rows.push_back(std::move(rest));
    }
    if (work.launches + work.transfers + work.submissions == 0) {
        section.notes.emplace_back("Nothing ran on a GPU, as far as was seen.");
        table.sections.push_back(std::move(section));
        return table;
    }
    section.notes.push_back(fmt::format(
        "{} by {}, {}. A GPU was busy {}, {} of the {} from the first start to the last end.",
        counted(work.launches, "execution of a kernel", "executions of kernels"),
        counted(work.submissions, "submission", "submissions"), counted(work.transfers, "transfer", "transfers"),
        time_text(work.busy_seconds), part_text(work.busy_seconds, work.span_seconds), time_text(work.span_seconds)));
    table.sections.push_back(std::move(section));
    return table;
}

Table transfer_table(const Work& work) {
    Table table;
    table.columns = {{"transfer"}, {"count", true}, {"bytes", true}, {"total", true}, {"median", true}, {"p99", true}};
    Section section;
    for (const TransferRow& row : work.copies) {
        const auto time = [&](double Spread::*field) {
            return row.seconds ? time_text((*row.seconds).*field) : unknown;
        };
        section.rows.push_back({{name_of(row.kind)},
                                {count_text(row.count)},
                                {bytes_text(row.bytes)},
                                {time(&Spread::total)},
                                {time(&Spread::median)},
                                {time(&Spread::p99)}});
    }
    table.sections.push_back(std::move(section));
    return table;
}

template <class T>
std::string least_to_most(T least, T most) {
    return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

// Of the calls that are kept; ".." where there are more, which may be of other numbers.
std::string submissions_text(const RangeRow& range) {
    if (range.first_calls.empty()) {
        return unknown;
    }
    const auto [least, most] =
        std::minmax_element(range.first_calls.begin(), range.first_calls.end(),
                            [](const RangeCall& a, const RangeCall& b) { return a.submissions < b.submissions; });
    return least_to_most(least->submissions, most->submissions) + (range.first_calls.size() < range.calls ? " .." : "");
}

double median_busy(const RangeRow& range) {
    std::vector<double> busy;
    for (const RangeCall& call : range.first_calls) {
        busy.push_back(call.busy_seconds);
    }
    const auto middle = busy.begin() + static_cast<std::ptrdiff_t>((busy.size() - 1) / 2);
    std::nth_element(busy.begin(), middle, busy.end());
    return *middle;
}

Table range_table(const ExecProfile& profile, const TableChoice& choice) {
    Table table;
    table.columns = {
        {"range"},     {"calls", true}, {"launches a call", true}, {"submissions a call", true}, {"busy a call", true},
        {"busy", true}};
    Section section;
    // Of too many, those in which something was submitted.
    const bool crowded = profile.ranges.size() > choice.top;
    for (const RangeRow& range : profile.ranges) {
        const bool idle = range.work.submissions == 0 && range.work.launches == 0 && range.work.transfers == 0;
        if (section.rows.size() == choice.top || (crowded && idle)) {
            continue;
        }
        section.rows.push_back({{std::string(2 * range.inside.size(), ' ') + shortened(text_of(range), choice.longest)},
                                {count_text(range.calls)},
                                {least_to_most(range.least_launches, range.most_launches)},
                                {submissions_text(range)},
                                {range.first_calls.empty() ? unknown : time_text(median_busy(range))},
                                {time_text(range.work.busy_seconds)}});
    }
    if (const std::size_t left_out = profile.ranges.size() - section.rows.size(); left_out > 0) {
        section.notes.push_back(
            fmt::format("{}: --top shows more.", counted(left_out, "further range", "further ranges")));
    }
    table.sections.push_back(std::move(section));
    return table;
}

std::string gpus_text(const ProcessRow& process) {
    std::vector<std::string> gpus;
    for (std::size_t i = 0; i < process.devices.size(); ++i) {
        if (!process.devices[i].empty()) {
            gpus.push_back(fmt::format("{}: {}", i, process.devices[i]));
        }
    }
    return gpus.empty() ? "none" : fmt::format("{}", fmt::join(gpus, ", "));
}

// Of a shell script that is each tool that it calls: those that did nothing on a GPU are counted alone.
Table process_table(const ExecProfile& profile, const TableChoice& choice) {
    Table table;
    table.columns = {{"process", true}, {"parent", true}, {"command"}, {"GPUs used"}, {"launches", true}};
    Section section;
    std::size_t quiet = 0;
    std::size_t left_out = 0;
    for (const ProcessRow& process : profile.processes) {
        if (!process.has_gpu_work()) {
            ++quiet;
        } else if (section.rows.size() == choice.top) {
            ++left_out;
        } else {
            section.rows.push_back({{std::to_string(process.process)},
                                    {std::to_string(process.parent)},
                                    {shortened(process.command, choice.longest)},
                                    {gpus_text(process)},
                                    {count_text(process.launches)}});
        }
    }
    if (left_out > 0) {
        section.notes.push_back(
            fmt::format("{}: --top shows more.", counted(left_out, "further process", "further processes")));
    }
    if (quiet > 0) {
        section.notes.push_back(
            fmt::format("{} did nothing on a GPU.", counted(quiet, section.rows.empty() ? "process" : "further process",
                                                            section.rows.empty() ? "processes" : "further processes")));
    }
    table.sections.push_back(std::move(section));
    std::vector<std::string> doubts = doubts_of(profile);
    if (doubts.size() > choice.top) {
        const std::size_t more = doubts.size() - choice.top;
        doubts.resize(choice.top);
        doubts.push_back(fmt::format("{}: --top shows more.", counted(more, "further remark", "further remarks")));
    }
    table.notes = std::move(doubts);
    return table;
}

}  // namespace

std::string shortened(const std::string& text, std::size_t longest) {
    constexpr std::size_t dots = 3;
    if (longest <= dots || width_of(text) <= longest) {
        return text;
    }
    // By characters, not bytes: those that continue one take no room.
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) {
            starts.push_back(i);
        }
    }
    const std::size_t front = (longest - dots + 1) / 2;
    const std::size_t back = longest - dots - front;
    return text.substr(0, starts.at(front)) + "..." +
           (back == 0 ? std::string() : text.substr(starts.at(starts.size() - back)));
}

std::vector<std::string> doubts_of(const ExecProfile& profile) {
    std::vector<std::string> doubts = profile.remarks;
    for (const ProcessRow& process : profile.processes) {
        const auto say = [&](const std::string& sentence) {
            doubts.push_back(fmt::format("Process {}: {}", process.process, sentence));
        };
        if (!process.failure.empty()) {
            say(fmt::format("{} is recorded: {}.", process.launches == 0 ? "nothing" : "nothing more",
                            process.failure));
        }
        if (process.dropped > 0) {
            say(fmt::format("CUPTI dropped {} record(s), which are missing.", process.dropped));
        }
        if (process.without_submission > 0) {
            say(fmt::format("{} record(s) are of no submission that was seen: they are in no range.",
                            process.without_submission));
        }
        if (process.all_sent && process.without_record > 0) {
            say(fmt::format("{} submission(s) have no record.", process.without_record));
        }
        for (const std::string& remark : process.remarks) {
            say(remark);
        }
    }
    return doubts;
}

std::vector<Table> exec_tables(const ExecProfile& profile, const TableChoice& choice) {
    std::vector<Table> tables = {kernel_table(profile, choice)};
    if (!profile.work.copies.empty()) {
        tables.push_back(transfer_table(profile.work));
    }
    if (!profile.ranges.empty()) {
        tables.push_back(range_table(profile, choice));
    }
    if (!profile.processes.empty()) {
        tables.push_back(process_table(profile, choice));
    } else if (const std::vector<std::string> doubts = doubts_of(profile); !doubts.empty()) {
        tables.push_back({.columns = {}, .sections = {}, .notes = doubts});
    }
    return tables;
}

}  // namespace qkprof::exec
