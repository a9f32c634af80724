// What the claims are judged on, where nothing else is chosen.
#pragma once

#include "device.h"

#include <string>
#include <vector>

namespace qkprof {

// On a GPU from launch latency to streaming: powers of two from 4 tokens to the 131072 of the seed, in f32 working sets
// from 64 KiB to 2 GiB, in 16 bits half of that. On the emulated device two that take a few seconds: there counts alone
// are judged.
std::vector<std::string> claims_shapes(Backend backend);

// Beside those on a GPU, in bf16: query and key heads as inference engines hold them, from one token to a long prefill.
std::vector<Problem> packed_claims_problems();

}  // namespace qkprof
