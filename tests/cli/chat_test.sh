#!/usr/bin/env bash
# hone chat: history, commands, end of input, Ctrl-C.
source "$(dirname "$0")/lib.sh" "$1"

tram="There were 18 people on a tram. At a stop, 3 got off and 6 got on. How many people are on the tram now?"
answer=$(printf '%s\n' "$tram" | "$hone" chat "$demo" -q)
expect_contains "$answer" "#### 21"

talk=$(printf '%s\n/history\n/reset\n/history\n/nonsense\n/exit\nnot reached\n' "$tram" | "$hone" chat "$demo" -q)
expect_contains "$talk" "user: There were 18 people"
expect_contains "$talk" "assistant: "
[[ $(grep -c "^user: " <<<"$talk") -eq 1 ]] || fail "/reset kept the conversation: $talk"
expect_contains "$talk" "unknown command /nonsense"
[[ $talk != *"not reached"* ]] || fail "went on after /exit"

# A second turn sees the first.
two=$(printf 'My name is Tom.\n%s\n/history\n' "$tram" | "$hone" chat "$demo" --system "Be brief." -q)
[[ $(grep -c "^user: " <<<"$two") -eq 2 ]] || fail "history has not two turns: $two"
expect_contains "$two" "system: Be brief."

# A question that cannot fit is answered with what to do, and the conversation goes on.
long=$(printf 'word %.0s' $(seq 2000))
rest=$(printf '%s\n%s\n' "$long" "$tram" | "$hone" chat "$demo" -q)
expect_contains "$rest" "/reset starts anew"
expect_contains "$rest" "#### 21"

# Without a chat template.
cp -r "$demo" "$scratch/plain"
echo '{}' >"$scratch/plain/tokenizer_config.json"
expect_exit 1 "$hone" chat "$scratch/plain"
expect_contains "$output" "chat template"
