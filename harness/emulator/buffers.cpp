#include "buffers.h"

#include "parallel.h"
#include "reference.h"

#include <algorithm>
#include <cstring>

namespace qkprof::emulator {
namespace {

// Two arrays, one behind the other, at a page's start, as an allocator of device memory would place them.
Mapping on_device(const std::vector<float>& first, const std::vector<float>& second = {}) {
    Mapping pages((first.size() + second.size()) * sizeof(float));
    auto* end = std::copy(first.begin(), first.end(), reinterpret_cast<float*>(pages.data()));
    std::copy(second.begin(), second.end(), end);
    return pages;
}

template <class T>
void fill_elements(std::uint64_t seed, T* q, std::int64_t first, std::int64_t last) {
    constexpr std::int64_t piece = 1 << 16;
    for_each_chunk(last - first, piece, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = first + begin; i < first + end; ++i) {
            q[i] = from_float<T>(input_value(seed, static_cast<std::uint64_t>(i)));
        }
    });
}

}  // namespace

ProblemBuffers::ProblemBuffers(const Problem& problem, std::int64_t scratch_bytes)
    : problem_(problem),
      tables_(build_tables(problem)),
      scratch_bytes_(static_cast<std::uint64_t>(scratch_bytes)),
      q_(tensor_bytes() + static_cast<std::uint64_t>(offset_bytes())),
      out_(q_.bytes()),
      gamma_(on_device(tables_.gamma)),
      cos_and_sin_(on_device(tables_.cos, tables_.sin)),
      scratch_(scratch_bytes_) {}

std::int64_t ProblemBuffers::bytes_needed(const Problem& problem, std::int64_t scratch_bytes) {
    const std::int64_t tensor = problem.tensor_bytes() + problem.offset * problem.element_bytes();
    return 2 * tensor + problem.gamma_bytes() + 2 * problem.table_bytes() + scratch_bytes;
}

void ProblemBuffers::fill(std::int64_t first, std::int64_t last) {
    const std::int64_t begin = first * problem_.head_dim;
    const std::int64_t end = last * problem_.head_dim;
    switch (problem_.dtype) {
        case DataType::f32:
            return fill_elements(problem_.seed, reinterpret_cast<float*>(q()), begin, end);
        case DataType::bf16:
            return fill_elements(problem_.seed, reinterpret_cast<bf16*>(q()), begin, end);
        case DataType::f16:
            return fill_elements(problem_.seed, reinterpret_cast<f16*>(q()), begin, end);
    }
}

void ProblemBuffers::poison() {
    std::memset(out(), 0xff, tensor_bytes());
    std::memset(scratch_.data(), 0xff, scratch_bytes_);
}

void ProblemBuffers::enter(GlobalMemory& memory) const {
    memory.clear();
    memory.add("q", q(), tensor_bytes(), false);
    memory.add("out", out(), tensor_bytes(), true);
    memory.add("gamma", gamma_.data(), tables_.gamma.size() * sizeof(float), false);
    memory.add("cos", cos(), tables_.cos.size() * sizeof(float), false);
    memory.add("sin", sin(), tables_.sin.size() * sizeof(float), false);
    memory.add("scratch", scratch_.data(), scratch_bytes_, true);
}

Buffers ProblemBuffers::addresses() const {
    return {.q = q(), .q_out = out(), .gamma_q = gamma_.data(), .cos = cos(), .sin = sin(), .scratch = scratch_.data()};
}

Verification ProblemBuffers::compare(Family family) const {
    return family == Family::ceiling ? verify_copy_on_host(problem_, q(), out())
                                     : verify_on_host(problem_, q(), out(), tables_.gamma, tables_.cos, tables_.sin);
}

}  // namespace qkprof::emulator
