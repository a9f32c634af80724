// What `qkprof exec` saw of a program: its kernels, copies and fills, for the whole and for each NVTX range. On disk it
// is JSON (write: exec_profile_writer.cpp, read: exec_profile_reader.cpp).
#pragma once

#include "protocol.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof::exec {

inline constexpr int exec_schema = 1;

// In seconds. The quantiles are within 1 %; all else is exact.
struct Spread {
    double total = 0;
    double least = 0;
    double p10 = 0;
    double median = 0;
    double p90 = 0;
    double p99 = 0;
    double most = 0;
};

// The way in which a kernel was launched.
struct LaunchForm {
    std::uint32_t device = 0;
    std::uint32_t stream = 0;
    bool graph = false;
    std::array<std::int64_t, 3> grid = {};
    std::array<std::int64_t, 3> block = {};
    std::int64_t registers = 0;  // a thread
    std::int64_t static_shared = 0;
    std::int64_t dynamic_shared = 0;
    std::uint64_t count = 0;
};

struct KernelRow {
    std::string name;  // as in the source, with its arguments
    std::uint64_t count = 0;
    std::uint64_t without_time = 0;    // executions whose record carries no time: not in `seconds`
    std::optional<Spread> seconds;     // none where no record carries a time
    std::vector<LaunchForm> forms;     // the most frequent first; at most most_forms
    std::uint64_t in_other_forms = 0;  // launches in forms beyond these
};
inline constexpr std::size_t most_forms = 16;
// The row of what is beyond the distinct kernels, or ranges, that are kept apart.
inline constexpr const char* others_name = "(others)";

struct TransferRow {
    TransferKind kind = TransferKind::other_copy;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t without_time = 0;
    std::optional<Spread> seconds;
};
// "copy host to device", "fill".
const char* name_of(TransferKind kind);
inline constexpr std::array all_transfer_kinds = {TransferKind::host_to_device,
                                                  TransferKind::device_to_host,
                                                  TransferKind::device_to_device,
                                                  TransferKind::peer_to_peer,
                                                  TransferKind::host_to_host,
                                                  TransferKind::other_copy,
                                                  TransferKind::fill};

// What ran in a stretch of the program. Kernels are one row a name. A GPU here is one of a process: two processes on
// the same GPU are summed as if each had its own.
struct Work {
    std::uint64_t launches = 0;      // executions of kernels
    std::uint64_t transfers = 0;     // copies and fills
    std::uint64_t submissions = 0;   // of the host: a launch, a graph's launch, a copy, a fill
    double busy_seconds = 0;         // in which at least one of them was running, by GPU and summed
    double span_seconds = 0;         // from the first's start to the last's end, by GPU and summed
    std::vector<KernelRow> kernels;  // the longest in total first
    std::vector<TransferRow> copies;
};

// One instance of a range.
struct RangeCall {
    std::uint64_t launches = 0;
    std::uint64_t transfers = 0;
    std::uint64_t submissions = 0;
    double busy_seconds = 0;
    double span_seconds = 0;
    std::optional<double> host_seconds;  // between push and pop; none: it was never popped

    friend bool operator==(const RangeCall&, const RangeCall&) = default;
};
inline constexpr std::size_t most_calls_kept = 4096;  // of a range, and of all ranges together a bounded number

// All instances of one NVTX range at one place in the nesting, of all processes. What ran in the ranges inside it is
// part of it.
struct RangeRow {
    std::string domain;  // empty: the default one
    std::string name;
    std::vector<std::string> inside;  // the ranges around it, the outermost first, as text_of() writes them
    std::uint64_t calls = 0;
    std::uint64_t open = 0;  // of those, never popped
    Work work;
    std::vector<RangeCall> first_calls;  // in the order of their pushes; at most most_calls_kept
    // Over all calls, also those that are not kept.
    std::uint64_t least_launches = 0;
    std::uint64_t most_launches = 0;
    // What makes the counts of a call too small, if it is not 0: submissions in it of which no record came, and records
    // that came when the call was already counted (they are in `work` alone).
    std::uint64_t without_record = 0;
    std::uint64_t late_records = 0;
};
// "name", or "domain@name": as ncu and nsys filter them.
std::string text_of(const RangeRow& range);

struct ProcessRow {
    std::int64_t process = 0;
    std::int64_t parent = 0;
    std::string command;
    std::uint32_t cupti = 0;
    std::vector<std::string> devices;  // by number
    std::string failure;               // why nothing was recorded, or nothing more, a clause
    std::vector<std::string> remarks;  // sentences
    bool all_sent = false;             // it ended with all records sent
    std::uint64_t dropped = 0;
    std::uint64_t without_submission = 0;  // records whose submission is not known: in no range
    std::uint64_t without_record = 0;      // submissions of which no record came
    std::uint64_t launches = 0;

    bool has_gpu_work() const {
        return launches > 0 || cupti != 0 || !devices.empty() || without_record > 0 || !failure.empty();
    }
};

struct ExecProfile {
    int schema = exec_schema;
    std::string date;  // ISO 8601 with the offset from UTC
    std::string host_name;
    std::string version;  // of qkprof
    std::string commit;
    std::vector<std::string> command;
    std::optional<int> exit_code;  // of the command
    std::string signal;            // that ended it, "SIGTERM"; empty: none
    double wall_seconds = 0;
    bool complete = false;  // false while it runs
    Work work;
    std::vector<ProcessRow> processes;
    std::vector<RangeRow> ranges;  // a range behind the one it is in
    std::vector<std::string> remarks;
};

std::string to_json(const ExecProfile& profile);

// Throws InputError, naming `source` and the place, for text that is not such a profile or of a newer schema.
ExecProfile parse_exec_profile(std::string_view json, const std::string& source);
ExecProfile read_exec_profile(const std::filesystem::path& path);

}  // namespace qkprof::exec
