// The model of the caches: hits, capacity, write-back, evict-first and kept lines.

#include "emulator/cache.h"

#include <gtest/gtest.h>

namespace qkprof::emulator {
namespace {

constexpr std::int64_t l2_bytes = 1 << 20;
constexpr std::int64_t l2_lines = l2_bytes / line_bytes;
// That stay when one SM reads them: in its half of the L2 it has those of both.
constexpr std::int64_t lines_read = l2_lines / 2;
constexpr std::uint64_t whole_line = ~std::uint64_t{0};

class Caches : public testing::Test {
  protected:
    Caches() { model_.start_launch({}); }

    void load(std::int64_t first, std::int64_t count, Path path = Path::bypass, std::int64_t block = 0) {
        for (std::int64_t line = first; line < first + count; ++line) {
            model_.load(block, {static_cast<std::uint64_t>(line), whole_line}, path);
        }
    }
    void store(std::int64_t first, std::int64_t count, std::uint64_t pairs = whole_line, Path path = Path::normal) {
        for (std::int64_t line = first; line < first + count; ++line) {
            model_.store(0, {static_cast<std::uint64_t>(line), pairs}, path);
        }
    }
    // What is counted from here on.
    const Traffic& from_now() {
        model_.reset_traffic();
        return model_.traffic();
    }

    CacheModel model_{l2_bytes, 4};
};

TEST_F(Caches, AMissReadsDramAHitDoesNot) {
    const Traffic& traffic = from_now();
    load(0, 10);
    EXPECT_EQ(traffic.l2_read_sectors, 40);
    EXPECT_EQ(traffic.dram_read_bytes, 1280);
    load(0, 10);
    EXPECT_EQ(traffic.l2_read_sectors, 80);
    EXPECT_EQ(traffic.dram_read_bytes, 1280);
}

TEST_F(Caches, OnlyTheSectorsAskedForAreRead) {
    const Traffic& traffic = from_now();
    model_.load(0, {7, 0xff}, Path::bypass);  // bytes 0 to 15: one sector
    EXPECT_EQ(traffic.dram_read_bytes, 32);
    model_.load(0, {7, 0xffff0000}, Path::bypass);  // the next
    EXPECT_EQ(traffic.dram_read_bytes, 64);
}

TEST_F(Caches, WhatFitsStaysAndWhatDoesNotGoes) {
    load(0, lines_read);
    const Traffic& traffic = from_now();
    load(0, lines_read);
    EXPECT_EQ(traffic.dram_read_bytes, 0);
    load(0, 2 * l2_lines);  // the end displaces the beginning, which is least recently used
    model_.reset_traffic();
    load(0, lines_read);
    EXPECT_EQ(traffic.dram_read_bytes, l2_bytes / 2);
}

TEST_F(Caches, EachSmHasAnL1ThatEndsWithTheLaunch) {
    load(0, 4, Path::normal, 0);
    const Traffic& traffic = from_now();
    load(0, 4, Path::normal, 4);  // block 4 is on the SM of block 0
    EXPECT_EQ(traffic.l2_read_sectors, 0);
    load(0, 4, Path::normal, 17);  // another SM, and too late to meet the first
    EXPECT_EQ(traffic.l2_read_sectors, 16);
    model_.start_launch({});
    load(0, 4, Path::normal, 0);
    EXPECT_EQ(traffic.l2_read_sectors, 32);
    EXPECT_EQ(traffic.dram_read_bytes, 0);  // the L2 had it all along
}

TEST_F(Caches, SharedMemoryIsTakenFromTheL1) {
    const auto read_again = [&](std::int64_t shared_bytes) {
        model_.start_launch({.threads = 1024, .shared_bytes = shared_bytes});
        load(0, 1024, Path::normal);  // 128 KiB
        model_.reset_traffic();
        load(0, 1024, Path::normal);
        return model_.traffic().l2_read_sectors;
    };
    EXPECT_EQ(read_again(0), 0);
    EXPECT_EQ(read_again(192 << 10), 4096);
}

TEST_F(Caches, StreamingLoadsLeaveNothingInTheL1) {
    load(0, 4, Path::streaming);
    const Traffic& traffic = from_now();
    load(0, 4, Path::streaming);
    EXPECT_EQ(traffic.l2_read_sectors, 16);
}

TEST_F(Caches, WholeSectorsAreWrittenWithoutReading) {
    const Traffic& traffic = from_now();
    store(0, 10);
    EXPECT_EQ(traffic.l2_write_sectors, 40);
    EXPECT_EQ(traffic.dram_read_bytes, 0);
    EXPECT_EQ(traffic.dram_write_bytes, 0);  // still in the L2
}

TEST_F(Caches, DirtyLinesAreWrittenWhenTheyAreEvicted) {
    store(0, 100);
    const Traffic& traffic = from_now();
    load(l2_lines, l2_lines);
    EXPECT_EQ(traffic.dram_write_bytes, 100 * 128);
    model_.reset_traffic();
    load(3 * l2_lines, l2_lines);  // these displace clean lines
    EXPECT_EQ(traffic.dram_write_bytes, 0);
}

TEST_F(Caches, APartlyWrittenSectorIsReadWhenItLeavesOrIsRead) {
    store(0, 1, 0xff);  // half a sector
    const Traffic& traffic = from_now();
    load(l2_lines, l2_lines);
    EXPECT_EQ(traffic.dram_write_bytes, 32);
    EXPECT_EQ(traffic.dram_read_bytes, l2_bytes + 32);

    store(5 * l2_lines, 1, 0xff);
    store(5 * l2_lines, 1, 0xff00);  // the other half: whole
    model_.reset_traffic();
    model_.load(0, {static_cast<std::uint64_t>(5 * l2_lines), 0xffff}, Path::bypass);
    EXPECT_EQ(traffic.dram_read_bytes, 0);
}

TEST_F(Caches, StreamingLinesAreEvictedFirst) {
    load(0, lines_read / 2);                        // wanted again
    load(l2_lines, 4 * l2_lines, Path::streaming);  // passes through
    const Traffic& traffic = from_now();
    load(0, lines_read / 2);
    EXPECT_EQ(traffic.dram_read_bytes, 0);

    load(0, lines_read / 2);
    load(l2_lines, 4 * l2_lines);  // the same without the hint displaces it
    model_.reset_traffic();
    load(0, lines_read / 2);
    EXPECT_EQ(traffic.dram_read_bytes, l2_bytes / 4);
}

TEST_F(Caches, AWindowIsKept) {
    model_.start_launch({.window = 0, .window_bytes = static_cast<std::uint64_t>(l2_bytes / 4)});
    load(0, lines_read / 2);
    load(l2_lines, 4 * l2_lines);
    const Traffic& traffic = from_now();
    load(0, lines_read / 2);
    EXPECT_EQ(traffic.dram_read_bytes, 0);
}

TEST_F(Caches, ReadFromTheOtherHalfALineTakesASecondPlace) {
    std::int64_t other = 1;
    while (model_.half_of(other) == model_.half_of(0)) {
        ++other;
    }
    const auto missing = [&](std::int64_t lines, Path path) {
        model_.displace();
        model_.start_launch({});
        for (int turn = 0; turn < 2; ++turn) {  // each half of the SMs reads half of the lines
            model_.reset_traffic();
            load(0, lines / 2, path);
            load(lines / 2, lines / 2, path, other);
        }
        return model_.traffic().dram_read_bytes;
    };
    EXPECT_EQ(missing(l2_lines * 5 / 8, Path::bypass), 0);
    EXPECT_GT(missing(l2_lines * 7 / 8, Path::bypass), 0);
    EXPECT_EQ(missing(l2_lines * 7 / 8, Path::streaming), 0);
}

TEST_F(Caches, AWrittenLineIsAtHomeOnly) {
    store(0, l2_lines);
    const Traffic& traffic = from_now();
    store(0, l2_lines);
    EXPECT_EQ(traffic.dram_write_bytes, 0);
}

TEST_F(Caches, DisplacedDataIsReadAnewAndNeverWritten) {
    load(0, 10);
    store(100, 10);
    model_.displace();
    const Traffic& traffic = from_now();
    load(0, 10);
    load(l2_lines, 2 * l2_lines);
    EXPECT_EQ(traffic.dram_read_bytes, 1280 + 2 * l2_bytes);
    EXPECT_EQ(traffic.dram_write_bytes, 0);
}

}  // namespace
}  // namespace qkprof::emulator
