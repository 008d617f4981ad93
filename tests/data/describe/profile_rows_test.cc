// Columns are found in files that no schema explains, and roles are proposed for them.
#include "data/describe/profile_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "data/describe/column_role.h"
#include "runtime/base/check.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::WriteFile;

RowsProfile Profile(const std::string& name, const std::string& text) {
  return ProfileRows({.paths = {WriteFile(name, text)}});
}

const ColumnProfile& Column(const RowsProfile& profile, const std::string& name) {
  for (const ColumnProfile& column : profile.columns)
    if (column.name == name) return column;
  throw Error("no column " + name);
}

ProposedColumn Proposed(const RowsProfile& profile, const std::string& name,
                        const std::string& label = "") {
  const std::vector<ProposedColumn> columns = ProposeColumns(profile, {label});
  for (size_t i = 0; i < columns.size(); ++i)
    if (profile.columns[i].name == name) return columns[i];
  throw Error("no column " + name);
}

std::vector<std::string> Names(const RowsProfile& profile) {
  std::vector<std::string> names;
  for (const ColumnProfile& column : profile.columns) names.push_back(column.name);
  return names;
}

// 200 shop visits: odd names, missing values, bags of words and of weighted ids.
std::string Visits() {
  std::string text = "Visit No;was bought?;price €;shelf;seen;carts\n";
  for (int i = 0; i < 200; ++i) {
    text += std::to_string(100'000 + 977 * i) + ";" + std::to_string(i % 3 == 0) + ";";
    text += i % 5 == 0 ? "" : std::to_string(i) + ".25";
    text += i % 2 == 0 ? ";top" : ";low";
    text += i % 7 == 0 ? ";" : ";" + std::to_string(i % 11) + "|" + std::to_string(i % 13);
    text += ";" + std::to_string(i % 17) + ":0.5," + std::to_string(i % 19) + ":2\n";
  }
  return text;
}

TEST(ProfileRows, FindsDelimiterSeparatorsAndMissingValues) {
  const RowsProfile profile = Profile("visits.csv", Visits());
  EXPECT_EQ(profile.files.delimiter, ';');
  EXPECT_EQ(profile.rows, 200);
  EXPECT_TRUE(profile.all);
  EXPECT_THAT(Names(profile),
              ElementsAre("Visit No", "was bought?", "price €", "shelf", "seen", "carts"));
  EXPECT_EQ(Column(profile, "price €").missing, 40);
  EXPECT_TRUE(Column(profile, "price €").all_numbers());
  EXPECT_EQ(Column(profile, "seen").separator, "|");
  EXPECT_EQ(Column(profile, "seen").missing, 29);
  EXPECT_EQ(Column(profile, "seen").distinct.count(), 13);
  EXPECT_EQ(Column(profile, "carts").separator, ",");
  EXPECT_EQ(Column(profile, "carts").weight_after, ":");
  EXPECT_EQ(Column(profile, "carts").lengths.mean(), 2);
  EXPECT_EQ(Column(profile, "shelf").separator, "");
}

// 60 rows of a column beside a label.
std::string SeparatorOf(const std::function<std::string(int)>& cell) {
  std::string text = "words;y\n";
  for (int i = 0; i < 60; ++i) text += cell(i) + ";" + std::to_string(i % 2) + "\n";
  return Column(Profile("words.csv", text), "words").separator;
}

TEST(ProfileRows, ACommaAndABlankAreBetweenWordsThatComeInOtherSets) {
  const std::vector<std::string> words = {"Öko", "Sale", "für Kinder", "Sport & Freizeit"};
  EXPECT_EQ(SeparatorOf([&](int i) {
              return words[static_cast<size_t>(i % 4)] + ", " +
                     words[static_cast<size_t>(i / 4 % 4)];
            }),
            ", ");
  EXPECT_EQ(SeparatorOf([](int i) { return Format("{}, {}", i % 7, i % 5); }), ", ");
  // Names, and prose.
  EXPECT_EQ(SeparatorOf([](int i) { return Format("Doe{}, John{}", i % 20, i % 20); }), "");
  EXPECT_EQ(SeparatorOf([](int i) { return Format("it was {}, or {},not {}", i, 2 * i, i); }), "");
}

TEST(ProfileRows, ProposesRoles) {
  const RowsProfile profile = Profile("visits.csv", Visits());
  EXPECT_EQ(Proposed(profile, "was bought?").role, ColumnRole::kLabel);
  EXPECT_EQ(Proposed(profile, "price €").role, ColumnRole::kDense);
  const ProposedColumn shelf = Proposed(profile, "shelf");
  EXPECT_EQ(shelf.role, ColumnRole::kFeature);
  EXPECT_THAT(shelf.feature.vocabulary, ElementsAre("low", "top"));
  EXPECT_EQ(shelf.rows, 3);
  EXPECT_EQ(Proposed(profile, "seen").role, ColumnRole::kFeature);
  EXPECT_GE(Proposed(profile, "seen").rows, 13);
}

TEST(ProfileRows, ANumberWithAWeightIsABagOfOneId) {
  std::string text = "click,balance,share\n";
  for (int i = 0; i < 100; ++i)
    text += Format("{},{}:2,{}.5:{}\n", i % 2, i % 7 - 3, i % 5, 1 + i % 3);
  const RowsProfile profile = Profile("weights.csv", text);
  for (const char* name : {"balance", "share"}) {
    const ProposedColumn proposed = Proposed(profile, name);
    EXPECT_EQ(proposed.role, ColumnRole::kFeature) << name;
    EXPECT_EQ(proposed.feature.weight_after, ":") << name;
    EXPECT_TRUE(Column(profile, name).is_bag()) << name;
  }
}

TEST(ProfileRows, TimesOfDayHaveNoWeights) {
  std::string text = "click,opened,closed,odds\n";
  for (int i = 0; i < 100; ++i)
    text += Format("{},{}:{:02},{:02}:{:02}:59,{}:{}\n", i % 2, i % 24, i % 60, 23 - i % 24,
                   59 - i % 60, i % 24, 10 + i % 60);
  const RowsProfile profile = Profile("shops.csv", text);
  EXPECT_EQ(Column(profile, "opened").weight_after, "");
  EXPECT_EQ(Column(profile, "closed").weight_after, "");
  EXPECT_EQ(Column(profile, "odds").weight_after, ":");
  EXPECT_EQ(Proposed(profile, "opened").role, ColumnRole::kFeature);
}

TEST(ProfileRows, ALabelOfManyValuesBeginsToBeOneWhereSixInTenRowsDoNotReachIt) {
  std::string text = "rating\tuser_id\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(1 + i % 5) + "\t" + std::to_string(i) + "\n";
  const RowsProfile profile = Profile("ratings.tsv", text);
  EXPECT_EQ(Proposed(profile, "rating").at_least, 3);
  EXPECT_EQ(Proposed(profile, "user_id").role, ColumnRole::kFeature);
  EXPECT_EQ(Proposed(profile, "user_id").rows, 130);
}

TEST(ProfileRows, ALabelOfTwoValuesGoesBeforeOneOfManyNumbers) {
  std::string text = "y,purchase,target\n";
  for (int i = 0; i < 100; ++i) text += Format("{}.5,{},{}\n", i - 50, i % 2, i % 3 == 0);
  const RowsProfile profile = Profile("labels.csv", text);
  EXPECT_EQ(Proposed(profile, "y").role, ColumnRole::kDense);
  EXPECT_EQ(Proposed(profile, "purchase").role, ColumnRole::kLabel);
  EXPECT_EQ(Proposed(profile, "y", "y").role, ColumnRole::kLabel);
}

TEST(ProfileRows, NumbersMayBePaddedOrHaveSeveralWordsBesideThem) {
  std::string text = "click,plus,blank,words,code\n";
  for (int i = 0; i < 300; ++i) {
    text += Format("{},+{}.5,{}{}.25,", i % 2, i, i % 3 == 0 ? "" : " ", i);
    text += i % 30 != 0    ? Format("{}.5,", i)
            : i % 60 != 0  ? "inf,"
            : i % 120 != 0 ? "-inf,"
                           : "nan,";
    text += Format("+x{}\n", i % 9);
  }
  const RowsProfile profile = Profile("padded.csv", text);
  EXPECT_TRUE(Column(profile, "plus").has_padded_numbers());
  EXPECT_TRUE(Column(profile, "blank").has_padded_numbers());
  EXPECT_EQ(Column(profile, "blank").padded, 200);
  EXPECT_TRUE(Column(profile, "words").is_numbers_but_for_words());
  EXPECT_EQ(Column(profile, "words").words.size(), 3);
  EXPECT_FALSE(Column(profile, "code").has_padded_numbers());
  EXPECT_FALSE(Column(profile, "code").is_numbers_but_for_words());
}

TEST(ProfileRows, ListsOfEquallyManyRealNumbersAreVectors) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += Format(
        "{{\"click\": {}, \"emb\": [{}.5, 1, -0.25], \"ids\": [{}, 7], \"some\": [0.5{}]}}\n",
        i % 2, i, i, i % 2 == 0 ? "" : ", 1.5");
  const RowsProfile profile = Profile("vectors.jsonl", text);
  EXPECT_EQ(Proposed(profile, "emb").role, ColumnRole::kDense);
  EXPECT_EQ(Proposed(profile, "ids").role, ColumnRole::kFeature);
  EXPECT_EQ(Proposed(profile, "some").role, ColumnRole::kFeature);
}

TEST(ProfileRows, WholeNumbersBeyondThoseOfDoublesAreIds) {
  std::string text = "click,account,shop,cents\n";
  for (int64_t i = 0; i < 900; ++i) {
    const int64_t user = i * i % 300, ends = user % 2 == 0 ? 1 : -1;
    text += std::to_string(i % 2) + "," + std::to_string((int64_t{1} << 53) + 7919 * user + 1);
    text += "," + std::to_string(ends * ((int64_t{1} << 60) + user));
    text += "," + std::to_string((int64_t{1} << 53) - 7919 * user) + "\n";
  }
  const RowsProfile profile = Profile("accounts.csv", text);
  EXPECT_EQ(Proposed(profile, "account").role, ColumnRole::kFeature);
  EXPECT_EQ(Proposed(profile, "account").feature.ids, IdKind::kInt);
  EXPECT_EQ(Proposed(profile, "shop").role, ColumnRole::kFeature);
  EXPECT_EQ(Proposed(profile, "cents").role, ColumnRole::kDense);
}

TEST(ProfileRows, TimesHaveASignedNumberOf64Bits) {
  const auto role = [](const std::string& last) {
    std::string text = "ts,y\n";
    for (int i = 0; i < 50; ++i) text += Format("{},{}\n", 1'700'000'000 + 60 * i, i % 2);
    return Proposed(Profile("times.csv", text + last + ",1\n"), "ts").role;
  };
  EXPECT_EQ(role("1700009000"), ColumnRole::kTime);
  EXPECT_NE(role("9223372036854775808"), ColumnRole::kTime);
}

TEST(ProfileRows, HashedIdsHaveTenRowsEach) {
  std::string text = "click,user_id,far_id,city\n";
  for (int64_t i = 0; i < 600; ++i) {
    const std::string user = std::to_string(i % 200);
    text += std::to_string(i % 2) + "," + user + "," + user + "00077,c" + user + "\n";
  }
  const RowsProfile profile = Profile("hashed.csv", text);
  EXPECT_EQ(Proposed(profile, "user_id").rows, 250);
  const int64_t far_rows = Proposed(profile, "far_id").rows;
  EXPECT_EQ(far_rows, 2003);
  EXPECT_EQ(Proposed(profile, "city").feature.ids, IdKind::kText);
  EXPECT_EQ(Proposed(profile, "city").rows, 2003);
  std::set<int64_t> rows;  // of ids that end in the same digits
  for (int64_t user = 0; user < 200; ++user) rows.insert((100'000 * user + 77) % far_rows);
  EXPECT_GT(rows.size(), 180);
}

TEST(ProfileRows, ItemsOfJsonListsHaveNoSeparator) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += Format("{{\"tags\": [\"7 {}\", \"3 {}\"], \"ids\": \"7 {}\"}}\n", i % 5, i % 7, i % 5);
  const RowsProfile profile = Profile("lists.jsonl", text);
  EXPECT_EQ(Column(profile, "tags").separator, "");
  EXPECT_EQ(Column(profile, "tags").items, 80);
  EXPECT_EQ(Column(profile, "ids").separator, " ");
}

TEST(ProfileRows, LinesOfJsonMayLackKeysAndHoldLists) {
  const RowsProfile profile =
      Profile("rows.jsonl",
              "{\"click\": 1, \"tags\": [\"a\", \"b\"], \"at\": {\"x\": 1}}\n"
              "{\"click\": 0, \"uuid\": \"00ff\"}\n"
              "{\"click\": 0, \"tags\": [], \"uuid\": \"beef\"}\n"
              "not json\n");
  EXPECT_THAT(Names(profile), ElementsAre("click", "tags", "uuid"));
  EXPECT_THAT(profile.objects, ElementsAre("at"));
  EXPECT_EQ(profile.rows, 3);
  EXPECT_EQ(profile.bad_lines, 1);
  EXPECT_THAT(profile.first_bad, HasSubstr("rows.jsonl:4: expected a JSON object"));
  EXPECT_EQ(Column(profile, "tags").lists, 2);
  EXPECT_EQ(Column(profile, "tags").missing, 1);
  EXPECT_TRUE(Column(profile, "uuid").all_hex());
  EXPECT_EQ(Proposed(profile, "uuid").feature.ids, IdKind::kHex);
}

TEST(ProfileRows, AFirstLineWithANumberIsNoHeading) {
  const RowsProfile profile = Profile("plain.csv", "1,7,x\n0,7,y\n0,9,x\n");
  EXPECT_THAT(profile.files.columns, ElementsAre("column_1", "column_2", "column_3"));
  EXPECT_EQ(profile.rows, 3);
  EXPECT_EQ(Proposed(profile, "column_1").role, ColumnRole::kLabel);
}

TEST(ProfileRows, NumbersThatAreWrittenInTwoWaysAreOneValue) {
  std::string text = "half,zero,y,id\n";
  for (int i = 0; i < 300; ++i)
    text += Format("{},{},{},{}\n", i % 2 == 0 ? "0.5" : "0.50", i % 3 == 0 ? "-0.0" : "0.0",
                   i % 5 == 0 ? "0" : "1", i % 20);
  const RowsProfile profile = Profile("ways.csv", text);
  for (const char* name : {"half", "zero"}) {
    EXPECT_EQ(Column(profile, name).distinct_values(), 1);
    EXPECT_EQ(Proposed(profile, name).role, ColumnRole::kUnused);
  }
  EXPECT_EQ(Column(profile, "id").distinct_values(), 20);
}

TEST(ProfileRows, RowsThatAlternateAreProposedAsInAnyOrder) {
  std::string text = "rating,id\n";
  for (int i = 0; i < 20'000; ++i)
    text += Format("{},{}\n", i % 2 == 0 ? 4 + i / 2 % 2 : 1 + i / 2 % 2, i * 37 % 300);
  EXPECT_EQ(Proposed(Profile("alternate.csv", text), "rating").at_least, 4);
}

TEST(ProfileRows, ColumnsThatSayNothingAreUnused) {
  std::string text = "label,same,empty,bars,prose\n";
  for (int i = 0; i < 200; ++i)
    text += std::to_string(i % 2) + ",7,,|," + std::to_string(i) + std::string(60, 'x') + "\n";
  const RowsProfile profile = Profile("unused.csv", text);
  for (const char* name : {"same", "empty", "bars", "prose"}) {
    EXPECT_EQ(Proposed(profile, name).role, ColumnRole::kUnused) << name;
    EXPECT_FALSE(Proposed(profile, name).why.empty()) << name;
  }
}

// The index that pandas writes lies below a heading without a name.
TEST(ProfileRows, ColumnsThatNoConfigurationCanNameAreUnused) {
  std::string text = ",x{0..1},x{3..2},y,z{1..1}\n";
  for (int i = 0; i < 100; ++i)
    text += Format("{},{},{},{},{}\n", i, i % 7, i % 5, i % 2, i % 3 == 0);
  const RowsProfile profile = Profile("index.csv", text);
  EXPECT_EQ(Proposed(profile, "").why, "the heading gives it no name");
  for (const char* name : {"x{0..1}", "x{3..2}", "z{1..1}"})
    EXPECT_EQ(Proposed(profile, name).why,
              "in a configuration its name stands for others: rename it in the heading");
  EXPECT_EQ(Proposed(profile, "y").role, ColumnRole::kLabel);
  EXPECT_EQ(ErrorOf([&] { ProposeColumns(profile, {"z{1..1}"}); }),
            "--label: column 'z{1..1}': in a configuration its name stands for others: rename it "
            "in the heading");
  const RowsProfile first = Profile("first.csv", "z{1..1},y\n0,1\n1,0\n");
  EXPECT_EQ(Proposed(first, "y").role, ColumnRole::kLabel);
}

TEST(ProfileRows, KeysOfRowsAreUnused) {
  std::string text = "label,row,far,word,price,balance,nearly\n";
  for (int i = 0; i < 2000; ++i) {
    const std::string n = std::to_string(i);
    text += std::to_string(i % 2) + "," + n + "," + std::to_string(977 * i) + ",w" + n + "," + n;
    text += ".5," + std::to_string(977 * (i - 5)) + ",w" + std::to_string(i % 1999) + "\n";
  }
  const RowsProfile profile = Profile("keys.csv", text);
  for (const char* name : {"row", "far", "word"}) {
    EXPECT_EQ(Proposed(profile, name).role, ColumnRole::kUnused) << name;
    EXPECT_THAT(Proposed(profile, name).why, HasSubstr("no value comes twice"));
  }
  EXPECT_EQ(Proposed(profile, "price").role, ColumnRole::kDense);
  EXPECT_EQ(Proposed(profile, "balance").role, ColumnRole::kDense);
  EXPECT_EQ(Proposed(profile, "nearly").role, ColumnRole::kFeature);
  const RowsProfile few = Profile("few.csv", text.substr(0, text.find("\n0,998,") + 1));
  EXPECT_EQ(Proposed(few, "word").role, ColumnRole::kFeature);
}

// Every fifth of 30,000 rows has a label of 1, or a rating of 4.5 or more.
TEST(ProfileRows, MissingCellsMayTellTheLabel) {
  std::string text = "click,stars,paid,shown,sum,left,reason,age,rare,zeros\n";
  for (int i = 0; i < 30'000; ++i) {
    const bool one = i % 5 == 0;
    text += std::to_string(one) + (one ? ",4.5," : i % 2 == 0 ? ",1.1," : ",4.1,");
    text += one || i % 997 == 1 ? "3.5," : ",";  // but for a few, empty where the label is 0
    text += one && i % 3 == 0 ? "," : "a,";      // sometimes empty where it is 1, never where 0
    text += one ? std::to_string(i % 89 + 1) + "," : "0,";         // 0 where the label is 0
    text += one && i % 3 == 0 ? "0," : i % 7 == 0 ? "," : "2.5,";  // 0 where it is 1 alone
    text += one && i % 15 == 0 ? "b" : "";                         // rarely filled, where it is 1
    text += i % 7 == 0 ? "," : ",2.5,";                            // empty whatever the label
    text += i % 5000 == 1 ? "" : "x";                              // too rarely empty to say
    text += i % 3 == 0 ? ",0\n" : ",1.5\n";                        // 0 whatever the label
  }
  const RowsProfile profile = Profile("leaks.csv", text);
  for (const std::string label : {"click", "stars"}) {
    const auto leak = [&](const char* name) { return Proposed(profile, name, label).leak; };
    EXPECT_EQ(leak("paid"), "it is empty nearly only where the label is 0");
    EXPECT_EQ(leak("shown"), "it is empty nearly only where the label is 1");
    EXPECT_EQ(leak("reason"), "it is filled nearly only where the label is 1");
    EXPECT_EQ(leak("sum"), "it is 0 nearly only where the label is 0");
    EXPECT_EQ(leak("left"), "it is 0 nearly only where the label is 1");
    EXPECT_EQ(leak("age"), "");
    EXPECT_EQ(leak("rare"), "");
    EXPECT_EQ(leak("zeros"), "");
    EXPECT_EQ(leak(label.c_str()), "");
  }
  EXPECT_EQ(Proposed(profile, "stars", "stars").at_least, 4.5);
}

TEST(ProfileRows, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf([] { Profile("rows.dat", "a\n"); }),
              HasSubstr("its name does not tell its format"));
  EXPECT_THAT(ErrorOf([] { Profile("bad.csv", "a,b\n1,2,3\n"); }),
              HasSubstr("bad.csv:2: expected 2 columns, got 3"));
  const RowsProfile profile = Profile("visits.csv", Visits());
  EXPECT_THAT(ErrorOf([&] { ProposeColumns(profile, {"clicked"}); }),
              HasSubstr("there is no column 'clicked'; there are "));
  EXPECT_THAT(ErrorOf([&] { ProposeColumns(profile, {"shelf"}); }),
              HasSubstr("column 'shelf' is not one number a row"));
}

TEST(ProfileRows, SaysWhichFilesAreEmpty) {
  const std::string none = WriteFile("none.csv", ""), head = WriteFile("head.csv", "a,b\n"),
                    blank = WriteFile("blank.csv", "\n"),
                    rows = WriteFile("rows.csv", "a,b\n1,2\n"), json = WriteFile("none.jsonl", "");
  const auto error = [](const std::vector<std::string>& paths,
                        const std::vector<std::string>& columns = {}) {
    return ErrorOf([&] { ProfileRows({.paths = paths, .columns = columns}); });
  };
  EXPECT_EQ(error({none}), none + ": expected a heading, got an empty file");
  EXPECT_EQ(error({none, rows}), none + ": expected a heading, got an empty file");
  EXPECT_EQ(error({rows, none}), none + ": expected a heading, got an empty file");
  EXPECT_EQ(error({blank, rows}), blank + ":1: expected a heading, got an empty line");
  EXPECT_EQ(error({rows, blank}), blank + ":1: expected a heading, got an empty line");
  EXPECT_EQ(error({head}), head + ": expected rows, got none");
  EXPECT_EQ(error({head, head}), head + " and 1 other file: expected rows, got none");
  EXPECT_EQ(error({json, json, json}), json + " and 2 other files: expected rows, got none");
  EXPECT_EQ(error({none}, {"a", "b"}), none + ": expected rows, got none");
  EXPECT_EQ(ProfileRows({.paths = {head, rows}}).rows, 1);
  // Errors about the first line name its file, which is the second.
  const std::string twice = WriteFile("twice.csv", "a,a\n1,2\n");
  EXPECT_EQ(error({json, WriteFile("list.jsonl", "[1]\n")}),
            testing::TempPath("list.jsonl") + ":1: expected a JSON object a line");
  EXPECT_EQ(error({twice}), twice + ":1: two columns are called 'a'");
}

}  // namespace
}  // namespace tessera
