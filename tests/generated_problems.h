// Problems as language models pose them, generated: the full cross of layout, pairing, types, head counts and head
// dims, the other choices mixed so that each meets each. Small enough for the emulated device.
#pragma once

#include "input.h"

#include <array>
#include <string>
#include <vector>

namespace qkprof {

struct Heads {
    std::int64_t query;
    std::int64_t key;
};

inline std::vector<Problem> generated_problems() {
    constexpr std::array head_counts = {Heads{32, 8}, Heads{16, 8}, Heads{64, 4},
                                        Heads{8, 8},  Heads{32, 0}, Heads{5, 1}};
    struct Types {
        DataType storage, table, gamma;
    };
    std::vector<Types> types = {{DataType::f32, DataType::f32, DataType::f32}};
    for (const DataType storage : {DataType::bf16, DataType::f16}) {
        for (const DataType table : {DataType::f32, storage}) {
            for (const DataType gamma : {DataType::f32, storage}) {
                types.push_back({storage, table, gamma});
            }
        }
    }
    struct Tokens {
        std::int64_t batch, sequence;
    };
    constexpr std::array tokens = {Tokens{1, 3}, Tokens{2, 3}, Tokens{1, 7}, Tokens{3, 1}};
    std::vector<Problem> problems;
    // Any of a list, chosen by the number of the problem.
    std::uint64_t choice = 0;
    const auto any = [&](const auto& list) {
        return *(std::begin(list) +
                 static_cast<std::ptrdiff_t>(random_bits(problems.size(), ++choice) % std::size(list)));
    };
    for (const Layout layout : {Layout::separate, Layout::packed}) {
        for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
            for (const Types& type : types) {
                for (const Heads& heads : head_counts) {
                    for (const std::int64_t head_dim : {64, 96, 128, 256}) {
                        choice = 0;
                        const Tokens some = any(tokens);
                        Problem p;
                        p.batch = some.batch;
                        p.sequence = some.sequence;
                        p.heads = heads.query;
                        p.key_heads = heads.key;
                        p.head_dim = head_dim;
                        p.dtype = type.storage;
                        p.table_dtype = type.table;
                        p.gamma_dtype = type.gamma;
                        p.layout = layout;
                        p.pairing = pairing;
                        p.in_place = any(std::array{false, true});
                        p.gemma = any(std::array{false, true});
                        p.row_padding = any(std::array{0, 0, 8, 16, 1});
                        p.offset = any(std::array{0, 0, 16, 8, 1});
                        p.rotary_dim =
                            any(std::array<std::int64_t, 8>{0, 0, 0, head_dim / 2, head_dim / 4, 2, 34, head_dim - 2});
                        p.positions.type =
                            any(std::array{PositionType::implicit, PositionType::int32, PositionType::int64});
                        if (p.positions.type != PositionType::implicit) {
                            p.positions.order = any(std::array{PositionOrder::ordered, PositionOrder::reversed,
                                                               PositionOrder::scattered, PositionOrder::repeated});
                        }
                        p.context = any(std::array{0, 0, 11, 64});
                        p.eps = any(std::array{1e-6F, 1e-5F});
                        p.rotary_base = any(std::array{10000.0, 1e6});
                        problems.push_back(p);
                    }
                }
            }
        }
    }
    return problems;
}

// Whether a variant that does all features has no reason to refuse it: everything lies on whole vectors of 16 bytes.
inline bool lies_on_vectors(const Problem& p) {
    const std::int64_t vector = 16 / p.element_bytes();
    return p.row_alignment() >= 32 && p.rotary() / 2 % vector == 0;
}

}  // namespace qkprof
