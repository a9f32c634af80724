// How long at least one of many intervals lasted, as they come, in bounded memory: the time in which a GPU is busy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace qkprof::exec {

class BusyTime {
  public:
    // The intervals may overlap and come in any order. Beyond `most_kept` disjoint ones the oldest are forgotten; an
    // interval that begins before what is forgotten ends is added with its own length up to there.
    void add(std::uint64_t start, std::uint64_t end, std::size_t most_kept);

    std::uint64_t busy() const;
    // From the first start to the last end.
    std::uint64_t span() const { return any_ ? last_end_ - first_start_ : 0; }
    std::size_t kept() const { return intervals_.size(); }
    // How many began before the end of what was forgotten.
    std::uint64_t late() const { return late_; }
    void forget() { intervals_.clear(); }

  private:
    std::map<std::uint64_t, std::uint64_t> intervals_;  // disjoint: start and end
    std::uint64_t total_ = 0;
    std::uint64_t forgotten_until_ = 0;
    std::uint64_t late_ = 0;
    std::uint64_t first_start_ = 0;
    std::uint64_t last_end_ = 0;
    bool any_ = false;
};

}  // namespace qkprof::exec
