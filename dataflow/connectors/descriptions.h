// What a job's program says about where records come from and go to.
//
// A description is an immutable value that the plan keeps a copy of. It touches the world in
// check() only; what it makes does so when the job runs.
#pragma once

#include <concepts>
#include <memory>
#include <string>

#include "base/result.h"
#include "dataflow/sink.h"
#include "dataflow/source.h"

namespace weir {

// A source of records of type S::value_type.
//   describe()         one line for people: "text files logs/*.gz"
//   check()            run at submission: whether the inputs exist and can be read
//   bounded()          whether the source ends by itself
//   make_enumerator()  called once per job; make_reader() once per subtask
//   paths()            if it reads files: their paths or patterns as given, std::vector<std::string>. May be missing
template <class S>
concept SourceDescription = std::copy_constructible<S> && requires(const S& source) {
  typename S::value_type;
  { source.describe() } -> std::same_as<std::string>;
  { source.check() } -> std::same_as<Result<void>>;
  { source.bounded() } -> std::same_as<bool>;
  { source.make_enumerator() } -> std::same_as<std::unique_ptr<SplitEnumerator>>;
  { source.make_reader() } -> std::same_as<std::unique_ptr<SourceOperator>>;
};

// A sink that takes records of type T.
//   describe()               one line for people: "CSV files in out"
//   check()                  run at submission: whether the output can be made
//   make_writer<T>()         called once per subtask
//   make_committer()         called once per job; null when there is nothing to commit
//   paths()                  if it writes files: where, as given, std::vector<std::string>; directories are its own.
//                            May be missing
template <class S, class T>
concept SinkDescription = std::copy_constructible<S> && requires(const S& sink) {
  { sink.describe() } -> std::same_as<std::string>;
  { sink.check() } -> std::same_as<Result<void>>;
  { sink.template make_writer<T>() } -> std::same_as<std::unique_ptr<SinkOperator>>;
  { sink.make_committer() } -> std::same_as<std::unique_ptr<SinkCommitter>>;
};

}  // namespace weir
