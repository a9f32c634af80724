// HLO text and buffer assignments of arbitrary bytes, and what is made of those that are read.
#include "fuzz.h"
#include "hlo/before.h"
#include "hlo/buffers.h"
#include "hlo/observed.h"
#include "hlo/parser.h"
#include "hlo/promise_json.h"
#include "hlo/promise_table.h"

namespace qkprof {
namespace {

// One in which every second fusion ran.
exec::ExecProfile profile_of(const hlo::Promise& promise) {
    exec::ExecProfile profile;
    for (std::size_t i = 0; i < promise.rows.size(); i += 2) {
        exec::KernelRow& kernel = profile.work.kernels.emplace_back();
        kernel.name = promise.rows[i].instruction->name;
        kernel.count = i + 1;
    }
    return profile;
}

void use(const hlo::Module& module) {
    const auto promise = read_or_refused([&] { return hlo::promise_of(module); });
    if (!promise) {
        return;
    }
    expect(!promise->kernels.most || *promise->kernels.most >= promise->kernels.least, "a promise is a range");
    for (const auto& [kind, total] : promise->classes) {
        expect(!total.kernels.most || *total.kernels.most >= total.kernels.least, "a class's is, too");
    }
    const hlo::Observed observed = hlo::observe(*promise, profile_of(*promise), {});
    expect(observed.rows.size() == promise->rows.size(), "every row is observed");
    const hlo::BeforeAndAfter compared = hlo::compare(*promise, *promise);
    for (const std::string& sentence : sentences_of(compared)) {
        expect(!sentence.empty(), "a sentence says something");
    }
    to_text(hlo::promise_table(*promise, &observed, {}), false);
    to_csv(hlo::promise_rows(*promise, nullptr));
    hlo::json_text(*promise, {.observed = &observed, .before = &compared});
}

}  // namespace
}  // namespace qkprof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace qkprof;
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (text.starts_with("BufferAssignment")) {
        if (const auto buffers = read_or_refused([&] { return hlo::parse_buffers(text, "fuzzed"); })) {
            for (const std::string& sentence : sentences_of(*buffers)) {
                expect_sentence(sentence);
            }
        }
    } else if (const auto module = read_or_refused([&] { return hlo::parse_module(text, "fuzzed"); })) {
        use(*module);
    }
    return 0;
}
