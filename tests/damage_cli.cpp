// Files that are anything, on the command line: one sentence that names the file, and exit code 2.
#include "input_file.h"
#include "profile.h"
#include "program.h"
#include "sample_profile.h"

#include <sys/stat.h>

namespace qkprof {
namespace {

class DamageCli : public Program {
  protected:
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    // Of each command that reads a profile.
    void expect_all_refuse(const std::string& name, const std::string& sentence) const {
        for (const std::string& command :
             {"claims --profile " + name, "compare " + name + " good.json", "compare good.json " + name}) {
            SCOPED_TRACE(command);
            const Result r = qkprof(command);
            EXPECT_EQ(r.exit_code, 2);
            EXPECT_EQ(r.out, "");
            EXPECT_EQ(r.err, "qkprof: " + sentence + "\n");
        }
    }

    const std::string good_ = to_json(sample_profile());
};

TEST_F(DamageCli, AProfileThatIsNoneIsOneSentence) {
    write("good.json", good_);
    const auto says = [&](const std::string& text, const std::string& sentence) {
        write("p.json", text);
        expect_all_refuse("p.json", sentence);
    };
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good_;
        EXPECT_NE(text.find(from), std::string::npos) << from;
        return text.replace(text.find(from), from.size(), to);
    };
    says("", "The profile p.json is empty.");
    says(
        good_.substr(0, 20),
        "The profile p.json is not JSON: line 1, column 21: unexpected end of input; expected '[', '{', or a literal.");
    const std::string place = std::to_string(good_.substr(good_.find('\n', good_.find('\n') + 1)).find(":1e-06") + 1);
    says(with("\"eps\":1e-06", "\"eps\":NaN"),
         "The profile p.json is not JSON: line 3, column " + place + ": invalid literal 'NaN'.");
    says(with("\"schema_version\":1", "\"schema_version\":2"),
         "The profile p.json was written by a newer qkprof (schema 2; this one reads up to 1): use that one to read "
         "it.");
    says(with("\"schema_version\":1", "\"schema_version\":0"),
         "p.json, 'context': 'schema_version' is below 1, which no qkprof writes.");
    says("\x1b[2J\xff", R"(The profile p.json is not JSON: line 1, column 1: invalid literal '\x1b'.)");
    expect_all_refuse("nowhere.json", "There is no profile nowhere.json.");
    expect_all_refuse("/dev/zero", "/dev/zero is not a file, as a profile must be.");
    expect_all_refuse(".", ". is not a file, as a profile must be.");
    ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    expect_all_refuse("fifo", "fifo is not a file, as a profile must be.");
    fs::resize_file(folder_ / "p.json", std::uintmax_t{100} << 20U);
    expect_all_refuse("p.json", "p.json has 104857600 bytes and a profile at most 67108864: it is not read.");
    fs::resize_file(folder_ / "p.json", std::uintmax_t{64} << 20U);
    expect_all_refuse("p.json", R"(The profile p.json is not JSON: line 1, column 6: a byte that is 0.)");
}

}  // namespace
}  // namespace qkprof
