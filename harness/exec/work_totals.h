// Sums up the work of a stretch of the program as its records come: exec_profile.h's Work in the making.
#pragma once

#include "durations.h"
#include "exec_profile.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace qkprof::exec {

// The names of kernels of all processes, each once and as in the source. Number 0 is "(others)": those beyond `most`.
class KernelNames {
  public:
    explicit KernelNames(std::size_t most) : most_(most) {}
    // Of a name as CUPTI gives it.
    std::uint32_t number_of(std::string_view name);
    const std::string& text(std::uint32_t number) const { return texts_.at(number); }
    bool full() const { return texts_.size() > most_; }

  private:
    std::size_t most_;
    std::vector<std::string> texts_ = {others_name};
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

// What all stretches together may still grow by, beyond which memory, and the profile, would have no bound.
struct Room {
    std::size_t kernels = std::size_t{1} << 15U;  // a kernel in a stretch
    std::size_t forms = std::size_t{1} << 16U;
    std::size_t calls = std::size_t{1} << 17U;  // of ranges, kept one by one
};

class WorkTotals {
  public:
    // Without `duration` where the record carries no time.
    void add(std::uint32_t kernel_name, const Kernel& kernel, std::optional<std::uint64_t> duration, Room& room);
    void add(const Transfer& transfer, std::optional<std::uint64_t> duration);

    std::uint64_t launches = 0;
    std::uint64_t transfers = 0;
    std::uint64_t submissions = 0;
    std::uint64_t busy = 0;  // nanoseconds
    std::uint64_t span = 0;

    Work work(const KernelNames& names) const;

  private:
    struct Times {
        Durations durations;
        std::uint64_t count = 0;
        std::uint64_t without = 0;

        void add(std::optional<std::uint64_t> duration);
    };
    struct KernelTotals {
        Times times;
        std::vector<LaunchForm> forms;
        std::size_t last_form = 0;
        std::uint64_t in_other_forms = 0;
    };
    struct TransferTotals {
        Times times;
        std::uint64_t bytes = 0;
    };
    static void add_form(KernelTotals& totals, const Kernel& kernel, Room& room);
    static std::optional<Spread> spread_of(const Durations& durations);

    std::unordered_map<std::uint32_t, KernelTotals> kernels_;
    std::array<TransferTotals, all_transfer_kinds.size()> copies_;
};

inline double seconds_of(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

}  // namespace qkprof::exec
