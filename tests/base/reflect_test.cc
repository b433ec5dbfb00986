#include "base/reflect.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace weir {
namespace reflected {

struct Visit {
  std::string address;
  EventTime at;
  std::optional<std::string> region;
};

template <class T>
struct Counted {
  T value;
  std::vector<T> others;
};

struct Empty {};

struct Mixed {
  std::array<int, 3> cells;
  std::variant<std::monostate, int, std::string> choice;
  std::unique_ptr<int> owner;
  std::map<std::string, Visit> visits;
  Visit nested;
  int defaulted = 7;
};

struct Wide {
  int f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12, f13, f14, f15, f16;
  std::string f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32;
};

struct TooWide {
  Wide first;
  int f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12, f13, f14, f15, f16, f17;
  int f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33;
};

struct CArray {
  int before;
  int cells[3];
};
struct CArrayOfOne {
  int cells[1];
};
struct WithBase : Visit {
  int more;
};
struct WithEmptyBase : Empty {
  int more;
};
struct Bits {
  int low : 4;
};
struct Reference {
  int& target;
};
struct Const {
  const int fixed;
};
class Closed {
 public:
  explicit Closed(int value) : value_(value) {}
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};
struct HoldsClosed {
  Closed closed;
};
union Either {
  int number;
  float real;
};

}  // namespace reflected

namespace {

struct Unnamed {
  int first;
  std::string second;
};

template <class T>
std::vector<std::string> names() {
  const auto views = field_names<T>();
  return {views.begin(), views.end()};
}

using Names = std::vector<std::string>;

TEST(Reflect, fields_are_named_in_order) {
  EXPECT_EQ(names<reflected::Visit>(), (Names{"address", "at", "region"}));
  EXPECT_EQ(names<reflected::Mixed>(),
            (Names{"cells", "choice", "owner", "visits", "nested", "defaulted"}));
  EXPECT_EQ((names<reflected::Counted<std::pair<int, std::string>>>()), (Names{"value", "others"}));
  EXPECT_EQ(names<EventTime>(), (Names{"ms"}));
  EXPECT_EQ(names<reflected::Empty>(), Names{});
}

TEST(Reflect, names_are_constants) {
  static_assert(field_names<reflected::Visit>()[0] == "address");
  static_assert(field_count<reflected::Visit> == 3);
  static_assert(field_count<const reflected::Visit> == 3);
}

TEST(Reflect, types_without_a_name_elsewhere_have_field_names_too) {
  struct Local {
    int alpha;
    std::vector<int> beta;
  };
  EXPECT_EQ(names<Local>(), (Names{"alpha", "beta"}));
  EXPECT_EQ(names<Unnamed>(), (Names{"first", "second"}));
}

TEST(Reflect, thirty_two_fields_are_seen) {
  const Names all = names<reflected::Wide>();
  ASSERT_EQ(all.size(), 32u);
  EXPECT_EQ(all.front(), "f01");
  EXPECT_EQ(all[20], "f21");
  EXPECT_EQ(all.back(), "f32");
}

TEST(Reflect, what_cannot_be_listed_is_no_aggregate) {
  static_assert(Aggregate<reflected::Visit> && Aggregate<reflected::Empty> &&
                Aggregate<ChannelIndex>);
  static_assert(!Aggregate<reflected::TooWide>);
  static_assert(!Aggregate<reflected::CArray> && !Aggregate<reflected::CArrayOfOne>);
  static_assert(!Aggregate<reflected::WithBase> && !Aggregate<reflected::WithEmptyBase>);
  static_assert(!Aggregate<reflected::Bits>);
  static_assert(!Aggregate<reflected::Reference>);
  static_assert(!Aggregate<reflected::Const>);
  static_assert(!Aggregate<reflected::Closed> && !Aggregate<reflected::HoldsClosed>);
  static_assert(!Aggregate<reflected::Either>);
  static_assert(!Aggregate<int> && !Aggregate<int*> && !Aggregate<int[3]> && !Aggregate<int&>);
  static_assert(!Aggregate<std::array<int, 2>> && !Aggregate<std::string>);
}

TEST(Reflect, fields_are_visited_with_their_names_and_can_be_changed) {
  reflected::Visit visit{"10.0.0.1", {5}, "eu"};
  Names seen;
  for_each_field(visit, [&]<class F>(std::string_view name, F& field) {
    seen.emplace_back(name);
    if constexpr (std::is_same_v<F, std::string>) field = "changed";
  });
  EXPECT_EQ(seen, (Names{"address", "at", "region"}));
  EXPECT_EQ(visit.address, "changed");
}

TEST(Reflect, fields_of_a_const_value_are_const) {
  const Unnamed value{1, "x"};
  static_assert(
      std::is_same_v<decltype(fields_of(value)), std::tuple<const int&, const std::string&>>);
  static_assert(std::is_same_v<FieldTypes<Unnamed>, std::tuple<int, std::string>>);
  EXPECT_EQ(&std::get<1>(fields_of(value)), &value.second);
}

TEST(Reflect, type_names_read_as_in_source) {
  EXPECT_EQ(type_name<int>(), "int");
  EXPECT_EQ(type_name<std::string>(), "std::string");
  EXPECT_EQ(type_name<reflected::Visit>(), "weir::reflected::Visit");
  EXPECT_EQ(type_name<Unnamed>(), "weir::Unnamed");
  EXPECT_EQ((type_name<std::map<std::string, std::vector<reflected::Visit>>>()),
            "std::map<std::string, std::vector<weir::reflected::Visit>>");
}

}  // namespace
}  // namespace weir
