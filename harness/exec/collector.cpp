#include "collector.h"

#include "error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace qkprof::exec {
namespace {

constexpr std::size_t longest_command = 4096;
constexpr std::size_t longest_sentence_of_others = 1000;
constexpr std::size_t longest_range_name = 1024;
constexpr std::size_t most_remarks = 100;
constexpr std::uint32_t most_devices = 1024;

template <class Record>
std::optional<std::uint64_t> duration_of(const Record& record) {
    if (record.start == 0 || record.end < record.start) {
        return {};
    }
    return record.end - record.start;
}

void check_device(std::uint32_t device) {
    if (device >= most_devices) {
        throw InputError(fmt::format("a GPU of the number {}", device));
    }
}

}  // namespace

Collector::Collector(TraceSink* trace) : Collector(trace, Limits()) {}

Collector::Collector(TraceSink* trace, const Limits& limits)
    : trace_(trace), limits_(limits), names_(limits.kernels), rows_(limits.ranges) {}

std::uint32_t Collector::opened() {
    connections_.try_emplace(next_, limits_);
    return next_++;
}

Collector::NamedText& Collector::name(Connection& connection, std::uint32_t number) {
    const auto found = connection.names.find(number);
    if (found != connection.names.end()) {
        return found->second;
    }
    if (connection.names.size() < limits_.names) {
        throw InputError(fmt::format("a name of the number {}, which it never told", number));
    }
    static NamedText others{.text = others_name, .kernel = 0};
    return others;
}

std::string Collector::range_text(std::uint32_t row) {
    RangeRow range;
    range.domain = rows_.at(row).domain;
    range.name = rows_.at(row).name;
    return text_of(range);
}

void Collector::receive(std::uint32_t number, const Message& message) {
    Connection& connection = connections_.at(number);
    if (!connection.greeted) {
        of_hello(number, message);
        return;
    }
    switch (message.kind) {
        case MessageKind::kernel:
            return record(number, connection, message.as<Kernel>());
        case MessageKind::transfer:
            return record(number, connection, message.as<Transfer>());
        case MessageKind::submission:
            return submit(connection, message.as<Submission>());
        case MessageKind::cancelled:
            return cancel(connection, message.as<Cancelled>());
        case MessageKind::push:
            return push(connection, message.as<Push>());
        case MessageKind::pop:
            return pop(number, connection, message.as<Pop>());
        default:
            return told(number, connection, message);
    }
}

void Collector::of_hello(std::uint32_t number, const Message& message) {
    if (message.kind != MessageKind::hello) {
        throw InputError("something before its hello");
    }
    Connection& connection = connections_.at(number);
    const auto hello = message.as<Hello>();
    connection.row.process = hello.process;
    connection.row.parent = hello.parent;
    connection.row.command = printable(message.text, longest_command);
    if (hello.protocol != protocol_version) {
        throw InputError(
            fmt::format("messages of version {}, where this qkprof knows version {}: the library is of "
                        "another build",
                        hello.protocol, protocol_version));
    }
    connection.greeted = true;
    connection.last_time = hello.time;
    if (trace_ != nullptr) {
        trace_->process(number, hello.process, connection.row.command);
    }
}

// What comes seldom.
void Collector::told(std::uint32_t number, Connection& connection, const Message& message) {
    switch (message.kind) {
        case MessageKind::attached:
            connection.row.cupti = message.as<Attached>().cupti;
            connection.used_cuda = true;
            return;
        case MessageKind::failure:
            connection.row.failure = printable(message.text, longest_sentence_of_others);
            connection.used_cuda = true;  // or CUDA would not have loaded the library
            return;
        case MessageKind::remark:
            if (connection.row.remarks.size() < most_remarks) {
                connection.row.remarks.push_back(printable(message.text, longest_sentence_of_others));
            }
            return;
        case MessageKind::device: {
            const std::uint32_t device = message.as<Device>().device;
            check_device(device);
            connection.used_cuda = true;
            std::vector<std::string>& devices = connection.row.devices;
            devices.resize(std::max<std::size_t>(devices.size(), device + 1));
            devices[device] = printable(message.text, longest_sentence_of_others);
            if (trace_ != nullptr) {
                trace_->gpu(number, device, devices[device]);
            }
            return;
        }
        case MessageKind::name:
            if (connection.names.size() < limits_.names) {
                connection.names.insert_or_assign(message.as<Name>().name, NamedText{std::string(message.text)});
            }
            return;
        case MessageKind::dropped:
            connection.row.dropped += message.as<Dropped>().records;
            return;
        case MessageKind::flushed:
            connection.last_flush = std::max(connection.last_flush, message.as<Flushed>().time);
            return;
        case MessageKind::goodbye:
            connection.row.all_sent = true;
            return;
        default:
            throw InputError("a second hello");
    }
}

void Collector::submit(Connection& connection, const Submission& submission) {
    if (submission.kind > SubmissionKind::fill) {
        throw InputError(fmt::format("a submission of the unknown kind {}", static_cast<unsigned>(submission.kind)));
    }
    connection.used_cuda = true;
    connection.last_time = std::max(connection.last_time, submission.time);
    ++work_.submissions;
    connection.submissions.add(submission);
    RangeInstances::Part part;
    part.range = submission.range;
    part.submissions = 1;
    connection.ranges.add(part, rows_, [](RangeRows::Row&) {});
}

void Collector::cancel(Connection& connection, const Cancelled& cancelled) {
    const auto submission = connection.submissions.cancel(cancelled.correlation);
    if (!submission) {
        return;
    }
    --work_.submissions;
    RangeInstances::Part part;
    part.range = submission->range;
    part.submissions = -1;
    connection.ranges.add(part, rows_, [](RangeRows::Row&) {});
}

void Collector::push(Connection& connection, const Push& push) {
    connection.last_time = std::max(connection.last_time, push.time);
    const std::string domain =
        push.domain == 0 ? std::string() : printable(name(connection, push.domain).text, longest_range_name);
    connection.ranges.push(push, domain, printable(name(connection, push.name).text, longest_range_name), rows_, room_);
}

void Collector::pop(std::uint32_t number, Connection& connection, const Pop& pop) {
    connection.last_time = std::max(connection.last_time, pop.time);
    const auto popped = connection.ranges.pop(pop, rows_);
    if (popped && trace_ != nullptr) {
        trace_->range(number, popped->thread, popped->pushed, std::max(pop.time, popped->pushed),
                      range_text(popped->row));
    }
}

void Collector::record(std::uint32_t number, Connection& connection, const Kernel& kernel) {
    check_device(kernel.device);
    const std::optional<std::uint64_t> duration = duration_of(kernel);
    NamedText& named = name(connection, kernel.name);
    if (named.kernel == NamedText::unresolved) {
        named.kernel = names_.number_of(named.text);
    }
    const Submission* submission = connection.submissions.recorded(kernel.correlation);
    connection.used_cuda = true;
    ++connection.row.launches;
    work_.add(named.kernel, kernel, duration, room_);
    connection.row.without_submission += submission == nullptr ? 1 : 0;
    if (duration) {
        connection.busy[kernel.device].add(kernel.start, kernel.end, limits_.intervals);
        connection.last_time = std::max(connection.last_time, kernel.end);
    } else {
        ++connection.without_time;
    }
    if (submission != nullptr && submission->range != 0) {
        RangeInstances::Part part;
        part.range = submission->range;
        part.launches = 1;
        part.device = kernel.device;
        part.start = duration ? kernel.start : 0;
        part.end = duration ? kernel.end : 0;
        connection.ranges.add(part, rows_,
                              [&](RangeRows::Row& row) { row.work.add(named.kernel, kernel, duration, room_); });
    }
    if (trace_ != nullptr && duration) {
        trace_->kernel(number, kernel, names_.text(named.kernel), submission);
    }
}

void Collector::record(std::uint32_t number, Connection& connection, const Transfer& transfer) {
    check_device(transfer.device);
    if (transfer.kind > TransferKind::fill) {
        throw InputError(fmt::format("a transfer of the unknown kind {}", static_cast<unsigned>(transfer.kind)));
    }
    const std::optional<std::uint64_t> duration = duration_of(transfer);
    const Submission* submission = connection.submissions.recorded(transfer.correlation);
    connection.used_cuda = true;
    work_.add(transfer, duration);
    connection.row.without_submission += submission == nullptr ? 1 : 0;
    if (duration) {
        connection.busy[transfer.device].add(transfer.start, transfer.end, limits_.intervals);
        connection.last_time = std::max(connection.last_time, transfer.end);
    } else {
        ++connection.without_time;
    }
    if (submission != nullptr && submission->range != 0) {
        RangeInstances::Part part;
        part.range = submission->range;
        part.transfers = 1;
        part.device = transfer.device;
        part.start = duration ? transfer.start : 0;
        part.end = duration ? transfer.end : 0;
        connection.ranges.add(part, rows_, [&](RangeRows::Row& row) { row.work.add(transfer, duration); });
    }
    if (trace_ != nullptr && duration) {
        trace_->transfer(number, transfer, submission);
    }
}

void Collector::closed(std::uint32_t number, std::uint64_t time, const std::string& fault) {
    Connection& connection = connections_.at(number);
    if (connection.closed) {
        return;
    }
    if (!fault.empty()) {
        connection.row.failure = fault;
    }
    if (trace_ != nullptr) {
        connection.ranges.each_open([&](const RangeInstances::Popped& open) {
            trace_->range(number, open.thread, open.pushed, 0, range_text(open.row));
        });
    }
    sum_up(connection, time, fault.empty() ? End::ended : End::refused);
    connection.closed = true;
    // Of a build or a shell script, that of each tool that it called: counted alone.
    const bool tells_nothing =
        !connection.used_cuda && connection.row.failure.empty() && connection.row.remarks.empty();
    if (!connection.greeted && fault.empty()) {
        connections_.erase(number);
    } else if (tells_nothing && connections_.size() > limits_.processes) {
        ++left_out_processes_;
        connections_.erase(number);
    }
}

// What can only be said at the end of the process.
void Collector::sum_up(Connection& connection, std::uint64_t time, End end) {
    const std::uint64_t forgotten = connection.ranges.forgotten();
    connection.row.without_record = connection.submissions.forgotten();
    connection.submissions.each_without_record([&](const Submission& submission) {
        ++connection.row.without_record;
        RangeInstances::Part part;
        part.range = submission.range;
        part.without_record = true;
        connection.ranges.add(part, rows_, [](RangeRows::Row&) {});
    });
    connection.ranges.count_all(rows_);
    remark_on_end(connection, time, end);
    remark_on_losses(connection, forgotten);
    for (auto& [device, busy] : connection.busy) {
        work_.busy += busy.busy();
        work_.span += busy.span();
    }
    connection.busy.clear();
    connection.names.clear();
    connection.submissions = Submissions(limits_.submissions);
    connection.ranges = RangeInstances(limits_.instances);
}

void Collector::remark_on_end(Connection& connection, std::uint64_t time, End end) {
    if (connection.row.all_sent || !connection.used_cuda || end == End::refused) {
        return;
    }
    const std::string flush =
        connection.last_flush == 0 || time < connection.last_flush
            ? std::string("no flush of all records was seen")
            : fmt::format("all records were last sent {:.3g} s before", seconds_of(time - connection.last_flush));
    connection.row.remarks.push_back(fmt::format(
        "{}: what it submitted in its last moments may be missing, {} submission(s) have no record, and {}.",
        end == End::ended ? "It ended, or was killed, before its last records were sent" : "It still ran",
        connection.row.without_record, flush));
}

void Collector::remark_on_losses(Connection& connection, std::uint64_t forgotten) {
    const auto remark = [&](std::uint64_t count, const char* sentence) {
        if (count > 0) {
            connection.row.remarks.push_back(fmt::format(fmt::runtime(sentence), count));
        }
    };
    remark(connection.without_time, "{} record(s) carry no time: they are counted and add no time.");
    remark(forgotten,
           "{} record(s) or submission(s) came so late that the range they are of is not known: they are in "
           "the whole and in no range.");
    remark(connection.ranges.late(),
           "{} record(s) came when their range had been counted: they are in the range and in none of its calls.");
    remark(connection.ranges.too_deep(),
           "{} range(s) were nested too deep, or too many were open, to be kept apart: what ran in them is part of the "
           "ranges around them.");
    remark(connection.ranges.late_intervals(),
           "{} record(s) came so late that the busy time of their range may count an overlap twice.");
    std::uint64_t late = 0;
    for (const auto& [device, busy] : connection.busy) {
        late += busy.late();
    }
    remark(late, "{} record(s) came so late that the busy time may count an overlap twice.");
    remark(connection.submissions.forgotten(),
           "{} submission(s) waited so long for their record that it was given up.");
}

bool Collector::used_cuda() const {
    return std::any_of(connections_.begin(), connections_.end(),
                       [](const auto& connection) { return connection.second.used_cuda; });
}

std::vector<std::string> Collector::remarks() const {
    std::vector<std::string> remarks;
    if (names_.full()) {
        remarks.push_back(fmt::format("There are at least {} distinct kernels: those that came later are one row, {}.",
                                      limits_.kernels, others_name));
    }
    if (rows_.left_out()) {
        remarks.push_back(fmt::format("There are at least {} distinct ranges: those that came later are one row, {}.",
                                      limits_.ranges, others_name));
    }
    if (const std::size_t idle = rows_.idle_together(); idle > 0) {
        remarks.push_back(fmt::format(
            "Of so many ranges the {} in which nothing was submitted are counted together, {}.", idle, others_name));
    }
    if (room_.kernels == 0 || room_.forms == 0) {
        remarks.push_back(
            fmt::format("There were too many kernels, or ways to launch them, in too many ranges to keep all apart: "
                        "some are in the rows {} and in the launches of other forms.",
                        others_name));
    }
    if (left_out_processes_ > 0) {
        remarks.push_back(fmt::format("{} further process(es) did not use CUDA.", left_out_processes_));
    }
    return remarks;
}

ExecProfile Collector::profile(std::uint64_t time) const {
    Collector copy = *this;
    copy.trace_ = nullptr;
    ExecProfile profile;
    for (auto& [number, connection] : copy.connections_) {
        if (!connection.greeted && !connection.closed) {
            continue;
        }
        if (!connection.closed) {
            copy.sum_up(connection, time, End::still_runs);
        }
        profile.processes.push_back(connection.row);
    }
    profile.work = copy.work_.work(copy.names_);
    profile.ranges = copy.rows_.rows(copy.names_);
    profile.remarks = copy.remarks();
    return profile;
}

Collector::Sizes Collector::sizes(std::uint32_t number) const {
    const Connection& connection = connections_.at(number);
    Sizes sizes = {.submissions = connection.submissions.kept(),
                   .live_ranges = connection.ranges.live(),
                   .remembered_ranges = connection.ranges.remembered(),
                   .range_intervals = connection.ranges.intervals(),
                   .gpu_intervals = 0,
                   .names = connection.names.size()};
    for (const auto& [device, busy] : connection.busy) {
        sizes.gpu_intervals += busy.kept();
    }
    return sizes;
}

}  // namespace qkprof::exec
