// The speed of the emulated device: head vectors a second on one core, recording included.

#include "emulator/buffers.h"
#include "emulator/engine.h"
#include "standard_request.h"

#include <benchmark/benchmark.h>

#include <string>

namespace qkprof {
namespace {

void count_call(benchmark::State& state, const Variant& variant, DataType dtype) {
    Problem problem;
    problem.batch = 2;
    problem.sequence = 128;
    problem.heads = 16;
    problem.dtype = dtype;
    emulator::Engine engine({});
    const Request request = standard_request(variant, problem, engine.limits());
    emulator::ProblemBuffers buffers(problem, variant.scratch_bytes ? variant.scratch_bytes(request) : 0);
    buffers.fill(0, problem.rows());
    buffers.enter(engine.memory());
    for (auto iteration : state) {
        variant.run(Call{request, buffers.addresses(), engine.stream()});
    }
    state.counters["head_vectors"] =
        benchmark::Counter(static_cast<double>(problem.rows()), benchmark::Counter::kIsIterationInvariantRate);
}

const int registered = [] {
    for (const Variant& variant : variants(Backend::emulated)) {
        for (const DataType dtype : {DataType::f32, DataType::bf16}) {
            benchmark::RegisterBenchmark((variant.name + "/" + name_of(dtype)).c_str(), [&variant,
                                                                                         dtype](benchmark::State& s) {
                count_call(s, variant, dtype);
            })->Unit(benchmark::kMillisecond);
        }
    }
    return 0;
}();

}  // namespace
}  // namespace qkprof
