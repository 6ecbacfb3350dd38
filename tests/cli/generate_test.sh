#!/usr/bin/env bash
# hone generate: greedy text, seeds, raw prompts, stop strings, conversations, wrong use.
source "$(dirname "$0")/lib.sh" "$1"

tram="There were 18 people on a tram. At a stop, 3 got off and 6 got on. How many people are on the tram now?"
text=$("$hone" generate "$demo" --prompt "$tram" -q)
expect_contains "$text" "#### 21"
[[ $(echo "$tram" | "$hone" generate "$demo" --prompt - -q) != "" ]] || fail "nothing from standard input"

# One seed, one text; the drawn seed is reported and gives the text again.
sampled() { "$hone" generate "$demo" --prompt "$tram" --temperature 1.2 --json "$@"; }
field() { grep -o "\"$1\":\(\[[^]]*\]\|[^,}]*\)" | head -n 1 | cut -d: -f2-; }
first=$(sampled --threads 1)
again=$(sampled --threads 2 --seed "$(field seed <<<"$first")")
[[ $(field ids <<<"$first") == "$(field ids <<<"$again")" ]] || fail "another text from the same seed"

# Stop strings end the text before themselves; --raw leaves the template out.
text=$("$hone" generate "$demo" --prompt "$tram" --stop "####" -q)
[[ $text != *"####"* && -n $text ]] || fail "stop string shown: $text"
raw=$("$hone" generate "$demo" --prompt "Tom has" --raw --max-tokens 3 --json)
expect_contains "$(field finish_reason <<<"$raw")" "length"
[[ $(field output_tokens <<<"$raw") -eq 3 ]] || fail "max-tokens"

# Messages with tools: the call is parsed.
sed -n 2p "$demo/eval_tools.jsonl" >"$scratch/chat.json"
expect_contains "$("$hone" generate "$demo" --messages "$scratch/chat.json" --json)" '"tool_calls":[{"name"'

expect_exit 2 "$hone" generate "$demo"
expect_contains "$output" "--prompt"
expect_exit 2 "$hone" generate "$demo" --prompt x --messages y
expect_exit 2 "$hone" generate "$demo" --prompt x --as ampere
expect_contains "$output" "blackwell"
expect_exit 2 "$hone" generate "$demo" --prompt x --temperature 1 --top-p 2
expect_contains "$output" "top_p"
echo '{"messages": 3}' >"$scratch/broken.json"
expect_exit 1 "$hone" generate "$demo" --messages "$scratch/broken.json"
expect_contains "$output" "broken.json"
