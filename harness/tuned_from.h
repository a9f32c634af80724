// Where the values of a variant's tuned parameters are from: an entry of a tuning table (tuning.h).
#pragma once

#include <string>
#include <vector>

namespace qkprof {

struct TunedFrom {
    std::string device;                   // that the table was measured on
    std::string problem;                  // of the entry: "1x1024x16x128 f32"
    bool own = false;                     // whether that is the very problem, and not the nearest that there is
    std::vector<std::string> parameters;  // those that were taken; any other was given

    friend bool operator==(const TunedFrom&, const TunedFrom&) = default;
};

}  // namespace qkprof
