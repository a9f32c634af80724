// What the emulator's tests share: one launch of a small kernel on buffers of its own, with what was counted.
#pragma once

#define QKPROF_EMULATED_KERNELS  // the tests write kernels in the emulated vocabulary
#include "emulator/engine.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace qkprof {

class EmulatedLaunch : public testing::Test {
  protected:
    static constexpr std::size_t buffer_bytes = 1 << 16;

    EmulatedLaunch() {
        engine_.memory().add("in", in_.data(), buffer_bytes, emulator::Use::input);
        engine_.memory().add("out", out_.data(), buffer_bytes, emulator::Use::output);
        engine_.memory().add("constant", constant_.data(), buffer_bytes, emulator::Use::constant);
        for (std::size_t i = 0; i < buffer_bytes / 4; ++i) {
            reinterpret_cast<float*>(in_.data())[i] = static_cast<float>(i);
        }
    }

    template <class T = float>
    const T* in(std::size_t index = 0) const {
        return reinterpret_cast<const T*>(in_.data()) + index;
    }
    template <class T = float>
    T* out(std::size_t index = 0) const {
        return reinterpret_cast<T*>(out_.data()) + index;
    }

    const float* constant(std::size_t index = 0) const {
        return reinterpret_cast<const float*>(constant_.data()) + index;
    }

    void launch(int threads, std::int64_t shared_bytes, const std::function<void()>& kernel, std::int64_t blocks = 1) {
        engine_.reset_totals();
        engine_.caches().reset_traffic();
        emulator::run_grid(engine_.stream(),
                           {.kernel = "test_kernel",
                            .blocks = blocks,
                            .threads = threads,
                            .shared_bytes = shared_bytes,
                            .programmatic = programmatic_},
                           kernel);
    }

    // The text of the fault of one block, or "none".
    std::string fault_of(int threads, std::int64_t shared_bytes, const std::function<void()>& kernel) {
        try {
            launch(threads, shared_bytes, kernel);
        } catch (const emulator::Fault& fault) {
            return fault.what();
        }
        return "none";
    }

    const emulator::Totals& totals() const { return engine_.totals(); }

    bool programmatic_ = false;  // how the next launches are made
    emulator::Engine engine_{EmulatorOptions{}};
    emulator::Mapping in_{buffer_bytes};
    emulator::Mapping out_{buffer_bytes};
    emulator::Mapping constant_{buffer_bytes};
};

// A fault's sentence names kernel, block, thread and a line of the file, and ends so.
inline testing::AssertionResult says(const std::string& fault, const std::string& who, const std::string& what) {
    const bool named = fault.find("Kernel test_kernel, block 0, " + who + ", at tests/") == 0;
    if (named && fault.find(what) != std::string::npos && fault.back() == '.') {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "the fault is: " << fault;
}

}  // namespace qkprof
