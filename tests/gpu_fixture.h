// What the tests on a GPU share: the opened device, skipped where there is none, and the check of one variant on one
// problem.
#pragma once

#include "cuda/cuda_device.h"
#include "error.h"
#include "standard_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace qkprof {

inline constexpr std::array all_types = {DataType::f32, DataType::bf16, DataType::f16};

inline std::string text_of(const Problem& p) { return p.text(' ') + ' ' + name_of(p.dtype); }

inline const Variant& variant_named(const std::string& name) {
    const auto& all = variants(Backend::cuda);
    const auto found = std::find_if(all.begin(), all.end(), [&](const Variant& v) { return v.name == name; });
    if (found == all.end()) {
        throw std::out_of_range("no variant " + name);
    }
    return *found;
}

// The first GPU, opened once for all tests of the process; each test is skipped where there is none.
class Gpu : public testing::Test {
  protected:
    void SetUp() override {
        const Discovery discovery = discover_cuda_gpus();
        if (discovery.gpus.empty()) {
            ASSERT_FALSE(discovery.no_gpu_reason.empty());
            GTEST_SKIP() << discovery.no_gpu_reason;
        }
    }

    static Device& device() {
        static const std::unique_ptr<Device> opened = open_cuda_device(0);
        return *opened;
    }

    static Request request_for(const Variant& variant, const Problem& problem) {
        return standard_request(variant, problem, device().info().limits, Backend::cuda);
    }

    static std::int64_t scratch_for(const Variant& variant, const Problem& problem) {
        return variant.scratch_bytes ? variant.scratch_bytes(request_for(variant, problem)) : 0;
    }

    static std::unique_ptr<Workload> load_for(const Variant& variant, const Problem& problem) {
        return device().load(problem, scratch_for(variant, problem));
    }

    // Loads the problem, verifies the variant and expects it to be right; false where the variant refuses it.
    static bool expect_correct(const Variant& variant, const Problem& problem) {
        SCOPED_TRACE(text_of(problem));
        if (const std::string reason = variant.refusal(request_for(variant, problem)); !reason.empty()) {
            return false;
        }
        const Verification found =
            load_for(variant, problem)->verify(variant, request_for(variant, problem).parameters);
        EXPECT_EQ(found.fault, "");
        EXPECT_TRUE(found.correct) << "error norm " << found.error_norm << ", wrong elements " << found.wrong_elements;
        if (found.first_wrong) {
            const WrongElement& w = *found.first_wrong;
            ADD_FAILURE() << "first wrong at " << w.batch << "," << w.position << "," << head_text(problem, w) << ","
                          << w.column << ": got " << w.got << ", expected " << w.expected;
        }
        return true;
    }
};

}  // namespace qkprof
