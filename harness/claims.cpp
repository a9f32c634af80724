#include "claims.h"

#include "claims_subjects.h"
#include "error.h"
#include "names.h"
#include "shapes.h"
#include "toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace qkprof {
namespace {

std::string subject_glob(const std::string& glob, const std::vector<std::string>& variants) {
    if (split_subject(glob).parameters.find_first_of("*?") != std::string_view::npos) {
        throw InputError(
            fmt::format("behind the slash of '{}' stand a parameter and its value, without * and ?.", glob));
    }
    return variant_glob(glob, variants);
}

// A shape, or a glob of the characters that the text of a problem is made of.
std::string shape_glob(const std::string& glob) {
    if (glob.find_first_of("*?") == std::string::npos) {
        parse_shape(glob.substr(0, glob.find('/')));
    } else if (glob.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz+/:-*?") != std::string::npos) {
        throw InputError(fmt::format("'{}' matches no shape: those are written BxSxHxD, here with * and ?.", glob));
    }
    return glob;
}

Where parse_where(const TomlReader& parent, const std::vector<std::string>& variants) {
    const toml::table* table = parent.table("where");
    if (table == nullptr) {
        return {};
    }
    const TomlReader reader(parent.source(), "the 'where' of " + parent.what(), *table,
                            {"states", "dtypes", "shapes", "features", "working_set", "moved", "device", "when"});
    Where where;
    where.states = reader.list("states", [](const std::string& word) {
        return enumerator_named<CacheState>(word, "cache state", std::array{CacheState::cold, CacheState::warm});
    });
    where.dtypes = reader.list("dtypes", [](const std::string& word) {
        return enumerator_named<DataType>(word, "type", std::array{DataType::f32, DataType::bf16, DataType::f16});
    });
    where.shapes = reader.list("shapes", shape_glob);
    if (reader.has("features")) {
        where.features = reader.list("features", [](const std::string& word) {
            return enumerator_named<Feature>(word, "feature", all_features);
        });
        std::sort(where.features->begin(), where.features->end());  // as features_of() has them
    }
    where.working_set = reader.list("working_set", parse_bytes_limit);
    where.moved = reader.list("moved", parse_bytes_limit);
    where.device = reader.has("device") ? reader.text("device") : std::string();
    where.when = reader.list("when", [&](const std::string& text) {
        Condition condition = parse_condition(text, variants);
        const std::vector<Term>& terms = condition.measure.terms();
        if (std::any_of(terms.begin(), terms.end(), [](const Term& term) { return term.size != SizeOf::cell; })) {
            throw InputError(
                fmt::format("'{}' asks for the smallest or largest of the covered problems, and is there "
                            "to say which are covered.",
                            text));
        }
        return condition;
    });
    return where;
}

// `base` is what a control takes from the claim where it says nothing of its own.
Test parse_test(const TomlReader& reader, const std::vector<std::string>& variants, const Test* base) {
    Test test = base != nullptr ? *base : Test();
    test.negated = base != nullptr && !reader.has("relation");
    if (base == nullptr || reader.has("subjects")) {
        test.subjects = reader.list("subjects", [&](const std::string& glob) { return subject_glob(glob, variants); });
        if (test.subjects.empty()) {
            throw reader.error(reader.all(), fmt::format("{} lacks its 'subjects'.", reader.what()));
        }
    }
    if (base == nullptr || reader.has("measure")) {
        test.measure = reader.parsed("measure", [&](const auto& text) { return parse_expression(text, variants); });
    }
    if (base == nullptr || reader.has("relation")) {
        test.relation = reader.parsed("relation", parse_relation);
    }
    if (reader.has("where")) {
        test.where = parse_where(reader, variants);
    }
    if (test.measure.timed() && test.relation.is_exact()) {
        throw reader.error(reader.all(),
                           fmt::format("{} asks a time to be exact ('{}'), which no measurement can show: give it a "
                                       "tolerance, such as \"within 2 % of 1\".",
                                       reader.what(), test.relation.text));
    }
    return test;
}

Test parse_control(std::string_view source, const Claim& claim, const toml::node& node,
                   const std::vector<std::string>& variants) {
    const std::string what = fmt::format("the control of the claim '{}'", claim.id);
    if (!node.is_table()) {
        throw InputError(fmt::format("{}, line {}: {} must be a table.", source, node.source().begin.line, what));
    }
    const TomlReader reader(source, what, *node.as_table(), {"subjects", "measure", "relation", "where"});
    Test control = parse_test(reader, variants, &claim.test);
    if (!control.negated && control.measure.text() == claim.test.measure.text() &&
        control.relation.overlaps(claim.test.relation)) {
        throw reader.error(reader.all(), fmt::format("{} can hold together with the claim ('{}' and '{}'), so that it "
                                                     "shows nothing: it must come out the other way.",
                                                     what, control.relation.text, claim.test.relation.text));
    }
    if (node.as_table()->empty()) {
        throw reader.error(reader.all(), fmt::format("{} is empty: it is the claim itself.", what));
    }
    return control;
}

Claim parse_claim(std::string_view source, const toml::table& table, const std::vector<std::string>& variants) {
    const auto id = table["id"].value<std::string>();
    const TomlReader reader(
        source, id ? fmt::format("the claim '{}'", *id) : "a claim", table,
        {"id", "statement", "source", "subjects", "measure", "relation", "along", "where", "control"});
    Claim claim;
    claim.id = reader.text("id");
    if (claim.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos) {
        throw reader.error(*reader.node("id"),
                           fmt::format("the id '{}' must be of lower-case letters, digits, _ and -.", claim.id));
    }
    claim.statement = reader.text("statement");
    claim.source = reader.text("source");
    claim.test = parse_test(reader, variants, nullptr);
    if (reader.has("along")) {
        const std::string along = reader.text("along");
        if (along != "size") {
            throw reader.error(
                *reader.node("along"),
                fmt::format("'{}' is nothing that {} can go along: there is size.", along, reader.what()));
        }
        claim.along_size = true;
    }
    const toml::node* control = reader.node("control");
    if (control == nullptr) {
        throw reader.error(table, fmt::format("{} has no control: without something that must come out the other way "
                                              "nobody knows whether its test has teeth.",
                                              reader.what()));
    }
    if (control->is_array()) {
        for (const toml::node& item : *control->as_array()) {
            claim.controls.push_back(parse_control(source, claim, item, variants));
        }
    }
    if (claim.controls.empty()) {
        claim.controls.push_back(parse_control(source, claim, *control, variants));
    }
    return claim;
}

}  // namespace

std::vector<Claim> parse_claims(std::string_view toml, std::string_view source,
                                const std::vector<std::string>& variants) {
    const toml::table root = parse_toml(toml, source);
    const TomlReader reader(source, "the file", root, {"claim"});
    const std::vector<std::string> names = with_parameters(variants);
    const toml::array* list = root["claim"].as_array();
    if (list == nullptr || list->empty()) {
        throw InputError(fmt::format("{}: it holds no claim; each begins with a line [[claim]].", source));
    }
    std::vector<Claim> claims;
    for (const toml::node& node : *list) {
        if (!node.is_table()) {
            throw reader.error(node, "a claim must be a table, which begins with a line [[claim]].");
        }
        claims.push_back(parse_claim(source, *node.as_table(), names));
        const auto same = [&](const Claim& other) { return other.id == claims.back().id; };
        if (std::count_if(claims.begin(), claims.end(), same) > 1) {
            throw reader.error(node, fmt::format("there are two claims with the id '{}'.", claims.back().id));
        }
    }
    return claims;
}

std::vector<Claim> choose_claims(std::vector<Claim> claims, const std::vector<std::string>& ids) {
    std::vector<std::string> known;
    for (const Claim& claim : claims) {
        known.push_back(claim.id);
    }
    for (const std::string& id : ids) {
        if (std::none_of(known.begin(), known.end(), [&](const std::string& name) { return matches_glob(id, name); })) {
            throw InputError(fmt::format("There is no claim '{}'.{}", id, suggestion(id, known)));
        }
    }
    if (!ids.empty()) {
        std::erase_if(claims, [&](const Claim& claim) {
            return std::none_of(ids.begin(), ids.end(),
                                [&](const std::string& id) { return matches_glob(id, claim.id); });
        });
    }
    return claims;
}

std::string text_of(const Test& test) {
    return fmt::format("{} {}{}", test.measure.text(), test.relation.text, test.negated ? " must fail" : "");
}

std::string text_of(const Where& where) {
    std::vector<std::string> parts;
    const auto add_names = [&](const auto& values) {
        std::vector<std::string> names;
        for (const auto value : values) {
            names.emplace_back(name_of(value));
        }
        if (!names.empty()) {
            parts.push_back(joined(names));
        }
    };
    add_names(where.states);
    add_names(where.dtypes);
    if (!where.shapes.empty()) {
        parts.push_back(joined(where.shapes));
    }
    if (where.features) {
        if (where.features->empty()) {
            parts.emplace_back("the first form");
        }
        add_names(*where.features);
    }
    for (const BytesLimit& limit : where.working_set) {
        parts.push_back("working set " + limit.text);
    }
    for (const BytesLimit& limit : where.moved) {
        parts.push_back("moved " + limit.text);
    }
    if (!where.device.empty()) {
        parts.push_back("on " + where.device);
    }
    for (const Condition& condition : where.when) {
        parts.push_back(condition.measure.text() + " " + condition.relation.text);
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace qkprof
