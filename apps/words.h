// The words of a line, read as they are asked for, so that a line of any length needs no memory for
// its words.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

// A range of std::string over a line that outlives it: maximal runs of ASCII letters, lower-cased.
class Words {
 public:
  class Iterator {
   public:
    using value_type = std::string;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    Iterator() = default;
    explicit Iterator(std::string_view rest) : rest_(rest) { ++*this; }

    const std::string& operator*() const { return word_; }
    Iterator& operator++() {
      while (!rest_.empty() && !is_letter(rest_.front())) rest_.remove_prefix(1);
      std::size_t length = 0;
      while (length < rest_.size() && is_letter(rest_[length])) ++length;
      word_.assign(rest_.substr(0, length));
      for (char& letter : word_) letter = static_cast<char>(letter | 0x20);
      rest_.remove_prefix(length);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.word_.empty(); }

   private:
    static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

    std::string_view rest_;
    std::string word_;
  };

  explicit Words(std::string_view line) : line_(line) {}
  [[nodiscard]] Iterator begin() const { return Iterator(line_); }
  [[nodiscard]] static std::default_sentinel_t end() { return {}; }

 private:
  std::string_view line_;
};

inline Words words(const std::string& line) {
  return Words(line);
}
