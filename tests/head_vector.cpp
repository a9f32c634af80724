// The counting of table rows for the declarations, in closed form, against counting one access after the other.
#define QKPROF_EMULATED_KERNELS
#include "head_vector.h"

#include <gtest/gtest.h>

#include <set>

namespace qkprof {
namespace {

// The distinct positions of rows first..last, one row after the other.
std::int64_t positions_of_rows(const Problem& problem, std::int64_t first, std::int64_t last) {
    std::set<std::int64_t> positions;
    for (std::int64_t row = first; row <= last; ++row) {
        positions.insert(row / problem.heads % problem.sequence);
    }
    return static_cast<std::int64_t>(positions.size());
}

std::int64_t one_access_after_the_other(const Problem& problem, std::int64_t rows_per_access, std::int64_t turns) {
    std::int64_t touched = 0;
    for (std::int64_t first = 0; first < problem.rows(); first += rows_per_access * turns) {
        const std::int64_t end = std::min(first + rows_per_access * turns, problem.rows());
        if (turns > 1 && first / problem.heads == (end - 1) / problem.heads) {
            ++touched;
            continue;
        }
        for (std::int64_t turn = first; turn < end; turn += rows_per_access) {
            touched += positions_of_rows(problem, turn, std::min(turn + rows_per_access, end) - 1);
        }
    }
    return touched;
}

TEST(PositionsTouched, IsThatOfOneAccessAfterTheOther) {
    for (std::int64_t batch : {0, 1, 2, 3}) {
        for (std::int64_t sequence : {0, 1, 2, 3, 5, 8}) {
            for (std::int64_t heads : {0, 1, 2, 3, 4, 6, 7, 16}) {
                Problem problem;
                problem.batch = batch;
                problem.sequence = sequence;
                problem.heads = heads;
                for (std::int64_t rows : {1, 2, 3, 4, 5, 8, 12, 16, 64}) {
                    ASSERT_EQ(positions_touched(problem, rows), one_access_after_the_other(problem, rows, 1))
                        << batch << 'x' << sequence << 'x' << heads << ", " << rows << " rows an access";
                    for (std::int64_t turns : {1, 2, 3, 4, 8}) {
                        ASSERT_EQ(positions_touched(problem, rows, turns),
                                  one_access_after_the_other(problem, rows, turns))
                            << batch << 'x' << sequence << 'x' << heads << ", " << rows << " rows an access, " << turns
                            << " turns";
                    }
                }
            }
        }
    }
}

TEST(PositionsTouched, OfTheMostRowsTakesNoTime) {
    Problem problem;
    problem.sequence = max_rows;  // a prime
    EXPECT_EQ(positions_touched(problem, 1), max_rows);
    EXPECT_EQ(positions_touched(problem, 2), max_rows);
    EXPECT_EQ(positions_touched(problem, 4, 2), max_rows);
}

}  // namespace
}  // namespace qkprof
