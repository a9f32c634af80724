// Profiles of arbitrary bytes, and of arbitrary values. One that is read can be written and read again, and everything
// that is told of it and judged on it can be computed.
#include "claims.h"
#include "compare.h"
#include "evidence.h"
#include "fuzz.h"
#include "json_text.h"
#include "profile.h"
#include "results.h"
#include "roofline.h"
#include "run.h"
#include "table.h"

#include <algorithm>
#include <cmath>
#include <random>

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

// A profile is no worse than itself.
void compare_with_itself(const Profile& profile) {
    static const Thresholds thresholds(parse_thresholds(embedded_thresholds_toml, "thresholds.toml", some_variants));
    for (const bool of_ceiling : {false, true}) {
        const auto comparison = read_or_refused([&] {
            return compare(profile, profile, thresholds, {.of_ceiling = of_ceiling, .metrics = {}, .variants = {}});
        });
        for (const Difference& cell : comparison ? comparison->differences : std::vector<Difference>()) {
            expect(cell.standing != Standing::worse || !cell.base->right() || cell.metric == "contradictions",
                   "a profile is no worse than itself: " + cell.base->name() + " " + cell.metric);
            expect(cell.standing != Standing::better, "nor better: " + cell.base->name() + " " + cell.metric);
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
        compare_with_itself(again);
    }
    return 0;
}

#ifdef QKPROF_FUZZ

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace qkprof {
namespace {

using Json = nlohmann::json;

// Changes a value of a JSON text into another, which a change of bytes seldom does.
class Mutator {
  public:
    Mutator(Json& file, unsigned seed) : random_(seed) { collect(file); }

    void mutate() {
        Json& value = *any_of(values_);
        switch (random_() % 5) {
            case 0: {
                const Json other = *any_of(values_);  // by value: it may be a part of it
                value = other;
                return;
            }
            case 1:
                return change_members(value);
            case 2:
                return change_text(value);
            case 3:
                return change_number(value);
            default:
                static const std::vector<Json> edges = {
                    nullptr,   true,      false,      0,  -1,     1,   0.5,  -0.0,   1e308,         1e-308,
                    INT64_MAX, INT64_MIN, UINT64_MAX, "", "text", "s", "ns", "cuda", Json::array(), Json::object()};
                value = any_of(edges);
        }
    }

  private:
    template <class T>
    T& any_of(std::vector<T>& all) {
        return all[random_() % all.size()];
    }
    template <class T>
    const T& any_of(const std::vector<T>& all) {
        return all[random_() % all.size()];
    }
    void collect(Json& value) {
        values_.push_back(&value);
        if (value.is_structured()) {
            for (Json& member : value) {
                collect(member);
            }
        }
    }
    void change_members(Json& value) {
        if (!value.is_structured() || value.empty()) {
            return;
        }
        const auto member = std::next(value.begin(), static_cast<std::ptrdiff_t>(random_() % value.size()));
        if (value.is_array() && random_() % 2 == 0) {
            const Json twice = *member;
            value.push_back(twice);
        } else {
            value.erase(member);
        }
    }
    void change_text(Json& value) {
        if (!value.is_string()) {
            return;
        }
        constexpr std::size_t longest = 100;
        auto text = value.get<std::string>();
        const std::size_t size = std::min(text.size(), longest);
        text.resize(longest);
        text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, longest));
        value = text;
    }
    void change_number(Json& value) {
        if (value.is_number_integer()) {
            const std::vector<std::int64_t> steps = {1, -1, 2, 7, 31, 64, 1 << 20};
            const auto number = static_cast<std::uint64_t>(value.get<std::int64_t>());
            const auto step = static_cast<std::uint64_t>(any_of(steps));
            value = static_cast<std::int64_t>(random_() % 2 == 0 ? number + step : number * step);
        } else if (value.is_number()) {
            value = value.get<double>() * std::pow(10.0, static_cast<double>(random_() % 600) - 300);
        }
    }

    std::mt19937 random_;
    std::vector<Json*> values_;
};

}  // namespace
}  // namespace qkprof

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    using namespace qkprof;
    auto file = read_or_refused([&] {
        return parse_json({reinterpret_cast<const char*>(data), size}, "profile", "mutated.json");
    });
    if (!file || seed % 4 == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    for (unsigned i = 0; i <= seed % 3; ++i) {
        Mutator(*file, seed + i).mutate();
    }
    const std::string text = file->dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > max_size) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    std::copy(text.begin(), text.end(), data);
    return text.size();
}

#endif
