#include "input.h"

#include "error.h"
#include "parallel.h"

#include <fmt/format.h>

#include <cmath>

namespace qkprof {
namespace {

constexpr std::int64_t positions_per_chunk = 1024;

// Another stream of the same seed. Those of q and of its gamma are the seed and its complement.
std::uint64_t further_stream(std::uint64_t seed, std::uint64_t number) {
    return random_bits(seed, (std::uint64_t{1} << 62U) + number);
}

float extreme_of(Values values, DataType dtype) {
    switch (values) {
        case Values::largest:
            return dtype == DataType::f32    ? std::numeric_limits<float>::max()
                   : dtype == DataType::bf16 ? 0x1.fep127F
                                             : 65504.0F;
        case Values::smallest:
            return dtype == DataType::f32 ? 0x1p-149F : dtype == DataType::bf16 ? 0x1p-133F : 0x1p-24F;
        default:
            return 0;
    }
}

// The element of each head vector that an infinity or a NaN replaces, where one does.
std::int64_t spoilt_column(const Problem& problem) { return problem.head_dim / 2; }

// gamma[i] goes from 0.5 to 1.5 over the head dim, k's from 1.5 to 0.5, each value moved by up to 0.05: no two columns
// alike, so that a kernel that reads the wrong one is caught. Gemma stores it less 1.
double gamma_value(const Problem& problem, bool of_k, std::int64_t i) {
    const std::uint64_t stream = of_k ? further_stream(problem.seed, 1) : ~problem.seed;
    const double along = static_cast<double>(i) / static_cast<double>(problem.head_dim - 1);
    const double uniform = static_cast<double>(random_bits(stream, static_cast<std::uint64_t>(i)) >> 11U) * 0x1p-53;
    return (of_k ? 1.5 - along : 0.5 + along) + 0.1 * (uniform - 0.5) - static_cast<double>(problem.gamma_offset());
}

std::vector<std::byte> gamma_of(const Problem& problem, bool of_k) {
    std::vector<std::byte> gamma(static_cast<std::size_t>(problem.gamma_bytes()));
    for_storage(problem.gamma_dtype, [&]<class T>(T) {
        auto* values = reinterpret_cast<T*>(gamma.data());
        for (std::int64_t i = 0; i < problem.head_dim; ++i) {
            values[i] = from_float<T>(static_cast<float>(gamma_value(problem, of_k, i)));
        }
    });
    return gamma;
}

std::vector<std::byte> tables_of(const Problem& problem) {
    const std::int64_t pairs = problem.rotary() / 2;
    std::vector<double> theta;
    for (std::int64_t i = 0; i < pairs; ++i) {
        theta.push_back(
            std::pow(problem.rotary_base, -2.0 * static_cast<double>(i) / static_cast<double>(problem.rotary())));
    }
    std::vector<std::byte> tables(static_cast<std::size_t>(2 * problem.table_bytes()));
    for_storage(problem.table_dtype, [&]<class T>(T) {
        auto* cos = reinterpret_cast<T*>(tables.data());
        T* sin = cos + problem.table_positions() * pairs;
        for_each_chunk(
            problem.table_positions(), positions_per_chunk, [&](std::int64_t, std::int64_t first, std::int64_t last) {
                for (std::int64_t position = first; position < last; ++position) {
                    for (std::int64_t i = 0; i < pairs; ++i) {
                        const double angle = static_cast<double>(position) * theta[static_cast<std::size_t>(i)];
                        const std::int64_t entry = position * pairs + i;
                        cos[entry] = from_float<T>(static_cast<float>(std::cos(angle)));
                        sin[entry] = from_float<T>(static_cast<float>(std::sin(angle)));
                    }
                }
            });
    });
    return tables;
}

template <class Id>
std::vector<std::byte> ids_of(const Problem& problem) {
    std::vector<std::byte> positions(static_cast<std::size_t>(problem.position_bytes()));
    auto* ids = reinterpret_cast<Id*>(positions.data());
    for_each_chunk(problem.tokens(), positions_per_chunk, [&](std::int64_t, std::int64_t first, std::int64_t last) {
        for (std::int64_t token = first; token < last; ++token) {
            ids[token] = static_cast<Id>(problem.position_of(token));
        }
    });
    return positions;
}

}  // namespace

std::vector<Tensor> tensors_of(const Problem& p) {
    const float extreme = extreme_of(p.values, p.dtype);
    const bool packed = p.layout == Layout::packed && p.key_heads > 0;  // without keys q's own rows are as long
    // An infinity in the first head vector of token 1, a NaN in the last one of token 2.
    const auto spoilt = [&](bool here, std::int64_t token, std::int64_t stride, std::int64_t vector) {
        const bool spoils = here && p.values == Values::not_finite && p.tokens() > token && p.all_heads() > 0;
        return spoils ? token * stride + vector * p.head_dim + spoilt_column(p) : -1;
    };
    const std::int64_t heads = packed ? p.all_heads() : p.heads;
    const char* name = packed ? "qkv" : "q";
    const bool alone = packed || p.key_heads == 0;
    std::vector<Tensor> tensors = {{.name = name,
                                    .result_name = p.in_place ? name
                                                   : alone    ? "out"
                                                              : "q_out",
                                    .stream = p.seed,
                                    .tokens = p.tokens(),
                                    .stride = p.q_stride(),
                                    .used = heads * p.head_dim,
                                    .values = p.values,
                                    .extreme = extreme,
                                    .infinity = spoilt(heads > 0, 1, p.q_stride(), 0),
                                    .nan = spoilt(alone, 2, p.q_stride(), heads - 1)}};
    if (!alone) {
        tensors.push_back({.name = "k",
                           .result_name = p.in_place ? "k" : "k_out",
                           .stream = further_stream(p.seed, 0),
                           .tokens = p.tokens(),
                           .stride = p.k_stride(),
                           .used = p.key_heads * p.head_dim,
                           .values = p.values,
                           .extreme = extreme,
                           .infinity = spoilt(heads == 0, 1, p.k_stride(), 0),
                           .nan = spoilt(true, 2, p.k_stride(), p.key_heads - 1)});
    }
    return tensors;
}

std::string gap_fault(const Tensor& tensor, std::int64_t changed) {
    return fmt::format("A kernel wrote {} element(s) of {} that are not its to write: value heads or padding.", changed,
                       tensor.result_name);
}

Constants constants_of(const Problem& problem) {
    Constants constants;
    constants.gamma_q = gamma_of(problem, false);
    if (problem.key_heads > 0) {
        constants.gamma_k = gamma_of(problem, true);
    }
    constants.tables = tables_of(problem);
    if (problem.positions.type == PositionType::int32) {
        constants.positions = ids_of<std::int32_t>(problem);
    } else if (problem.positions.type == PositionType::int64) {
        constants.positions = ids_of<std::int64_t>(problem);
    }
    return constants;
}

std::int64_t constant_bytes(const Problem& problem) {
    return problem.gamma_bytes() * (problem.key_heads > 0 ? 2 : 1) + 2 * problem.table_bytes() +
           problem.position_bytes();
}

void check_input(const Problem& problem) {
    std::string fault = problem.fault();
    if (fault.empty() && problem.positions.order == PositionOrder::listed && problem.positions.list == nullptr) {
        fault = "its list of position ids is not here, only the digest of it that a profile holds";
    }
    if (!fault.empty()) {
        throw InputError(fmt::format("{} cannot be run: {}.", words_for(problem), fault));
    }
}

std::string words_for(const Problem& problem) { return problem.text(' ') + ' ' + name_of(problem.dtype); }

}  // namespace qkprof
