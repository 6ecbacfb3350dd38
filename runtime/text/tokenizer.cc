#include "runtime/text/tokenizer.h"

#include <algorithm>
#include <mutex>

#include "core/base/error.h"
#include "core/base/file.h"
#include "runtime/text/tokenize/tokenizer_json.h"
#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

// Buffers of one encode() call, kept for the next one.
struct Scratch {
  PieceList list;
  BpeScratch bpe;
  std::vector<TextPart> parts;
  std::vector<TextPart> normalized_parts;
  RewrittenText rewritten;
  std::vector<uint32_t> sizes;
};

// Valid UTF-8, and the plain spans moved along. Each stretch between span bounds is repaired on its
// own, so that a broken character cannot shift a bound.
struct RepairedText {
  std::string text;
  std::vector<TextSpan> spans;

  RepairedText(std::string_view broken, std::span<const TextSpan> plain) {
    size_t done = 0;
    const auto repair_to = [&](size_t end) {
      end = std::clamp(end, done, broken.size());
      text += utf8_replace_invalid(broken.substr(done, end - done));
      done = end;
    };
    for (const auto& [begin, end] : plain) {
      repair_to(begin);
      const size_t first = text.size();
      repair_to(end);
      spans.emplace_back(first, text.size());
    }
    repair_to(broken.size());
  }
};

}  // namespace

struct Tokenizer::State {
  TokenizerParts parts;
  int32_t vocab_size = 0;
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Scratch>> idle;  // one per thread that ever encoded at once

  std::unique_ptr<Scratch> borrow() const {
    const std::scoped_lock lock(mutex);
    if (idle.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(idle.back());
    idle.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<Scratch> scratch) const {
    const std::scoped_lock lock(mutex);
    idle.push_back(std::move(scratch));
  }

  [[nodiscard]] std::string_view text_of(int32_t id) const {
    const AddedToken* added = parts.added.find(id);
    return added != nullptr ? std::string_view(added->content) : parts.model->token(id);
  }
  [[nodiscard]] bool known(int32_t id) const {
    return parts.added.find(id) != nullptr || parts.model->token(id).data() != nullptr;
  }

  void encode_text(Scratch& s, std::string_view text, const EncodeOptions& options, Encoding& out)
      const;
  void encode_segment(
      Scratch& s, const Piece& segment, const SpecialRule& rule, bool offsets, Encoding& out
  ) const;
  void encode_piece(Scratch& s, const Piece& piece, bool offsets, Encoding& out) const;
};

// Text between added tokens, already normalized.
void Tokenizer::State::encode_piece(Scratch& s, const Piece& piece, bool offsets, Encoding& out)
    const {
  s.list.pieces.assign(1, piece);
  if (parts.pre_tokenizer != nullptr) parts.pre_tokenizer->apply(s.list);
  for (const Piece& part : s.list.pieces) {
    if (!offsets) {
      parts.model->encode(part.text, s.bpe, out.ids);
      continue;
    }
    s.sizes.clear();
    parts.model->encode(part.text, s.bpe, out.ids, &s.sizes);
    size_t at = 0;
    for (const uint32_t size : s.sizes) {
      out.offsets.push_back(part.source == nullptr ? part.origin + at : part.source[at]);
      at += size;
    }
  }
}

// Text between the added tokens that are looked for before normalization.
void Tokenizer::State::encode_segment(
    Scratch& s, const Piece& segment, const SpecialRule& rule, bool offsets, Encoding& out
) const {
  Piece piece = segment;
  s.rewritten.track = s.list.track;
  if (parts.normalizer != nullptr &&
      parts.normalizer->apply(piece.text, s.list.regex, s.rewritten)) {
    piece.text = s.rewritten.text;
    if (s.rewritten.track) {
      for (uint32_t& at : s.rewritten.source) at += segment.origin;
      piece.source = s.rewritten.source.data();
    }
  }
  if (!parts.added.any(true)) {
    if (!piece.text.empty()) encode_piece(s, piece, offsets, out);
    return;
  }
  s.normalized_parts.clear();
  SpecialRule inner = rule;
  inner.base = piece.source == nullptr ? piece.origin : 0;
  inner.source = piece.source;
  parts.added.split(piece.text, true, inner, s.normalized_parts);
  for (const TextPart& part : s.normalized_parts) {
    const Piece inside = piece.slice(part.begin, part.end);
    if (part.id < 0) {
      encode_piece(s, inside, offsets, out);
      continue;
    }
    out.ids.push_back(part.id);
    if (offsets) out.offsets.push_back(inside.source == nullptr ? inside.origin : *inside.source);
  }
}

void Tokenizer::State::encode_text(
    Scratch& s, std::string_view text, const EncodeOptions& options, Encoding& out
) const {
  SpecialRule rule;
  rule.all_text = options.special == SpecialTokens::kText;
  rule.plain = options.plain_spans;
  s.list.clear();
  s.list.track = options.offsets || !options.plain_spans.empty();
  s.parts.clear();
  parts.added.split(text, false, rule, s.parts);
  for (const TextPart& part : s.parts) {
    if (part.id >= 0) {
      out.ids.push_back(part.id);
      if (options.offsets) out.offsets.push_back(part.begin);
      continue;
    }
    Piece segment;
    segment.text = text.substr(part.begin, part.end - part.begin);
    segment.origin = static_cast<uint32_t>(part.begin);
    segment.first = part.begin == 0;
    encode_segment(s, segment, rule, options.offsets, out);
  }
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;

namespace {

int32_t vocab_size_of(const TokenizerParts& parts) {
  int32_t size = parts.model->size();
  for (const AddedToken& token : parts.added.tokens()) size = std::max(size, token.id + 1);
  return size;
}

}  // namespace

std::shared_ptr<const Tokenizer> Tokenizer::parse(
    std::string_view json, const std::string& source
) {
  auto state = std::make_unique<State>();
  state->parts = read_tokenizer_json(json, source, Json(), source);
  state->vocab_size = vocab_size_of(state->parts);
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(state)));
}

std::shared_ptr<const Tokenizer> Tokenizer::load(const std::filesystem::path& folder) {
  const auto path = folder / "tokenizer.json";
  const auto config_path = folder / "tokenizer_config.json";
  require_data(
      std::filesystem::exists(path),
      "{}: no such file; the tokenizer of a checkpoint is read from tokenizer.json (a "
      "SentencePiece tokenizer.model is not read: save it with transformers' fast tokenizer)",
      path.string()
  );
  const MappedFile file = MappedFile::open(path);
  const Json config = std::filesystem::exists(config_path) ? read_json_file(config_path) : Json();
  auto state = std::make_unique<State>();
  state->parts = read_tokenizer_json(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
      path.string(),
      config,
      config_path.string()
  );
  state->vocab_size = vocab_size_of(state->parts);
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(state)));
}

Encoding Tokenizer::encode_with(std::string_view text, const EncodeOptions& options) const {
  require(
      text.size() < UINT32_MAX,
      "text of {} bytes: at most 4 GiB can be encoded at once",
      text.size()
  );
  Encoding out;
  const PostProcessor& post = state_->parts.post_processor;
  if (options.add_special) {
    out.ids = post.before;
    if (options.offsets) out.offsets.assign(post.before.size(), 0);
  }
  auto scratch = state_->borrow();
  if (utf8_valid(text)) {
    state_->encode_text(*scratch, text, options, out);
  } else {
    const RepairedText repaired(text, options.plain_spans);
    EncodeOptions inner = options;
    inner.plain_spans = repaired.spans;
    state_->encode_text(*scratch, repaired.text, inner, out);
  }
  state_->give_back(std::move(scratch));
  if (options.add_special) {
    out.ids.insert(out.ids.end(), post.after.begin(), post.after.end());
    if (options.offsets) out.offsets.resize(out.ids.size(), text.size());
  }
  return out;
}

std::vector<int32_t> Tokenizer::encode(
    std::string_view text, SpecialTokens special, bool add_special
) const {
  EncodeOptions options;
  options.special = special;
  options.add_special = add_special;
  return encode_with(text, options).ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  DecoderRun run(state_->parts.decoder, false);
  for (const int32_t id : ids) {
    if (!state_->known(id) || (skip_special && is_special(id))) continue;
    run.push(state_->text_of(id));
  }
  run.finish();
  return run.take();
}

std::string Tokenizer::token_bytes(int32_t id) const {
  return state_->parts.decoder.token_bytes(state_->text_of(id));
}

std::optional<int32_t> Tokenizer::token_id(std::string_view token) const {
  if (const AddedToken* added = state_->parts.added.find(token)) return added->id;
  const int32_t id = state_->parts.model->find(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::string Tokenizer::token_text(int32_t id) const {
  return std::string(state_->text_of(id));
}

bool Tokenizer::is_special(int32_t id) const {
  const AddedToken* added = state_->parts.added.find(id);
  return added != nullptr && added->special;
}

int32_t Tokenizer::vocab_size() const {
  return state_->vocab_size;
}

std::vector<uint8_t> tokens_inside(
    const Encoding& encoding, size_t text_size, std::span<const TextSpan> spans
) {
  const auto& offsets = encoding.offsets;
  require(
      offsets.size() == encoding.ids.size(), "tokens_inside: the encoding was made without offsets"
  );
  std::vector<uint8_t> inside(offsets.size(), 0);
  size_t span = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    // A token that shares its start with the next one (bytes of one character) covers it too.
    size_t next = i + 1;
    while (next < offsets.size() && offsets[next] == offsets[i]) ++next;
    const size_t end = next < offsets.size() ? offsets[next] : text_size;
    while (span < spans.size() && spans[span].second <= offsets[i]) ++span;
    if (span < spans.size() && spans[span].first < end) inside[i] = 1;
  }
  return inside;
}

struct StreamDecoder::State {
  std::shared_ptr<const Tokenizer> tokenizer;
  bool skip_special;
  DecoderRun run;
};

StreamDecoder::StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special) {
  const Decoder& decoder = tokenizer->state_->parts.decoder;
  state_ = std::unique_ptr<State>(new State{
      std::move(tokenizer), skip_special, DecoderRun(decoder, true)});
}
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::push(int32_t id) {
  const Tokenizer& tokenizer = *state_->tokenizer;
  if (!tokenizer.state_->known(id) || (state_->skip_special && tokenizer.is_special(id))) return {};
  state_->run.push(tokenizer.state_->text_of(id));
  return state_->run.take();
}

std::string StreamDecoder::finish() {
  state_->run.finish();
  return state_->run.take();
}

}  // namespace hone
