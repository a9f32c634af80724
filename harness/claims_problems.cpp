#include "claims_problems.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof {

std::vector<std::string> claims_shapes(Backend backend) {
    if (backend == Backend::emulated) {
        return {"1x16x4x128", "2x64x4x128"};
    }
    constexpr int fewest_tokens = 4;
    constexpr int most_tokens = 128 << 10;
    constexpr int longest_sequence = 1024;
    std::vector<std::string> shapes;
    for (int tokens = fewest_tokens; tokens <= most_tokens; tokens *= 2) {
        const int sequence = std::min(tokens, longest_sequence);
        shapes.push_back(fmt::format("{}x{}x16x128", tokens / sequence, sequence));
    }
    return shapes;
}

std::vector<Problem> packed_claims_problems() {
    std::vector<Problem> problems;
    for (const std::int64_t tokens : {1, 64, 1024, 8192, 65536}) {
        problems.push_back({.batch = 1,
                            .sequence = tokens,
                            .heads = 32,
                            .key_heads = 8,
                            .head_dim = 128,
                            .dtype = DataType::bf16,
                            .layout = Layout::packed,
                            .in_place = true});
    }
    return problems;
}

}  // namespace qkprof
