// The messages of many processes -> what `qkprof exec` keeps of the program. Of bounded memory, however long it runs.
#pragma once

#include "busy_time.h"
#include "decoder.h"
#include "exec_profile.h"
#include "range_instances.h"
#include "range_rows.h"
#include "submissions.h"
#include "trace_sink.h"
#include "work_totals.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace qkprof::exec {

class Collector {
  public:
    struct Limits {
        std::size_t kernels = 4096;      // distinct names
        std::size_t ranges = 1U << 16U;  // distinct places: XLA has a range for each pass of each compilation
        std::size_t intervals = 100'000;
        std::size_t names = 100'000;  // of a process
        std::size_t processes = 4096;
        Submissions::Limits submissions;
        RangeInstances::Limits instances;
    };
    // `trace` may be null, and outlives the collector.
    explicit Collector(TraceSink* trace = nullptr);
    Collector(TraceSink* trace, const Limits& limits);

    // From now on.
    void trace_to(TraceSink* trace) { trace_ = trace; }

    std::uint32_t opened();
    // Throws InputError for what no injected library of this build says; the connection is then to be closed.
    void receive(std::uint32_t connection, const Message& message);
    // It ended at `time` (nanoseconds of CLOCK_REALTIME); `fault`: why it was ended, a clause.
    void closed(std::uint32_t connection, std::uint64_t time, const std::string& fault = {});

    bool used_cuda() const;

    // What was seen so far: work, processes, ranges and remarks.
    ExecProfile profile(std::uint64_t time) const;

    // What is held of a process, to see that it is bounded.
    struct Sizes {
        std::size_t submissions = 0;
        std::size_t live_ranges = 0;
        std::size_t remembered_ranges = 0;
        std::size_t range_intervals = 0;
        std::size_t gpu_intervals = 0;
        std::size_t names = 0;
    };
    Sizes sizes(std::uint32_t connection) const;

  private:
    struct NamedText {
        std::string text;
        std::uint32_t kernel = unresolved;  // its number in names_
        static constexpr std::uint32_t unresolved = 0xffffffffU;
    };
    struct Connection {
        explicit Connection(const Limits& limits) : submissions(limits.submissions), ranges(limits.instances) {}

        ProcessRow row;
        bool greeted = false;
        bool closed = false;
        bool used_cuda = false;
        std::unordered_map<std::uint32_t, NamedText> names;
        Submissions submissions;
        RangeInstances ranges;
        std::map<std::uint32_t, BusyTime> busy;  // by GPU
        std::uint64_t last_flush = 0;
        std::uint64_t last_time = 0;  // of all that it told
        std::uint64_t without_time = 0;
    };

    void of_hello(std::uint32_t number, const Message& message);
    void told(std::uint32_t number, Connection& connection, const Message& message);
    void record(std::uint32_t number, Connection& connection, const Kernel& kernel);
    void record(std::uint32_t number, Connection& connection, const Transfer& transfer);
    void submit(Connection& connection, const Submission& submission);
    void cancel(Connection& connection, const Cancelled& cancelled);
    void push(Connection& connection, const Push& push);
    void pop(std::uint32_t number, Connection& connection, const Pop& pop);
    NamedText& name(Connection& connection, std::uint32_t number);
    std::string range_text(std::uint32_t row);
    enum class End : std::uint8_t { ended, refused, still_runs };
    void sum_up(Connection& connection, std::uint64_t time, End end);
    static void remark_on_end(Connection& connection, std::uint64_t time, End end);
    static void remark_on_losses(Connection& connection, std::uint64_t forgotten);
    std::vector<std::string> remarks() const;

    TraceSink* trace_;
    Limits limits_;
    KernelNames names_;
    RangeRows rows_;
    Room room_;
    WorkTotals work_;
    std::map<std::uint32_t, Connection> connections_;
    std::uint32_t next_ = 0;
    std::uint64_t left_out_processes_ = 0;
};

}  // namespace qkprof::exec
