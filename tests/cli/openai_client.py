"""What users of the openai client rely on, against a running `hone serve` (argument: base URL)."""
import concurrent.futures
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none")
HENS = "Walter has 11 hens and each hen lays 2 eggs a day. How many eggs are there after 4 days?"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def chat(content, **options):
    return client.chat.completions.create(
        model="demo", messages=[{"role": "user", "content": content}], **options
    )


assert [m.id for m in client.models.list()] == ["demo"]

plain = chat(HENS, temperature=0, max_tokens=100)
assert plain.choices[0].message.content.endswith("#### 88"), plain
assert plain.choices[0].finish_reason == "stop"
assert plain.usage.total_tokens == plain.usage.prompt_tokens + plain.usage.completion_tokens

stream = chat(
    HENS, temperature=0, max_tokens=100, stream=True, stream_options={"include_usage": True}
)
chunks = list(stream)
text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
assert text == plain.choices[0].message.content
assert chunks[-1].usage.completion_tokens == plain.usage.completion_tokens

call = chat("What is the weather in Paris?", tools=[TOOL], temperature=0, max_tokens=100)
tool_call = call.choices[0].message.tool_calls[0]
assert tool_call.function.name == "get_weather"
assert json.loads(tool_call.function.arguments) == {"city": "Paris"}
assert call.choices[0].finish_reason == "tool_calls"

# The answer of a tool goes back as a message.
followed = client.chat.completions.create(
    model="demo",
    messages=[
        {"role": "user", "content": "What is the weather in Paris?"},
        call.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": tool_call.id, "content": "sunny, 21 degrees"},
    ],
    tools=[TOOL],
    max_tokens=50,
)
assert followed.choices[0].finish_reason in ("stop", "length", "tool_calls")

first = chat("Tell me a story.", temperature=1.0, max_tokens=40)
again = chat("Tell me a story.", temperature=1.0, max_tokens=40, seed=first.model_extra["seed"])
assert first.choices[0].message.content == again.choices[0].message.content

logprobs = chat(HENS, temperature=0, max_tokens=3, logprobs=True, top_logprobs=2)
assert len(logprobs.choices[0].logprobs.content) == 3

completion = client.completions.create(model="demo", prompt="Hello", max_tokens=4, n=2)
assert len(completion.choices) == 2

for options, field in (
    ({"temperature": -1}, "temperature"),
    ({"extra_body": {"max_tokens": "many"}}, "max_tokens"),
    ({"extra_body": {"stop": 5}}, "stop"),
):
    try:
        chat(HENS, **options)
        raise AssertionError(f"{options} was accepted")
    except openai.BadRequestError as error:
        assert error.param == field, error
try:
    chat("word " * 3000)
    raise AssertionError("a too long prompt was accepted")
except openai.BadRequestError as error:
    assert error.code == "context_length_exceeded"
try:
    client.chat.completions.create(model="other", messages=[{"role": "user", "content": "x"}])
    raise AssertionError("an unknown model was accepted")
except openai.NotFoundError:
    pass

with concurrent.futures.ThreadPoolExecutor(8) as pool:
    ask = lambda i: chat(HENS, temperature=0, max_tokens=60).choices[0].message.content
    assert len(set(pool.map(ask, range(16)))) == 1
print("openai client: all as expected")
