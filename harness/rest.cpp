#include "rest.h"

#include <algorithm>

namespace qkprof {

std::chrono::nanoseconds Rest::after(const Sample& sample, std::chrono::nanoseconds took) {
    constexpr int times = 4;  // a fifth of the power on average
    if (!sample.throttle_reasons || sample.throttle_reasons->empty()) {
        return {};
    }
    const std::chrono::nanoseconds rest = std::min(times * took, left_);
    left_ -= rest;
    return rest;
}

}  // namespace qkprof
