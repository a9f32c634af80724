#include "buffers.h"

#include "parallel.h"
#include "reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace qkprof::emulator {
namespace {

constexpr std::int64_t elements_per_chunk = 1 << 16;
constexpr int poison = 0xff;  // NaN in every storage type

// At a page's start, as an allocator of device memory would place it.
Mapping on_device(const std::vector<std::byte>& bytes) {
    Mapping pages(bytes.size());
    std::copy(bytes.begin(), bytes.end(), pages.data());
    return pages;
}

template <class T>
void fill_elements(const Tensor& tensor, T* memory, std::int64_t first, std::int64_t last) {
    for_each_chunk(last - first, elements_per_chunk, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = first + begin; i < first + end; ++i) {
            memory[i] = from_float<T>(tensor.value_at(i));
        }
    });
}

// How many elements of the gaps of `result` are not those of `input`, or where that is null not the poison.
template <class T>
std::int64_t changed_gaps(const Tensor& tensor, const T* input, const T* result) {
    T poisoned;
    std::memset(&poisoned, poison, sizeof(T));
    std::atomic<std::int64_t> changed = 0;
    for_each_chunk(tensor.gaps(), elements_per_chunk, [&](std::int64_t, std::int64_t first, std::int64_t last) {
        std::int64_t here = 0;
        for (std::int64_t number = first; number < last; ++number) {
            const std::int64_t i = tensor.gap(number);
            here += same_bits(result[i], input == nullptr ? poisoned : input[i]) ? 0 : 1;
        }
        changed += here;
    });
    return changed;
}

}  // namespace

ProblemBuffers::ProblemBuffers(const Problem& problem, std::int64_t scratch_bytes)
    : problem_(problem), scratch_(static_cast<std::size_t>(scratch_bytes)) {
    for (const Tensor& tensor : tensors_of(problem)) {
        const std::size_t bytes = bytes_of(tensor) + static_cast<std::size_t>(offset_bytes());
        tensors_.push_back({tensor, Mapping(bytes), Mapping(bytes)});
    }
    const Constants constants = constants_of(problem);
    gamma_q_ = on_device(constants.gamma_q);
    gamma_k_ = on_device(constants.gamma_k);
    tables_ = on_device(constants.tables);
    positions_ = on_device(constants.positions);
}

std::int64_t ProblemBuffers::bytes_needed(const Problem& problem, std::int64_t scratch_bytes) {
    std::int64_t bytes = constant_bytes(problem) + scratch_bytes;
    for (const Tensor& tensor : tensors_of(problem)) {
        bytes += 2 * (tensor.elements() + problem.offset) * problem.element_bytes();
    }
    return bytes;
}

std::uint64_t ProblemBuffers::bytes_of(const Tensor& tensor) const {
    return static_cast<std::uint64_t>(tensor.elements() * problem_.element_bytes());
}

std::byte* ProblemBuffers::input(std::size_t tensor) const {
    return tensor < tensors_.size() ? tensors_[tensor].input.data() + offset_bytes() : nullptr;
}

std::byte* ProblemBuffers::result(std::size_t tensor) const {
    return tensor < tensors_.size() ? tensors_[tensor].result.data() + offset_bytes() : nullptr;
}

void ProblemBuffers::fill(std::int64_t first, std::int64_t last) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const Tensor& tensor = tensors_[i].tensor;
        for_storage(problem_.dtype, [&]<class T>(T) {
            fill_elements(tensor, reinterpret_cast<T*>(input(i)), first, std::min(last, tensor.elements()));
        });
    }
}

void ProblemBuffers::fill() { fill(0, std::numeric_limits<std::int64_t>::max()); }

void ProblemBuffers::restore() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const std::uint64_t bytes = bytes_of(tensors_[i].tensor);
        if (problem_.in_place) {
            std::memcpy(result(i), input(i), bytes);
        } else {
            std::memset(result(i), poison, bytes);
        }
    }
    std::memset(scratch_.data(), poison, scratch_.bytes());
}

void ProblemBuffers::enter(GlobalMemory& memory) const {
    memory.clear();
    if (!problem_.in_place) {
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            memory.add(tensors_[i].tensor.name, input(i), bytes_of(tensors_[i].tensor), Use::input);
        }
    }
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        memory.add(tensors_[i].tensor.result_name, result(i), bytes_of(tensors_[i].tensor), Use::output);
    }
    const bool two = problem_.key_heads > 0;
    const auto table_bytes = static_cast<std::uint64_t>(problem_.table_bytes());
    memory.add(two ? "gamma_q" : "gamma", gamma_q_.data(), gamma_q_.bytes(), Use::constant);
    if (two) {
        memory.add("gamma_k", gamma_k_.data(), gamma_k_.bytes(), Use::constant);
    }
    memory.add("cos", tables_.data(), table_bytes, Use::constant);
    memory.add("sin", tables_.data() + table_bytes, table_bytes, Use::constant);
    if (positions_.bytes() > 0) {
        memory.add("positions", positions_.data(), positions_.bytes(), Use::constant);
    }
    memory.add("scratch", scratch_.data(), scratch_.bytes(), Use::output);
}

Buffers ProblemBuffers::addresses() const {
    Buffers buffers = compared();
    if (problem_.in_place) {
        buffers.q = buffers.q_out;
        buffers.k = buffers.k_out;
    }
    return buffers;
}

Buffers ProblemBuffers::compared() const {
    return {.q = input(0),
            .k = key_heads_at(problem_, input(0), input(1)),
            .q_out = result(0),
            .k_out = key_heads_at(problem_, result(0), result(1)),
            .gamma_q = gamma_q_.data(),
            .gamma_k = problem_.key_heads > 0 ? gamma_k_.data() : nullptr,
            .cos = tables_.data(),
            .sin = tables_.data() + problem_.table_bytes(),
            .positions = problem_.position_bytes() > 0 ? positions_.data() : nullptr,
            .scratch = scratch_.data()};
}

std::string ProblemBuffers::trespass() const {
    std::string found;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const Tensor& tensor = tensors_[i].tensor;
        const std::int64_t changed = for_storage(problem_.dtype, [&]<class T>(T) {
            const T* before = problem_.in_place ? reinterpret_cast<const T*>(input(i)) : nullptr;
            return changed_gaps(tensor, before, reinterpret_cast<const T*>(result(i)));
        });
        if (changed > 0) {
            found += fmt::format("{}{}", found.empty() ? "" : " ", gap_fault(tensor, changed));
        }
    }
    return found;
}

Verification ProblemBuffers::compare(Family family) const {
    return family == Family::ceiling ? verify_copy_on_host(problem_, compared()) : verify_on_host(problem_, compared());
}

}  // namespace qkprof::emulator
