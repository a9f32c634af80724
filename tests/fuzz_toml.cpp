// TOML of arbitrary bytes, read as each of the files that qkprof reads. What is read can be used.
#include "claims.h"
#include "fuzz.h"
#include "presets.h"
#include "thresholds.h"
#include "tuned_variant.h"
#include "tuning_table.h"

#include <algorithm>

namespace qkprof {
namespace {

constexpr std::array dtypes = {DataType::f32, DataType::bf16, DataType::f16};

void use(const std::vector<Claim>& claims) {
    for (const Claim& claim : claims) {
        expect(!claim.controls.empty(), "a claim has a control");
        text_of(claim.test);
        text_of(claim.test.where);
        const std::vector<double> terms(claim.test.measure.terms().size(), 1);
        claim.test.relation.holds(claim.test.measure.value(terms));
        for (const BytesLimit& limit : claim.test.where.working_set) {
            limit.holds(0x1p30, 0x1p25);
        }
    }
}

void use(const std::vector<Threshold>& entries) {
    expect(!entries.empty(), "a file of thresholds has some");
    const Thresholds thresholds(entries);
    Measurement m;
    m.variant = "fused_register";
    for (const std::string& metric : comparable_metrics()) {
        const Allowance allowance = thresholds.of(metric, m, Source::counted);
        expect(allowance.relative >= 0 && allowance.absolute >= 0, "an allowance is not negative");
    }
}

void use(const std::vector<Preset>& presets) {
    constexpr std::int64_t l2_bytes = std::int64_t{50} << 20U;
    for (const Preset& preset : presets) {
        for (const DataType dtype : dtypes) {
            read_or_refused([&] { return preset.resolve(l2_bytes, dtype); });
        }
    }
}

void use(const std::vector<Model>& models) {
    for (const Model& model : models) {
        const std::vector<Problem> problems = model.decode();
        expect(std::all_of(problems.begin(), problems.end(), [](const Problem& p) { return p.fault().empty(); }),
               "what is decoded is a problem");
        model.prefill();
    }
}

// Written, it is read back as the same.
void use(const TuningTable& table) {
    const std::string text = to_toml(table);
    expect(to_toml(parse_tuning(text, "written.toml", {tuned_variant()})) == text, "a table is read as it is written");
    const Variant variant = tuned_variant();
    const Resolved resolved = resolve(variant, variant.standard_parameters(), {}, {}, {}, {table});
    expect(resolved.refusal.empty() == resolved.tuned_from.has_value(), "what is not refused is tuned");
}

template <class Read>
void read_and_use(const Read& read) {
    if (const auto items = read_or_refused(read)) {
        use(*items);
    }
}

}  // namespace
}  // namespace qkprof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace qkprof;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read_and_use([&] { return parse_claims(text, "fuzzed.toml", some_variants); });
    read_and_use([&] { return parse_thresholds(text, "fuzzed.toml", some_variants); });
    read_and_use([&] { return parse_presets(text, "fuzzed.toml"); });
    read_and_use([&] { return parse_models(text, "fuzzed.toml"); });
    read_and_use([&] { return parse_tuning(text, "fuzzed.toml", {tuned_variant()}); });
    return 0;
}
