// What a kernel can do wrong on the emulated device, each in its smallest form, and the sentence that it gets.

#include "emulator_support.h"

namespace qkprof {
namespace {

using Faults = EmulatedLaunch;
using Four = Vector<float, 4>;

float* shared_floats() { return reinterpret_cast<float*>(shared_memory()); }

TEST_F(Faults, OutOfBoundsByOne) {
    constexpr std::size_t count = buffer_bytes / 4;
    EXPECT_TRUE(says(fault_of(32, 0, [&] { load(in(count - 31 + lane())); }), "thread 31",
                     "loads 4 bytes at byte 65536 of in, which has 65536 bytes"));
    EXPECT_TRUE(says(fault_of(32, 0, [&] { store(out(count - 31 + lane()), 1.0F); }), "thread 31",
                     "stores 4 bytes at byte 65536 of out, which has 65536 bytes"));
    EXPECT_TRUE(says(fault_of(32, 0, [&] { load(in() - 1); }), "thread 0", "loads 4 bytes at byte -4 of in"));
}

TEST_F(Faults, AStoreToAnInput) {
    EXPECT_TRUE(says(fault_of(32, 0, [&] { store(const_cast<float*>(in(lane())), 1.0F); }), "thread 0",
                     "stores 4 bytes at byte 0 of in, which is an input"));
}

// By a kernel that begins before the one before it has ended.
TEST_F(Faults, TouchingWhatOthersMakeBeforeTheWait) {
    const auto load_in = [&] { load(in(lane())); };
    const auto store_out = [&] { store(out(lane()), 1.0F); };
    const auto wait_first = [&] {
        launch_dependents();
        load(constant(lane()));
        wait_for_dependency();
        store(out(lane()), load(in(lane())));
    };
    EXPECT_EQ(fault_of(32, 0, load_in), "none");
    programmatic_ = true;
    EXPECT_TRUE(says(fault_of(32, 0, load_in), "thread 0",
                     "loads 4 bytes at byte 0 of in before it waits for the kernels before it"));
    EXPECT_TRUE(says(fault_of(32, 0, store_out), "thread 0",
                     "stores 4 bytes at byte 0 of out before it waits for the kernels before it"));
    EXPECT_EQ(fault_of(32, 0, wait_first), "none");
}

TEST_F(Faults, AMisalignedVector) {
    EXPECT_TRUE(says(fault_of(32, 0, [&] { load(reinterpret_cast<const Four*>(in(1))); }), "thread 0",
                     "loads 16 bytes at byte 4 of in, an address that is not a multiple of 16"));
}

TEST_F(Faults, SharedMemoryBeyondTheBlocks) {
    EXPECT_TRUE(says(fault_of(32, 124, [&] { shared_store(shared_floats() + lane(), 1.0F); }), "thread 31",
                     "stores 4 bytes at byte 124 of shared memory, of which the block has 124 bytes"));
    EXPECT_TRUE(says(fault_of(32, 0, [&] { shared_load(shared_floats()); }), "thread 0", "the block has 0 bytes"));
}

TEST_F(Faults, ReadingSharedMemoryThatNothingWrote) {
    EXPECT_TRUE(says(fault_of(32, 128, [&] { shared_load(shared_floats() + lane()); }), "thread 0",
                     "loads byte 0 of shared memory, which nothing in the block has written"));
}

TEST_F(Faults, WhatAnotherBlockWroteIsNotThere) {
    try {
        launch(
            32, 128,
            [&] {
                if (block() == 0) {
                    shared_store(shared_floats() + lane(), 1.0F);
                } else {
                    shared_load(shared_floats() + lane());
                }
            },
            2);
        FAIL() << "no fault";
    } catch (const emulator::Fault& fault) {
        EXPECT_NE(std::string(fault.what()).find("block 1, thread 0"), std::string::npos) << fault.what();
    }
}

TEST_F(Faults, ADroppedBarrier) {
    const auto exchange = [&](bool with_barrier) {
        return fault_of(64, 256, [&] {
            shared_store(shared_floats() + thread(), 1.0F);
            if (with_barrier) {
                barrier();
            }
            shared_load(shared_floats() + (thread() ^ 32U));
        });
    };
    EXPECT_EQ(exchange(true), "none");
    EXPECT_TRUE(says(exchange(false), "thread 0", "loads byte 128 of shared memory, which nothing"));
}

TEST_F(Faults, ReadAfterWriteWithinAWarp) {
    const auto exchange = [&](const std::function<void()>& between) {
        return fault_of(32, 128, [&] {
            shared_store(shared_floats() + lane(), 1.0F);
            between();
            shared_load(shared_floats() + (lane() + 31) % 32);  // the lane before, which has had its turn
        });
    };
    EXPECT_EQ(exchange([] { warp_barrier(); }), "none");
    EXPECT_EQ(exchange([] { barrier(); }), "none");
    EXPECT_TRUE(says(exchange([] { shuffle(1.0F, 0); }), "thread 0",
                     "loads byte 124 of shared memory, which thread 31 wrote with no barrier in between"));
}

TEST_F(Faults, WriteAfterReadAndWriteAfterWrite) {
    const auto reuse = [&](bool with_barrier) {
        return fault_of(64, 256, [&] {
            shared_store(shared_floats() + thread(), 1.0F);
            barrier();
            if (warp() == 0) {
                shared_load(shared_floats() + 63 - thread());
            }
            if (with_barrier) {
                barrier();
            }
            shared_store(shared_floats() + thread(), 2.0F);
        });
    };
    EXPECT_EQ(reuse(true), "none");
    EXPECT_TRUE(says(reuse(false), "thread 32",
                     "stores byte 128 of shared memory, which thread 31 read with no barrier in between"));
    EXPECT_TRUE(says(fault_of(32, 128, [&] { shared_store(shared_floats(), 1.0F); }), "thread 1",
                     "stores byte 0 of shared memory, which thread 0 wrote with no barrier in between"));
}

TEST_F(Faults, WordsReadBySeveralWarpsMayNotBeOverwritten) {
    EXPECT_TRUE(says(fault_of(96, 16,
                              [&] {
                                  if (thread() == 0) {
                                      shared_store(shared_floats(), 1.0F);
                                  }
                                  barrier();
                                  shared_load(shared_floats());
                                  if (thread() == 64) {
                                      shared_store(shared_floats(), 2.0F);
                                  }
                              }),
                     "thread 64", "stores byte 0 of shared memory, which warp 0 read with no barrier in between"));
}

TEST_F(Faults, HalvesOfAWordAreWordsOfTheirOwn) {
    EXPECT_EQ(fault_of(32, 64, [&] { shared_store(reinterpret_cast<bf16*>(shared_memory()) + lane(), bf16{}); }),
              "none");
}

// Every line in a macro's argument is the macro's: kernels whose lines matter stand outside.
TEST_F(Faults, AFullMaskShuffleThatOnlySomeLanesReach) {
    const auto half = [] {
        if (lane() < 16) {
            shuffle(1.0F, 0);
        }
    };
    const auto either = [] {
        if (lane() < 16) {
            shuffle(1.0F, 0);
        } else {
            shuffle(2.0F, 0);
        }
    };
    EXPECT_TRUE(says(fault_of(32, 0, half), "thread 0", "while thread 16 has exited"));
    EXPECT_TRUE(says(fault_of(32, 0, either), "thread 0", "while thread 16 waits at the shuffle at tests/"));
}

TEST_F(Faults, ABarrierThatOnlySomeThreadsReach) {
    const auto half = [] {
        if (warp() == 0) {
            barrier();
        }
    };
    const auto either = [] {
        if (warp() == 0) {
            barrier();
        } else {
            barrier();
        }
    };
    const auto mixed = [] {
        if (thread() != 40) {
            barrier();
        } else {
            warp_barrier();
        }
    };
    EXPECT_TRUE(says(fault_of(64, 0, half), "thread 0", "while thread 32 has exited"));
    EXPECT_TRUE(says(fault_of(64, 0, either), "thread 0", "while thread 32 waits at the barrier at tests/"));
    EXPECT_TRUE(says(fault_of(64, 0, mixed), "thread 32", "while thread 40 waits at the warp barrier at tests/"));
}

TEST_F(Faults, AsynchronousCopies) {
    const auto stage = [&](int what) {
        return fault_of(32, 512, [&] {
            async_copy(shared_memory() + 16 * lane(), in<Four>(lane()));
            if (what != 0) {
                async_commit();
            }
            if (what == 2) {
                async_wait<1>();  // the one group may still be on its way
            }
            if (what >= 3) {
                async_wait<0>();
            }
            if (what == 4) {
                warp_barrier();
            }
            shared_load(shared_floats() + (what < 3 ? 4 * lane() : 4 * ((lane() + 31) % 32)));
            async_wait<0>();
        });
    };
    const char* early = "loads byte 0 of shared memory before the copy into it was waited for";
    EXPECT_TRUE(says(stage(0), "thread 0", early));
    EXPECT_TRUE(says(stage(1), "thread 0", early));
    EXPECT_TRUE(says(stage(2), "thread 0", early));
    // Waited for by its own lane, but read by another.
    EXPECT_TRUE(says(stage(3), "thread 0", "loads byte 496 of shared memory, which nothing in the block has written"));
    EXPECT_EQ(stage(4), "none");
    EXPECT_TRUE(says(fault_of(32, 512,
                              [&] {
                                  async_copy(shared_memory() + 16 * lane(), in<Four>(lane()));
                                  async_commit();
                              }),
                     "thread 0", "exits before its asynchronous copies into shared memory are waited for"));
}

// One bulk copy in and out of shared memory, with one thing left out.
enum class Omitted { nothing, initialise, barrier, expect, right_bytes, wait, fence, store_barrier, bulk_wait };

std::function<void()> bulk_kernel(const float* from, float* to, Omitted omitted) {
    return [=] {
        auto* landed = reinterpret_cast<Barrier*>(shared_memory() + 256);
        float* tile = shared_floats();
        if (thread() == 0 && omitted != Omitted::initialise) {
            barrier_initialise(landed, 1);
        }
        if (omitted != Omitted::barrier) {
            barrier();
        }
        if (thread() == 0) {
            if (omitted != Omitted::expect) {
                barrier_expect(landed, omitted == Omitted::right_bytes ? 512 : 256);
            }
            bulk_load(tile, from, 256, landed);
        }
        if (omitted != Omitted::wait) {
            barrier_wait(landed, 0);
        }
        shared_store(tile + thread(), shared_load(tile + thread()) + 1);
        if (omitted != Omitted::fence) {
            async_fence();
        }
        if (omitted != Omitted::store_barrier) {
            barrier();
        }
        if (thread() == 0) {
            bulk_store(to, tile, 256);
            bulk_commit();
            if (omitted != Omitted::bulk_wait) {
                bulk_wait<0>();
            }
        }
    };
}

TEST_F(Faults, BulkCopies) {
    const auto without = [&](Omitted omitted) { return fault_of(64, 264, bulk_kernel(in(), out(), omitted)); };
    EXPECT_EQ(without(Omitted::nothing), "none");
    EXPECT_EQ(*out(63), 64.0F);
    EXPECT_TRUE(says(without(Omitted::initialise), "thread 0",
                     "uses the mbarrier at byte 256 of shared memory, which was not initialised"));
    EXPECT_TRUE(says(without(Omitted::barrier), "thread 1",
                     "uses the mbarrier at byte 256 of shared memory, which thread 0 initialised with no barrier"));
    EXPECT_TRUE(
        says(without(Omitted::expect), "thread 0",
             "waits forever at an mbarrier: phase 0 of the one at byte 256 of shared memory lacks 1 of 1 arrivals"));
    EXPECT_TRUE(says(without(Omitted::right_bytes), "thread 0", "lacks 0 of 1 arrivals and 256 bytes"));
    EXPECT_TRUE(says(without(Omitted::wait), "thread 0", "loads byte 0 of shared memory before the copy into it"));
    EXPECT_TRUE(says(without(Omitted::fence), "thread 0",
                     "bulk-stores byte 0 of shared memory, which thread 0 stored without an async_fence() after it"));
    EXPECT_TRUE(says(without(Omitted::store_barrier), "thread 1",
                     "stores byte 4 of shared memory, which warp 0 read with no barrier in between"));
    EXPECT_TRUE(says(without(Omitted::bulk_wait), "thread 0", "exits before the shared memory of its bulk stores"));
}

TEST_F(Faults, ABulkCopyOfAnOddSizeOrAddress) {
    const auto copy = [&](std::size_t to, std::size_t from, unsigned bytes) {
        return fault_of(32, 264, [&, to, from, bytes] {
            if (thread() == 0) {
                auto* landed = reinterpret_cast<Barrier*>(shared_memory() + 256);
                barrier_initialise(landed, 1);
                bulk_load(shared_memory() + to, in(from), bytes, landed);
            }
        });
    };
    EXPECT_TRUE(says(copy(0, 0, 24), "thread 0", "a bulk copy of 24 bytes, which is not a multiple of 16"));
    EXPECT_TRUE(
        says(copy(0, 1, 16), "thread 0", "loads 16 bytes at byte 4 of in, an address that is not a multiple of 16"));
    EXPECT_TRUE(
        says(copy(8, 0, 16), "thread 0", "copies 16 bytes at byte 8 of shared memory, which is not a multiple"));
    EXPECT_TRUE(
        says(copy(0, 0, 272), "thread 0", "copies 272 bytes at byte 0 of shared memory, of which the block has 264"));
}

// A ring of two buffers that one warp fills and stores: bulk_wait<1> gives back the buffer of the round before.
TEST_F(Faults, BulkWaitGivesBackTheOlderBuffers) {
    EXPECT_EQ(fault_of(32, 256,
                       [&] {
                           for (unsigned round = 0; round < 5; ++round) {
                               float* buffer = shared_floats() + 32 * (round % 2);
                               shared_store(buffer + lane(), static_cast<float>(round));
                               async_fence();
                               warp_barrier();
                               if (lane() == 0) {
                                   bulk_store(out(32 * round), buffer, 128);
                                   bulk_commit();
                                   bulk_wait<1>();
                               }
                               warp_barrier();
                           }
                           if (lane() == 0) {
                               bulk_wait<0>();
                           }
                       }),
              "none");
    EXPECT_EQ(*out(32 * 4 + 31), 4.0F);
}

TEST_F(Faults, OverwritingWhatABulkStoreStillReads) {
    EXPECT_TRUE(says(fault_of(32, 128,
                              [&] {
                                  shared_store(shared_floats() + lane(), 1.0F);
                                  async_fence();
                                  warp_barrier();
                                  if (lane() == 0) {
                                      bulk_store(out(), shared_memory(), 128);
                                      bulk_commit();
                                  }
                                  warp_barrier();
                                  shared_store(shared_floats() + lane(), 2.0F);
                              }),
                     "thread 0", "stores byte 0 of shared memory, which a bulk store may still be reading"));
}

// A ring of one stage that two mbarriers hand to and fro: no block barrier orders its rounds.
TEST_F(Faults, MbarriersOrderAccesses) {
    const auto ring = [&](bool hand_back) {
        return fault_of(64, 272, [&] {
            auto* full = reinterpret_cast<Barrier*>(shared_memory() + 256);
            Barrier* empty = full + 1;
            if (thread() == 0) {
                barrier_initialise(full, 1);
                barrier_initialise(empty, 2);
            }
            barrier();
            for (unsigned round = 0; round < 4; ++round) {
                if (thread() == 0) {
                    if (hand_back) {
                        barrier_wait(empty, (round + 1) % 2);  // at first nobody has to give it back
                    }
                    barrier_expect(full, 256);
                    bulk_load(shared_memory(), in(64 * round), 256, full);
                }
                barrier_wait(full, round % 2);
                store(out(64 * round + thread()), shared_load(shared_floats() + 63 - thread()));
                warp_barrier();
                if (lane() == 0 && hand_back) {
                    barrier_expect(empty, 0);
                }
            }
        });
    };
    EXPECT_EQ(ring(true), "none");
    for (std::size_t i = 0; i < 256; ++i) {
        ASSERT_EQ(*out(i), static_cast<float>(i / 64 * 64 + 63 - i % 64));
    }
    // The first warp runs through all rounds before the second has had a turn.
    EXPECT_TRUE(says(ring(false), "thread 32", "waits forever at an mbarrier: phase 4"));
}

TEST_F(Faults, LaunchesThatAGpuRefuses) {
    const auto refused = [&](std::int64_t blocks, int threads, std::int64_t shared_bytes) -> std::string {
        try {
            launch(
                threads, shared_bytes, [] {}, blocks);
        } catch (const LaunchError& error) {
            return error.what();
        }
        return "none";
    };
    EXPECT_NE(refused(1, 48, 0).find("multiple of 32"), std::string::npos);
    EXPECT_NE(refused(1, 1056, 0).find("at most 1024"), std::string::npos);
    EXPECT_NE(refused(1, 0, 0).find("(1 blocks of 0 threads"), std::string::npos);
    EXPECT_NE(refused(2147483648, 32, 0).find("at most 2147483647 blocks"), std::string::npos);
    EXPECT_NE(refused(1, 32, (227 << 10) + 1).find("at most 232448 bytes of shared memory"), std::string::npos);
    EXPECT_EQ(refused(1, 1024, 227 << 10), "none");
}

TEST_F(Faults, TheEngineIsUsableAfterAFault) {
    struct Witness {
        explicit Witness(int& alive_now) : alive(alive_now) { ++alive; }
        ~Witness() { --alive; }
        int& alive;
    };
    int alive = 0;
    for (int turn = 0; turn < 3; ++turn) {
        EXPECT_TRUE(says(fault_of(256, 0,
                                  [&] {
                                      const Witness witness(alive);
                                      shuffle(1.0F, 0);
                                      if (thread() == 100) {
                                          load(in() - 1);
                                      }
                                      barrier();
                                  }),
                         "thread 100", "at byte -4 of in"));
        EXPECT_EQ(alive, 0) << "fibers were not unwound";
        launch(256, 0, [&] { store(out(thread()), shuffle(static_cast<float>(thread()), lane())); });
        EXPECT_EQ(*out(255), 255.0F);
        EXPECT_EQ(totals().store_sectors, 32);
    }
}

TEST_F(Faults, AnExceptionOfTheKernelComesThrough) {
    EXPECT_THROW(launch(64, 0,
                        [&] {
                            shuffle(1.0F, 0);
                            if (thread() == 5) {
                                throw std::out_of_range("mine");
                            }
                        }),
                 std::out_of_range);
}

}  // namespace
}  // namespace qkprof
