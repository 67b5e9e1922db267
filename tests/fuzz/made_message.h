// Protobuf messages made from a fuzzer's bytes by their descriptors, so that mutations change fields and not the wire
// format: every input is a message, and some of them pass the first checks. Single-threaded.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace ptrace_prof {

// Returns zeros once it is empty.
class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : left_(data, size) {}
  bool empty() const { return left_.empty(); }
  uint8_t Byte() {
    if (left_.empty()) {
      return 0;
    }
    const uint8_t byte = left_.front();
    left_ = left_.subspan(1);
    return byte;
  }
  uint64_t Number() {
    uint64_t number = 0;
    for (size_t i = Byte() % 9; i > 0; --i) {
      number = number << 8 | Byte();
    }
    return number;
  }
  // A value of the table, or any value.
  template <typename T, size_t kSize>
  T Choose(const T (&table)[kSize]) {
    const uint8_t which = Byte();
    return which < 2 * kSize ? table[which % kSize] : static_cast<T>(Number());
  }
  std::string Text() {
    constexpr const char* kTexts[] = {"",  "nodes/-/captures/c", "nodes/-/captures/fresh", "c", "fresh", "*", "train*",
                                      "[", "train_step"};
    const uint8_t which = Byte();
    if (which < 2 * std::size(kTexts)) {
      return kTexts[which % std::size(kTexts)];
    }
    std::string text;
    for (size_t i = Byte() % 160; i > 0; --i) {
      text += static_cast<char>(Byte() & 0x7F);  // others are not UTF-8, which a protobuf client cannot send
    }
    return text;
  }

 private:
  std::span<const uint8_t> left_;
};

class MessageMaker {
 public:
  explicit MessageMaker(FuzzBytes& bytes) : bytes_(bytes) {}

  void Fill(google::protobuf::Message& message, int depth = 0) {
    const google::protobuf::Descriptor& kind = *message.GetDescriptor();
    for (int i = kind.field_count() == 0 ? 0 : bytes_.Byte() % 8; i > 0; --i) {
      Set(message, *kind.field(bytes_.Byte() % kind.field_count()), depth);
    }
  }

 private:
  using Field = google::protobuf::FieldDescriptor;

  static constexpr double kReals[] = {0, 1, 0.01, 0.5, 400, -1, 1e308, 0x1p64};
  static constexpr int64_t kIntegers[] = {0, 1, 2, 7, 100, -1, 999'999'999, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};

  double Real() {
    const uint8_t which = bytes_.Byte();
    return which < 8    ? std::numeric_limits<double>::quiet_NaN()
           : which < 16 ? std::numeric_limits<double>::infinity()
                        : bytes_.Choose(kReals);
  }

  void Set(google::protobuf::Message& message, const Field& field, int depth) {
    const google::protobuf::Reflection& way = *message.GetReflection();
    const auto put = [&](auto set, auto add, auto value) {
      field.is_repeated() ? (way.*add)(&message, &field, value) : (way.*set)(&message, &field, value);
    };
    using R = google::protobuf::Reflection;
    switch (field.cpp_type()) {
      case Field::CPPTYPE_INT32: return put(&R::SetInt32, &R::AddInt32, static_cast<int32_t>(bytes_.Choose(kIntegers)));
      case Field::CPPTYPE_INT64: return put(&R::SetInt64, &R::AddInt64, bytes_.Choose(kIntegers));
      case Field::CPPTYPE_UINT32:
        return put(&R::SetUInt32, &R::AddUInt32, static_cast<uint32_t>(bytes_.Choose(kIntegers)));
      case Field::CPPTYPE_UINT64:
        return put(&R::SetUInt64, &R::AddUInt64, static_cast<uint64_t>(bytes_.Choose(kIntegers)));
      case Field::CPPTYPE_DOUBLE: return put(&R::SetDouble, &R::AddDouble, Real());
      case Field::CPPTYPE_FLOAT: return put(&R::SetFloat, &R::AddFloat, static_cast<float>(Real()));
      case Field::CPPTYPE_BOOL: return put(&R::SetBool, &R::AddBool, (bytes_.Byte() & 1) != 0);
      case Field::CPPTYPE_ENUM: return put(&R::SetEnumValue, &R::AddEnumValue, static_cast<int>(bytes_.Byte() % 8));
      case Field::CPPTYPE_STRING: return put(&R::SetString, &R::AddString, bytes_.Text());
      case Field::CPPTYPE_MESSAGE:
        if (depth < 4) {
          Fill(field.is_repeated() ? *way.AddMessage(&message, &field) : *way.MutableMessage(&message, &field),
               depth + 1);
        }
    }
  }

  FuzzBytes& bytes_;
};

}  // namespace ptrace_prof
