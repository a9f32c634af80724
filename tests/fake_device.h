// A device that runs nothing: its answers are made up by the test, its clock too. So the whole path of a run, times
// included, is tested on any machine.
#pragma once

#include "device.h"
#include "error.h"

#include <functional>
#include <memory>
#include <string>

namespace qkprof {

inline Counter counted(double value) { return {.value = value, .source = Source::counted, .reason = {}}; }

// What a device counts when a variant does what it declares.
inline Counters as_declared(const Declaration& declaration) {
    return {{"launches", counted(static_cast<double>(declaration.launches))},
            {"global_load_sectors", counted(static_cast<double>(declaration.load_bytes) / 32)},
            {"global_store_sectors", counted(static_cast<double>(declaration.store_bytes) / 32)},
            {"shared_bytes", counted(static_cast<double>(declaration.shared_bytes))},
            {"dram_read_bytes", {.value = {}, .source = Source::counted, .reason = "the fake has no DRAM"}}};
}

// At full clocks.
inline Sample sample_of(double seconds) {
    return {.seconds = seconds,
            .sm_mhz = 1980,
            .memory_mhz = 3201,
            .throttle_reasons = std::vector<std::string>(),
            .failure = {}};
}

inline Verification correct_result() {
    Verification verification;
    verification.correct = true;
    verification.error_norm = 1e-7;
    return verification;
}

class FakeDevice : public Device {
  public:
    FakeDevice() {
        info_.id = "fake";
        info_.description = "a device of the tests";
        info_.backend = Backend::emulated;
        info_.limits = {
            .multiprocessors = 4, .shared_bytes_per_block = std::int64_t{228} << 10, .persisting_l2_bytes = 1 << 20};
        info_.l2_bytes = 1 << 20;
        info_.memory_bytes = std::int64_t{1} << 40;
        info_.has_clock = true;
        calibration_.failure = "The fake device has nothing to calibrate.";
        info_.facts = {{"clocks", "as the test likes"}};
    }

    // The answers. A sample is numbered from 0 for each timing.
    std::function<Verification(const Variant&)> verify = [](const Variant&) { return correct_result(); };
    std::function<Counters(const Variant&, const Declaration&)> count =
        [](const Variant&, const Declaration& declaration) { return as_declared(declaration); };
    std::function<Sample(const Variant&, CacheState, int)> sample = [](const Variant& variant, CacheState state,
                                                                       int number) {
        return sample_of((variant.family == Family::ceiling ? 8e-6 : 1e-5) * (state == CacheState::cold ? 2 : 1) +
                         1e-9 * number);
    };
    std::function<void(const Variant&, CacheState)> trace = [](const Variant&, CacheState) {};

    // May throw, for a problem that cannot be loaded and a call that cannot be timed.
    std::function<void(const Problem&)> prepare_load = [](const Problem&) {};
    std::function<void(const Variant&, CacheState)> prepare_timing = [](const Variant&, CacheState) {};
    std::vector<KernelUse> kernels;  // of every call
    int batches = 0;                 // calls of Workload::count

    std::string choose_metrics(const std::vector<std::string>& names) override {
        throw InputError("The fake device has no metric " + names.front() + ".");
    }
    const DeviceInfo& info() const override { return info_; }
    DeviceInfo& info() { return info_; }
    const Calibration& calibrate() override { return calibration_; }
    Calibration& calibration() { return calibration_; }
    std::unique_ptr<Workload> load(const Problem& problem, std::int64_t /*scratch_bytes*/) override {
        prepare_load(problem);
        return std::make_unique<FakeWorkload>(*this, problem);
    }
    std::int64_t bytes_needed(const Problem& problem, std::int64_t scratch_bytes) const override {
        return 2 * problem.tensor_bytes() + scratch_bytes;
    }

  private:
    class FakeTiming : public Timing {
      public:
        FakeTiming(const FakeDevice& device, const Variant& variant, CacheState state)
            : device_(device), variant_(variant), state_(state) {}
        Sample sample() override { return device_.sample(variant_, state_, number_++); }
        const char* timer() const override { return "graph_events"; }

      private:
        const FakeDevice& device_;
        const Variant& variant_;
        CacheState state_;
        int number_ = 0;
    };

    class FakeWorkload : public Workload {
      public:
        FakeWorkload(FakeDevice& device, const Problem& problem) : device_(device), problem_(problem) {}
        Verification verify(const Variant& variant, const Parameters& /*parameters*/) override {
            return device_.verify(variant);
        }
        std::vector<Counts> count(std::span<const CountJob> jobs) override {
            ++device_.batches;
            std::vector<Counts> counts;
            for (const CountJob& job : jobs) {
                const Request request = {
                    .problem = problem_, .parameters = *job.parameters, .limits = device_.info_.limits};
                counts.push_back({device_.count(*job.variant, job.variant->declare(request)), device_.kernels});
            }
            return counts;
        }
        std::unique_ptr<Timing> timing(const Variant& variant, const Parameters& /*parameters*/,
                                       CacheState state) override {
            device_.prepare_timing(variant, state);
            return std::make_unique<FakeTiming>(device_, variant, state);
        }
        void trace(const Variant& variant, const Parameters& /*parameters*/, CacheState state) override {
            device_.trace(variant, state);
        }

      private:
        FakeDevice& device_;
        Problem problem_;
    };

    DeviceInfo info_;
    Calibration calibration_;
};

// A variant that declares one launch and the compulsory bytes; `refusal` is its reason to refuse everything, if any.
inline Variant fake_variant(const std::string& name, const std::string& refusal = {}) {
    return {.name = name,
            .family = Family::register_only,
            .hypothesis = "none",
            .parameters = {{"threads", "threads a block", 128, {64, 128, 256}}},
            .refuses = [refusal](const Request&) { return refusal; },
            .declare =
                [](const Request& request) {
                    const std::int64_t bytes = request.problem.tensor_bytes();
                    return Declaration{
                        .launches = bytes > 0 ? 1 : 0, .load_bytes = bytes, .store_bytes = bytes, .shared_bytes = 0};
                },
            .scratch_bytes = {},
            .persisting_bytes = {},
            .run = [](const Call&) {}};
}

}  // namespace qkprof
