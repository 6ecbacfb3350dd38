#include "runtime/engine/engine.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "runtime/engine/sequence.h"
#include "runtime/spec/verify.h"

namespace hone {
namespace {

int64_t pages_for(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

void count_at(std::vector<int64_t>& counters, size_t position, int64_t n) {
  if (counters.size() <= position) counters.resize(position + 1);
  counters[position] += n;
}

// One sequence's part of the step under construction.
struct Turn {
  Sequence* sequence = nullptr;
  std::vector<int32_t> tokens;   // of the forward call
  std::vector<int32_t> parents;  // when there is a draft
  Draft draft;
  bool prefill = false;
  bool last = false;         // its last token is processed: the next one is drawn
  int64_t length0 = 0;       // cached tokens before the call
  int64_t row0 = 0;          // first row of the forward call
  int64_t first_logits = 0;  // first row of the logits
};

}  // namespace

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "none";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  throw InternalError("unknown finish reason");
}

double RequestStats::acceptance_length() const {
  if (drafted_at.empty() || drafted_at[0] == 0) return 1.0;
  const auto accepted = std::accumulate(accepted_at.begin(), accepted_at.end(), int64_t{0});
  return 1.0 + static_cast<double>(accepted) / static_cast<double>(drafted_at[0]);
}

struct Engine::State {
  Model& model;
  std::shared_ptr<const Tokenizer> tokenizer;
  EngineOptions options;
  std::unique_ptr<Proposer> proposer;
  KvPool pool;
  std::deque<std::unique_ptr<Sequence>> waiting;
  std::vector<std::unique_ptr<Sequence>> running;   // in order of admission
  std::vector<std::unique_ptr<Sequence>> finished;  // to be reported at the end of the step
  RequestId next_id = 1;
  EngineStats stats;
  ForwardOutput output;

  State(Model& m, std::shared_ptr<const Tokenizer> t, EngineOptions o, std::unique_ptr<Proposer> p)
      : model(m),
        tokenizer(std::move(t)),
        options(o),
        proposer(std::move(p)),
        pool(m.kv_layout(), o.max_pages) {
    require(o.max_batch >= 1, "max_batch is {}, expected at least 1", o.max_batch);
    require(o.prefill_chunk >= 1, "prefill_chunk is {}, expected at least 1", o.prefill_chunk);
    require(o.step_tokens >= 1, "step_tokens is {}, expected at least 1", o.step_tokens);
    require(o.draft_tokens >= 0, "draft_tokens is {}, expected at least 0", o.draft_tokens);
    require(o.max_repeats >= 0, "max_repeats is {}, expected at least 0", o.max_repeats);
  }

  void check_request(const Request& request) const;
  void drop_cancelled();
  void admit();
  std::vector<Draft> propose();
  std::vector<Turn> plan(std::vector<Draft> drafts);
  bool make_room(size_t index, Turn& turn);
  void forward(std::vector<Turn>& turns);
  void take_results(const Turn& turn);
  void count_draft(Sequence& sequence, const Turn& turn, const Verification& verification);
  void observe(const Turn& turn, const Verification* verification);
  void collect_finished();
  void report();
};

void Engine::State::check_request(const Request& request) const {
  require(!request.prompt.empty(), "the prompt is empty; expected at least one token");
  const ModelConfig& config = model.config();
  for (const int32_t token : request.prompt) {
    require(
        token >= 0 && token < config.vocab,
        "the prompt holds token id {}, the vocabulary has {}",
        token,
        config.vocab
    );
  }
  const auto needed = static_cast<int64_t>(request.prompt.size()) + 1;
  require(
      needed <= config.max_positions,
      "the prompt has {} tokens, the model takes {} with at least one generated "
      "(max_position_embeddings)",
      request.prompt.size(),
      config.max_positions
  );
  require(
      pages_for(needed) <= pool.max_pages(),
      "the prompt has {} tokens, the KV cache holds {} (EngineOptions::max_pages)",
      request.prompt.size(),
      pool.max_pages() * kPageTokens
  );
  require(request.max_tokens >= 1, "max_tokens is {}, expected at least 1", request.max_tokens);
  require(
      request.top_logprobs <= config.vocab,
      "top_logprobs is {}, the vocabulary has {}",
      request.top_logprobs,
      config.vocab
  );
  require(
      request.stop.empty() || tokenizer != nullptr, "stop strings need a tokenizer; there is none"
  );
  validate(request.sampling);
}

void Engine::State::drop_cancelled() {
  const auto drop = [](const std::unique_ptr<Sequence>& sequence) {
    if (sequence->cancelled && !sequence->finished()) sequence->finish(FinishReason::kCancelled);
  };
  std::ranges::for_each(running, drop);
  std::ranges::for_each(waiting, drop);
}

void Engine::State::collect_finished() {
  const auto take = [this](std::unique_ptr<Sequence>& sequence) {
    if (!sequence->finished()) return false;
    ++stats.finished;
    if (sequence->completion().finish == FinishReason::kError) ++stats.failed;
    finished.push_back(std::move(sequence));
    return true;
  };
  std::erase_if(running, take);
  std::erase_if(waiting, take);
}

void Engine::State::admit() {
  while (!waiting.empty() && static_cast<int>(running.size()) < options.max_batch) {
    Sequence& next = *waiting.front();
    // What the running ones take in this step is set aside, so that admission does not lead to
    // preemption at once.
    const int64_t needed = pages_for(static_cast<int64_t>(next.tokens().size()) + 1);
    int64_t promised = 0;
    for (const auto& sequence : running) {
      const int64_t tokens = static_cast<int64_t>(sequence->tokens().size()) + 1;
      promised += std::max<int64_t>(0, pages_for(tokens) - sequence->kv->pages());
    }
    if (needed + promised > pool.free_pages()) {
      if (!running.empty()) return;
      next.fail(
          "kv_exhausted",
          fmt::format(
              "{} tokens are reached and the KV cache holds no more than {} "
              "(EngineOptions::max_pages)",
              next.tokens().size(),
              pool.max_pages() * kPageTokens
          )
      );
      collect_finished();
      continue;
    }
    next.kv.emplace(pool);
    if (proposer) next.proposer_state = proposer->begin();
    running.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
}

// Drafts of the sequences that decode in this step, by index in `running`.
std::vector<Draft> Engine::State::propose() {
  std::vector<Draft> drafts(running.size());
  if (!proposer || options.draft_tokens == 0) return drafts;
  std::vector<ProposerState*> states;
  std::vector<int> max_nodes;
  std::vector<size_t> owners;
  for (size_t i = 0; i < running.size(); ++i) {
    const Sequence& sequence = *running[i];
    // A node needs a position of its own, and the target's token comes on top of the draft.
    const int64_t room = std::min<int64_t>(options.draft_tokens, sequence.remaining() - 1);
    if (sequence.pending() != 1 || sequence.kv->length() == 0 || room < 1) continue;
    states.push_back(sequence.proposer_state.get());
    max_nodes.push_back(static_cast<int>(room));
    owners.push_back(i);
  }
  if (states.empty()) return drafts;
  std::vector<Draft> proposed = proposer->propose(states, max_nodes);
  check(
      proposed.size() == states.size(),
      "proposer {} made {} drafts for {} sequences",
      proposer->name(),
      proposed.size(),
      states.size()
  );
  for (size_t i = 0; i < owners.size(); ++i) {
    check_draft(proposed[i], max_nodes[i], model.config().vocab, proposer->name());
    drafts[owners[i]] = std::move(proposed[i]);
  }
  return drafts;
}

// Reserves the turn's slots. Falls back to decoding without the draft, then takes the cache of
// those admitted later. False when the sequence itself has to wait or has failed.
bool Engine::State::make_room(size_t index, Turn& turn) {
  Sequence& sequence = *turn.sequence;
  if (sequence.kv->reserve(static_cast<int64_t>(turn.tokens.size()))) return true;
  if (!turn.draft.empty()) {
    turn.draft.clear();
    turn.parents.clear();
    turn.tokens.resize(1);
    if (sequence.kv->reserve(1)) return true;
  }
  while (running.size() > index + 1) {
    ++stats.preemptions;
    running.back()->preempt();
    waiting.push_front(std::move(running.back()));
    running.pop_back();
    if (sequence.kv->reserve(static_cast<int64_t>(turn.tokens.size()))) return true;
  }
  if (index == 0) {
    sequence.fail(
        "kv_exhausted",
        fmt::format(
            "the KV cache is full at {} tokens (EngineOptions::max_pages is {})",
            sequence.tokens().size(),
            pool.max_pages()
        )
    );
    return false;
  }
  ++stats.preemptions;
  sequence.preempt();
  waiting.push_front(std::move(running.back()));
  running.pop_back();
  return false;
}

std::vector<Turn> Engine::State::plan(std::vector<Draft> drafts) {
  std::vector<Turn> turns;
  int64_t budget = options.step_tokens;
  for (size_t i = 0; i < running.size(); ++i) {
    Sequence& sequence = *running[i];
    Turn turn;
    turn.sequence = &sequence;
    turn.length0 = sequence.kv->length();
    const int64_t pending = sequence.pending();
    const std::vector<int32_t>& tokens = sequence.tokens();
    turn.prefill = pending > 1 || tokens.size() == sequence.request().prompt.size();
    if (pending == 1) {
      turn.last = true;
      turn.draft = std::move(drafts[i]);
      DraftRows rows = draft_rows(tokens.back(), turn.draft);
      turn.tokens = std::move(rows.tokens);
      if (!turn.draft.empty()) turn.parents = std::move(rows.parents);
    } else {
      const int64_t chunk = std::min({pending, options.prefill_chunk, budget});
      if (chunk == 0) continue;
      budget -= chunk;
      turn.last = chunk == pending;
      turn.tokens.assign(tokens.begin() + turn.length0, tokens.begin() + turn.length0 + chunk);
    }
    if (make_room(i, turn)) turns.push_back(std::move(turn));
  }
  return turns;
}

void Engine::State::observe(const Turn& turn, const Verification* verification) {
  Sequence& sequence = *turn.sequence;
  if (!proposer || sequence.finished()) return;
  std::vector<int32_t> tokens;
  std::vector<int64_t> rows;
  if (turn.draft.empty()) {
    tokens = turn.tokens;
    rows.resize(tokens.size());
    std::iota(rows.begin(), rows.end(), turn.row0);
  } else {
    tokens.push_back(turn.tokens.front());
    rows.push_back(turn.row0);
    for (const int64_t node : verification->path) {
      tokens.push_back(turn.draft[static_cast<size_t>(node)].token);
      rows.push_back(turn.row0 + 1 + node);
    }
  }
  const int32_t next = sequence.tokens()[static_cast<size_t>(sequence.kv->length())];
  proposer->observe(*sequence.proposer_state, tokens, rows, next);
}

void Engine::State::take_results(const Turn& turn) {
  Sequence& sequence = *turn.sequence;
  if (turn.prefill) stats.prompt_tokens += static_cast<int64_t>(turn.tokens.size());
  if (!turn.last) {
    observe(turn, nullptr);
    return;
  }
  const int64_t vocab = model.config().vocab;
  const std::span<const float> all = std::as_const(output.logits).as<float>();
  const std::span<const float> logits = all.subspan(
      static_cast<size_t>(turn.first_logits * vocab),
      (turn.draft.size() + 1) * static_cast<size_t>(vocab)
  );
  Verification verification;
  try {
    verification = verify(
        turn.draft,
        logits,
        vocab,
        {.params = sequence.request().sampling,
         .choice = sequence.request().choice,
         .position = sequence.tokens().size()}
    );
  } catch (const DataError& error) {
    sequence.fail(
        "numerical_error", fmt::format("{} at position {}", error.what(), sequence.tokens().size())
    );
    return;
  }
  count_draft(sequence, turn, verification);
  if (!turn.draft.empty()) sequence.kv->compact(turn.length0 + 1, verification.path);
  int64_t row = -1;
  for (size_t i = 0; i < verification.tokens.size() && !sequence.finished(); ++i) {
    const size_t at = static_cast<size_t>((row + 1) * vocab);
    sequence.append(verification.tokens[i], logits.subspan(at, static_cast<size_t>(vocab)));
    if (i < verification.path.size()) row = verification.path[i];
  }
  observe(turn, &verification);
}

void Engine::State::count_draft(
    Sequence& sequence, const Turn& turn, const Verification& verification
) {
  RequestStats& request = sequence.completion().stats;
  ++request.verifications;
  if (turn.draft.empty()) return;
  const std::vector<int> depths = draft_depths(turn.draft);
  const auto deepest = static_cast<size_t>(*std::ranges::max_element(depths));
  for (size_t depth = 0; depth <= deepest; ++depth) {
    count_at(request.drafted_at, depth, 1);
    count_at(stats.drafted_at, depth, 1);
    const int accepted = depth < verification.path.size() ? 1 : 0;
    count_at(request.accepted_at, depth, accepted);
    count_at(stats.accepted_at, depth, accepted);
  }
}

Engine::Engine(
    Model& model,
    std::shared_ptr<const Tokenizer> tokenizer,
    EngineOptions options,
    std::unique_ptr<Proposer> proposer
)
    : state_(std::make_unique<State>(model, std::move(tokenizer), options, std::move(proposer))) {}

Engine::~Engine() = default;

RequestId Engine::submit(Request request, Listener listener) {
  state_->check_request(request);
  const RequestId id = state_->next_id++;
  const Sequence::Limits limits{
      .max_positions = state_->model.config().max_positions,
      .max_repeats = state_->options.max_repeats};
  state_->waiting.push_back(std::make_unique<Sequence>(
      id, std::move(request), std::move(listener), state_->tokenizer, limits
  ));
  return id;
}

void Engine::cancel(RequestId id) {
  const auto mark = [id](const std::unique_ptr<Sequence>& sequence) {
    if (sequence->id() == id) sequence->cancelled = true;
  };
  std::ranges::for_each(state_->running, mark);
  std::ranges::for_each(state_->waiting, mark);
}

bool Engine::step() {
  State& s = *state_;
  if (s.running.empty() && s.waiting.empty()) return false;
  ++s.stats.steps;
  s.drop_cancelled();
  s.collect_finished();
  s.admit();
  std::vector<Turn> turns = s.plan(s.propose());
  if (!turns.empty()) {
    s.forward(turns);
    for (const Turn& turn : turns) s.take_results(turn);
  }
  s.collect_finished();
  s.report();
  return true;
}

int Engine::running() const {
  return static_cast<int>(state_->running.size());
}

int Engine::waiting() const {
  return static_cast<int>(state_->waiting.size());
}

int64_t Engine::free_pages() const {
  return state_->pool.free_pages();
}

const EngineStats& Engine::stats() const {
  return state_->stats;
}

std::vector<Completion> Engine::generate(
    std::vector<Request> requests, const std::function<void(int64_t)>& progress
) {
  std::vector<Completion> results(requests.size());
  int64_t done = 0;
  std::vector<RequestId> ids;
  // An exception must not leave requests behind that write into `results`.
  struct Guard {
    Engine& engine;
    std::vector<RequestId>& ids;
    bool armed = true;
    ~Guard() {
      if (armed) engine.forget(ids);
    }
  } guard{*this, ids};
  for (size_t i = 0; i < requests.size(); ++i) {
    ids.push_back(submit(std::move(requests[i]), [&results, &done, i](const Update& update) {
      if (update.done == nullptr) return;
      results[i] = *update.done;
      ++done;
    }));
  }
  int64_t told = 0;
  while (done < static_cast<int64_t>(results.size())) {
    check(step(), "the engine is idle with {} of {} requests done", done, results.size());
    if (progress && done > told) progress(done);
    told = done;
  }
  guard.armed = false;
  return results;
}

void Engine::forget(const std::vector<RequestId>& ids) {
  const auto known = [&ids](const std::unique_ptr<Sequence>& sequence) {
    return std::ranges::find(ids, sequence->id()) != ids.end();
  };
  std::erase_if(state_->running, known);
  std::erase_if(state_->waiting, known);
  std::erase_if(state_->finished, known);
}

void Engine::State::forward(std::vector<Turn>& turns) {
  std::vector<SequenceInput> batch;
  int64_t row = 0;
  for (Turn& turn : turns) {
    turn.row0 = row;
    row += static_cast<int64_t>(turn.tokens.size());
    const LogitRows wanted = !turn.last           ? LogitRows::kNone
                             : turn.draft.empty() ? LogitRows::kLast
                                                  : LogitRows::kAll;
    batch.push_back(
        {.tokens = turn.tokens,
         .kv = &*turn.sequence->kv,
         .parents = turn.parents,
         .logits = wanted}
    );
  }
  model.forward(batch, output, proposer ? proposer->taps() : nullptr);
  for (size_t i = 0; i < turns.size(); ++i) turns[i].first_logits = output.first_row[i];
}

void Engine::State::report() {
  // Listeners may submit and cancel, which grows `waiting`: those that ran in this step only.
  for (const auto& sequence : running) sequence->report();
  std::vector<std::unique_ptr<Sequence>> ended;
  ended.swap(finished);
  for (const auto& sequence : ended) {
    stats.generated_tokens += sequence->completion().stats.output_tokens;
    sequence->report();
  }
}

}  // namespace hone
