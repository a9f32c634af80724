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
constexpr int warming_calls = 2;

std::int64_t offset_bytes(const Problem& problem) { return problem.offset * problem.element_bytes(); }

std::int64_t persisting_bytes(const Variant& variant, const Request& request) {
    return variant.persisting_bytes ? variant.persisting_bytes(request) : 0;
}

// In place a kernel is given the tensor's copy by its name; the tensor itself stays as it was.
const char* input_name(const Problem& problem, const Tensor& tensor) {
    return problem.in_place ? "what is kept of the inputs" : tensor.name;
}

void append(std::string& sentences, const std::string& sentence) {
    sentences += fmt::format("{}{}", sentences.empty() || sentence.empty() ? "" : " ", sentence);
}

}  // namespace

CudaWorkload::CudaWorkload(const Context& context, const Problem& problem, std::int64_t scratch_bytes,
                           const std::vector<std::string>& further_metrics)
    : context_(context),
      problem_(problem),
      further_metrics_(further_metrics),
      gamma_q_(problem.key_heads > 0 ? "gamma_q" : "gamma", problem.gamma_bytes()),
      gamma_k_("gamma_k", problem.key_heads > 0 ? problem.gamma_bytes() : 0),
      tables_("the tables", 2 * problem.table_bytes()),
      positions_("positions", problem.position_bytes()),
      scratch_("scratch", scratch_bytes),
      parts_(allocate(parts_bytes)),
      counter_(allocate(sizeof(unsigned long long))) {
    const cudaStream_t stream = context_.stream();
    for (const Tensor& tensor : tensors_of(problem)) {
        const std::int64_t bytes = tensor.elements() * problem.element_bytes();
        tensors_.push_back({.tensor = tensor,
                            .input = {input_name(problem, tensor), bytes, offset_bytes(problem)},
                            .result = {tensor.result_name, bytes, offset_bytes(problem)}});
        fill_input(tensor, problem.dtype, tensors_.back().input.data(), stream);
    }
    const Constants constants = constants_of(problem);
    const auto upload = [&](const GuardedBuffer& to, const std::vector<std::byte>& from) {
        copy(to.data(), from.data(), to.bytes(), stream);
    };
    upload(gamma_q_, constants.gamma_q);
    upload(gamma_k_, constants.gamma_k);
    upload(tables_, constants.tables);
    upload(positions_, constants.positions);
}

std::int64_t CudaWorkload::bytes_needed(const Problem& problem, std::int64_t scratch_bytes) {
    std::int64_t bytes = parts_bytes + static_cast<std::int64_t>(sizeof(unsigned long long));
    for (const Tensor& tensor : tensors_of(problem)) {
        bytes += 2 * GuardedBuffer::footprint(tensor.elements() * problem.element_bytes(), offset_bytes(problem));
    }
    const std::int64_t gamma_k_bytes = problem.key_heads > 0 ? problem.gamma_bytes() : 0;
    for (const std::int64_t own :
         {problem.gamma_bytes(), gamma_k_bytes, 2 * problem.table_bytes(), problem.position_bytes(), scratch_bytes}) {
        bytes += GuardedBuffer::footprint(own);
    }
    return bytes;
}

Request CudaWorkload::request(const Parameters& parameters) const {
    return {problem_, parameters, context_.info().limits};
}

Buffers CudaWorkload::compared() const {
    const bool own_k = tensors_.size() > 1;
    const auto* q = static_cast<const std::byte*>(tensors_[0].input.data());
    auto* q_out = static_cast<std::byte*>(tensors_[0].result.data());
    const auto* k = own_k ? static_cast<const std::byte*>(tensors_[1].input.data()) : nullptr;
    auto* k_out = own_k ? static_cast<std::byte*>(tensors_[1].result.data()) : nullptr;
    const auto* cos = static_cast<const std::byte*>(tables_.data());
    return {.q = q,
            .k = key_heads_at(problem_, q, k),
            .q_out = q_out,
            .k_out = key_heads_at(problem_, q_out, k_out),
            .gamma_q = gamma_q_.data(),
            .gamma_k = problem_.key_heads > 0 ? gamma_k_.data() : nullptr,
            .cos = cos,
            .sin = cos + problem_.table_bytes(),
            .positions = positions_.bytes() > 0 ? positions_.data() : nullptr,
            .scratch = scratch_.data()};
}

Buffers CudaWorkload::buffers() const {
    Buffers given = compared();
    if (problem_.in_place) {
        given.q = given.q_out;
        given.k = given.k_out;
    }
    return given;
}

std::vector<const GuardedBuffer*> CudaWorkload::guarded() const {
    std::vector<const GuardedBuffer*> all;
    for (const Memory& memory : tensors_) {
        all.insert(all.end(), {&memory.input, &memory.result});
    }
    all.insert(all.end(), {&gamma_q_, &gamma_k_, &tables_, &positions_, &scratch_});
    return all;
}

void CudaWorkload::restore() const {
    for (const Memory& memory : tensors_) {
        if (problem_.in_place && memory.result.bytes() > 0) {
            check(cudaMemcpyAsync(memory.result.data(), memory.input.data(),
                                  static_cast<std::size_t>(memory.result.bytes()), cudaMemcpyDeviceToDevice,
                                  context_.stream()),
                  "restoring the inputs");
        }
    }
}

Verification CudaWorkload::verify(const Variant& variant, const Parameters& parameters) {
    context_.use();
    const cudaStream_t stream = context_.stream();
    for (const GuardedBuffer* buffer : guarded()) {
        buffer->arm(stream);
    }
    for (const Memory& memory : tensors_) {
        memory.result.poison(stream);
    }
    restore();
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
        throw DeviceLost(
            fmt::format("{} on {} faulted and the GPU is lost to this process: {}. Leave the variant out, or run "
                        "compute-sanitizer on it.",
                        variant.name, words_for(problem_), said));
    }
    return fmt::format("{} did not finish: {}.", variant.name, said);
}

void CudaWorkload::wait_for(const Variant& variant) const {
    if (const std::string fault = finish(variant); !fault.empty()) {
        throw LaunchError(fault);
    }
}

template <class F>
unsigned long long CudaWorkload::counted(F count) const {
    unsigned long long number = 0;
    auto* counter = static_cast<unsigned long long*>(counter_.get());
    check(cudaMemsetAsync(counter, 0, sizeof(number), context_.stream()), "clearing a counter");
    count(counter);
    copy(&number, counter, sizeof(number), context_.stream());
    return number;
}

std::string CudaWorkload::trespass() {
    const cudaStream_t stream = context_.stream();
    std::string found;
    for (const GuardedBuffer* buffer : guarded()) {
        append(found, buffer->damage(stream));
    }
    for (const Memory& memory : tensors_) {
        const auto changed = counted([&](unsigned long long* counter) {
            count_changed_input(memory.tensor, problem_.dtype, memory.input.data(), counter, stream);
        });
        if (changed != 0) {
            fill_input(memory.tensor, problem_.dtype, memory.input.data(), stream);  // for those that come after
            append(found, fmt::format("A kernel changed {} element(s) of {}, its input.", changed,
                                      input_name(problem_, memory.tensor)));
        }
        const auto between = counted([&](unsigned long long* counter) {
            count_changed_gaps(memory.tensor, problem_.dtype, problem_.in_place ? memory.input.data() : nullptr,
                               memory.result.data(), counter, stream);
        });
        if (between != 0) {
            append(found, gap_fault(memory.tensor, static_cast<std::int64_t>(between)));
        }
    }
    return found;
}

Verification CudaWorkload::compare(bool copied) const {
    const cudaStream_t stream = context_.stream();
    auto* parts = static_cast<Comparison*>(parts_.get());
    judge(problem_, compared(), copied, parts, stream);
    std::vector<Comparison> partial(judge_blocks);
    copy(partial.data(), parts, parts_bytes, stream);
    Comparison whole;
    for (const Comparison& part : partial) {
        merge(whole, part);
    }
    return conclude(problem_, whole);
}

std::vector<Counts> CudaWorkload::count(std::span<const CountJob> jobs) {
    context_.use();
    std::vector<Counts> counts = count_launches(jobs);
    std::vector<TrafficJob> traffic;
    for (const CountJob& job : jobs) {
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

std::vector<Counts> CudaWorkload::count_launches(std::span<const CountJob> jobs) const {
    const ActivityRecorder recorder;
    std::vector<Counts> counts;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const CountJob& job = jobs[i];
        // Launches do not depend on what the caches hold: they are counted once for all states.
        const auto same = std::find_if(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(i), [&](auto& other) {
            return other.variant == job.variant && *other.parameters == *job.parameters;
        });
        const auto first = static_cast<std::size_t>(same - jobs.begin());
        counts.push_back(first < i ? counts[first] : count_launches(job, recorder));
    }
    return counts;
}

Counts CudaWorkload::count_launches(const CountJob& job, const ActivityRecorder& recorder) const {
    const Variant& variant = *job.variant;
    const Request wanted = request(*job.parameters);
    const L2SetAside set_aside(persisting_bytes(variant, wanted));
    const auto call = [&] { variant.run({wanted, buffers(), {context_.stream()}}); };
    // Between two sentinels; what cannot be recorded is unknown, with the reason.
    const auto recorded = [&](const std::function<void()>& before, const std::function<void()>& calls) {
        Activities activities;
        try {
            restore();
            activities = recorder.record([&] {
                before();
                mark(context_.stream());
                calls();
                mark(context_.stream());
                wait_for(variant);
            });
        } catch (const DeviceLost&) {
            throw;
        } catch (const std::exception& error) {
            activities = {};
            activities.failure = clause_of(error);
        }
        return activities;
    };
    // Before: what the driver does once for a kernel.
    const Activities one_by_one = recorded(call, [&] {
        for (int i = 0; i < counted_calls; ++i) {
            const Range range(range_name(variant.name, job.state));
            call();
        }
    });
    GraphExec graph;
    const Activities replayed = recorded(
        [&] {
            graph = instantiate(capture(context_.stream(), [&] {
                for (int i = 0; i < counted_calls; ++i) {
                    call();
                }
            }));
        },
        [&] { check(cudaGraphLaunch(graph.get(), context_.stream()), "launching a graph"); });
    Counts counts = {launch_counters(one_by_one, sentinel_name, counted_calls),
                     kernels_of(one_by_one, sentinel_name, counted_calls)};
    const Counters of_graph = launch_counters(replayed, sentinel_name, counted_calls);
    counts.counters["graph_launches"] = of_graph.at("launches");
    counts.counters["graph_submissions"] = of_graph.at("submissions");
    return counts;
}

void CudaWorkload::run_counted(const CountJob& job, const TrafficJob::Counted& counted) const {
    const Variant& variant = *job.variant;
    const Request wanted = request(*job.parameters);
    const L2SetAside set_aside(persisting_bytes(variant, wanted));
    const auto call = [&] { variant.run({wanted, buffers(), {context_.stream()}}); };
    restore();
    context_.evict_caches();  // warm, too: of what others asked the L2 to keep
    for (int i = 0; job.state == CacheState::warm && i < warming_calls; ++i) {
        call();
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
    const auto enqueue = [this, &variant, wanted] { variant.run({wanted, buffers(), {context_.stream()}}); };
    restore();
    return std::make_unique<GraphTiming>(context_, range_name(variant.name, state), state,
                                         persisting_bytes(variant, wanted), enqueue);
}

void CudaWorkload::trace(const Variant& variant, const Parameters& parameters, CacheState state) {
    context_.use();
    const Request wanted = request(parameters);
    const L2SetAside set_aside(persisting_bytes(variant, wanted));
    const auto call = [&] { variant.run({wanted, buffers(), {context_.stream()}}); };
    restore();
    call();  // what the driver does once for a kernel is no part of the call
    context_.evict_caches();
    for (int i = 0; state == CacheState::warm && i < warming_calls; ++i) {
        call();
    }
    wait_for(variant);
    const Range range(range_name(variant.name, state));
    call();
    wait_for(variant);
}

}  // namespace qkprof::cuda
