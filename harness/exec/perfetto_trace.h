// The kernels, transfers and ranges of a program as Chrome's trace events, which Perfetto (ui.perfetto.dev) and
// chrome://tracing open: a row for each stream of a GPU and for each thread of a process. Written as they come.
#pragma once

#include "trace_sink.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qkprof::exec {

class PerfettoTrace final : public TraceSink {
  public:
    // Times are written as from `begin` (nanoseconds of CLOCK_REALTIME). Of events, arrows among them, the first `most`
    // are kept. Throws CannotMeasure where the file cannot be written; what it held before is lost.
    PerfettoTrace(const std::filesystem::path& path, std::uint64_t begin, std::uint64_t most);
    ~PerfettoTrace() override;
    PerfettoTrace(const PerfettoTrace&) = delete;
    PerfettoTrace& operator=(const PerfettoTrace&) = delete;
    PerfettoTrace(PerfettoTrace&&) = delete;
    PerfettoTrace& operator=(PerfettoTrace&&) = delete;

    void process(std::uint32_t connection, std::int32_t process, std::string_view command) override;
    void gpu(std::uint32_t connection, std::uint32_t device, std::string_view name) override;
    void kernel(std::uint32_t connection, const Kernel& kernel, std::string_view name,
                const Submission* submission) override;
    void transfer(std::uint32_t connection, const Transfer& transfer, const Submission* submission) override;
    void range(std::uint32_t connection, std::uint32_t thread, std::uint64_t start, std::uint64_t end,
               std::string_view text) override;

    // Writes what is still held: the file is then whole JSON, and stays so when more comes.
    void flush();
    std::uint64_t left_out() const { return left_out_; }
    // Why the file is not whole, a clause; empty: it is.
    const std::string& fault() const { return fault_; }

  private:
    // A row of a GPU: what overlaps on one stream, as the kernels of a graph do, goes to further rows.
    struct Lane {
        std::uint64_t end = 0;
        std::uint64_t row = 0;
    };
    struct Gpu {
        std::uint64_t number = 0;  // the trace's, of a process
        std::uint64_t rows = 0;
        std::map<std::uint32_t, std::vector<Lane>> streams;
    };
    using Key = std::pair<std::uint32_t, std::uint32_t>;  // connection and device or thread

    bool has_room(std::uint64_t events);
    void put(std::string_view event);
    void name_process(std::uint64_t number, const std::string& name);
    void name_row(std::uint64_t process, std::uint64_t row, const std::string& name);
    std::string microseconds(std::uint64_t time) const;
    Gpu& gpu_of(std::uint32_t connection, std::uint32_t device);
    std::uint64_t row_of(Gpu& gpu, std::uint32_t stream, std::uint64_t start, std::uint64_t end);
    std::uint64_t host_of(std::uint32_t connection);
    void arrow(std::uint32_t connection, const Submission* submission, const Gpu& gpu, std::uint64_t row,
               std::uint64_t start);

    int file_ = -1;
    std::uint64_t begin_;
    std::uint64_t most_;
    std::uint64_t events_ = 0;
    std::uint64_t left_out_ = 0;
    std::uint64_t arrows_ = 0;
    std::uint64_t processes_ = 0;
    std::uint64_t written_ = 0;  // bytes of the file that stay
    bool first_ = true;
    std::string held_;
    std::string fault_;
    std::map<std::uint32_t, std::uint64_t> hosts_;
    std::set<Key> threads_;  // those that are named
    std::map<Key, Gpu> gpus_;
};

}  // namespace qkprof::exec
