// The emulated device against the hardware: every call in profiles/h200/counters.json, recorded on a GPU, is run again
// on an emulated device of the same L2 and as many multiprocessors.
//
// What a kernel asks for must be equal: launches, sectors, shared wavefronts without bank conflicts. What the caches
// make of it is modelled (harness/emulator/cache.h) and must be within 3 %, except for the limits below, each with its
// size. A limit fails when it is exceeded, and when it is no longer needed. To record the counters anew:
//   qkprof run --device cuda --shapes 1x1024x16x128,2x1024x16x64,3x333x5x96,8x1024x16x128 --dtypes f32,bf16
//     --samples 1 --out profiles/h200/counters.json

#include "emulator/emulated_device.h"
#include "profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {
namespace {

constexpr double tolerance = 0.04;

struct Limit {
    std::string_view variant;
    std::string_view shape;
    std::string_view dtype;
    std::string_view state;
    std::string_view counter;
    // The largest deviation of the calls it covers, of the recorded value. Between half of this and half as much again
    // is as stated.
    double deviation;
};

// Why, by their counters:
// - L2 reads: which blocks read a line at nearly the same time is a matter of clocks, and asynchronous copies, whose
//   reads are spread over the kernel, meet more or less often than the loads that the model's rates were taken from.
// - L2 writes: 4-byte stores of neighbouring warps to one sector now and then leave the L1 as one.
// - DRAM writes, cold: how much of what was written still lies in the L2 at the end. The model keeps the lines last
//   used, 24 MiB of them in a kernel that reads as much as it writes; counted were 23 to 27.
// - DRAM traffic of naive_primitives: its buffers take as much room as the L2 has, and the model keeps them.
// - DRAM reads of cache_aware_stream, warm: on the GPU, lines read to be evicted first leave a half-empty L2.
constexpr Limit limits[] = {
    {"fused_register", "3x333x5x96", "bf16", "cold", "l2_read_sectors", 0.044},
    {"fused_rotate_shared", "3x333x5x96", "", "cold", "l2_read_sectors", 0.057},
    {"fused_tile_bulk", "3x333x5x96", "bf16", "", "l2_read_sectors", 0.082},

    {"naive_three_kernel", "2x1024x16x64", "bf16", "", "l2_write_sectors", 0.050},
    {"naive_three_kernel", "3x333x5x96", "bf16", "warm", "l2_write_sectors", 0.041},

    {"copy", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.058},
    {"split_two_kernel", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.086},
    {"fused_best", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.077},
    {"fused_register_paired", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.087},
    {"fused_table_shared", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.090},
    {"fused_tile_bulk", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.067},
    {"fused_tile_shared", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.100},
    {"cache_aware_persist", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.090},
    {"cache_aware_stream", "8x1024x16x128", "f32", "cold", "dram_write_bytes", 0.066},

    {"naive_primitives", "1x1024x16x128", "f32", "", "dram_write_bytes", 1.0},
    {"naive_primitives", "1x1024x16x128", "f32", "warm", "dram_read_bytes", 0.97},
    {"naive_primitives", "2x1024x16x64", "f32", "", "dram_write_bytes", 1.0},
    {"naive_primitives", "2x1024x16x64", "f32", "warm", "dram_read_bytes", 0.98},

    {"cache_aware_stream", "1x1024x16x128", "", "warm", "dram_read_bytes", 1.0},
    {"cache_aware_stream", "2x1024x16x64", "", "warm", "dram_read_bytes", 1.0},
    {"cache_aware_stream", "3x333x5x96", "", "warm", "dram_read_bytes", 1.0},
};

// Where the emulated value differs from the recorded one by less, it is none of the operation's: each launch reads code
// and arguments, and a line of another program may leave the L2.
double noise(std::string_view counter, const Measurement& recorded) {
    const bool dram = counter.substr(0, 4) == "dram";
    return dram ? 16384 * recorded.counters.at("launches").value.value() +
                      0.01 * static_cast<double>(recorded.problem.compulsory_bytes())
                : 0;
}

bool covers(const Limit& limit, const Measurement& recorded, std::string_view counter) {
    const Problem& p = recorded.problem;
    const auto fits = [](std::string_view wanted, std::string_view is) { return wanted.empty() || wanted == is; };
    return limit.variant == recorded.variant && limit.counter == counter &&
           fits(limit.shape, fmt::format("{}x{}x{}x{}", p.batch, p.sequence, p.heads, p.head_dim)) &&
           fits(limit.dtype, name_of(p.dtype)) && fits(limit.state, name_of(recorded.state));
}

// The problems that the test has the time for. The streaming shape runs in f32, in which its tensors are twice the L2;
// in bf16 they are as large as the L2, which is neither the one regime nor the other.
bool is_compared(const Problem& problem) {
    constexpr std::int64_t megabyte = 1 << 20;
#ifdef __SANITIZE_ADDRESS__
    return problem.compulsory_bytes() < 4 * megabyte;
#else
    return problem.dtype == DataType::f32 || problem.compulsory_bytes() < 40 * megabyte;
#endif
}

const Profile& recorded_profile() {
    static const Profile profile = read_profile(QKPROF_PROFILES_FOLDER "/h200/counters.json");
    return profile;
}

double value_of(const Counters& counters, const std::string& name) {
    const auto found = counters.find(name);
    if (found == counters.end() || !found->second.value) {
        ADD_FAILURE() << name << " has no value";
        return std::nan("");
    }
    return *found->second.value;
}

class Agreement : public testing::TestWithParam<const Variant*> {
  protected:
    void compare(const Measurement& recorded, const Counters& emulated) {
        const auto both = [&](const std::string& name) {
            return std::pair(value_of(recorded.counters, name), value_of(emulated, name));
        };
        for (const char* name : {"launches", "global_load_sectors", "global_store_sectors"}) {
            // What was recorded of a kernel that asks for less than it declares is of an older kernel.
            if (recorded.contradictions.empty()) {
                const auto [counted, asked] = both(name);
                EXPECT_EQ(counted, asked) << name;
            }
        }
        const auto [wavefronts, asked_wavefronts] = both("shared_wavefronts");
        const auto [conflicts, asked_conflicts] = both("bank_conflicts");
        EXPECT_EQ(wavefronts - conflicts, asked_wavefronts - asked_conflicts) << "wavefronts without conflicts";
        EXPECT_GE(conflicts, asked_conflicts) << "conflicts";
        for (const char* name : {"l2_read_sectors", "l2_write_sectors", "dram_read_bytes", "dram_write_bytes"}) {
            const auto [counted, modelled] = both(name);
            compare_modelled(recorded, name, counted, modelled);
        }
    }

    void compare_modelled(const Measurement& recorded, const std::string& name, double counted, double modelled) {
        const double away = std::abs(modelled - counted);
        const double deviation = away <= noise(name, recorded) ? 0 : away / std::max(counted, 1.0);
        for (std::size_t i = 0; i < std::size(limits); ++i) {
            if (covers(limits[i], recorded, name)) {
                largest_[i] = std::max(largest_[i], deviation);
                return;
            }
        }
        EXPECT_LE(deviation, tolerance) << name << ": counted " << counted << ", modelled " << modelled;
    }

    void check_limits() const {
        for (std::size_t i = 0; i < std::size(limits); ++i) {
            if (limits[i].variant == GetParam()->name && largest_[i] >= 0) {
                SCOPED_TRACE(fmt::format("the limit of {} {} {} {}", limits[i].shape, limits[i].dtype, limits[i].state,
                                         limits[i].counter));
                EXPECT_LE(largest_[i], 1.5 * limits[i].deviation) << "it is exceeded";
                EXPECT_GE(largest_[i], 0.5 * limits[i].deviation) << "it is not needed any more, or smaller";
            }
        }
    }

    std::vector<double> largest_ = std::vector<double>(std::size(limits), -1);  // negative: nothing was compared
};

TEST_P(Agreement, WithTheRecordedCounters) {
    const Variant& variant = *GetParam();
    const DeviceInfo& gpu = recorded_profile().environment.device;
    const std::unique_ptr<Device> device =
        open_emulated_device({.l2_bytes = gpu.l2_bytes, .multiprocessors = gpu.limits.multiprocessors});
    int calls = 0;
    std::unique_ptr<Workload> workload;
    std::string loaded;
    for (const Measurement& recorded : recorded_profile().measurements) {
        const Problem& problem = recorded.problem;
        if (recorded.variant != variant.name || !recorded.ran() || !is_compared(problem)) {
            continue;
        }
        SCOPED_TRACE(recorded.name());
        const Request request = {problem, recorded.parameters, device->info().limits};
        if (const std::string key = recorded.name().substr(0, recorded.name().rfind('/')); key != loaded || !workload) {
            workload.reset();
            workload = device->load(problem, variant.scratch_bytes ? variant.scratch_bytes(request) : 0);
            loaded = key;
        }
        compare(recorded, workload->count(variant, recorded.parameters, recorded.state));
        ++calls;
    }
    EXPECT_GT(calls, 0) << "nothing was recorded of it: record the counters anew";
    check_limits();
}

std::vector<const Variant*> all_variants() {
    std::vector<const Variant*> all;
    for (const Variant& variant : variants(Backend::emulated)) {
        all.push_back(&variant);
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Emulated, Agreement, testing::ValuesIn(all_variants()),
                         [](const auto& instance) { return instance.param->name; });

// The hardware counts bank conflicts where no two addresses of an access share a bank: an access also waits while the
// lines of a load are written to the memory that L1 and shared memory are. It depends on the time, and is not modelled.
TEST(AgreementOfConflicts, TheHardwareCountsSomeThatNoAddressesHave) {
    double most = 0;
    for (const Measurement& recorded : recorded_profile().measurements) {
        if (recorded.ran() && value_of(recorded.counters, "shared_wavefronts") > 0) {
            most = std::max(
                most, value_of(recorded.counters, "bank_conflicts") / value_of(recorded.counters, "shared_wavefronts"));
        }
    }
    EXPECT_GT(most, 0.05);
    EXPECT_LT(most, 0.12);
}

}  // namespace
}  // namespace qkprof
