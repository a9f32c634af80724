// How long many executions took, in bounded memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace qkprof::exec {

// Nanoseconds. Count, total, least and most are exact; a quantile is within 1 % of one of the durations.
class Durations {
  public:
    void add(std::uint64_t nanoseconds);
    void add(const Durations& others);

    std::uint64_t count() const { return count_; }
    std::uint64_t total() const { return total_; }
    std::uint64_t least() const { return least_; }  // 0 where there is none
    std::uint64_t most() const { return most_; }
    // Of the sorted durations the one at ceil(part * count), from 1; 0 <= part <= 1, 0.5 is the median. Not of none.
    std::uint64_t quantile(double part) const;

  private:
    void add(std::uint32_t bucket, std::uint64_t count);

    std::uint64_t count_ = 0;
    std::uint64_t total_ = 0;
    std::uint64_t least_ = 0;
    std::uint64_t most_ = 0;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> buckets_;  // number and count of those that are not empty
};

}  // namespace qkprof::exec
