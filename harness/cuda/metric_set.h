// A set of CUPTI's metrics on a chip: are there such, how many passes do they cost, and what are their values. Needs no
// GPU but for the values.
#pragma once

#include "cupti_library.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace qkprof::cuda {

class MetricSet {
  public:
    // `chip` as CUPTI calls it ("GH100"); `availability` as RangeProfiler has it, empty without a GPU. Throws
    // InputError for a name that the chip does not have, with the nearest; CannotMeasure where CUPTI cannot be used.
    MetricSet(const std::string& chip, std::vector<std::string> names, std::vector<std::uint8_t> availability = {});

    const std::vector<std::string>& names() const { return names_; }
    // How often the work must be repeated to count all of them.
    int passes() const { return passes_; }

    // For CUPTI: the names, what to program, and the values of one range of its data, in the order of the names.
    std::span<const char*> pointers() { return pointers_; }
    std::span<const std::uint8_t> configuration() const { return configuration_; }
    std::vector<double> evaluate(std::span<const std::uint8_t> data, std::size_t range);

  private:
    struct Close {
        void operator()(CUpti_Profiler_Host_Object* host) const;
    };

    std::vector<std::uint8_t> availability_;
    std::unique_ptr<CUpti_Profiler_Host_Object, Close> host_;
    std::vector<std::string> names_;
    std::vector<const char*> pointers_;
    std::vector<std::uint8_t> configuration_;
    int passes_ = 0;
};

}  // namespace qkprof::cuda
