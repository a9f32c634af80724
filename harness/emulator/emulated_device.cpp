#include "emulated_device.h"

#include "engine.h"
#include "error.h"
#include "input.h"
#include "reference.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace qkprof {
namespace {

using emulator::Engine;
using emulator::Mapping;

constexpr std::int64_t boundary = 256;

std::int64_t physical_bytes() {
    return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
}

template <class T>
void fill(const Problem& problem, std::byte* q) {
    auto* elements = reinterpret_cast<T*>(q);
    for (std::int64_t i = 0; i < problem.elements(); ++i) {
        elements[i] = from_float<T>(input_value(problem.seed, static_cast<std::uint64_t>(i)));
    }
}

void fill(const Problem& problem, std::byte* q) {
    switch (problem.dtype) {
        case DataType::f32:
            return fill<float>(problem, q);
        case DataType::bf16:
            return fill<bf16>(problem, q);
        case DataType::f16:
            return fill<f16>(problem, q);
    }
}

// Two arrays, one behind the other, at a page's start, as an allocator of device memory would place them.
Mapping on_device(const std::vector<float>& first, const std::vector<float>& second = {}) {
    Mapping pages((first.size() + second.size()) * sizeof(float));
    auto* end = std::copy(first.begin(), first.end(), reinterpret_cast<float*>(pages.data()));
    std::copy(second.begin(), second.end(), end);
    return pages;
}

class EmulatedWorkload : public Workload {
  public:
    EmulatedWorkload(Engine& engine, const Problem& problem, std::int64_t scratch_bytes)
        : engine_(engine),
          problem_(problem),
          tables_(build_tables(problem)),
          gamma_(on_device(tables_.gamma)),
          cos_and_sin_(on_device(tables_.cos, tables_.sin)),
          q_pages_(padded()),
          out_pages_(padded()),
          scratch_(static_cast<std::size_t>(scratch_bytes)),
          scratch_bytes_(scratch_bytes) {
        fill(problem_, q());
    }

    Verification verify(const Variant& variant, const Parameters& parameters) override {
        return results_of(variant, parameters).verification;
    }

    Counters count(const Variant& variant, const Parameters& parameters, CacheState state) override {
        Results& results = results_of(variant, parameters);
        if (!results.verification.fault.empty()) {
            return unknown("the kernel did not finish: " + results.verification.fault);
        }
        return counters_of(results.cold);
        (void)state;
    }

    std::unique_ptr<Timing> timing(const Variant&, const Parameters&, CacheState) override {
        throw CannotMeasure("The emulated device has no clock: it counts what a kernel asks for and measures no time.");
    }

  private:
    // What is remembered of one variant with its parameters.
    struct Results {
        Verification verification;
        emulator::Totals cold;
    };
    using Key = std::pair<std::string, Parameters>;

    std::size_t padded() const {
        return static_cast<std::size_t>(problem_.tensor_bytes() + problem_.offset * problem_.element_bytes());
    }
    std::byte* q() const { return q_pages_.data() + problem_.offset * problem_.element_bytes(); }
    std::byte* out() const { return out_pages_.data() + problem_.offset * problem_.element_bytes(); }

    Results& results_of(const Variant& variant, const Parameters& parameters) {
        const auto [found, fresh] = results_.try_emplace(Key(variant.name, parameters));
        if (fresh) {
            try {
                found->second = run_and_compare(variant, parameters);
            } catch (...) {
                results_.erase(found);
                throw;
            }
        }
        return found->second;
    }

    Results run_and_compare(const Variant& variant, const Parameters& parameters) {
        std::memset(out(), 0xff, static_cast<std::size_t>(problem_.tensor_bytes()));
        std::memset(scratch_.data(), 0xff, static_cast<std::size_t>(scratch_bytes_));
        Results results;
        try {
            engine_.reset_totals();
            run(variant, parameters);
            results.cold = engine_.totals();
        } catch (const emulator::Fault& fault) {
            results.verification.fault = fault.what();
            return results;
        } catch (const LaunchError& refused) {
            results.verification.fault = refused.what();
            return results;
        }
        results.verification = variant.family == Family::ceiling
                                   ? verify_copy_on_host(problem_, q(), out())
                                   : verify_on_host(problem_, q(), out(), tables_.gamma, tables_.cos, tables_.sin);
        return results;
    }

    void run(const Variant& variant, const Parameters& parameters) {
        const auto bytes = static_cast<std::uint64_t>(problem_.tensor_bytes());
        emulator::GlobalMemory& memory = engine_.memory();
        memory.clear();
        memory.add("q", q(), bytes, false);
        memory.add("out", out(), bytes, true);
        memory.add("gamma", gamma_.data(), tables_.gamma.size() * sizeof(float), false);
        const auto* cos = reinterpret_cast<const float*>(cos_and_sin_.data());
        const float* sin = cos + tables_.cos.size();
        memory.add("cos", cos, tables_.cos.size() * sizeof(float), false);
        memory.add("sin", sin, tables_.sin.size() * sizeof(float), false);
        memory.add("scratch", scratch_.data(), static_cast<std::uint64_t>(scratch_bytes_), true);
        const Request request = {problem_, parameters, engine_.limits()};
        const Buffers buffers = {q(), out(), reinterpret_cast<const float*>(gamma_.data()), cos, sin, scratch_.data()};
        variant.run(Call{request, buffers, engine_.stream()});
    }

    Counters counters_of(const emulator::Totals& totals) const {
        const auto known = [](std::int64_t value, Source source) {
            return Counter{static_cast<double>(value), source, {}};
        };
        Counters counters = unknown({});
        counters["launches"] = known(totals.launches, Source::emulated);
        counters["submissions"] = known(totals.launches, Source::emulated);  // there are no graphs
        counters["global_load_sectors"] = known(totals.load_sectors, Source::emulated);
        counters["global_store_sectors"] = known(totals.store_sectors, Source::emulated);
        counters["shared_wavefronts"] = known(totals.shared_wavefronts, Source::emulated);
        counters["bank_conflicts"] = known(totals.bank_conflicts, Source::emulated);
        counters["shared_bytes"] = known(totals.shared_bytes, Source::emulated);
        counters["compulsory_bytes"] = known(problem_.compulsory_bytes(), Source::emulated);
        counters["registers"] = {{}, Source::emulated, "the emulated device runs code of the host compiler"};
        return counters;
    }

    // Every counter of the device, without a value for this reason.
    static Counters unknown(const std::string& reason) {
        Counters counters;
        for (const char* name :
             {"launches", "submissions", "global_load_sectors", "global_store_sectors", "shared_wavefronts",
              "bank_conflicts", "shared_bytes", "compulsory_bytes", "registers"}) {
            counters[name] = {{}, Source::emulated, reason};
        }
        for (const char* name : {"l2_read_sectors", "l2_write_sectors", "dram_read_bytes", "dram_write_bytes"}) {
            counters[name] = {{}, Source::modelled, reason};
        }
        return counters;
    }

    Engine& engine_;
    Problem problem_;
    Tables tables_;
    Mapping gamma_;
    Mapping cos_and_sin_;
    Mapping q_pages_;
    Mapping out_pages_;
    Mapping scratch_;
    std::int64_t scratch_bytes_;
    std::map<Key, Results> results_;
};

class EmulatedDevice : public Device {
  public:
    explicit EmulatedDevice(const EmulatorOptions& options) : engine_(options) {
        info_.id = "emulated";
        info_.description = "emulated H100-class GPU";
        info_.backend = Backend::emulated;
        info_.limits = engine_.limits();
        info_.l2_bytes = options.l2_bytes;
        info_.memory_bytes = physical_bytes() / 2;
        info_.has_clock = false;
    }

    const DeviceInfo& info() const override { return info_; }

    std::unique_ptr<Workload> load(const Problem& problem, std::int64_t scratch_bytes) override {
        const std::int64_t needed = bytes_needed(problem, scratch_bytes);
        if (needed > info_.memory_bytes) {
            throw InputError(fmt::format(
                "The problem {}x{}x{}x{} in {} needs {} bytes of memory and the emulated device has {} (half of this "
                "machine's): choose a smaller shape.",
                problem.batch, problem.sequence, problem.heads, problem.head_dim, name_of(problem.dtype), needed,
                info_.memory_bytes));
        }
        return std::make_unique<EmulatedWorkload>(engine_, problem, scratch_bytes);
    }

    std::int64_t bytes_needed(const Problem& problem, std::int64_t scratch_bytes) const override {
        const std::int64_t tensor = problem.tensor_bytes() + problem.offset * problem.element_bytes();
        return 2 * tensor + problem.gamma_bytes() + 2 * problem.table_bytes() + scratch_bytes;
    }

  private:
    Engine engine_;
    DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> open_emulated_device(const EmulatorOptions& options) {
    return std::make_unique<EmulatedDevice>(options);
}

}  // namespace qkprof
