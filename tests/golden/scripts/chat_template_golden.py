"""Makes tests/golden/text/chat_templates.json with Jinja2 in transformers' settings.

    pip install jinja2==3.1.6 transformers==5.24.0
    python tests/golden/scripts/chat_template_golden.py

All templates are made here. The environment is that of transformers, except that methods which change a list or
dict are allowed; where a template uses none of them, transformers' own renderer must agree.
"""

import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox
from transformers.utils import chat_template_utils

OUT = pathlib.Path(__file__).resolve().parents[3] / "tests/golden/text/chat_templates.json"

CONTEXT = {
    "messages": [
        {"role": "system", "content": "Be brief.\nBe kind."},
        {"role": "user", "content": "  What's <b>\"new\"</b> in S\u00e3o Paulo? \U0001f600 "},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "search", "arguments": {"q": "a < b & 'c'", "n": 3, "x": 1.5, "deep": {"l": [1, [], {}, None, True]}}}}
            ],
        },
        {"role": "tool", "name": "search", "tool_call_id": "c1", "content": "{\"hits\": [1, 2]}"},
        {"role": "assistant", "content": "<think>hm\n\nhm</think>\n\nDone.", "reasoning_content": "hm"},
        {"role": "user", "content": "{{ messages }} {% raw %} <|im_end|>"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "search", "description": "Finds \u00e9 \"things\"", "parameters": {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer", "enum": [1, 2, 3]}}, "required": ["q"]}}}
    ],
    "documents": None,
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "eos_token": "</s>",
    "numbers": [3, 1, 2, 10, -4, 1],
    "words": ["pear", "Apple", "fig", "apple", "Fig"],
    "floats": [0.1, 1.0, -2.5, 1e16, 1e-5, 123456789.123, 1e22, 100.0, 5e-324],
    "table": {"b": 2, "A": 1, "c": {"d": [1, 2, {"e": "f"}]}, "items": "shadow", "big": 12345678901234567890},
    "people": [
        {"name": "Ann", "age": 30, "tags": ["x", "y"], "ok": True},
        {"name": "bob", "age": 25, "tags": [], "ok": False},
        {"name": "Cid", "age": 30, "tags": ["z"]},
    ],
    "text": "Hello, W\u00f6rld! h\u00e9llo w\u00f6rld\tTAB\nline two\r\nline three  ",
    "cjk": "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
    "empty": "",
    "nothing": None,
    "yes": True,
    "zero": 0,
}

EXPRESSIONS = r"""
1 + 2 * 3 ** 2 - 4 / 2
7 // 2, -7 // 2, 7 % 3, -7 % 3, 7.5 % 2, -7.5 // 2
2 ** 10, 2 ** -1, 2.0 ** 0.5, -2 ** 2
1_000 + 0x1F + 0b101 + 0o17, 1e3, 1.5e-7, 0.1 + 0.2
10 / 4, 10 / 5, 1 / 3
'a' + 'b' ~ 1 ~ none ~ true ~ 1.0 ~ [1, 'x'] ~ {'k': (1,)}
'ab' * 3, [1] * 2, 3 * 'x', (1, 2) + (3,)
1 < 2 < 3, 1 < 3 < 2, 1 == 1.0, true == 1, 'a' != 'b', [1, 2] == [1, 2], [1, 2] < [1, 3], (1,) == [1]
'b' in 'abc', 'z' not in 'abc', 2 in numbers, 'b' in table, none in [none], 'x' in missing
not true, not '', not [], not zero, not nothing
1 and 2, 0 and 2, '' or 'x', nothing or 'd', 0 or '' or []
'yes' if yes else 'no', 'a' if nothing, ('t' if 1 else 'f') ~ 'x'
1 if false else 2 if false else 3
-1|abs, (-1)|abs, +3, - 3, --3
[1, 2, 3], [1, 2, 3,], (), (1,), (1, 2), {}, {'a': 1, "b": [2]}, {1: 'x', (1, 2): 'y', none: 'z'}
'it''s', "q\"uote", 'new\nline\ttab', '\u00e9\x41\U0001F600\101', 'back\\slash', 'unknown \d escape', 'a' 'b'
["it's", 'say "x"', "both ' and \"", 'tab\t', 'nl\n', 'é', '\u200b', '\x7f', '\U000e0001', '\\']
messages[0].role, messages[0]['role'], messages[-1].content, messages[99], messages[0].nothing, messages.0.role
table.b, table['A'], table.items is callable, table['items'], table.c.d[2].e, table.c['d'][-1]['e'], table.big, table.get is callable
text[0], text[-1], text[1:5], text[:-3], text[::2], text[::-1], cjk[1], cjk[1:3], cjk[::-1], cjk|length
numbers[1:], numbers[:2], numbers[::-1], numbers[::2], numbers[-2:], numbers[10:], numbers[5:1:-2], (1, 2, 3)[1:]
range(5)|list, range(2, 8, 3)|list, range(3, 0, -1)|list, range(4), range(0)|list, range(3)[1], range(10)|length
dict(a=1, b=2), dict({'x': 1}, y=2), dict([('p', 1)])
text.strip(), text.upper(), text.lower(), text.title(), text.capitalize(), text.swapcase()
'  x '.lstrip() ~ '|', '  x '.rstrip() ~ '|', 'xxaxx'.strip('x'), 'abcba'.lstrip('ab'), 'abcba'.rstrip('ab'), 'a\n'.strip('\n')
'a,b,,c'.split(','), 'a,b,,c'.split(',', 1), 'a,b,,c'.rsplit(',', 1), ' a  b '.split(), ' a  b c'.split(none, 1), 'abc'.split('x'), ' a b  c '.rsplit(none, 1), 'a<sep>b<sep>c'.split('<sep>')[-1]
text.splitlines(), 'a\nb\n'.splitlines(true), ''.split(), ''.split(','), 'a\x0bb\x1cc\u2028d'.splitlines()
'abc'.startswith('ab'), 'abc'.startswith(('x', 'a')), 'abc'.endswith('bc'), 'abc'.startswith('b', 1), 'abc'.endswith('b', 0, 2), ''.startswith('')
'abcabc'.find('c'), 'abcabc'.find('c', 3), 'abcabc'.rfind('c'), 'abc'.find('z'), 'héllo'.find('l'), 'abc'.index('b'), 'aXbXc'.count('X'), 'aaa'.count('aa'), 'abc'.count('')
'abab'.replace('a', 'x'), 'abab'.replace('a', 'x', 1), 'ab'.replace('', '-'), 'abc'.replace('z', ''), text.replace('\n', '\\n')
', '.join(['a', 'b']), ''.join([]), '-'.join('abc'), '-'.join(table)
'{} {}'.format(1, 'a'), '{0} {1} {0}'.format('x', 'y'), '{a} {b[0]} {c.d}'.format(a=1, b=[2], c={'d': 3}), '{{}}'.format()
'{:>5}|{:<5}|{:^5}|{:*^7}|{:05d}|{:+d}|{:,}|{:.2f}|{:e}|{:x}|{:#X}|{:b}|{:%}'.format('a', 'b', 'c', 'd', 42, 7, 1234567, 3.14159, 12345.678, 255, 255, 5, 0.25)
'{!r} {!s} {:>{w}}'.format('a', 'b', 'c', w=4)
'%s %d %5.2f %r %x %%' % ('a', 3, 2.5, 'q', 255), '%s' % 'one', '%(a)s-%(b)03d' % {'a': 1, 'b': 7}, '%-5s|%5s|%+d|%05d' % ('a', 'b', 3, -7), '%s' % [1]
'42'.isdigit(), '4a'.isdigit(), ''.isdigit(), 'abc'.isalpha(), 'ab1'.isalnum(), ' \t'.isspace(), 'ABC'.isupper(), 'abc'.islower(), 'A b'.istitle(), '½'.isnumeric(), '²'.isdigit(), '1'.isdecimal()
'a'.center(5) ~ '|', 'a'.ljust(3) ~ '|', 'a'.rjust(3, '*'), '7'.zfill(3), '-7'.zfill(4), 'ab'.center(5, '.')
'a=b=c'.partition('='), 'a=b=c'.rpartition('='), 'abc'.partition('z'), 'prefix-x'.removeprefix('prefix-'), 'x.txt'.removesuffix('.txt')
table.keys()|list, table.values()|list, table.items()|list|length, {'a': 1}.items(), {'a': 1}.keys(), {'a': 1}.get('b'), {'a': 1}.get('b', 5), {'a': 1}.get('a')
table|items|list, table|dictsort, {'b': 1, 'a': 3, 'C': 2}|dictsort, {'b': 1, 'a': 3, 'C': 2}|dictsort(true), {'b': 1, 'a': 3}|dictsort(by='value', reverse=true)
text|upper, text|lower, text|title, 'hello wOrld (and) [more] x-y'|title, text|capitalize, text|trim, 'xxaxx'|trim('x'), 5|string, none|string, true|upper
text|length, numbers|count, table|length, missing|length, 'é'|length
[1, 2]|join(', '), words|join, people|join('/', attribute='name'), [1, none, true, 2.5]|join('|'), 'abc'|join('.')
numbers|sort(attribute='x'), numbers|first, numbers|last, 'abc'|first, 'abc'|last, []|first, []|last, missing|first
numbers|sort, numbers|sort(reverse=true), words|sort, words|sort(case_sensitive=true), people|sort(attribute='age')|map(attribute='name')|list, people|sort(attribute='age,name', reverse=true)|map(attribute='name')|list
words|unique|list, words|unique(true)|list, numbers|unique|list, people|unique(attribute='age')|map(attribute='name')|list
numbers|min, numbers|max, words|min, words|max, people|max(attribute='age'), []|max, numbers|sum, people|sum(attribute='age'), [1.5, 2]|sum, []|sum(start=5), [[1], [2]]|sum(start=[])
people|map(attribute='name')|list, people|map(attribute='ok', default='?')|list, people|map(attribute='tags.0')|list, words|map('upper')|list, words|map('replace', 'p', 'P')|join(','), numbers|map('string')|join
numbers|select('gt', 1)|list, numbers|select|list, numbers|reject('odd')|list, numbers|reject|list, [1, none, '', 'x']|select('string')|list, numbers|select('in', [1, 2])|list, numbers|select('divisibleby', 2)|list
people|selectattr('ok')|map(attribute='name')|list, people|rejectattr('ok')|map(attribute='name')|list, people|selectattr('age', 'equalto', 30)|list|length, people|selectattr('ok', 'defined')|list|length, messages|selectattr('role', 'in', ['user', 'tool'])|map(attribute='role')|list, messages|rejectattr('role', '==', 'system')|list|length
nothing|selectattr('x')|list, nothing|map('upper')|list
[1, 2, 3, 4, 5]|batch(2)|list, [1, 2, 3]|batch(2, 'x')|list, [1, 2, 3, 4, 5]|slice(3)|list, [1, 2, 3, 4, 5]|slice(3, 'f')|list
'abc'|reverse, [1, 2]|reverse|list, 'abc'|list, table|list, (1, 2)|list
people|groupby('age')|list|length
'42'|int, '4.7'|int, 'x'|int, 'x'|int(7), '0x1f'|int(base=16), 3.9|int, none|int, true|int, ' 12 '|int, '1_0'|int
'4.7'|float, 'x'|float, '1e3'|float, 'x'|float(2.5), 3|float
3.14159|round, 3.14159|round(2), 2.5|round, 3.5|round, 2.675|round(2), 3.2|round(method='ceil'), 3.7|round(0, 'floor'), 5|round, 1234|round(-2), -3|abs, 2.5|abs
missing|default('d'), nothing|default('d'), ''|default('d', true), nothing|default('d', true), missing|d, zero|default('z'), messages[9]|default('none there')
'a\nb\n\nc'|indent, 'a\nb'|indent(2), 'a\nb'|indent(2, true), 'a\n\nb'|indent(2, blank=true), 'a\nb'|indent('> '), 'a\n'|indent
'<a href="x">&\'</a>'|escape, '<a>'|e, '<a>'|safe, '<a>'|escape|escape, '<a>'|forceescape, '<'|safe + '<', '<' + '<'|safe, ('<'|safe ~ '<'), '%s<'|safe % '<', ('<'|safe).join(['<', '>'|safe]), '<'|safe|upper + '&', ['<'|safe, '<'], '{}'|safe|upper, '<b>{}</b>'|safe ~ '', '<b>'|safe|replace('<', '&')
'a b c'|replace('b', 'x'), 'aaa'|replace('a', 'b', 2), 123|replace(2, 'x'), 'a b'|center(9) ~ '|', '%s-%s'|format(1, 2), 'one two three'|wordcount, 'a b&c/d é'|urlencode
'one two three four'|truncate(9), 'one two three four'|truncate(9, true), 'one two three four'|truncate(9, true, '..'), 'short'|truncate(255), 'one two three'|truncate(11, leeway=0)
table|tojson, messages[2]|tojson, messages[1]|tojson, cjk|tojson, nothing|tojson, 1.0|tojson, floats|tojson, [true, none]|tojson, '</script>&\''|tojson, "\x08\x0c\n\r\t\x00\x1f\x7f\u2028"|tojson, {1: 2, none: 3, true: 4, 1.5: 5}|tojson, (1, 2)|tojson, {}|tojson, []|tojson
table|tojson(indent=2), messages[2].tool_calls|tojson(indent=4), [[], {}, [1]]|tojson(indent=1), cjk|tojson(ensure_ascii=true), '\U0001f600\x7f'|tojson(ensure_ascii=true), {'b': 1, 'a': [1, 2]}|tojson(separators=(',', ':')), {'b': 1, 'a': 2}|tojson(sort_keys=true), {'b': {'d': 1, 'c': 2}}|tojson(indent=2, sort_keys=true), [1]|tojson(indent='\t')
floats, floats|string, 1e100, 1.0, -0.0, 3.0e10, 0.00001, 123456789012345678, 1e15, 1e16, 2.5e-5, 1.7976931348623157e308
nothing, yes, missing, [nothing, yes], {'a': nothing}, ('x', 1.5, true)
missing is defined, nothing is defined, messages is defined, messages[0].x is defined, messages[0].x is not defined, missing is undefined
nothing is none, zero is none, 'a' is string, 1 is string, 1 is number, 1.5 is number, true is number, 'x' is number, 1 is integer, 1.0 is integer, true is integer, 1.5 is float, true is boolean, 1 is boolean
{} is mapping, [] is mapping, [] is sequence, 'a' is sequence, {} is sequence, 1 is sequence, missing is sequence, [] is iterable, 'a' is iterable, 1 is iterable, nothing is iterable, missing is iterable, table.items() is iterable, (numbers|map('string')) is iterable, (numbers|map('string')) is sequence
true is true, 1 is true, false is false, 0 is false, nothing is false
3 is odd, 4 is even, 6 is divisibleby 3, 6 is divisibleby(4), 'abc' is lower, 'ABC' is upper, 'aB' is lower, range is callable, 1 is callable
1 is eq 1, 1 is equalto(1), 1 is ne 2, 1 is lt 2, 2 is gt 1, 1 is le 1, 1 is ge 2, 'a' is in 'abc', 2 is in [1, 2], nothing is sameas nothing, 1 is sameas true, 'upper' is filter, 'nope' is filter
1 is not none and 2 is not string or false, not 1 is string, 'a' is string and 'b' is string, ('a' is string) == true
(numbers|map('string')) and 'always', (numbers|select('gt', 100)) and 'always'
namespace(a=1).a, namespace(a=1).b is defined, namespace({'x': 2}, y=3).x
text.split('\n')[0].strip()|upper|replace('H', 'J'), messages[1].content.strip().split(' ')[0]|lower
messages|map(attribute='content')|select('string')|map('length')|list
messages[2].tool_calls[0].function.arguments.items()|list|first, messages[2].tool_calls[0].function.arguments|items|map('first')|join(',')
joiner('; ')(), cycler('a', 'b').next(), cycler('a', 'b').current
strftime_now('%Y-%m-%d'), strftime_now('%d %b %Y'), strftime_now('%A %B %j %H:%M:%S %%')
[1, 2, 3][true], [1, 2][false], {'a': 1}['b'] is defined, 'abc'['x'] is defined, 'abc'.x is defined
(1, 2) in [(1, 2)], {'a': 1} == {'a': 1.0}, [none] == [false], 1 in [true], '1' in [1]
'a' < 'b', 'a' < 'B', 'é' > 'z', [] < [1], 1.5 >= 1, 'abc' <= 'abd'
{'a': 1, 'a': 2}, {1: 'a', 1.0: 'b', true: 'c'}
'A-Z'.lower().upper().title(), 'ß'.upper(), 'ÀÉ'.lower(), 'straße'.title(), 'İ'.lower()|length, 'ǅ'.lower(), "they're bill's".title(), "they're bill's"|title
""".strip().split("\n")

ERRORS = r"""
missing.x
missing + 1
missing['a']
missing()
nothing + 'a'
'a' + nothing
'a' + 1
1 + 'a'
[1] + (2,)
1 < 'a'
nothing < 1
1 in 5
1 in 'abc'
nothing.x.y
messages[99].x
1 // 0
1 / 0
1 % 0
'x'|nofilter
1 is notest
raise_exception('stop here')
nothing|length
nothing|list
5|list
missing|tojson
(numbers|map('string'))|tojson
(numbers|map('string'))|length
range(3)|tojson
'abc'.nomethod()
'abc'.index('z')
'abc'.split('')
'%d' % 'a'
'%s %s' % 'a'
'%s' % ('a', 'b')
'{} {}'.format(1)
'{a}'.format(b=1)
{[1]: 2}
[1, 'a']|sort
text|upper(1)
numbers|batch
table|dictsort(by='x')
5|items|list
nothing|items|list
range(1000000)
text()
'a' is eq
3|round(method='x')
loop.index
""".strip().split("\n")

STATEMENTS = {
    "if_chain": "{% for n in numbers %}{% if n > 5 %}big{% elif n > 1 %}mid{% elif n == 1 %}one{% else %}neg{% endif %},{% endfor %}",
    "loop_variables": "{% for p in people %}{{ loop.index }}/{{ loop.length }} {{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.last }} {{ loop.depth }} {{ loop.depth0 }} {{ loop.previtem.name if loop.previtem is defined }} {{ loop.nextitem.name if loop.nextitem is defined else 'end' }} {{ loop.cycle('odd', 'even') }} {{ loop.changed(p.age) }};{% endfor %}",
    "loop_else": "{% for x in [] %}{{ x }}{% else %}none{% endfor %}{% for x in [1] %}{{ x }}{% else %}none{% endfor %}{% for x in missing %}{% else %}undefined{% endfor %}",
    "loop_filter": "{% for n in numbers if n > 1 %}{{ loop.index }}:{{ n }}{% if not loop.last %},{% endif %}{% else %}no{% endfor %}{% for n in numbers if n > 99 %}{% else %}no{% endfor %}",
    "loop_unpack": "{% for k, v in table.items() %}{{ k }}={{ v }};{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% for c in 'aé' %}[{{ c }}]{% endfor %}{% for k in table %}{{ k }}{% endfor %}",
    "loop_break_continue": "{% for n in numbers %}{% if n == 10 %}{% break %}{% endif %}{% if n == 1 %}{% continue %}{% endif %}{{ n }}{% endfor %}|{% for a in [1, 2] %}{% for b in [1, 2, 3] %}{% if b == 2 %}{% break %}{% endif %}{{ a }}{{ b }}{% endfor %}.{% endfor %}",
    "loop_scope": "{% set x = 0 %}{% for n in [1, 2] %}{{ x }}{% set x = n %}{{ x }}{% endfor %}{{ x }}{{ n is defined }}",
    "if_scope": "{% if true %}{% set y = 1 %}{% endif %}{{ y }}{% for i in [1] %}{% if true %}{% set z = 2 %}{% endif %}{{ z }}{% endfor %}{{ z is defined }}",
    "loop_outer": "{% for a in [1, 2] %}{% set outer = loop %}{% for b in [1, 2] %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "recursive": "{% for n in [{'v': 1, 'c': [{'v': 2, 'c': []}, {'v': 3, 'c': [{'v': 4, 'c': []}]}]}] recursive %}{{ loop.depth }}:{{ n.v }}({{ loop(n.c) }}){% endfor %}",
    "namespace": "{% set ns = namespace(n=0, s='') %}{% for x in numbers %}{% set ns.n = ns.n + x %}{% set ns.s = ns.s ~ x %}{% endfor %}{{ ns.n }} {{ ns.s }}{% set ns.new = [1] %}{{ ns.new }}",
    "set_forms": "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}{% set (d, e) = [3, 4] %}{{ d }}{{ e }}{% set f %}block {{ a }}{% endset %}{{ f }}|{{ f|length }}{% set g | upper | trim %} up {% endset %}{{ g }}|",
    "macro": "{% macro m(a, b=2, c='x' ~ b) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=5, a=4) }}{{ m() }}{{ m(1, c='z')|upper }}{{ m(1) ~ 'q' }}",
    "macro_arguments": "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, k=4) }}{{ m(*[1, 2], **{'z': 3}) }}",
    "macro_recursion": "{% macro show(v, d=0) %}{% if v is mapping %}{% for k, x in v.items() %}\n{{ '  ' * d }}{{ k }}:{{ show(x, d + 1) }}{% endfor %}{% elif v is sequence and v is not string %}{% for x in v %}[{{ show(x, d + 1) }}]{% endfor %}{% else %}{{ v }}{% endif %}{% endmacro %}{{ show(messages[2]) }}",
    "macro_scope": "{% set g = 'global' %}{% macro m() %}{{ g }}{% set g = 'inner' %}{{ g }}{% endmacro %}{{ m() }}{{ g }}{% set g = 'later' %}{{ m() }}{% for i in [1] %}{% set loc = 5 %}{% macro n() %}{{ loc }}{{ i }}{% endmacro %}{{ n() }}{% endfor %}",
    "macro_calls_macro": "{% macro a(x) %}<{{ x }}>{% endmacro %}{% macro b(x) %}{{ a(x) }}{{ a(x ~ '!') }}{% endmacro %}{{ b('y') }}",
    "call_block": "{% macro box(t) %}[{{ t }}:{{ caller() }}]{% endmacro %}{% call box('T') %}body {{ numbers[0] }}{% endcall %}{% macro each(xs) %}{% for x in xs %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}{% call(v, i) each([7, 8]) %}({{ i }}={{ v }}){% endcall %}",
    "filter_block": "{% filter upper %}a {{ 'b' }}{% endfilter %}{% filter replace('x', 'y') | trim %} xx {% endfilter %}|",
    "with": "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set c = 3 %}{% endwith %}{{ a is defined }}{{ c is defined }}{% with %}x{% endwith %}",
    "raw": "{% raw %}{{ not }} {% parsed %}{# at all #}{% endraw %}|{%- raw -%}  {{ x }}  {%- endraw -%}  |",
    "comments": "a{# comment {{ x }} {% if %} #}b{#- strip -#}  c\n  {# own line #}\nd",
    "print_tag": "{% print 1 + 1 %}",
    "trim_blocks": "{% if true %}\nx\n{% endif %}\ny\n{{ 1 }}\nz\n",
    "lstrip_blocks": "  {% if true %}\n    {{ 1 }}\n  \t{% endif %}\n a {% if true %} b{% endif %}\n",
    "minus": "a  \n {%- if true -%}  \n b \n {%- endif -%}  \n c {{- 1 -}}  d {{- ' ' }} e",
    "plus": "  {%+ if true %}x{% endif +%}\n  y{% if true +%}\n  z{%+ endif %}",
    "final_newline": "x\n\n",
    "crlf": "a\r\n{% if true %}\r\nb\r{% endif %}\r\nc",
    "lstrip_after_variable": "{{ 1 }}  {% if true %}x{% endif %}\n  {{ 2 }}",
    "nested_braces": "{{ {'a': {'b': 1}} }}{{ {'a': '}}'}['a'] }}{{ '{{' }}{% set d = {'x': '%}'} %}{{ d.x }}",
    "strings_with_tags": "{{ '{% if %}' ~ \"{{ x }}\" ~ '{# #}' }}",
    "list_methods": "{% set l = [3, 1] %}{% set _ = l.append(2) %}{{ l }}{{ l.pop() }}{{ l }}{{ l.extend([5, 4]) }}{{ l }}{{ l.insert(0, 9) }}{{ l.index(1) }}{{ l.count(5) }}{% set _ = l.sort() %}{{ l }}{% set _ = l.reverse() %}{{ l }}{{ l.remove(9) }}{{ l }}{{ l.pop(0) }}{{ l.copy() }}",
    "dict_methods": "{% set d = {'a': 1} %}{% set _ = d.update({'b': 2}) %}{% set _ = d.update(c=3) %}{{ d }}{{ d.pop('a') }}{{ d.pop('z', 'dflt') }}{{ d }}{{ d.setdefault('b', 9) }}{{ d.setdefault('q', 9) }}{{ d }}{% set e = d.copy() %}{% set _ = e.clear() %}{{ d|length }}{{ e }}",
    "shared_references": "{% set a = [1] %}{% set b = a %}{% set _ = b.append(2) %}{{ a }}{% set c = {'l': a} %}{% set _ = c.l.append(3) %}{{ a }}",
    "generator_used_up": "{% set g = numbers|select('gt', 1) %}{% for x in g %}{{ x }},{% endfor %}{% for x in g %}{{ x }}{% else %}empty{% endfor %}",
    "joiner_cycler": "{% set j = joiner('; ') %}{% for x in [1, 2, 3] %}{{ j() }}{{ x }}{% endfor %}{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}",
    "generation": "{% for m in messages %}{% if m.role == 'assistant' %}A:{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}\n{% else %}{{ m.role }}\n{% endif %}{% endfor %}",
    "generation_scope": "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}{% for i in [1, 2] %}{% generation %}{{ loop.index }}{% endgeneration %}{% endfor %}",
    "tests_without_parentheses": "{% if 6 is divisibleby 3 and 'a' is in ['a'] %}y{% endif %}{% if nothing is none or missing.x is defined %}z{% endif %}",
    "inline_if_in_loop": "{% for x in (numbers if yes else []) %}{{ x }}{% endfor %}{{ ('a' if zero else 'b') if yes else 'c' }}",
    "chatml": "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + (message['content'] or '') + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "thinking": "{% for m in messages %}{% if m.role == 'assistant' and m.content is string and '</think>' in m.content %}{{ m.content.split('</think>')[-1].lstrip('\\n') }}|{{ m.content.split('</think>')[0].split('<think>')[-1].strip('\\n') }}{% endif %}{% endfor %}",
    "last_user": "{%- set ns = namespace(last=messages|length - 1, found=false) %}{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}{%- if not ns.found and message.role == 'user' %}{%- set ns.last = index %}{%- set ns.found = true %}{%- endif %}{%- endfor %}{{ ns.last }}",
    "tool_list": "{% for tool in tools %}{{ tool | tojson }}\n{% set f = tool.function %}{% for name, spec in f.parameters.properties.items() %}{{ name }}{% if name in f.parameters.required %}*{% endif %}: {{ spec.type }}{% if spec.enum is defined %} {{ spec.enum | join('|') }}{% endif %}\n{% endfor %}{% endfor %}",
    "tool_calls": "{% for m in messages if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>\n{\"name\": \"{{ c.function.name }}\", \"arguments\": {% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}{% endif %}}\n</tool_call>{% endfor %}{% endfor %}",
    "error_unclosed_if": "{% if true %}x",
    "error_unknown_tag": "{% foo %}",
    "error_include": "{% include 'x' %}",
    "error_unclosed_variable": "{{ 1 ",
    "error_unclosed_comment": "{# x",
    "error_unclosed_string": "{{ 'x }}",
    "error_operator": "{{ 1 + }}",
    "error_brackets": "{{ (1] }}",
    "error_empty": "{{ }}",
    "error_end": "x{% endfor %}",
    "error_chained_is": "{{ 1 is string is none }}",
    "error_break": "{% break %}",
    "error_namespace": "{% set x = {} %}{% set x.y = 1 %}",
    "error_unpack": "{% set a, b = [1, 2, 3] %}",
    "error_macro_arguments": "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "error_macro_keyword": "{% macro m(a) %}{% endmacro %}{{ m(x=2) }}",
    "error_loop_none": "{% for x in nothing %}{% endfor %}",
    "error_named_first": "{{ dict(a=1, 2) }}",
    "error_raised": "line one\n\n{{ raise_exception('Conversation roles must alternate') }}",
}


def environment():
    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            call = self.call_method("_render")
            return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

        def _render(self, caller):
            return caller()

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env = jinja2.sandbox.SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: datetime.datetime(2026, 7, 29, 12, 34, 56).strftime(f)
    return env


def main():
    env = environment()
    context = {k: v for k, v in CONTEXT.items()}

    def render(template):
        try:
            return {"output": env.from_string(template).render(json.loads(json.dumps(context)))}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    cases = []
    for line in EXPRESSIONS:
        case = render("{{ (" + line + ",) }}")
        assert "output" in case, (line, case)
        # Every item printed by itself as well: str() instead of repr().
        cases.append({"template": "{{ (" + line + ",) }}", **case})
        single = "{% for x in (" + line + ",) %}{{ x }}\n{% endfor %}"
        cases.append({"template": single, **render(single)})
    for line in ERRORS:
        case = render("{{ " + line + " }}")
        assert "error" in case, (line, case)
        cases.append({"template": "{{ " + line + " }}", **case})
    for name, template in STATEMENTS.items():
        case = render(template)
        assert ("error" in case) == name.startswith("error"), (name, case)
        entry = {"name": name, "template": template, **case}
        if name.startswith("generation"):
            compiled = chat_template_utils._compile_jinja_template(template)
            tracker = next(e for e in compiled.environment.extensions.values() if type(e).__name__ == "AssistantTracker")
            blocks, indices = [], []
            with tracker.activate_tracker(blocks, indices):
                for block in compiled.generate(**context):
                    blocks.append(block)
            text = "".join(blocks)
            assert text == case["output"]
            entry["generation"] = [[len(text[:a].encode()), len(text[:b].encode())] for a, b in indices]
        cases.append(entry)

    # transformers' own renderer agrees wherever it allows the template.
    compared = 0
    for case in cases:
        if "output" not in case or "_methods" in case.get("name", "") or "shared" in case.get("name", "") or "strftime" in case["template"]:
            continue
        got = chat_template_utils._compile_jinja_template(case["template"]).render(**json.loads(json.dumps(context)))
        assert got == case["output"], case["template"]
        compared += 1
    print(len(cases), "cases,", compared, "compared with transformers")
    for case in cases:
        # Addresses differ from run to run.
        assert " object at 0x" not in case.get("output", ""), case["template"]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps({"context": CONTEXT, "cases": cases}, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
