// Profiles of arbitrary bytes. One that is read can be written and read again, and everything that is told of it and
// judged on it can be computed.
#include "claims.h"
#include "evidence.h"
#include "fuzz.h"
#include "profile.h"
#include "results.h"
#include "roofline.h"
#include "run.h"
#include "table.h"

namespace qkprof {
namespace {

void expect_alike(const Profile& a, const Profile& b) {
    expect(a.measurements.size() == b.measurements.size(), "no measurement is lost");
    for (std::size_t i = 0; i < a.measurements.size(); ++i) {
        const Measurement& one = a.measurements[i];
        const Measurement& other = b.measurements[i];
        expect(one.name() == other.name(), "a measurement keeps its name: " + one.name());
        expect(one.problem == other.problem, "a measurement keeps its problem: " + one.name());
        expect(one.seconds.size() == other.seconds.size(), "no sample is lost: " + one.name());
        expect(one.throttled.size() == other.throttled.size(), "no throttled sample is lost: " + one.name());
        if (one.ran()) {
            expect(one.aa_seconds.size() == other.aa_seconds.size(), "no further run is lost: " + one.name());
            expect(one.kernels == other.kernels, "the kernels are kept: " + one.name());
            expect(error_of(one) == error_of(other), "an error stays the same: " + one.name());
        }
    }
}

void judge_all(const Profile& profile) {
    const Roofline roofline(profile);
    for (const Measurement& m : profile.measurements) {
        roofline.numbers_of(m);
        roofline.errors_of(m);
        contradictions_of(m);
    }
    to_text(results_table(profile), false);
    static const std::vector<Claim> claims = parse_claims(embedded_claims_toml, "claims.toml", some_variants);
    const std::vector<Profile> profiles = {profile};
    const Evidence evidence(profiles);
    for (const Claim& claim : claims) {
        const std::vector<Covered> covered = evidence.covered(claim.test);
        for (const Covered& cell : covered) {
            evidence.find(claim.test.measure, cell.exhibit, covered);
        }
    }
}

}  // namespace
}  // namespace qkprof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace qkprof;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto profile = read_or_refused([&] { return parse_profile(text, "fuzzed.json"); });
    if (profile) {
        const Profile again = parse_profile(to_json(*profile), "written.json");
        expect_alike(*profile, again);
        judge_all(again);
    }
    return 0;
}
