// The operation in all its forms, on a GPU: each variant is right on the full cross of generated problems, requests
// what it declares, and gives the same bits again and again in place.
#include "cuda/context.h"
#include "generated_problems.h"
#include "gpu_fixture.h"

#include <random>
#include <vector>

namespace qkprof {
namespace {

class GpuOperation : public Gpu {
  protected:
    struct Chosen {
        std::vector<const Variant*> variants;
        std::vector<Parameters> parameters;
        std::int64_t scratch_bytes = 0;
    };
    // The variants that run the problem, as they are standard.
    static Chosen choose(const Problem& problem) {
        Chosen chosen;
        for (const Variant& variant : variants(Backend::cuda)) {
            if (variant.refusal(request_for(variant, problem)).empty()) {
                chosen.variants.push_back(&variant);
                chosen.parameters.push_back(request_for(variant, problem).parameters);
                chosen.scratch_bytes = std::max(chosen.scratch_bytes, scratch_for(variant, problem));
            }
        }
        return chosen;
    }

    // How many variants ran, all of them rightly.
    static int verify_all(const Problem& problem) {
        SCOPED_TRACE(problem.text(' ') + ' ' + name_of(problem.dtype));
        const Chosen chosen = choose(problem);
        const auto workload = device().load(problem, chosen.scratch_bytes);
        for (std::size_t i = 0; i < chosen.variants.size(); ++i) {
            const Verification found = workload->verify(*chosen.variants[i], chosen.parameters[i]);
            EXPECT_EQ(found.fault, "") << chosen.variants[i]->name;
            EXPECT_TRUE(found.correct) << chosen.variants[i]->name << ": " << found.wrong_elements
                                       << " wrong elements, error norm " << found.error_norm;
        }
        return static_cast<int>(chosen.variants.size());
    }
};

TEST_F(GpuOperation, FullCross) {
    constexpr int do_all = 8;
    for (const Problem& problem : generated_problems()) {
        const int ran = verify_all(problem);
        EXPECT_GE(ran, lies_on_vectors(problem) ? do_all : 1) << problem.text(' ');
        if (HasFailure()) {
            break;  // one problem's failures say enough
        }
    }
}

TEST_F(GpuOperation, AwkwardValues) {
    for (const DataType dtype : all_types) {
        for (const Values values : {Values::zeros, Values::largest, Values::smallest, Values::not_finite}) {
            for (const float eps : {1e-6F, 0.0F}) {
                Problem problem = {.batch = 2, .sequence = 3, .heads = 5, .key_heads = 3};
                problem.dtype = dtype;
                problem.values = values;
                problem.eps = eps;
                EXPECT_GE(verify_all(problem), 8);
            }
        }
    }
}

TEST_F(GpuOperation, TheEndOfALongContext) {
    for (const DataType dtype : all_types) {
        Problem problem = {.batch = 1, .sequence = 64, .heads = 4, .key_heads = 2};
        problem.dtype = dtype;
        problem.context = 131072;
        problem.rotary_base = 1e6;
        problem.positions = {.type = PositionType::int64, .order = PositionOrder::reversed};
        ASSERT_EQ(problem.position_of(0), 131071);
        EXPECT_GE(verify_all(problem), 8);
    }
}

// The counters of a session each cost most of a second: a few of the generated problems, far apart.
TEST_F(GpuOperation, RequestsAreWhatIsDeclared) {
    const std::vector<Problem> problems = generated_problems();
    for (std::size_t p = 5; p < problems.size(); p += 97) {
        const Problem& problem = problems[p];
        SCOPED_TRACE(problem.text(' ') + ' ' + name_of(problem.dtype));
        const Chosen chosen = choose(problem);
        std::vector<CountJob> jobs;
        for (std::size_t i = 0; i < chosen.variants.size(); ++i) {
            jobs.push_back({chosen.variants[i], &chosen.parameters[i], CacheState::warm});
        }
        const std::vector<Counts> counts = device().load(problem, chosen.scratch_bytes)->count(jobs);
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            SCOPED_TRACE(jobs[i].variant->name);
            const Counter& loads = counts[i].counters.at("global_load_sectors");
            if (!loads.value) {
                ASSERT_FALSE(loads.reason.empty());
                GTEST_SKIP() << loads.reason;
            }
            const Declaration declared = jobs[i].variant->declare(request_for(*jobs[i].variant, problem));
            EXPECT_EQ(counts[i].counters.at("launches").value, static_cast<double>(declared.launches));
            EXPECT_EQ(*loads.value * 32, static_cast<double>(declared.load_bytes));
            EXPECT_EQ(counts[i].counters.at("global_store_sectors").value.value_or(-1) * 32,
                      static_cast<double>(declared.store_bytes));
            EXPECT_EQ(counts[i].counters.at("shared_bytes").value, static_cast<double>(declared.shared_bytes));
        }
    }
}

// With every combination of the values of its tuned parameters that the variant takes.
std::vector<Request> all_tunings(const Variant& variant, const Problem& problem, const cuda::Context& context) {
    std::vector<Request> requests = {standard_request(variant, problem, context.info().limits, Backend::cuda)};
    for (const Parameter& parameter : variant.parameters) {
        if (!parameter.tuned()) {
            continue;
        }
        std::vector<Request> more;
        for (const Request& request : requests) {
            for (const int value : parameter.values) {
                more.push_back(request);
                more.back().parameters[parameter.name] = value;
            }
        }
        requests = std::move(more);
    }
    std::erase_if(requests, [&](const Request& request) { return !variant.refusal(request).empty(); });
    return requests;
}

// In place each call works on what the one before it made. A hundred that wait for one another, and a hundred that are
// launched at once, so that a kernel may begin while the one before it runs, give the same bits, and do so twice.
TEST_F(GpuOperation, InPlaceAHundredTimesGivesTheSameBits) {
    constexpr int calls = 100;
    const cuda::Context context(0);
    Problem problem = {.batch = 1, .sequence = 1000, .heads = 32, .key_heads = 8};
    problem.layout = Layout::packed;
    problem.in_place = true;
    for (const DataType dtype : all_types) {
        problem.dtype = dtype;
        const std::int64_t bytes = problem.q_extent() * problem.element_bytes();
        std::vector<unsigned char> input(static_cast<std::size_t>(bytes));
        std::mt19937 random(1);
        for (unsigned char& byte : input) {
            byte = static_cast<unsigned char>(0x30U + random() % 12);  // no bits of these are a NaN in any type
        }
        const std::vector<float> halves(static_cast<std::size_t>(2 * problem.table_bytes()) / sizeof(float), 0.5F);
        const auto upload = [&](const void* from, std::int64_t count) {
            cuda::DeviceMemory memory = cuda::allocate(count);
            cuda::copy(memory.get(), from, count, context.stream());
            return memory;
        };
        const cuda::DeviceMemory tensor = cuda::allocate(bytes);
        const cuda::DeviceMemory gamma = upload(halves.data(), problem.gamma_bytes());
        const cuda::DeviceMemory tables = upload(halves.data(), 2 * problem.table_bytes());
        auto* q = static_cast<std::byte*>(tensor.get());
        std::byte* k = q + problem.heads * problem.head_dim * problem.element_bytes();
        for (const Variant& variant : variants(Backend::cuda)) {
            for (const Request& request : all_tunings(variant, problem, context)) {
                SCOPED_TRACE(variant.name + ' ' + name_of(dtype) + ' ' + testing::PrintToString(request.parameters));
                const cuda::DeviceMemory scratch =
                    cuda::allocate(variant.scratch_bytes ? variant.scratch_bytes(request) : 0);
                const Buffers buffers = {.q = q,
                                         .k = k,
                                         .q_out = q,
                                         .k_out = k,
                                         .gamma_q = gamma.get(),
                                         .gamma_k = gamma.get(),
                                         .cos = tables.get(),
                                         .sin = static_cast<std::byte*>(tables.get()) + problem.table_bytes(),
                                         .positions = nullptr,
                                         .scratch = scratch.get()};
                const cuda::L2SetAside set_aside(variant.persisting_bytes ? variant.persisting_bytes(request) : 0);
                const auto bits_after = [&](bool at_once) {
                    cuda::copy(q, input.data(), bytes, context.stream());
                    for (int call = 0; call < calls; ++call) {
                        variant.run({request, buffers, {context.stream()}});
                        if (!at_once) {
                            cuda::check(cudaStreamSynchronize(context.stream()), "waiting for a call");
                        }
                    }
                    std::vector<unsigned char> out(input.size());
                    cuda::copy(out.data(), q, bytes, context.stream());
                    return out;
                };
                const std::vector<unsigned char> one_by_one = bits_after(false);
                ASSERT_TRUE(variant.family == Family::ceiling || one_by_one != input);
                ASSERT_TRUE(one_by_one == bits_after(true));
                ASSERT_TRUE(one_by_one == bits_after(true));
            }
        }
    }
}

}  // namespace
}  // namespace qkprof
