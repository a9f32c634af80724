// Rests between samples of time where the GPU is throttled. A power cap looks at the last moments: large problems,
// timed one after another, reach it, and a pause is to bring the clocks up again.
#pragma once

#include "clocks.h"

#include <chrono>

namespace qkprof {

class Rest {
  public:
    // How long to rest after a sample that took `took` in all: four times that where it was throttled, else not at all.
    // Together no more than 10 s, as heat that lasts is not waited out.
    std::chrono::nanoseconds after(const Sample& sample, std::chrono::nanoseconds took);

  private:
    std::chrono::nanoseconds left_ = std::chrono::seconds(10);
};

}  // namespace qkprof
