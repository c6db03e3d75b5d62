// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <fmt/format.h>

#include <array>
#include <climits>
#include <cmath>
#include <set>
#include <unordered_set>

#include "chakra/et_def.pb.h"
#include "planner/exchange/execution_trace.hpp"
#include "planner/version.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

namespace pb = ChakraProtoMsg;
constexpr int most_message_bytes = 16 << 20;

struct KnownCollective {
  pb::CollectiveCommType type;
  CollectiveOp op;
};
constexpr std::array<KnownCollective, 9> collectives{
    {{pb::ALL_REDUCE, CollectiveOp::all_reduce},
     {pb::REDUCE, CollectiveOp::reduce},
     {pb::ALL_GATHER, CollectiveOp::all_gather},
     {pb::GATHER, CollectiveOp::gather},
     {pb::SCATTER, CollectiveOp::scatter},
     {pb::BROADCAST, CollectiveOp::broadcast},
     {pb::ALL_TO_ALL, CollectiveOp::all_to_all},
     {pb::REDUCE_SCATTER, CollectiveOp::reduce_scatter},
     {pb::REDUCE_SCATTER_BLOCK, CollectiveOp::reduce_scatter}}};

// --- writing ------------------------------------------------------------------------------------

pb::AttributeProto* attribute(pb::Node& node, const char* name) {
  pb::AttributeProto* added = node.add_attr();
  added->set_name(name);
  return added;
}

pb::NodeType type_of(TraceNodeKind kind) {
  switch (kind) {
    case TraceNodeKind::metadata:
      return pb::METADATA_NODE;
    case TraceNodeKind::compute:
      return pb::COMP_NODE;
    case TraceNodeKind::memory:
      return pb::MEM_LOAD_NODE;
    case TraceNodeKind::send:
      return pb::COMM_SEND_NODE;
    case TraceNodeKind::receive:
      return pb::COMM_RECV_NODE;
    case TraceNodeKind::collective:
      return pb::COMM_COLL_NODE;
  }
  return pb::INVALID_NODE;
}

pb::CollectiveCommType type_of(const TraceNode& node) {
  if (node.barrier) return pb::BARRIER;
  for (const KnownCollective& known : collectives)
    if (known.op == node.op) return known.type;
  return pb::ALL_REDUCE;
}

std::uint64_t micros(Seconds time) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, time.value()) * 1e6));
}

void write_node(const TraceNode& from, int rank, pb::Node& node) {
  node.set_id(from.id);
  node.set_name(from.name);
  node.set_type(type_of(from.kind));
  for (const std::uint64_t id : from.waits_for) node.add_data_deps(id);
  node.set_start_time_micros(micros(from.start));
  node.set_duration_micros(micros(from.duration));
  attribute(node, "is_cpu_op")->set_bool_val(from.on_cpu);
  attribute(node, "duration_s")->set_double_val(from.duration.value());
  const bool send = from.kind == TraceNodeKind::send;
  if (from.kind == TraceNodeKind::collective) {
    attribute(node, "comm_type")->set_int64_val(type_of(from));
    attribute(node, "comm_size")->set_int64_val(std::llround(from.bytes.value()));
    attribute(node, "pg_name")->set_string_val(from.group);
  } else if (send || from.kind == TraceNodeKind::receive) {
    attribute(node, "comm_size")->set_int64_val(std::llround(from.bytes.value()));
    attribute(node, "comm_src")->set_int32_val(send ? rank : from.peer);
    attribute(node, "comm_dst")->set_int32_val(send ? from.peer : rank);
    attribute(node, "comm_tag")->set_int32_val(from.tag);
  }
}

// --- reading ------------------------------------------------------------------------------------

const pb::AttributeProto* find(const pb::Node& node, std::string_view name) {
  for (const pb::AttributeProto& attr : node.attr())
    if (attr.name() == name) return &attr;
  return nullptr;
}

/// A number of whichever type the writer chose.
std::optional<double> number(const pb::Node& node, std::string_view name) {
  const pb::AttributeProto* attr = find(node, name);
  if (attr == nullptr) return std::nullopt;
  switch (attr->value_case()) {
    case pb::AttributeProto::kDoubleVal:
      return attr->double_val();
    case pb::AttributeProto::kFloatVal:
      return static_cast<double>(attr->float_val());
    case pb::AttributeProto::kInt32Val:
      return attr->int32_val();
    case pb::AttributeProto::kInt64Val:
      return static_cast<double>(attr->int64_val());
    case pb::AttributeProto::kUint32Val:
      return attr->uint32_val();
    case pb::AttributeProto::kUint64Val:
      return static_cast<double>(attr->uint64_val());
    default:
      return std::nullopt;
  }
}

/// Reads the nodes of one file.
class FileReader {
 public:
  FileReader(const std::string& file, std::vector<std::string>& notes)
      : file_{file}, notes_{notes} {}

  RankTrace read(const std::string& bytes) {
    google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
    pb::GlobalMetadata metadata;
    if (!next(stream, metadata) || metadata.version().empty())
      refuse("the first message is not a GlobalMetadata with a version; is this a Chakra trace?");
    pb::Node node;
    while (next(stream, node)) add(node);
    check_waits();
    for (const std::string& what : ignored_) notes_.push_back("ignored attributes: " + what);
    return std::move(trace_);
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw ScenarioError({{file_, 0, 0, {}, fmt::format("message {}: {}", messages_, message)}});
  }
  [[noreturn]] void refuse(const pb::Node& node, const std::string& message) const {
    refuse(fmt::format("node {} {} {}", node.id(), in_quotes(node.name()), message));
  }

  /// @return false at the end of the file
  template <class Message>
  bool next(google::protobuf::io::ArrayInputStream& stream, Message& message) {
    ++messages_;
    google::protobuf::io::CodedInputStream coded(&stream);
    std::uint32_t size = 0;
    const bool any = coded.ReadVarint32(&size);
    if (!any) {
      if (coded.CurrentPosition() > 0) refuse("the file ends within a length");
      return false;
    }
    if (size > most_message_bytes) refuse("is larger than 16 MiB, or no message begins here");
    const auto limit = coded.PushLimit(static_cast<int>(size));
    message.Clear();
    if (!message.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage() ||
        coded.BytesUntilLimit() > 0)
      refuse("cannot be decoded as the schema has it, or the file ends within it");
    coded.PopLimit(limit);
    return true;
  }

  static TraceNodeKind kind_of(const pb::Node& node, bool& known) {
    known = true;
    switch (node.type()) {
      case pb::METADATA_NODE:
        return TraceNodeKind::metadata;
      case pb::MEM_LOAD_NODE:
      case pb::MEM_STORE_NODE:
        return TraceNodeKind::memory;
      case pb::COMP_NODE:
        return TraceNodeKind::compute;
      case pb::COMM_SEND_NODE:
        return TraceNodeKind::send;
      case pb::COMM_RECV_NODE:
        return TraceNodeKind::receive;
      case pb::COMM_COLL_NODE:
        return TraceNodeKind::collective;
      default:
        known = false;
        return TraceNodeKind::metadata;
    }
  }

  void add(const pb::Node& node) {
    if (trace_.nodes.size() >= most_trace_nodes)
      refuse(fmt::format("more than {} nodes", most_trace_nodes));
    TraceNode added;
    added.id = node.id();
    added.name = node.name().substr(0, 200);
    bool known = false;
    added.kind = kind_of(node, known);
    if (!known)
      refuse(node, fmt::format("has type {}, which is not modelled; known are metadata, memory, "
                               "compute, send, receive and collective nodes",
                               static_cast<int>(node.type())));
    if (!ids_.insert(node.id()).second) refuse(node, "has an id that an earlier node has");
    added.waits_for.assign(node.data_deps().begin(), node.data_deps().end());
    added.waits_for.insert(added.waits_for.end(), node.ctrl_deps().begin(), node.ctrl_deps().end());
    added.start = Seconds{static_cast<double>(node.start_time_micros()) * 1e-6};
    const double exact = number(node, "duration_s").value_or(-1.0);
    added.duration = Seconds{exact >= 0.0 && std::isfinite(exact)
                                 ? exact
                                 : static_cast<double>(node.duration_micros()) * 1e-6};
    const pb::AttributeProto* cpu = find(node, "is_cpu_op");
    added.on_cpu = cpu != nullptr && (cpu->bool_val() || cpu->int64_val() == 1);
    read_communication(node, added);
    if (added.kind == TraceNodeKind::compute && added.duration <= Seconds{} &&
        number(node, "num_ops").value_or(0.0) > 0.0)
      refuse(node,
             "has num_ops and no duration; give nodes durations, as traces of real runs have");
    note_ignored(node);
    trace_.nodes.push_back(std::move(added));
  }

  int rank_at(const pb::Node& node, const char* name) const {
    const auto value = number(node, name);
    if (!value || *value < 0 || *value > 1e6 || *value != std::floor(*value))
      refuse(node, fmt::format("has no rank in attribute {}", name));
    return static_cast<int>(*value);
  }

  void read_communication(const pb::Node& node, TraceNode& added) const {
    const bool collective = added.kind == TraceNodeKind::collective;
    const bool send = added.kind == TraceNodeKind::send;
    if (!collective && !send && added.kind != TraceNodeKind::receive) return;
    const double bytes = number(node, "comm_size").value_or(0.0);
    if (!(bytes >= 0.0) || bytes > 1e15)
      refuse(node, "has a comm_size that is not a number of bytes up to 10^15");
    added.bytes = Bytes{bytes};
    if (!collective) {
      added.peer = rank_at(node, send ? "comm_dst" : "comm_src");
      const double tag = number(node, "comm_tag").value_or(0.0);
      if (!(tag >= 0.0 && tag <= INT_MAX)) refuse(node, "has a comm_tag out of range");
      added.tag = static_cast<int>(tag);
      return;
    }
    const auto type = number(node, "comm_type");
    if (!type) refuse(node, "has no attribute comm_type");
    const int code =
        *type >= 0.0 && *type <= 9.0 && *type == std::floor(*type) ? static_cast<int>(*type) : -1;
    added.barrier = code == static_cast<int>(pb::BARRIER);
    bool known = added.barrier;
    for (const KnownCollective& one : collectives)
      if (code == static_cast<int>(one.type)) {
        added.op = one.op;
        known = true;
      }
    if (!known) refuse(node, fmt::format("has comm_type {:g}; 0 to 9 are known", *type));
    if (const pb::AttributeProto* group = find(node, "pg_name")) added.group = group->string_val();
  }

  void note_ignored(const pb::Node& node) {
    static const std::set<std::string_view> read{"is_cpu_op", "duration_s", "comm_type",
                                                 "comm_size", "comm_src",   "comm_dst",
                                                 "comm_tag",  "pg_name",    "num_ops"};
    for (const pb::AttributeProto& attr : node.attr())
      if (read.count(attr.name()) == 0 && ignored_.size() < 20)
        ignored_.insert(printable_key(attr.name().substr(0, 60)));
  }

  void check_waits() {
    for (const TraceNode& node : trace_.nodes)
      for (const std::uint64_t id : node.waits_for)
        if (ids_.count(id) == 0)
          refuse(fmt::format("node {} waits for {}, which the file does not have", node.id, id));
  }

  const std::string& file_;
  std::vector<std::string>& notes_;
  int messages_ = 0;
  RankTrace trace_;
  std::unordered_set<std::uint64_t> ids_;
  std::set<std::string> ignored_;
};

}  // namespace

bool knows_chakra() { return true; }

std::vector<std::string> chakra_files(const ExecutionTrace& trace) {
  std::vector<std::string> files;
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    std::string bytes;
    {
      google::protobuf::io::StringOutputStream stream(&bytes);
      pb::GlobalMetadata metadata;
      metadata.set_version("0.0.4");
      pb::AttributeProto* by = metadata.add_attr();
      by->set_name("generator");
      by->set_string_val(std::string("foretrain ") + version);
      google::protobuf::util::SerializeDelimitedToZeroCopyStream(metadata, &stream);
      for (const TraceNode& node : trace.ranks[rank].nodes) {
        pb::Node message;
        write_node(node, static_cast<int>(rank), message);
        google::protobuf::util::SerializeDelimitedToZeroCopyStream(message, &stream);
      }
    }
    files.push_back(std::move(bytes));
  }
  return files;
}

RankTrace read_chakra(const std::string& bytes, const std::string& file,
                      std::vector<std::string>& notes) {
  const google::protobuf::LogSilencer silence;  // what is wrong is our message
  return FileReader(file, notes).read(bytes);
}

}  // namespace foretrain
