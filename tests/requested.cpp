// The counting of what warps request, in which what is alike is counted once and multiplied, against counting one
// access after the other, lane by lane.

#include "requested.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>

namespace qkprof {
namespace {

using Bytes = std::set<std::int64_t>;  // addresses that one access asks for

std::int64_t in_sectors(const Bytes& bytes) {
    std::set<std::int64_t> sectors;
    for (const std::int64_t address : bytes) {
        sectors.insert(address / bytes_of_sector);
    }
    return static_cast<std::int64_t>(sectors.size()) * bytes_of_sector;
}

void ask(Bytes& bytes, std::int64_t address, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        bytes.insert(address + i);
    }
}

void ask(Bytes& bytes, std::int64_t row, const Instruction& instruction, std::int64_t element_bytes) {
    for (const Elements& elements : instruction) {
        ask(bytes, row + elements.first * element_bytes, elements.count * element_bytes);
    }
}

// Far enough from another that no two buffers share a sector.
constexpr std::int64_t second_buffer = 1 << 30;

std::int64_t address_of_row(const Problem& p, std::int64_t row) {
    const std::int64_t token = row / p.all_heads();
    const std::int64_t head = row % p.all_heads();
    const bool key_tensor = head >= p.heads && p.layout == Layout::separate;
    const std::int64_t stride = key_tensor ? p.k_stride() : p.q_stride();
    const std::int64_t element = p.offset + token * stride + (key_tensor ? head - p.heads : head) * p.head_dim;
    return element * p.element_bytes() + (key_tensor ? second_buffer : 0);
}

// Sums over the accesses of `rows` rows what `of_access(first, last)` gives.
template <class F>
std::int64_t sum_over_accesses(const Problem& p, std::int64_t rows, F of_access) {
    std::int64_t sum = 0;
    for (std::int64_t first = 0; first < p.rows(); first += rows) {
        sum += of_access(first, std::min(first + rows, p.rows()) - 1);
    }
    return sum;
}

// What lanes may ask of a row of `count` elements: all at once, in two pieces, or pairs in turn.
std::vector<Instruction> instructions_of(std::int64_t count, std::size_t kind) {
    if (kind == 0 || count < 2) {
        return {{{0, count}}};
    }
    if (kind == 1) {
        return {{{0, count / 2}}, {{count / 2, count - count / 2}}};
    }
    Instruction even;
    Instruction odd;
    for (std::int64_t i = 0; i < count; ++i) {
        (i / 2 % 2 == 0 ? even : odd).push_back({i, 1});
    }
    return {even, odd};
}

class Requested : public testing::TestWithParam<unsigned> {
  protected:
    std::mt19937 random_{GetParam()};

    template <class T>
    T any(std::initializer_list<T> list) {
        return *(list.begin() + static_cast<std::ptrdiff_t>(random_() % list.size()));
    }

    Problem any_problem() {
        Problem p;
        p.batch = any({0, 1, 1, 2, 3});
        p.sequence = any({1, 2, 3, 5, 8, 17, 64, 70});
        p.heads = any({0, 1, 2, 3, 5, 8});
        p.key_heads = any({0, 0, 1, 2, 3});
        p.head_dim = any({2, 6, 64, 72, 96});
        p.dtype = any({DataType::f32, DataType::bf16});
        p.offset = any({0, 0, 1, 8});
        p.layout = any({Layout::separate, Layout::packed});
        p.row_padding = any({0, 0, 1, 8});
        p.rotary_dim = std::min<std::int64_t>(any({0, 2, 6, 24, 32, 34, 64}), p.head_dim);
        p.table_dtype = any({DataType::f32, p.dtype});
        p.gamma_dtype = any({DataType::f32, p.dtype});
        p.positions.type = any({PositionType::implicit, PositionType::int32, PositionType::int64});
        p.context = any({0, 0, 70, 73});
        if (p.positions.type != PositionType::implicit) {
            p.positions.order = any({PositionOrder::ordered, PositionOrder::reversed, PositionOrder::scattered,
                                     PositionOrder::repeated, PositionOrder::listed});
        }
        if (p.positions.order == PositionOrder::listed) {
            std::vector<std::int64_t> ids;
            for (std::int64_t token = 0; token < p.tokens(); ++token) {
                ids.push_back(random_() % static_cast<unsigned>(p.table_positions()));
            }
            p.positions = listed_positions(p.positions.type, std::move(ids));
        }
        return p;
    }
    std::int64_t any_rows() { return any({1, 2, 3, 4, 8, 12, 16, 64}); }
};

TEST_P(Requested, OfTheTensors) {
    for (int i = 0; i < 40; ++i) {
        const Problem p = any_problem();
        const auto instructions = instructions_of(p.head_dim, random_() % 3);
        const std::int64_t expected = sum_over_accesses(p, 1, [&](std::int64_t row, std::int64_t) {
            std::int64_t sum = 0;
            for (const Instruction& instruction : instructions) {
                Bytes bytes;
                ask(bytes, address_of_row(p, row), instruction, p.element_bytes());
                sum += in_sectors(bytes);
            }
            return sum;
        });
        EXPECT_EQ(tensor_bytes_requested(p, instructions), expected) << p.text(' ') << ' ' << name_of(p.dtype);
    }
}

TEST_P(Requested, OfTheTablesAndIds) {
    for (int i = 0; i < 40; ++i) {
        const Problem p = any_problem();
        const std::int64_t rows = any_rows();
        const auto instructions = instructions_of(p.rotary() / 2, random_() % 3);
        const std::int64_t expected = sum_over_accesses(p, rows, [&](std::int64_t first, std::int64_t last) {
            std::int64_t sum = 0;
            for (const std::int64_t table : {std::int64_t{0}, p.table_bytes()}) {
                for (const Instruction& instruction : instructions) {
                    Bytes bytes;
                    for (std::int64_t row = first; row <= last; ++row) {
                        const std::int64_t position = p.position_of(row / p.all_heads());
                        ask(bytes, table + position * p.table_row_bytes(), instruction, bytes_of(p.table_dtype));
                    }
                    sum += in_sectors(bytes);
                }
            }
            Bytes ids;
            for (std::int64_t row = first; row <= last; ++row) {
                const std::int64_t id_bytes = bytes_of(p.positions.type);
                ask(ids, row / p.all_heads() * id_bytes, id_bytes);
            }
            return sum + in_sectors(ids);
        });
        EXPECT_EQ(TableRequests(p, instructions).bytes(rows), expected)
            << p.text(' ') << ' ' << name_of(p.dtype) << ", " << rows << " rows an access";
    }
}

TEST_P(Requested, OfTheGammas) {
    for (int i = 0; i < 40; ++i) {
        const Problem p = any_problem();
        const std::int64_t rows = any_rows();
        const auto instructions = instructions_of(p.head_dim, random_() % 3);
        const std::int64_t expected = sum_over_accesses(p, rows, [&](std::int64_t first, std::int64_t last) {
            std::int64_t sum = 0;
            for (const Instruction& instruction : instructions) {
                Bytes bytes;
                for (std::int64_t row = first; row <= last; ++row) {
                    const bool key = row % p.all_heads() >= p.heads;
                    ask(bytes, key ? second_buffer : 0, instruction, bytes_of(p.gamma_dtype));
                }
                sum += in_sectors(bytes);
            }
            return sum;
        });
        EXPECT_EQ(gamma_bytes_requested(p, instructions, rows), expected)
            << p.text(' ') << ' ' << name_of(p.dtype) << ", " << rows << " rows an access";
    }
}

TEST_P(Requested, PositionsTouched) {
    for (int i = 0; i < 100; ++i) {
        const Problem p = any_problem();
        const std::int64_t rows = any_rows();
        const std::int64_t expected = sum_over_accesses(p, rows, [&](std::int64_t first, std::int64_t last) {
            std::set<std::int64_t> positions;
            for (std::int64_t row = first; row <= last; ++row) {
                positions.insert(p.position_of(row / p.all_heads()));
            }
            return static_cast<std::int64_t>(positions.size());
        });
        EXPECT_EQ(positions_touched(p, rows), expected) << p.text(' ') << ", " << rows << " rows an access";
    }
}

// Alike are accesses of as many rows that begin at the same head.
TEST_P(Requested, EachAccessIsTakenOnce) {
    for (int i = 0; i < 100; ++i) {
        const Problem p = any_problem();
        const std::int64_t rows = any_rows();
        std::map<std::array<std::int64_t, 2>, std::int64_t> expected;  // of query or key heads alone: as one
        std::map<std::array<std::int64_t, 2>, std::int64_t> counted;
        const auto kind = [&](std::int64_t first, std::int64_t count) {
            const std::int64_t head = first % p.all_heads();
            const bool alone = head + count <= p.heads || (head >= p.heads && head + count <= p.all_heads());
            return std::array{alone ? (head < p.heads ? -1 : -2) : head, count};
        };
        sum_over_accesses(
            p, rows, [&](std::int64_t first, std::int64_t last) { return ++expected[kind(first, last - first + 1)]; });
        for_each_access(p, rows,
                        [&](const Access& access) { counted[kind(access.first, access.rows)] += access.times; });
        EXPECT_EQ(counted, expected) << p.text(' ') << ", " << rows << " rows an access";
    }
}

INSTANTIATE_TEST_SUITE_P(Generated, Requested, testing::Range(1U, 26U));

// A declaration of a problem of any size is a matter of milliseconds: few accesses are looked at one by one.
TEST(RequestedOfMany, LooksAtFewAccesses) {
    std::vector<Problem> problems(4);
    problems[0].batch = 128;
    problems[0].sequence = 1024;
    problems[0].heads = 16;
    problems[1].sequence = 1000000;
    problems[1].head_dim = 64;
    problems[2].sequence = max_rows;  // a prime
    problems[3].batch = 1000;
    problems[3].sequence = 9999;
    problems[3].heads = 40;
    problems[3].key_heads = 8;
    for (Problem& problem : problems) {
        for (const PositionType type : {PositionType::implicit, PositionType::int32, PositionType::int64}) {
            for (const PositionOrder order :
                 {PositionOrder::ordered, PositionOrder::reversed, PositionOrder::scattered, PositionOrder::repeated}) {
                for (const std::int64_t rows : {1, 2, 4, 8, 48, 128}) {
                    problem.positions = {.type = type, .order = order};
                    std::int64_t looked = 0;
                    std::int64_t all = 0;
                    for_each_access(problem, rows, [&](const Access& access) {
                        ++looked;
                        all += access.times;
                    });
                    EXPECT_EQ(all, divide_up(problem.rows(), rows));
                    EXPECT_LT(looked, 2000) << problem.text(' ') << ", " << rows << " rows an access";
                }
            }
        }
    }
}

// So it is where neighbouring rows of a table share sectors, as long as the positions follow one another.
TEST(RequestedOfMany, LooksAtFewAccessesOfRowsThatShareSectors) {
    Problem problem;
    problem.sequence = 1000000;
    problem.rotary_dim = 6;
    for (const PositionOrder order : {PositionOrder::ordered, PositionOrder::reversed, PositionOrder::repeated}) {
        problem.positions = {.type = PositionType::int64, .order = order};
        for (const std::int64_t rows : {1, 8, 128}) {
            std::int64_t looked = 0;
            for_each_access(problem, rows, [&](const Access&) { ++looked; });
            EXPECT_LT(looked, 2000) << problem.text(' ') << ", " << rows << " rows an access";
        }
    }
}

}  // namespace
}  // namespace qkprof
