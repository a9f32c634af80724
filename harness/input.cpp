#include "input.h"

#include "parallel.h"

#include <cmath>

namespace qkprof {
namespace {

constexpr std::int64_t positions_per_chunk = 1024;

// gamma[i] rises from 0.5 to 1.5 over the head dim, each value moved by up to 0.05: no two columns alike, so that a
// kernel that reads the wrong one is caught.
float gamma_value(std::uint64_t seed, std::int64_t i, std::int64_t head_dim) {
    const double line = 0.5 + static_cast<double>(i) / static_cast<double>(head_dim - 1);
    const double uniform = static_cast<double>(random_bits(~seed, static_cast<std::uint64_t>(i)) >> 11U) * 0x1p-53;
    return static_cast<float>(line + 0.1 * (uniform - 0.5));
}

}  // namespace

Tables build_tables(const Problem& problem) {
    const std::int64_t half = problem.head_dim / 2;
    Tables tables;
    for (std::int64_t i = 0; i < problem.head_dim; ++i) {
        tables.gamma.push_back(gamma_value(problem.seed, i, problem.head_dim));
    }
    std::vector<double> theta;
    for (std::int64_t i = 0; i < half; ++i) {
        theta.push_back(
            std::pow(problem.rotary_base, -2.0 * static_cast<double>(i) / static_cast<double>(problem.head_dim)));
    }
    tables.cos.resize(static_cast<std::size_t>(problem.sequence * half));
    tables.sin.resize(tables.cos.size());
    for_each_chunk(problem.sequence, positions_per_chunk, [&](std::int64_t, std::int64_t first, std::int64_t last) {
        for (std::int64_t position = first; position < last; ++position) {
            for (std::int64_t i = 0; i < half; ++i) {
                const double angle = static_cast<double>(position) * theta[static_cast<std::size_t>(i)];
                const auto entry = static_cast<std::size_t>(position * half + i);
                tables.cos[entry] = static_cast<float>(std::cos(angle));
                tables.sin[entry] = static_cast<float>(std::sin(angle));
            }
        }
    });
    return tables;
}

}  // namespace qkprof
