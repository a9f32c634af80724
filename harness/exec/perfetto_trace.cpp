#include "perfetto_trace.h"

#include "error.h"
#include "exec_profile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace qkprof::exec {
namespace {

constexpr std::size_t held_most = std::size_t{1} << 20U;
constexpr std::size_t most_lanes = 64;
constexpr std::string_view ending = "\n]}\n";

std::string in_json(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class Extents>
std::string extents_text(const Extents& extents) {
    return fmt::format("{}x{}x{}", extents[0], extents[1], extents[2]);
}

}  // namespace

PerfettoTrace::PerfettoTrace(const std::filesystem::path& path, std::uint64_t begin, std::uint64_t most)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)), begin_(begin), most_(most) {
    if (file_ < 0) {
        throw CannotMeasure(
            fmt::format("The trace {} cannot be written: {}.", path.string(), std::generic_category().message(errno)));
    }
    held_ = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    flush();
}

PerfettoTrace::~PerfettoTrace() {
    flush();
    close(file_);
}

// The ending stands behind what is written at every moment, and is overwritten by what comes next.
void PerfettoTrace::flush() {
    const std::string text = held_ + std::string(ending);
    std::string_view rest = text;
    while (!rest.empty() && fault_.empty()) {
        const auto place = static_cast<off_t>(written_ + (text.size() - rest.size()));
        const ssize_t count = pwrite(file_, rest.data(), rest.size(), place);
        if (count < 0 && errno != EINTR) {
            fault_ = std::generic_category().message(errno);
        }
        rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    written_ += held_.size();
    held_.clear();
}

bool PerfettoTrace::has_room(std::uint64_t events) {
    if (events_ + events > most_ || !fault_.empty()) {
        ++left_out_;
        return false;
    }
    events_ += events;
    return true;
}

void PerfettoTrace::put(std::string_view event) {
    held_ += first_ ? "\n" : ",\n";
    held_ += event;
    first_ = false;
    if (held_.size() > held_most) {
        flush();
    }
}

void PerfettoTrace::name_process(std::uint64_t number, const std::string& name) {
    put(fmt::format(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": {}}}}})", number,
                    in_json(name)));
    put(fmt::format(R"({{"ph": "M", "name": "process_sort_index", "pid": {0}, "args": {{"sort_index": {0}}}}})",
                    number));
}

void PerfettoTrace::name_row(std::uint64_t process, std::uint64_t row, const std::string& name) {
    put(fmt::format(R"({{"ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "args": {{"name": {}}}}})", process,
                    row, in_json(name)));
}

std::string PerfettoTrace::microseconds(std::uint64_t time) const {
    const std::uint64_t since = time - std::min(time, begin_);
    return fmt::format("{}.{:03}", since / 1000, since % 1000);
}

void PerfettoTrace::process(std::uint32_t connection, std::int32_t process, std::string_view command) {
    const std::uint64_t number = ++processes_;
    hosts_[connection] = number;
    name_process(number, fmt::format("process {}: {}", process, command));
}

std::uint64_t PerfettoTrace::host_of(std::uint32_t connection) {
    const auto found = hosts_.find(connection);
    return found == hosts_.end() ? 0 : found->second;
}

void PerfettoTrace::gpu(std::uint32_t connection, std::uint32_t device, std::string_view name) {
    Gpu& gpu = gpus_[{connection, device}];
    if (gpu.number == 0) {
        gpu.number = ++processes_;
    }
    name_process(gpu.number, name.empty() ? fmt::format("GPU {}", device) : fmt::format("GPU {}: {}", device, name));
}

PerfettoTrace::Gpu& PerfettoTrace::gpu_of(std::uint32_t connection, std::uint32_t device) {
    if (gpus_.find({connection, device}) == gpus_.end()) {
        gpu(connection, device, "");
    }
    return gpus_[{connection, device}];
}

std::uint64_t PerfettoTrace::row_of(Gpu& gpu, std::uint32_t stream, std::uint64_t start, std::uint64_t end) {
    std::vector<Lane>& lanes = gpu.streams[stream];
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& one) { return one.end <= start; });
    if (lane == lanes.end() && lanes.size() < most_lanes) {
        lanes.push_back({.end = 0, .row = ++gpu.rows});
        lane = lanes.end() - 1;
        name_row(
            gpu.number, lane->row,
            lanes.size() == 1 ? fmt::format("stream {}", stream) : fmt::format("stream {} ({})", stream, lanes.size()));
    }
    if (lane == lanes.end()) {
        lane = lanes.end() - 1;
    }
    lane->end = std::max(lane->end, end);
    return lane->row;
}

// From the range in which the host submitted it. Without a range there is nothing that an arrow could begin at.
void PerfettoTrace::arrow(std::uint32_t connection, const Submission* submission, const Gpu& gpu, std::uint64_t row,
                          std::uint64_t start) {
    const std::uint64_t host = host_of(connection);
    if (submission == nullptr || submission->range == 0 || host == 0 || submission->time > start || !has_room(2)) {
        return;
    }
    const std::uint64_t id = ++arrows_;
    put(fmt::format(
        R"({{"ph": "s", "name": "submitted", "cat": "submission", "id": {}, "pid": {}, "tid": {}, "ts": {}}})", id,
        host, submission->thread, microseconds(submission->time)));
    put(fmt::format(
        R"({{"ph": "f", "bp": "e", "name": "submitted", "cat": "submission", "id": {}, "pid": {}, "tid": {}, "ts": {}}})",
        id, gpu.number, row, microseconds(start)));
}

void PerfettoTrace::kernel(std::uint32_t connection, const Kernel& kernel, std::string_view name,
                           const Submission* submission) {
    if (!has_room(1)) {
        return;
    }
    Gpu& gpu = gpu_of(connection, kernel.device);
    const std::uint64_t row = row_of(gpu, kernel.stream, kernel.start, kernel.end);
    put(fmt::format(
        R"({{"ph": "X", "name": {}, "cat": "kernel", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"grid": "{}", )"
        R"("block": "{}", "registers": {}, "static_shared": {}, "dynamic_shared": {}, "graph": {}, "correlation": {}}}}})",
        in_json(name), gpu.number, row, microseconds(kernel.start), microseconds(begin_ + kernel.end - kernel.start),
        extents_text(kernel.grid), extents_text(kernel.block), kernel.registers, kernel.static_shared,
        kernel.dynamic_shared, kernel.graph, kernel.correlation));
    arrow(connection, submission, gpu, row, kernel.start);
}

void PerfettoTrace::transfer(std::uint32_t connection, const Transfer& transfer, const Submission* submission) {
    if (!has_room(1)) {
        return;
    }
    Gpu& gpu = gpu_of(connection, transfer.device);
    const std::uint64_t row = row_of(gpu, transfer.stream, transfer.start, transfer.end);
    put(fmt::format(
        R"({{"ph": "X", "name": "{}", "cat": "transfer", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"bytes": {}, )"
        R"("graph": {}, "correlation": {}}}}})",
        name_of(transfer.kind), gpu.number, row, microseconds(transfer.start),
        microseconds(begin_ + transfer.end - transfer.start), transfer.bytes, transfer.graph, transfer.correlation));
    arrow(connection, submission, gpu, row, transfer.start);
}

void PerfettoTrace::range(std::uint32_t connection, std::uint32_t thread, std::uint64_t start, std::uint64_t end,
                          std::string_view text) {
    if (!has_room(1)) {
        return;
    }
    const std::uint64_t host = host_of(connection);
    if (threads_.emplace(connection, thread).second) {
        name_row(host, thread, fmt::format("thread {}", thread));
    }
    if (end == 0) {
        put(fmt::format(R"({{"ph": "B", "name": {}, "cat": "range", "pid": {}, "tid": {}, "ts": {}}})", in_json(text),
                        host, thread, microseconds(start)));
        return;
    }
    put(fmt::format(R"({{"ph": "X", "name": {}, "cat": "range", "pid": {}, "tid": {}, "ts": {}, "dur": {}}})",
                    in_json(text), host, thread, microseconds(start), microseconds(begin_ + end - start)));
}

}  // namespace qkprof::exec
