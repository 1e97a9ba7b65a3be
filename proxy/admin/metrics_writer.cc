#include "admin/metrics_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>

namespace ers::proxy {
namespace {

constexpr std::uint64_t kNanos = 1'000'000'000;

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  out += '"';
}

// Seconds without the noise of binary fractions: 0.00001, 2, 10.5.
std::string Seconds(std::uint64_t nanoseconds) {
  std::string text =
      fmt::format("{}.{:09}", nanoseconds / kNanos, nanoseconds % kNanos);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

void MetricsWriter::Begin(std::string_view name, std::string_view type,
                          std::string_view labels, std::string_view help) {
  name_ = name;
  labels_.clear();
  while (!labels.empty()) {
    const std::size_t end = std::min(labels.find(", "), labels.size());
    labels_.push_back(labels.substr(0, end));
    labels.remove_prefix(std::min(end + 2, labels.size()));
  }
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n",
                 name, help, name, type);
}

// `bound`: of a bucket, else empty.
void MetricsWriter::AddName(std::string_view suffix,
                            std::span<const std::string_view> labels,
                            std::string_view bound) {
  assert(labels.size() <= labels_.size());
  text_ += name_;
  text_ += suffix;
  char before = '{';
  const auto add = [&](std::string_view label, std::string_view value) {
    text_ += std::exchange(before, ',');
    text_ += label;
    text_ += '=';
    AppendQuoted(value, text_);
  };
  for (std::size_t i = 0; i < labels.size(); ++i) add(labels_[i], labels[i]);
  if (!bound.empty()) add("le", bound);
  if (before == ',') text_ += '}';
  text_ += ' ';
}

void MetricsWriter::Add(std::span<const std::string_view> labels,
                        std::uint64_t value) {
  AddName("", labels, "");
  fmt::format_to(std::back_inserter(text_), "{}\n", value);
}

void MetricsWriter::Add(std::initializer_list<std::string_view> labels,
                        std::chrono::nanoseconds value) {
  AddName("", std::span(labels.begin(), labels.size()), "");
  text_ += Seconds(static_cast<std::uint64_t>(value.count()));
  text_ += '\n';
}

void MetricsWriter::AddHistogram(std::initializer_list<std::string_view> values,
                                 const HistogramSum& sum) {
  const std::span labels(values.begin(), values.size());
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    below += sum.buckets[i];
    const std::string bound =
        i < kBucketBounds.size()
            ? Seconds(static_cast<std::uint64_t>(kBucketBounds[i]))
            : "+Inf";
    AddName("_bucket", labels, bound);
    fmt::format_to(std::back_inserter(text_), "{}\n", below);
  }
  AddName("_sum", labels, "");
  text_ += Seconds(sum.nanoseconds);
  text_ += '\n';
  AddName("_count", labels, "");
  fmt::format_to(std::back_inserter(text_), "{}\n", below);
}

}  // namespace ers::proxy
