// Reads of several multiprocessors that reach the L2 as one: which may, and how many do.

#include "emulator/coalescer.h"

#include <gtest/gtest.h>

namespace qkprof::emulator {
namespace {

constexpr std::int64_t resident = 1000;

class Coalescing : public testing::Test {
  protected:
    Coalescing() { coalescer_.start_launch(resident); }

    // Of 100 lines that block `first` reads, how many does `second` read with it?
    int joining(const Coalescer::Read& first, const Coalescer::Read& second, bool from_dram = false) {
        int joining = 0;
        for (int i = 0; i < 100; ++i) {
            ++line_;
            Coalescer::Read read = first;
            read.line = line_;
            EXPECT_FALSE(coalescer_.joins(read));
            coalescer_.passed(read, from_dram);
            read = second;
            read.line = line_;
            joining += coalescer_.joins(read) ? 1 : 0;
        }
        return joining;
    }

    Coalescer coalescer_;
    std::uint64_t line_ = 0;
};

constexpr std::uint32_t all = 0xf;

TEST_F(Coalescing, NeighboursOfOneHalf) {
    EXPECT_EQ(joining({.block = 4, .half = 0, .sectors = all}, {.block = 5, .half = 0, .sectors = all}), 80);
    EXPECT_EQ(joining({.block = 4, .half = 0, .sectors = all}, {.block = 5, .half = 1, .sectors = all}), 0);
}

TEST_F(Coalescing, LessAfterTheFirstBlocks) {
    EXPECT_EQ(joining({.block = 2004, .half = 1, .sectors = all}, {.block = 2005, .half = 1, .sectors = all}), 50);
}

TEST_F(Coalescing, BothHalvesWaitForDram) {
    EXPECT_EQ(joining({.block = 4, .half = 0, .sectors = all}, {.block = 5, .half = 0, .sectors = all}, true), 72);
    EXPECT_EQ(joining({.block = 4, .half = 0, .sectors = all}, {.block = 5, .half = 1, .sectors = all}, true), 72);
}

TEST_F(Coalescing, NotFarApart) {
    EXPECT_EQ(joining({.block = 4, .half = 0, .sectors = all}, {.block = 20, .half = 0, .sectors = all}), 0);
}

TEST_F(Coalescing, NotABlockWithItself) {
    EXPECT_EQ(joining({.block = 4, .half = 0, .sectors = all}, {.block = 4, .half = 0, .sectors = all}), 0);
}

TEST_F(Coalescing, NotWhatTheOtherDidNotAskFor) {
    EXPECT_EQ(joining({.block = 4, .half = 0, .sectors = 0x3}, {.block = 5, .half = 0, .sectors = all}), 0);
    EXPECT_EQ(joining({.block = 4, .half = 0, .sectors = 0x3}, {.block = 5, .half = 0, .sectors = 0x2}), 80);
}

TEST_F(Coalescing, NotInTheNextLaunch) {
    coalescer_.passed({.block = 4, .half = 0, .line = 7, .sectors = all}, true);
    coalescer_.start_launch(resident);
    EXPECT_FALSE(coalescer_.joins({.block = 5, .half = 0, .line = 7, .sectors = all}));
}

}  // namespace
}  // namespace qkprof::emulator
