// The CUDA device's inputs and verdict on the operation in all its forms. What is judged is computed on the host, from
// what the call is given, and put where the call would: rightly, or with an error planted.
#include "cuda/resources.h"
#include "generated_problems.h"
#include "gpu_fixture.h"
#include "reference.h"

#include <cmath>
#include <functional>
#include <vector>

namespace qkprof {
namespace {

using Bytes = std::vector<std::byte>;

cudaStream_t stream_of(const Call& call) { return static_cast<cudaStream_t>(call.stream.handle); }

Bytes fetched(const void* from, std::int64_t bytes, cudaStream_t stream) {
    Bytes to(static_cast<std::size_t>(bytes));
    if (bytes > 0) {
        cuda::copy(to.data(), from, bytes, stream);
    }
    return to;
}

void put_ones(const void* to, std::int64_t bytes, const Call& call) {
    const Bytes ones(static_cast<std::size_t>(bytes), std::byte{1});
    cuda::copy(const_cast<void*>(to), ones.data(), bytes, stream_of(call));
}

// What a call is given, on the host.
struct OnHost {
    explicit OnHost(const Call& call) {
        const Problem& p = call.request.problem;
        const Buffers& device = call.buffers;
        const auto fetch = [&](const void* from, std::int64_t bytes) { return fetched(from, bytes, stream_of(call)); };
        q = fetch(device.q, p.q_extent() * p.element_bytes());
        k = fetch(device.k, p.k_extent() * p.element_bytes());
        q_out = fetch(device.q_out, p.q_extent() * p.element_bytes());
        k_out = fetch(device.k_out, p.k_extent() * p.element_bytes());
        gamma_q = fetch(device.gamma_q, p.gamma_bytes());
        gamma_k = fetch(device.gamma_k, p.key_heads > 0 ? p.gamma_bytes() : 0);
        cos = fetch(device.cos, p.table_bytes());
        sin = fetch(device.sin, p.table_bytes());
        positions = fetch(device.positions, p.position_bytes());
        buffers = {.q = q.data(),
                   .k = key_heads_at(p, q.data(), k.data()),
                   .q_out = q_out.data(),
                   .k_out = key_heads_at(p, q_out.data(), k_out.data()),
                   .gamma_q = gamma_q.data(),
                   .gamma_k = gamma_k.data(),
                   .cos = cos.data(),
                   .sin = sin.data(),
                   .positions = positions.data()};
    }

    // Brings the results to the device.
    void put(const Call& call) const {
        cuda::copy(call.buffers.q_out, q_out.data(), static_cast<std::int64_t>(q_out.size()), stream_of(call));
        if (!k_out.empty()) {
            cuda::copy(call.buffers.k_out, k_out.data(), static_cast<std::int64_t>(k_out.size()), stream_of(call));
        }
    }

    Bytes q, k, q_out, k_out, gamma_q, gamma_k, cos, sin, positions;
    Buffers buffers;
};

// Writes the results of `problem`, or the inputs where it is a ceiling that computes.
void compute(const Problem& problem, const Buffers& memory, bool copies = false) {
    for_storage(problem.dtype, [&]<class T>(T) {
        const Operands<T> operands(problem, memory);
        for (std::int64_t row = 0; row < problem.rows(); ++row) {
            const HeadVector<T> vector(operands, row);
            const double scale = reference_scale(vector.x, problem.head_dim, operands.eps).value;
            for (std::int64_t i = 0; i < problem.head_dim; ++i) {
                const double value = reference_element(operands, vector, scale, i).value;
                const_cast<T*>(vector.out)[i] = copies ? vector.x[i] : from_float<T>(static_cast<float>(value));
            }
        }
    });
}

// A variant that does on the host what `run` does with a problem and its memory.
using HostRun = std::function<void(Problem, Buffers)>;
Variant on_host(const HostRun& run, Family family = Family::naive) {
    Variant variant = variant_named("copy");
    variant.name = "on_host";
    variant.family = family;
    variant.features = {std::begin(all_features), std::end(all_features)};
    variant.run = [run](const Call& call) {
        const OnHost memory(call);
        run(call.request.problem, memory.buffers);
        memory.put(call);
    };
    return variant;
}

Variant right() {
    return on_host([](const Problem& problem, const Buffers& memory) { compute(problem, memory); });
}

// The right results, then `slip` on the device.
Variant then(const std::function<void(const Call&)>& slip) {
    Variant variant = right();
    variant.run = [computes = variant.run, slip](const Call& call) {
        computes(call);
        slip(call);
    };
    return variant;
}

class GpuOperationVerdict : public Gpu {
  protected:
    static Problem everything() {
        return {.batch = 1,
                .sequence = 5,
                .heads = 2,
                .key_heads = 1,
                .head_dim = 64,
                .row_padding = 8,
                .rotary_dim = 48,
                .positions = {.type = PositionType::int32, .order = PositionOrder::reversed},
                .context = 9,
                .gemma = true};
    }

    static Verification verified(const Problem& problem, const Variant& variant) {
        const auto workload = device().load(problem, 0);
        Verification found = workload->verify(variant, {});
        const Verification after = workload->verify(right(), {});
        EXPECT_TRUE(after.correct) << text_of(problem) << ", after it: " << after.fault;
        return found;
    }

    static void expect_fault(const Problem& problem, const std::function<void(const Call&)>& slip,
                             const std::string& words) {
        const Verification found = verified(problem, then(slip));
        EXPECT_FALSE(found.correct);
        EXPECT_NE(found.fault.find(words), std::string::npos) << found.fault;
    }

    static void expect_wrong(const Problem& problem, const HostRun& run, const std::string& head) {
        const Verification found = verified(problem, on_host(run));
        EXPECT_EQ(found.fault, "");
        EXPECT_FALSE(found.correct);
        ASSERT_TRUE(found.first_wrong.has_value());
        EXPECT_EQ(head_text(problem, *found.first_wrong), head);
    }
};

TEST_F(GpuOperationVerdict, RightResultsAreRightOnEveryProblem) {
    for (const Problem& problem : generated_problems()) {
        const Verification found = device().load(problem, 0)->verify(right(), {});
        EXPECT_EQ(found.fault, "") << text_of(problem);
        EXPECT_TRUE(found.correct) << text_of(problem) << ": " << found.wrong_elements << " wrong, the norm is "
                                   << found.error_norm;
    }
}

TEST_F(GpuOperationVerdict, InputsAreThoseOfTheHostToTheBit) {
    for (const Values values : {Values::normal, Values::zeros, Values::largest, Values::smallest, Values::not_finite}) {
        for (const DataType dtype : all_types) {
            for (const Layout layout : {Layout::separate, Layout::packed}) {
                for (const bool in_place : {false, true}) {
                    Problem problem = everything();
                    problem.values = values;
                    problem.dtype = dtype;
                    problem.layout = layout;
                    problem.in_place = in_place;
                    SCOPED_TRACE(text_of(problem));
                    const auto expect = [&](const Tensor& tensor, const void* memory) {
                        for_storage(dtype, [&]<class T>(T) {
                            for (std::int64_t i = 0; i < tensor.elements(); ++i) {
                                ASSERT_TRUE(
                                    same_bits(static_cast<const T*>(memory)[i], from_float<T>(tensor.value_at(i))))
                                    << "element " << i << " of " << tensor.name;
                            }
                        });
                    };
                    const Verification found =
                        verified(problem, on_host([&](const Problem& given, const Buffers& memory) {
                                     const std::vector<Tensor> tensors = tensors_of(given);
                                     expect(tensors[0], memory.q);
                                     if (tensors.size() > 1) {
                                         expect(tensors[1], memory.k);
                                     }
                                     compute(given, memory);
                                 }));
                    EXPECT_TRUE(found.correct) << found.fault << found.wrong_elements;
                    EXPECT_TRUE(std::isfinite(found.error_norm));
                }
            }
        }
    }
}

TEST_F(GpuOperationVerdict, WhatIsNotFiniteMustBeSoAndNoMore) {
    for (const DataType dtype : all_types) {
        Problem problem = everything();
        problem.dtype = dtype;
        problem.values = Values::not_finite;
        const auto tampered = [&](std::int64_t row, std::int64_t column, float value) {
            return verified(problem, on_host([=](const Problem& given, const Buffers& memory) {
                                compute(given, memory);
                                for_storage(given.dtype, [&]<class T>(T) {
                                    const HeadVector<T> vector(Operands<T>(given, memory), row);
                                    const_cast<T*>(vector.out)[column] = from_float<T>(value);
                                });
                            }))
                .wrong_elements;
        };
        const float nan = std::numeric_limits<float>::quiet_NaN();
        constexpr std::int64_t infinite_row = 3;  // the first head of token 1; element 32 of it, which turns with 8
        EXPECT_EQ(tampered(infinite_row, 32, nan), 0);
        EXPECT_EQ(tampered(infinite_row, 8, nan), 0);
        EXPECT_EQ(tampered(infinite_row, 32, 0), 1);
        EXPECT_EQ(tampered(infinite_row, 9, nan), 1);
        EXPECT_EQ(tampered(infinite_row + 1, 8, nan), 1);
        EXPECT_EQ(tampered(infinite_row, 32, std::numeric_limits<float>::infinity()), 1);
    }
}

TEST_F(GpuOperationVerdict, WrongResultsAreFound) {
    for (const bool in_place : {false, true}) {
        Problem problem = everything();
        problem.in_place = in_place;
        expect_wrong(
            problem,
            [](const Problem& given, Buffers memory) {
                memory.gamma_q = memory.gamma_k;
                compute(given, memory);
            },
            "query head 0");
        expect_wrong(
            problem,
            [](const Problem& given, Buffers memory) {
                memory.gamma_k = memory.gamma_q;
                compute(given, memory);
            },
            "key head 0");
        expect_wrong(
            problem,
            [](Problem given, const Buffers& memory) {
                given.pairing = Pairing::interleaved;
                compute(given, memory);
            },
            "query head 0");
        expect_wrong(
            problem,
            [](Problem given, const Buffers& memory) {
                given.positions = {};
                compute(given, memory);
            },
            "query head 0");
        expect_wrong(
            problem,
            [](Problem given, const Buffers& memory) {
                given.gemma = false;
                compute(given, memory);
            },
            "query head 0");
        expect_wrong(
            problem,
            [](Problem given, const Buffers& memory) {
                given.rotary_dim = 0;
                given.context = 6;  // so many rows of 32 lie in the tables
                given.positions = {};
                compute(given, memory);
            },
            "query head 0");
    }
}

TEST_F(GpuOperationVerdict, WritingBetweenTheResultsIsAFault) {
    for (const bool in_place : {false, true}) {
        for (const DataType dtype : all_types) {
            Problem problem = everything();
            problem.in_place = in_place;
            problem.dtype = dtype;
            const auto write_at = [](std::int64_t element, bool of_k) {
                return [=](const Call& call) {
                    const std::int64_t bytes = call.request.problem.element_bytes();
                    put_ones(static_cast<std::byte*>(of_k ? call.buffers.k_out : call.buffers.q_out) + element * bytes,
                             bytes, call);
                };
            };
            const std::string q = in_place ? "of q that" : "of q_out that";
            const std::string k = in_place ? "of k that" : "of k_out that";
            expect_fault(problem, write_at(2 * 64, false), "A kernel wrote 1 element(s) " + q);
            expect_fault(problem, write_at(5 * 72 - 1, true), "A kernel wrote 1 element(s) " + k);
            problem.layout = Layout::packed;
            expect_fault(problem, write_at(3 * 64, false),  // of the value head
                         std::string("A kernel wrote 1 element(s) of ") + (in_place ? "qkv" : "out") + " that");
        }
    }
}

TEST_F(GpuOperationVerdict, WritingToAnInputOrPastABufferIsAFault) {
    const Problem problem = everything();
    const std::int64_t k_bytes = problem.k_extent() * 4;
    expect_fault(
        problem, [](const Call& call) { put_ones(call.buffers.q, 4, call); },
        "A kernel changed 1 element(s) of q, its input.");
    expect_fault(
        problem, [](const Call& call) { put_ones(call.buffers.k, 8, call); },
        "A kernel changed 2 element(s) of k, its input.");
    const auto past = [](const void* Buffers::*field, std::int64_t bytes) {
        return [=](const Call& call) { put_ones(static_cast<const std::byte*>(call.buffers.*field) + bytes, 2, call); };
    };
    expect_fault(problem, past(&Buffers::k, k_bytes), "A kernel wrote 2 byte(s) past the end of k.");
    expect_fault(problem, past(&Buffers::gamma_q, 256), "A kernel wrote 2 byte(s) past the end of gamma_q.");
    expect_fault(problem, past(&Buffers::gamma_k, -2), "A kernel wrote 2 byte(s) before the beginning of gamma_k.");
    expect_fault(problem, past(&Buffers::positions, 20), "A kernel wrote 2 byte(s) past the end of positions.");
    expect_fault(problem, past(&Buffers::sin, problem.table_bytes()),
                 "A kernel wrote 2 byte(s) past the end of the tables.");
    expect_fault(
        problem, [=](const Call& call) { put_ones(static_cast<std::byte*>(call.buffers.k_out) + k_bytes, 2, call); },
        "A kernel wrote 2 byte(s) past the end of k_out.");
}

TEST_F(GpuOperationVerdict, ACopyMustGiveTheBitsOfQAndKAtTheirPlaces) {
    for (const Layout layout : {Layout::separate, Layout::packed}) {
        for (const bool in_place : {false, true}) {
            Problem problem = everything();
            problem.layout = layout;
            problem.in_place = in_place;
            problem.values = Values::not_finite;
            const auto copies = [](bool flips_a_bit) {
                return on_host(
                    [flips_a_bit](const Problem& given, const Buffers& memory) {
                        compute(given, memory, true);
                        if (flips_a_bit) {
                            static_cast<std::byte*>(memory.k_out)[5] ^= std::byte{1};
                        }
                    },
                    Family::ceiling);
            };
            EXPECT_TRUE(verified(problem, copies(false)).correct);
            EXPECT_EQ(verified(problem, copies(true)).wrong_elements, 1);
        }
    }
}

// Each verification begins with the same inputs, whatever was called before.
TEST_F(GpuOperationVerdict, InPlaceEachVerificationBeginsWithTheInputs) {
    Problem problem = everything();
    problem.in_place = true;
    problem.layout = Layout::packed;
    const auto workload = device().load(problem, 0);
    const double norm = workload->verify(right(), {}).error_norm;
    EXPECT_GT(norm, 0);
    for (int time = 0; time < 3; ++time) {
        EXPECT_EQ(workload->verify(right(), {}).error_norm, norm);
        EXPECT_FALSE(workload->verify(on_host([](const Problem&, const Buffers&) {}), {}).correct);
    }
}

TEST_F(GpuOperationVerdict, LoadingRefusesPositionsOutsideTheTables) {
    for (const PositionType type : {PositionType::int32, PositionType::int64}) {
        Problem problem = everything();
        for (const std::int64_t id : {-1, 9}) {
            problem.positions = listed_positions(type, {0, 1, id, 3, 8});
            try {
                device().load(problem, 0);
                FAIL() << "it was loaded with position " << id;
            } catch (const InputError& error) {
                EXPECT_NE(std::string(error.what()).find("the position of token 2 is " + std::to_string(id)),
                          std::string::npos)
                    << error.what();
            }
        }
        problem.positions = listed_positions(type, {0, 8, 3, 3, 8});
        EXPECT_TRUE(verified(problem, right()).correct);
    }
}

}  // namespace
}  // namespace qkprof
