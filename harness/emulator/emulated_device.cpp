#include "emulated_device.h"

#include "buffers.h"
#include "engine.h"
#include "error.h"
#include "input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <utility>

namespace qkprof {
namespace {

using emulator::Engine;

std::int64_t physical_bytes() {
    return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
}

class EmulatedWorkload : public Workload {
  public:
    EmulatedWorkload(Engine& engine, const Problem& problem, std::int64_t scratch_bytes)
        : engine_(engine), buffers_(problem, scratch_bytes) {
        buffers_.fill();
    }

    Verification verify(const Variant& variant, const Parameters& parameters) override {
        return results_of(variant, parameters).verification;
    }

    std::vector<Counts> count(std::span<const CountJob> jobs) override {
        std::vector<Counts> counts;
        for (const CountJob& job : jobs) {
            counts.push_back(counts_of(job));
        }
        return counts;
    }

    std::unique_ptr<Timing> timing(const Variant&, const Parameters&, CacheState) override {
        throw CannotMeasure("The emulated device has no clock: it counts what a kernel asks for and measures no time.");
    }

    void trace(const Variant&, const Parameters&, CacheState) override {
        throw CannotMeasure(
            "There is nothing to trace on the emulated device: Nsight Compute and Nsight Systems see what runs on a "
            "GPU. "
            "qkprof run counts here what its kernels do.");
    }

  private:
    // Of one call.
    struct Counted {
        emulator::Totals asked;
        emulator::Traffic moved;
        std::vector<KernelUse> kernels;
    };
    // What is remembered of one variant with its parameters.
    struct Results {
        Verification verification;
        std::string unfinished;  // why there are no counts
        Counted cold;
        std::optional<Counted> warm;
        std::int64_t caches_of = 0;  // Engine::launches_ever() after the cold run
    };
    using Key = std::pair<std::string, Parameters>;

    Counts counts_of(const CountJob& job) {
        Results& results = results_of(*job.variant, *job.parameters);
        if (!results.unfinished.empty()) {
            return {unknown("the kernel did not finish: " + results.unfinished), {}};
        }
        if (job.state == CacheState::cold) {
            return {counters_of(results.cold), results.cold.kernels};
        }
        // In place a repeated call works on the results of the last one. They stay within bounds, since each call
        // normalises, and what is counted does not depend on them.
        if (!results.warm) {
            if (engine_.launches_ever() != results.caches_of) {
                buffers_.restore();
                engine_.caches().displace();
                run(*job.variant, *job.parameters);
            }
            results.warm = run(*job.variant, *job.parameters);
        }
        return {counters_of(*results.warm), results.warm->kernels};
    }

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
        buffers_.restore();
        Results results;
        try {
            engine_.caches().displace();
            results.cold = run(variant, parameters);
            results.caches_of = engine_.launches_ever();
        } catch (const emulator::Fault& fault) {
            results.unfinished = fault.what();
        } catch (const LaunchError& refused) {
            results.unfinished = refused.what();
        }
        const std::string fault = results.unfinished.empty() ? buffers_.trespass() : results.unfinished;
        if (fault.empty()) {
            results.verification = buffers_.compare(variant.family);
        }
        results.verification.fault = fault;
        return results;
    }

    // One call, with the caches as they are.
    Counted run(const Variant& variant, const Parameters& parameters) {
        buffers_.enter(engine_.memory());
        const Request request = {buffers_.problem(), parameters, engine_.limits()};
        engine_.reset_totals();
        engine_.caches().reset_traffic();
        variant.run(Call{request, buffers_.addresses(), engine_.stream()});
        return {engine_.totals(), engine_.caches().traffic(), engine_.kernels()};
    }

    Counters counters_of(const Counted& counted) const {
        const auto& [totals, traffic, kernels] = counted;
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
        counters["l2_read_sectors"] = known(traffic.l2_read_sectors, Source::modelled);
        counters["l2_write_sectors"] = known(traffic.l2_write_sectors, Source::modelled);
        counters["dram_read_bytes"] = known(traffic.dram_read_bytes, Source::modelled);
        counters["dram_write_bytes"] = known(traffic.dram_write_bytes, Source::modelled);
        counters["compulsory_bytes"] = known(buffers_.problem().compulsory_bytes(), Source::emulated);
        for (const char* name : {"registers", "instructions"}) {
            counters[name] = {{}, Source::emulated, "the emulated device runs code of the host compiler"};
        }
        counters["achieved_occupancy"] = {{}, Source::emulated, "the emulated device runs one block after another"};
        for (const char* name : {"graph_launches", "graph_submissions"}) {
            counters[name] = {{}, Source::emulated, "the emulated device has no graphs"};
        }
        return counters;
    }

    // Every counter of the device, without a value for this reason.
    static Counters unknown(const std::string& reason) {
        Counters counters;
        for (const char* name : {"launches", "submissions", "global_load_sectors", "global_store_sectors",
                                 "shared_wavefronts", "bank_conflicts", "shared_bytes", "compulsory_bytes", "registers",
                                 "instructions", "achieved_occupancy", "graph_launches", "graph_submissions"}) {
            counters[name] = {{}, Source::emulated, reason};
        }
        for (const char* name : {"l2_read_sectors", "l2_write_sectors", "dram_read_bytes", "dram_write_bytes"}) {
            counters[name] = {{}, Source::modelled, reason};
        }
        return counters;
    }

    Engine& engine_;
    emulator::ProblemBuffers buffers_;
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
        calibration_.failure = "The emulated device has no hardware counters to calibrate.";
    }

    const DeviceInfo& info() const override { return info_; }
    const Calibration& calibrate() override { return calibration_; }

    std::string choose_metrics(const std::vector<std::string>& names) override {
        throw InputError(
            fmt::format("--metrics {} names a hardware counter, and the emulated device has none: leave it out, or "
                        "choose a GPU with --device.",
                        names.front()));
    }

    std::unique_ptr<Workload> load(const Problem& problem, std::int64_t scratch_bytes) override {
        check_input(problem);
        const std::int64_t needed = bytes_needed(problem, scratch_bytes);
        if (needed > info_.memory_bytes) {
            throw InputError(
                fmt::format("The problem {} needs {} bytes of memory and the emulated device has {} (half of this "
                            "machine's): choose "
                            "a smaller shape.",
                            words_for(problem), needed, info_.memory_bytes));
        }
        return std::make_unique<EmulatedWorkload>(engine_, problem, scratch_bytes);
    }

    std::int64_t bytes_needed(const Problem& problem, std::int64_t scratch_bytes) const override {
        return emulator::ProblemBuffers::bytes_needed(problem, scratch_bytes);
    }

  private:
    Engine engine_;
    DeviceInfo info_;
    Calibration calibration_;
};

}  // namespace

std::unique_ptr<Device> open_emulated_device(const EmulatorOptions& options) {
    return std::make_unique<EmulatedDevice>(options);
}

}  // namespace qkprof
