#include "claims.h"

#include "error.h"
#include "names.h"
#include "shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace qkprof {
namespace {

// A table of the file. Its keys are read one by one; what is wrong is said with the line.
class Reader {
  public:
    Reader(std::string_view source, std::string what, const toml::table& table,
           std::initializer_list<std::string_view> keys)
        : source_(source), what_(std::move(what)), table_(table) {
        const std::vector<std::string> known(keys.begin(), keys.end());
        for (const auto& [key, value] : table) {
            if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
                throw error(value,
                            fmt::format("{} has no key '{}'.{}", what_, key.str(), suggestion(key.str(), known)));
            }
        }
    }

    bool has(std::string_view key) const { return table_.contains(key); }

    std::string text(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            throw error(table_, fmt::format("{} lacks its '{}'.", what_, key));
        }
        return text_of_node(key, *node);
    }

    // One text or a list of them, each read by `read`, which may throw an InputError without a place; none where the
    // key is not there.
    template <class Read>
    auto list(std::string_view key, const Read& read) const {
        std::vector<decltype(read(std::string()))> items;
        const toml::node* node = table_.get(key);
        const auto add = [&](const toml::node& item) {
            const std::string text = text_of_node(key, item);
            items.push_back(at_line(item, [&] { return read(text); }));
        };
        if (node != nullptr && node->is_array()) {
            for (const toml::node& item : *node->as_array()) {
                add(item);
            }
        } else if (node != nullptr) {
            add(*node);
        }
        return items;
    }

    template <class Read>
    auto parsed(std::string_view key, const Read& read) const {
        const std::string value = text(key);
        return at_line(*table_.get(key), [&] { return read(value); });
    }

    const toml::table* table(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (node != nullptr && !node->is_table()) {
            throw error(*node, fmt::format("the '{}' of {} must be a table.", key, what_));
        }
        return node == nullptr ? nullptr : node->as_table();
    }

    const toml::node* node(std::string_view key) const { return table_.get(key); }
    const toml::table& all() const { return table_; }
    const std::string& what() const { return what_; }
    std::string_view source() const { return source_; }

    InputError error(const toml::node& place, const std::string& sentence) const {
        return InputError(fmt::format("{}, line {}: {}", source_, place.source().begin.line, sentence));
    }

  private:
    std::string text_of_node(std::string_view key, const toml::node& node) const {
        if (!node.is_string() || node.as_string()->get().empty()) {
            throw error(node, fmt::format("the '{}' of {} must be text, and not empty.", key, what_));
        }
        return node.as_string()->get();
    }
    template <class Function>
    auto at_line(const toml::node& place, const Function& function) const {
        try {
            return function();
        } catch (const InputError& inner) {
            throw error(place, inner.what());
        }
    }

    std::string_view source_;
    std::string what_;
    const toml::table& table_;
};

// The enumerator that a word names, among `all`.
template <class E, class All>
E enumerator(const std::string& word, const char* what, const All& all) {
    std::vector<std::string> names;
    for (const E value : all) {
        if (word == name_of(value)) {
            return value;
        }
        names.emplace_back(name_of(value));
    }
    throw InputError(fmt::format("there is no {} '{}'.{}", what, word, suggestion(word, names)));
}

std::string variant_glob(const std::string& glob, const std::vector<std::string>& variants) {
    if (std::none_of(variants.begin(), variants.end(), [&](const auto& name) { return matches_glob(glob, name); })) {
        throw InputError(fmt::format("no variant matches '{}'.{}", glob, suggestion(glob, variants)));
    }
    return glob;
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

Where parse_where(const Reader& parent, const std::vector<std::string>& variants) {
    const toml::table* table = parent.table("where");
    if (table == nullptr) {
        return {};
    }
    const Reader reader(parent.source(), "the 'where' of " + parent.what(), *table,
                        {"states", "dtypes", "shapes", "features", "working_set", "moved", "device", "when"});
    Where where;
    where.states = reader.list("states", [](const std::string& word) {
        return enumerator<CacheState>(word, "cache state", std::array{CacheState::cold, CacheState::warm});
    });
    where.dtypes = reader.list("dtypes", [](const std::string& word) {
        return enumerator<DataType>(word, "type", std::array{DataType::f32, DataType::bf16, DataType::f16});
    });
    where.shapes = reader.list("shapes", shape_glob);
    if (reader.has("features")) {
        where.features = reader.list(
            "features", [](const std::string& word) { return enumerator<Feature>(word, "feature", all_features); });
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
Test parse_test(const Reader& reader, const std::vector<std::string>& variants, const Test* base) {
    Test test = base != nullptr ? *base : Test();
    test.negated = base != nullptr && !reader.has("relation");
    if (base == nullptr || reader.has("subjects")) {
        test.subjects = reader.list("subjects", [&](const std::string& glob) { return variant_glob(glob, variants); });
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
    const Reader reader(source, what, *node.as_table(), {"subjects", "measure", "relation", "where"});
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
    const Reader reader(source, id ? fmt::format("the claim '{}'", *id) : "a claim", table,
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
    toml::table root;
    try {
        root = toml::parse(toml, source);
    } catch (const toml::parse_error& error) {
        throw InputError(fmt::format("{}, line {}: {}", source, error.source().begin.line, error.description()));
    }
    const Reader reader(source, "the file", root, {"claim"});
    const toml::array* list = root["claim"].as_array();
    if (list == nullptr || list->empty()) {
        throw InputError(fmt::format("{}: it holds no claim; each begins with a line [[claim]].", source));
    }
    std::vector<Claim> claims;
    for (const toml::node& node : *list) {
        if (!node.is_table()) {
            throw reader.error(node, "a claim must be a table, which begins with a line [[claim]].");
        }
        claims.push_back(parse_claim(source, *node.as_table(), variants));
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
        if (std::find(known.begin(), known.end(), id) == known.end()) {
            throw InputError(fmt::format("There is no claim '{}'.{}", id, suggestion(id, known)));
        }
    }
    if (!ids.empty()) {
        std::erase_if(claims, [&](const Claim& c) { return std::find(ids.begin(), ids.end(), c.id) == ids.end(); });
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
