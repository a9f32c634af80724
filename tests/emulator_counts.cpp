// The exact counts of the emulated device: coalescing into sectors and the banks of shared memory.

#include "emulator_support.h"

#include <vector>

namespace qkprof {
namespace {

using Counts = EmulatedLaunch;
using Four = Vector<float, 4>;
using Two = Vector<float, 2>;

TEST_F(Counts, NeighbouringLanesShareSectors) {
    launch(32, 0, [&] { store(out(lane()), load(in(lane()))); });
    EXPECT_EQ(totals().load_sectors, 4);  // 32 * 4 bytes
    EXPECT_EQ(totals().store_sectors, 4);
    EXPECT_EQ(totals().launches, 1);
    for (unsigned i = 0; i < 32; ++i) {
        EXPECT_EQ(*out(i), static_cast<float>(i));
    }
}

TEST_F(Counts, StrideTwoTouchesTwiceTheSectors) {
    launch(32, 0, [&] { load(in(2 * lane())); });
    EXPECT_EQ(totals().load_sectors, 8);
}

TEST_F(Counts, StrideOfASectorTouchesOneALane) {
    launch(32, 0, [&] { load(in(8 * lane())); });
    EXPECT_EQ(totals().load_sectors, 32);
}

TEST_F(Counts, ABroadcastIsOneSector) {
    launch(32, 0, [&] { load(in(5)); });
    EXPECT_EQ(totals().load_sectors, 1);
}

TEST_F(Counts, AMisalignedWarpTouchesOneSectorMore) {
    launch(32, 0, [&] { load(in(1 + lane())); });
    EXPECT_EQ(totals().load_sectors, 5);
}

TEST_F(Counts, LanesInAnyOrderAreCoalesced) {
    launch(32, 0, [&] { load(in((lane() * 7) % 32)); });
    EXPECT_EQ(totals().load_sectors, 4);
}

TEST_F(Counts, SixteenBytesALane) {
    launch(64, 0, [&] { store(out<Four>(thread()), load(in<Four>(thread()))); });
    EXPECT_EQ(totals().load_sectors, 32);
    EXPECT_EQ(totals().store_sectors, 32);
}

TEST_F(Counts, APartOfAWarp) {
    launch(32, 0, [&] {
        if (lane() < 9) {
            load(in(lane()));
        }
    });
    EXPECT_EQ(totals().load_sectors, 2);
}

TEST_F(Counts, TheSameLoadTwiceIsTwoAccesses) {
    launch(32, 0, [&] {
        load(in(lane()));
        load(in(lane()));
    });
    EXPECT_EQ(totals().load_sectors, 8);
}

TEST_F(Counts, TheTurnsOfALoopAreAccessesOfTheirOwn) {
    // Lane l goes round l % 4 + 1 times: 32, 24, 16 and 8 lanes, in each turn those of every quad's end, 4 sectors.
    launch(32, 0, [&] {
        for (unsigned turn = 0; turn <= lane() % 4; ++turn) {
            load(in(32 * turn + lane()));
        }
    });
    EXPECT_EQ(totals().load_sectors, 16);
}

TEST_F(Counts, ADivergentBranchSplitsAnAccessAndRejoins) {
    launch(32, 0, [&] {
        if (lane() % 2 == 0) {
            load(in(lane()));  // 16 lanes, 4 sectors
        } else {
            load(in(1024 + lane()));  // another instruction, 4 sectors
        }
        load(in(2048 + lane()));  // all lanes again, 4 sectors
    });
    EXPECT_EQ(totals().load_sectors, 12);
}

TEST_F(Counts, AnAccessAfterASkippedOneIsStillOneOfTheWholeWarp) {
    launch(32, 0, [&] {
        if (lane() >= 16) {
            load(in(lane()));  // 16 lanes, 2 sectors
        }
        load(in(64 + lane()));  // 4
    });
    EXPECT_EQ(totals().load_sectors, 6);
}

TEST_F(Counts, AsynchronousAndBulkCopiesCountTheirSectors) {
    launch(32, 1024, [&] {
        async_copy(shared_memory() + 16 * lane(), in<Four>(lane()));
        async_commit();
        async_wait<0>();
    });
    EXPECT_EQ(totals().load_sectors, 16);
    EXPECT_EQ(totals().shared_wavefronts, 0);

    launch(32, 1024, [&] {
        auto* landed = reinterpret_cast<Barrier*>(shared_memory() + 512);
        if (thread() == 0) {
            barrier_initialise(landed, 1);
            barrier_expect(landed, 496);
            bulk_load(shared_memory(), in(4), 496, landed);
            barrier_wait(landed, 0);
            bulk_store(out(4), shared_memory(), 496);
            bulk_commit();
            bulk_wait<0>();
        }
    });
    EXPECT_EQ(totals().load_sectors, 16);  // bytes 16 to 511
    EXPECT_EQ(totals().store_sectors, 16);
    for (std::size_t i = 4; i < 128; ++i) {
        ASSERT_EQ(*out(i), static_cast<float>(i));
    }
}

// Measured on an H200: sectors asked for, by the whole warp, and by each quarter-warp in asynchronous copies.
TEST_F(Counts, LanesThatWantTheSameSectors) {
    const auto loads = [&](const std::function<unsigned()>& index, bool asynchronous) {
        launch(32, 1024, [&] {
            const Four* from = in<Four>(index());
            if (asynchronous) {
                async_copy(shared_memory() + 16 * lane(), from);
                async_commit();
                async_wait<0>();
            } else {
                load(from);
            }
        });
        return totals().load_sectors;
    };
    const auto modulo_16 = [] { return lane() % 16; };
    EXPECT_EQ(loads(modulo_16, false), 8);
    EXPECT_EQ(loads([] { return lane() % 8; }, false), 4);
    EXPECT_EQ(loads([] { return lane() / 2; }, false), 8);
    EXPECT_EQ(loads([] { return 2 * lane(); }, false), 32);
    EXPECT_EQ(loads([] { return 0; }, false), 1);
    EXPECT_EQ(loads(modulo_16, true), 16);
    EXPECT_EQ(engine_.caches().traffic().l2_read_sectors, 8);
}

// Measured on an H200: wavefronts of a shared load of which several lanes want the same.
TEST_F(Counts, LanesThatWantTheSameWords) {
    const auto wavefronts = [&]<class V>(V, const std::function<unsigned()>& index, unsigned lanes = 32) {
        launch(32, 1024, [&] {
            auto* p = reinterpret_cast<V*>(shared_memory());
            shared_store(p + lane(), V{});
            warp_barrier();
            if (lane() < lanes) {
                shared_load(p + index());
            }
        });
        EXPECT_EQ(totals().bank_conflicts, 0);
        return totals().shared_wavefronts - static_cast<int>(sizeof(V) / 4);  // less those of the store
    };
    const auto own = [] { return lane(); };
    EXPECT_EQ(wavefronts(Two{}, own), 2);
    EXPECT_EQ(wavefronts(Two{}, [] { return lane() % 16; }), 2);
    EXPECT_EQ(wavefronts(Two{}, [] { return lane() / 2; }), 1);
    EXPECT_EQ(wavefronts(Two{}, own, 16), 1);
    EXPECT_EQ(wavefronts(Two{}, own, 24), 2);
    EXPECT_EQ(wavefronts(Four{}, own), 4);
    EXPECT_EQ(wavefronts(Four{}, [] { return lane() % 16; }), 4);
    EXPECT_EQ(wavefronts(Four{}, [] { return lane() % 8; }), 4);
    EXPECT_EQ(wavefronts(Four{}, [] { return 0; }), 2);
    EXPECT_EQ(wavefronts(Four{}, own, 16), 2);
    EXPECT_EQ(wavefronts(Four{}, own, 24), 3);
}

// Stores and loads of `V` with a stride of so many bytes between lanes.
template <class V>
void touch(unsigned stride) {
    auto* p = reinterpret_cast<V*>(shared_memory() + lane() * stride);
    shared_store(p, V{});
    barrier();
    shared_load(p);
}

struct Bank {
    unsigned bytes;
    unsigned stride;
    int wavefronts;  // of one load
    int conflicts;
};

TEST_F(Counts, BanksOfSharedMemory) {
    for (const Bank& bank : std::vector<Bank>{{4, 4, 1, 0},
                                              {4, 8, 2, 1},
                                              {4, 128, 32, 31},
                                              {4, 132, 1, 0},  // padded
                                              {2, 2, 1, 0},
                                              {8, 8, 2, 0},
                                              {8, 16, 4, 2},
                                              {16, 16, 4, 0},
                                              {16, 32, 8, 4},
                                              {16, 128, 32, 28},
                                              {16, 144, 4, 0}}) {  // padded
        launch(32, 8192, [&] {
            switch (bank.bytes) {
                case 2:
                    return touch<bf16>(bank.stride);
                case 4:
                    return touch<float>(bank.stride);
                case 8:
                    return touch<Two>(bank.stride);
                default:
                    return touch<Four>(bank.stride);
            }
        });
        EXPECT_EQ(totals().shared_wavefronts, 2 * bank.wavefronts) << bank.bytes << " bytes, stride " << bank.stride;
        EXPECT_EQ(totals().bank_conflicts, 2 * bank.conflicts) << bank.bytes << " bytes, stride " << bank.stride;
    }
}

TEST_F(Counts, ABroadcastFromSharedMemoryIsOneWavefront) {
    launch(32, 128, [&] {
        auto* p = reinterpret_cast<float*>(shared_memory());
        if (lane() == 0) {
            shared_store(p, 1.0F);
        }
        warp_barrier();
        shared_load(p);
    });
    EXPECT_EQ(totals().shared_wavefronts, 2);
    EXPECT_EQ(totals().bank_conflicts, 0);
}

TEST_F(Counts, ShufflesExchangeValuesInEveryTurn) {
    launch(64, 0, [&] {
        float sum = static_cast<float>(lane());
        for (int mask = 16; mask > 0; mask /= 2) {
            sum += shuffle_xor(sum, mask);
        }
        const float next = shuffle(static_cast<float>(thread()), lane() + 1);
        store(out<Two>(thread()), Two{{sum, next}});
    });
    for (unsigned i = 0; i < 64; ++i) {
        EXPECT_EQ(*out(2 * i), 496.0F);
        EXPECT_EQ(*out(2 * i + 1), static_cast<float>(i / 32 * 32 + (i + 1) % 32));
    }
}

TEST_F(Counts, SharedBytesAreThoseOfTheLargestBlock) {
    engine_.reset_totals();
    for (const std::int64_t bytes : {64, 4096, 512}) {
        emulator::run_grid(engine_.stream(),
                           {.kernel = "test_kernel", .blocks = 3, .threads = 32, .shared_bytes = bytes}, [] {});
    }
    EXPECT_EQ(totals().shared_bytes, 4096);
    EXPECT_EQ(totals().launches, 3);
}

TEST_F(Counts, NoBlocksIsNoLaunch) {
    launch(
        256, 0, [] { FAIL(); }, 0);
    EXPECT_EQ(totals().launches, 0);
}

TEST_F(Counts, BlocksSeeTheirPlaceInTheGrid) {
    launch(
        64, 0, [&] { store(out(block() * threads() + thread()), static_cast<float>(block() * 1000 + blocks())); }, 5);
    EXPECT_EQ(*out(4 * 64 + 63), 4005.0F);
    EXPECT_EQ(totals().store_sectors, 5 * 2 * 4);
}

TEST_F(Counts, OnlyTheBlocksAskedForRun) {
    engine_.only_last_blocks(2);
    launch(
        32, 0, [&] { store(out(block() % 4 * 32 + lane()), static_cast<float>(block() % 1000)); }, 2147483647);
    EXPECT_EQ(totals().store_sectors, 8);
    EXPECT_EQ(*out(1 * 32), 645.0F);  // block 2147483645
    EXPECT_EQ(*out(2 * 32), 646.0F);
    EXPECT_EQ(totals().blocks, 2147483647);
}

}  // namespace
}  // namespace qkprof
