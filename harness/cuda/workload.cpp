#include "workload.h"

#include "activity_recorder.h"
#include "device_kernels.h"
#include "graph_timing.h"
#include "input.h"
#include "nvtx.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::cuda {
namespace {

constexpr std::int64_t parts_bytes = judge_blocks * static_cast<std::int64_t>(sizeof(Comparison));
constexpr int counted_calls = 2;

std::int64_t offset_bytes(const Problem& problem) { return problem.offset * problem.element_bytes(); }

std::int64_t persisting_bytes(const Variant& variant, const Request& request) {
    return variant.persisting_bytes ? variant.persisting_bytes(request) : 0;
}

// What the reference says of one element, computed on the host from the row's inputs.
template <class T>
double expected_value(const Problem& problem, const Buffers& device, std::int64_t index, cudaStream_t stream) {
    const std::int64_t dim = problem.head_dim;
    const std::int64_t row = index / dim;
    const std::int64_t entry = row / problem.heads % problem.sequence * (dim / 2);
    std::vector<T> q(static_cast<std::size_t>(dim));
    std::vector<float> gamma(static_cast<std::size_t>(dim));
    std::vector<float> cos(static_cast<std::size_t>(dim / 2));
    std::vector<float> sin(static_cast<std::size_t>(dim / 2));
    copy(q.data(), static_cast<const T*>(device.q) + row * dim, dim * problem.element_bytes(), stream);
    copy(gamma.data(), device.gamma_q, problem.gamma_bytes(), stream);
    copy(cos.data(), static_cast<const float*>(device.cos) + entry, problem.gamma_bytes() / 2, stream);
    copy(sin.data(), static_cast<const float*>(device.sin) + entry, problem.gamma_bytes() / 2, stream);
    const double scale = reference_scale(q.data(), dim, static_cast<double>(problem.eps));
    return reference_element(q.data(), scale, gamma.data(), cos.data(), sin.data(), dim, index % dim).value;
}

template <class T>
double element(const void* tensor, std::int64_t index, cudaStream_t stream) {
    T value;
    copy(&value, static_cast<const T*>(tensor) + index, sizeof(T), stream);
    return static_cast<double>(to_float(value));
}

}  // namespace

CudaWorkload::CudaWorkload(const Context& context, const Problem& problem, std::int64_t scratch_bytes,
                           const std::vector<std::string>& further_metrics)
    : context_(context),
      problem_(problem),
      further_metrics_(further_metrics),
      q_("q", problem.tensor_bytes(), offset_bytes(problem)),
      out_("out", problem.tensor_bytes(), offset_bytes(problem)),
      gamma_("gamma", problem.gamma_bytes()),
      tables_("the tables", 2 * problem.table_bytes()),
      scratch_("scratch", scratch_bytes),
      parts_(allocate(parts_bytes)),
      changed_(allocate(sizeof(unsigned long long))) {
    fill_input(problem_, q_.data(), context_.stream());
    const Tables tables = build_tables(problem_);
    const Buffers to = buffers();
    copy(gamma_.data(), tables.gamma.data(), problem_.gamma_bytes(), context_.stream());
    copy(const_cast<void*>(to.cos), tables.cos.data(), problem_.table_bytes(), context_.stream());
    copy(const_cast<void*>(to.sin), tables.sin.data(), problem_.table_bytes(), context_.stream());
}

std::int64_t CudaWorkload::bytes_needed(const Problem& problem, std::int64_t scratch_bytes) {
    return 2 * GuardedBuffer::footprint(problem.tensor_bytes(), offset_bytes(problem)) +
           GuardedBuffer::footprint(problem.gamma_bytes()) + GuardedBuffer::footprint(2 * problem.table_bytes()) +
           GuardedBuffer::footprint(scratch_bytes) + parts_bytes +
           static_cast<std::int64_t>(sizeof(unsigned long long));
}

Request CudaWorkload::request(const Parameters& parameters) const {
    return {problem_, parameters, context_.info().limits};
}

Buffers CudaWorkload::buffers() const {
    const auto* cos = static_cast<const float*>(tables_.data());
    return {.q = q_.data(),
            .q_out = out_.data(),
            .gamma_q = gamma_.data(),
            .cos = cos,
            .sin = cos + problem_.table_bytes() / 4,
            .scratch = scratch_.data()};
}

Verification CudaWorkload::verify(const Variant& variant, const Parameters& parameters) {
    context_.use();
    const cudaStream_t stream = context_.stream();
    for (const GuardedBuffer* buffer : {&q_, &out_, &gamma_, &tables_, &scratch_}) {
        buffer->arm(stream);
    }
    out_.poison(stream);
    scratch_.poison(stream);
    const Request wanted = request(parameters);
    Verification failed;
    {
        const L2SetAside set_aside(persisting_bytes(variant, wanted));
        const Range range(verify_range_name(variant.name));
        try {
            variant.run({wanted, buffers(), {stream}});
        } catch (const LaunchError& error) {
            failed.fault = error.what();
        }
        const std::string fault = finish(variant);
        if (failed.fault.empty()) {
            failed.fault = fault;
        }
    }
    if (failed.fault.empty()) {
        failed.fault = trespass();
    }
    return failed.fault.empty() ? compare(variant.family == Family::ceiling) : failed;
}

std::string CudaWorkload::finish(const Variant& variant) const {
    const cudaError_t status = cudaStreamSynchronize(context_.stream());
    if (status == cudaSuccess) {
        return {};
    }
    discard(status);
    const std::string said = fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status));
    // An error that the next call gives again has ended the context: nothing in this process can use the GPU any more.
    if (const cudaError_t again = cudaDeviceSynchronize(); again != cudaSuccess) {
        discard(again);
        throw DeviceLost(fmt::format(
            "{} on {}x{}x{}x{} {} faulted and the GPU is lost to this process: {}. Leave the variant out, or run "
            "compute-sanitizer on it.",
            variant.name, problem_.batch, problem_.sequence, problem_.heads, problem_.head_dim, name_of(problem_.dtype),
            said));
    }
    return fmt::format("{} did not finish: {}.", variant.name, said);
}

void CudaWorkload::wait_for(const Variant& variant) const {
    if (const std::string fault = finish(variant); !fault.empty()) {
        throw LaunchError(fault);
    }
}

std::string CudaWorkload::trespass() {
    const cudaStream_t stream = context_.stream();
    std::string found;
    for (const GuardedBuffer* buffer : {&q_, &out_, &gamma_, &tables_, &scratch_}) {
        if (const std::string damage = buffer->damage(stream); !damage.empty()) {
            found += (found.empty() ? "" : " ") + damage;
        }
    }
    unsigned long long changed = 0;
    auto* counter = static_cast<unsigned long long*>(changed_.get());
    check(cudaMemsetAsync(counter, 0, sizeof(changed), stream), "clearing a counter");
    count_changed_input(problem_, q_.data(), counter, stream);
    copy(&changed, counter, sizeof(changed), stream);
    if (changed != 0) {
        fill_input(problem_, q_.data(), stream);  // for the variants that come after
        found += fmt::format("{}A kernel changed {} element(s) of q, its input.", found.empty() ? "" : " ", changed);
    }
    return found;
}

Verification CudaWorkload::compare(bool copied) const {
    const cudaStream_t stream = context_.stream();
    const Buffers device = buffers();
    auto* parts = static_cast<Comparison*>(parts_.get());
    judge(problem_, device, copied, parts, stream);
    std::vector<Comparison> partial(judge_blocks);
    copy(partial.data(), parts, parts_bytes, stream);
    Comparison whole;
    for (const Comparison& part : partial) {
        merge(whole, part);
    }
    const std::int64_t index = whole.first_wrong;
    if (index < 0) {
        return conclude(problem_, whole, 0, 0);
    }
    const auto concluded = [&]<class T>(T) {
        const double expected =
            copied ? element<T>(device.q, index, stream) : expected_value<T>(problem_, device, index, stream);
        return conclude(problem_, whole, element<T>(device.q_out, index, stream), expected);
    };
    switch (problem_.dtype) {
        case DataType::f32:
            return concluded(float{});
        case DataType::bf16:
            return concluded(bf16{});
        default:
            return concluded(f16{});
    }
}

std::vector<Counts> CudaWorkload::count(std::span<const CountJob> jobs) {
    context_.use();
    std::vector<Counts> counts;
    std::vector<TrafficJob> traffic;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const CountJob& job = jobs[i];
        // Launches do not depend on what the caches hold: they are counted once for all states.
        const auto same = std::find_if(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(i), [&](auto& other) {
            return other.variant == job.variant && *other.parameters == *job.parameters;
        });
        const auto first = static_cast<std::size_t>(same - jobs.begin());
        counts.push_back(first < i ? counts[first] : count_launches(job));
        const Declaration declared = job.variant->declare(request(*job.parameters));
        traffic.push_back({.run = [this, &job](const TrafficJob::Counted& counted) { run_counted(job, counted); },
                           .bulk_copies = declared.bulk_copies});
    }
    const std::vector<Counters> counted = count_traffic(current_context(), traffic, further_metrics_);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        counts[i].counters.insert(counted[i].begin(), counted[i].end());
    }
    return counts;
}

Counts CudaWorkload::count_launches(const CountJob& job) const {
    const Variant& variant = *job.variant;
    const Request wanted = request(*job.parameters);
    Activities activities;
    try {
        const L2SetAside set_aside(persisting_bytes(variant, wanted));
        const auto call = [&] { variant.run({wanted, buffers(), {context_.stream()}}); };
        activities = record_activities([&] {
            call();  // not counted: what the driver does once for a kernel
            mark(context_.stream());
            for (int i = 0; i < counted_calls; ++i) {
                const Range range(range_name(variant.name, job.state));
                call();
            }
            mark(context_.stream());
            wait_for(variant);
        });
    } catch (const DeviceLost&) {
        throw;
    } catch (const std::exception& error) {
        activities = {};
        activities.failure = clause_of(error);
    }
    return {launch_counters(activities, sentinel_name, counted_calls),
            kernels_of(activities, sentinel_name, counted_calls)};
}

void CudaWorkload::run_counted(const CountJob& job, const TrafficJob::Counted& counted) const {
    constexpr int warming_calls = 2;
    const Variant& variant = *job.variant;
    const Request wanted = request(*job.parameters);
    const L2SetAside set_aside(persisting_bytes(variant, wanted));
    const auto call = [&] { variant.run({wanted, buffers(), {context_.stream()}}); };
    if (job.state == CacheState::cold) {
        context_.evict_caches();
    } else {
        for (int i = 0; i < warming_calls; ++i) {
            call();
        }
    }
    wait_for(variant);
    counted([&] {
        const Range range(range_name(variant.name, job.state));
        call();
        wait_for(variant);
    });
}

std::unique_ptr<Timing> CudaWorkload::timing(const Variant& variant, const Parameters& parameters, CacheState state) {
    context_.use();
    const Request wanted = request(parameters);
    const auto enqueue = [&] { variant.run({wanted, buffers(), {context_.stream()}}); };
    return std::make_unique<GraphTiming>(context_, range_name(variant.name, state), state,
                                         persisting_bytes(variant, wanted), enqueue);
}

void CudaWorkload::trace(const Variant& variant, const Parameters& parameters, CacheState state) {
    context_.use();
    const Request wanted = request(parameters);
    const L2SetAside set_aside(persisting_bytes(variant, wanted));
    const auto call = [&] { variant.run({wanted, buffers(), {context_.stream()}}); };
    // In either state: what the driver does once for a kernel is no part of the call.
    call();
    if (state == CacheState::cold) {
        context_.evict_caches();
    } else {
        call();
    }
    wait_for(variant);
    const Range range(range_name(variant.name, state));
    call();
    wait_for(variant);
}

}  // namespace qkprof::cuda
