import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { valueOf, valueOfJson } from './from-json.js';
import { compileJinja } from './jinja.js';
import { dumps } from './spelling.js';

const now = new Date(2026, 0, 2, 15, 4, 5);

const render = (source: string, variables: object = {}): string =>
  compileJinja(source, { now })(
    new Map(Object.entries(variables).map(([name, value]) => [name, valueOf(value)])),
  );

// The expected texts are the output of Jinja 3.1.6.
describe('a template', () => {
  it.each([
    [
      '{{ [1.0, 0.00000012, 0.0001, 2.5, 7 / 2, 7 // 2, -7 // 2, -7 % 3, 2 ** 3, 1 + 1.0] }}',
      '[1.0, 1.2e-07, 0.0001, 2.5, 3.5, 3, -4, 2, 8, 2.0]',
    ],
    ['{{ [2 ** -1, 1 ** -1, 2 ** -1.0, 2.0 ** 2] }}', '[0.5, 1.0, 0.5, 4.0]'],
    [
      '{{ 4 / 2 }} {{ 10 // 4.0 }} {{ 3.7 | int }} {{ "12" | int }} {{ "x" | int(5) }}',
      '2.0 2.0 3 12 5',
    ],
    [
      '{{ "1.5" | float }} {{ 2.5 | round }} {{ 3.14159 | round(2) }} {{ -3 | abs }}',
      '1.5 2.0 3.14 3',
    ],
    [
      '{{ {"a": [1, none, true, "it\'s", 2.0], 1: (1, 2), "b": {}} }}',
      "{'a': [1, None, True, \"it's\", 2.0], 1: (1, 2), 'b': {}}",
    ],
    ['{{ ["\\n\\t\\\\", "q\\"", "é😀\\u00a0\\x07"] }}', "['\\n\\t\\\\', 'q\"', 'é😀\\xa0\\x07']"],
    [
      '{{ none }} {{ true }} {{ (1, 2) }} {{ [] }} [{{ missing }}] {{ none ~ 1 ~ true }}',
      'None True (1, 2) [] [] None1True',
    ],
    ['{{ {"a": 1} | string }} {{ [none] | string | length }}', "{'a': 1} 6"],
    [
      '{{ {"b": 1.0, "a": [none, "é\\n<", true], 3: {}} | tojson }}',
      '{"b": 1.0, "a": [null, "é\\n<", true], "3": {}}',
    ],
    [
      '{{ {"b": 1, "a": [1, {}]} | tojson(indent=2) }}',
      '{\n  "b": 1,\n  "a": [\n    1,\n    {}\n  ]\n}',
    ],
    ['{{ {10: 1, 9: 2} | tojson(sort_keys=true) }}', '{"9": 2, "10": 1}'],
    ['{{ {"a": 1, "b c": "x/y"} | urlencode }}', 'a=1&b+c=x%2Fy'],
    ['{{ [("a", "é"), ["b", none]] | urlencode }}', 'a=%C3%A9&b=None'],
    ['{{ {"𝄞": 1, "\uffee": 2} | tojson(sort_keys=true) }}', '{"\uffee": 2, "𝄞": 1}'],
    [
      '{{ {"b": "é", "a": 1} | tojson(ensure_ascii=true, sort_keys=true, separators=(",", ":")) }}',
      '{"a":1,"b":"\\u00e9"}',
    ],
    [
      '[{{ missing | trim }}] [{{ missing | length }}] {{ missing is defined }} {{ 1 in missing }}',
      '[] [0] False False',
    ],
    ['{{ missing | default("d") }} {{ "" | default("d", true) }} {{ none | d("d") }}', 'd d None'],
    ['{% for x in missing %}x{% else %}none{% endfor %} {{ missing or "m" }}', 'none m'],
    [
      '{{ [1 == 1.0, true == 1, [1] == [1.0], {"a": 1} == {"a": 1}, "1" == 1, none == none] }}',
      '[True, True, True, True, False, True]',
    ],
    [
      '{{ 1 in [1.0] }} {{ [1] in [[1]] }} {{ "a" in {"a": 1} }} {{ "b" not in "abc" }}',
      'True True True False',
    ],
    [
      '{{ [3, 1, 2] | min }} {{ [3, 1, 2] | max }} {{ ["b", "A"] | sort }} {{ [] | min }}',
      "1 3 ['A', 'b'] ",
    ],
    [
      '{{ "a-b c".title() }} {{ "a-b c" | title }} {{ "aBC" | capitalize }} {{ "é😀x" | length }}',
      'A-B C A-B C Abc 3',
    ],
    [
      '{{ "xxabxx".strip("x") }} {{ "a,b,c".split(",", 1) }} {{ " a  b ".split() }}',
      "ab ['a', 'b,c'] ['a', 'b']",
    ],
    [
      '{{ "😀ab"[1:] }} {{ "abc"[::-1] }} {{ "abc"[-1] }} {{ "abc".replace("b", "x") }}',
      'ab cba c axc',
    ],
    [
      '{{ ["a😀b".find("b"), "😀b😀b".rfind("b"), "😀b".index("b"), "b😀b".rindex("b"), "😀".count("")] }}',
      '[2, 3, 1, 2, 2]',
    ],
    [
      '{{ ["abcabc".find("a", 1), "abcabc".rfind("c", 0, -1), "abc".find("", 4), "aaa".count("a", 1)] }}',
      '[3, 2, -1, 2]',
    ],
    [
      '{{ ["xab".startswith("a", 1), "abx".endswith(("b", "c"), 0, 2), "ab".startswith("b")] }}',
      '[True, True, False]',
    ],
    [
      '{{ ["a  b  c ".rsplit(none, 1), "aaa".rsplit("aa", 1), " a b ".split(none, 1), "a\\r\\nb".splitlines(true)] }}',
      "[['a  b', 'c'], ['a', ''], ['a', 'b '], ['a\\r\\n', 'b']]",
    ],
    [
      '{{ ["😀".ljust(3, "."), "😀".rjust(2), "-5".zfill(4), "a".center(4, "*"), "😀" | center(3), "ab".replace("", "-", 1)] }}',
      "['😀..', ' 😀', '-005', '*a**', ' 😀 ', '-ab']",
    ],
    [
      '{{ [{}.get("a", missing), {}.get("a"), {}.get("a", default=1) if false] }}',
      '[Undefined, None, Undefined]',
    ],
    [
      '{{ ["%02d" % 5, "%5s|%-3s|" % ("a", "b"), "%x %X" % (255, 255), "%+.1f%%" % 0.25, "%.2s" % "abc"] }}',
      "['05', '    a|b  |', 'ff FF', '+0.2%', 'ab']",
    ],
    [
      '{{ ["{:.2f} {:,}".format(2.675, 1234567), "{:>4}|{:<4}|{:*^5}".format("a", "b", "c"), "{!r:5}{{}}".format("x"), "{:+04d}".format(5)] }}',
      "['2.67 1,234,567', '   a|b   |**c**', \"'x'  {}\", '+005']",
    ],
    [
      '{{ [2.675 | round(2), 0.125 | round(2), 0.5 | round, 1.5 | round, 7 | round(1)] }}',
      '[2.67, 0.12, 0.0, 2.0, 7]',
    ],
    [
      '{{ [[1, 2] | sum(start=10), [{"a": 1.5}] | sum("a", 1), [1] | batch(linecount=2, fill_with=0) | list] }}',
      '[13, 2.5, [[1, 0]]]',
    ],
    [
      '{{ ["" | default("q", boolean=true), missing | default(boolean=true), none | d(none, true)] }}',
      "['q', '', None]",
    ],
    [
      '{% for g in [{"a": "X"}, {"a": "x"}, {}] | groupby("a", default="y") %}{{ g.grouper }}{{ g.list | length }}{{ g[1] | length }} {% endfor %}',
      'X22 y11 ',
    ],
    [
      '{{ [missing is sequence, missing is iterable, missing is mapping, 1 < 2 and 2 < 3] }}',
      '[True, True, False, True]',
    ],
    [
      '{{ [(1 == 1) != (2 == 2), 1 in [1] and 2 == 2, {"a": 1 == 1, "b": 2 == 2}, [1 == 1, 2 == 2]] }}',
      "[False, True, {'a': True, 'b': True}, [True, True]]",
    ],
    ['{% for x in [1, 2] if x == 1 %}{{ x == 1 if x < 2 else x > 3 }}{% endfor %}', 'True'],
    [
      '{{ 2 * [1, [2]] }} {{ (1, 2) * 2 }} {{ true * (1, 2) }} {{ [1] * -1 }} {{ 3 * "ab" }}',
      '[1, [2], 1, [2]] (1, 2, 1, 2) (1, 2) [] ababab',
    ],
    [
      '{{ "%s: %.2f" % ("a", 1) }} {{ "{} {x}".format(1, x=2) }} {{ "ab" * 2 }}',
      'a: 1.00 1 2 abab',
    ],
    ['{{ "a\\n\\nb" | indent(2) }}|{{ "a\\nb" | indent(2, true) }}', 'a\n\n  b|  a\n  b'],
    [
      '{{ "a.b".partition(".") }} {{ "abc".find("c") }} {{ "Ab".isupper() }} {{ "x1".isalnum() }}',
      "('a', '.', 'b') 2 False True",
    ],
    [
      '{{ "<a>&" | e }} {{ "a/b (c)" | urlencode }} {{ "one two" | wordcount }}',
      '&lt;a&gt;&amp; a/b%20%28c%29 2',
    ],
    [
      '{{ {"items": 1}.items() | list }} {{ {"a": 1}["a"] }} {{ {1: "x"}[1] }} {{ {"a": 1}.get("b", 2) }}',
      "[('items', 1)] 1 x 2",
    ],
    ['{{ [{"a": 1}, {"a": 2}, {"b": 1}] | selectattr("a", "equalto", 2) | list }}', "[{'a': 2}]"],
    [
      '{{ [{"a": 1}, {"b": 1}] | map(attribute="a", default=0) | list }} {{ ["a"] | map("upper") | join }}',
      '[1, 0] A',
    ],
    [
      '{{ [1, 2, 3, 4] | select("even") | list }} {{ [1, none] | reject("none") | list }}',
      '[2, 4] [1]',
    ],
    [
      '{{ {"b": 1, "a": 2} | dictsort }} {{ [1, 2, 3] | batch(2) | list }} {{ [1, 1, 2] | unique | list }}',
      "[('a', 2), ('b', 1)] [[1, 2], [3]] [1, 2]",
    ],
    [
      '{{ [1, 2] + [3] }} {{ (1, 2) + (3, 4) }} {{ [1, 2, 3][1:] }} {{ [1, 2] | last }} {{ [] | first }}',
      '[1, 2, 3] (1, 2, 3, 4) [2, 3] 2 ',
    ],
    [
      '{{ true is number }} {{ 1.0 is integer }} {{ {} is sequence }} {{ "a" is iterable }} {{ {} is mapping }}',
      'True False True True True',
    ],
    ['{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}', '231'],
    [
      '{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}',
      '3',
    ],
    [
      '{% macro m(a, b=a) %}{{ a }}{{ b }}{{ x }}{% endmacro %}{% set x = 3 %}{{ m(1) }}{{ m(1, b=2) }}',
      '113123',
    ],
    [
      '{% macro m() %}[{{ caller(1) }}]{% endmacro %}{% call(v) m() %}v{{ v }}{% endcall %}',
      '[v1]',
    ],
    ['{% if true %}{% set y = 1 %}{% endif %}{{ y }}{% set z %}a{{ y }}{% endset %}{{ z }}', '1a1'],
    ['{% for k, v in {"a": 1}.items() %}{{ k }}{{ v }}{{ loop.last }}{% endfor %}', 'a1True'],
    [
      '{% for i in range(5) if i != 1 %}{% if i == 3 %}{% break %}{% endif %}{{ loop.index }}:{{ i }} {% endfor %}',
      '1:0 2:2 ',
    ],
    [
      '{% for i in [1, 2] %}{{ loop.cycle("a", "b") }}{{ loop.nextitem }}{% for j in "x" %}{{ loop.depth }}{% endfor %}{% endfor %}',
      'a21b1',
    ],
    [
      '{% for i in [1, 1, 2] %}{{ loop.changed(i) }}{% endfor %}{{ "a" if false }}{{ range(3, 0, -1) | list }}',
      'TrueFalseTrue[3, 2, 1]',
    ],
    [
      '{{ strftime_now("%d %B %Y, %-d %b %y %H:%M %p %A %j %F %%F") }}',
      '02 January 2026, 2 Jan 26 15:04 PM Friday 002 2026-01-02 %F',
    ],
    ['{{ strftime_now("%c|%e|%-e|%h|%u|%w") }}', 'Fri Jan  2 15:04:05 2026| 2|2|Jan|5|5'],
  ])('%s', (source, expected) => {
    expect(render(source)).toBe(expected);
  });
});

describe('variables from JSON', () => {
  it('keep numbers as they were written, large ints, and the order of keys', () => {
    const text = '{"b": 1.0, "7": 1e5, "a": 12345678901234567890, "c": [-0.0, 1E-7, 0]}';
    const dumped = compileJinja('{{ value | tojson }}', { now })(
      new Map([['value', valueOfJson(text)]]),
    );
    expect(dumped).toBe(
      '{"b": 1.0, "7": 100000.0, "a": 12345678901234567890, "c": [-0.0, 1e-07, 0]}',
    );
  });

  it('read every JSON text as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat({ max: 3 }), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.parse(dumps(valueOfJson(text)))).toEqual(JSON.parse(text));
      }),
    );
    expect(() => valueOfJson('{"a": }')).toThrow(SyntaxError);
  });
});

it('names what is wrong: what is undefined, an unknown filter where it is reached', () => {
  expect(() => render('{{ a.b.c }}')).toThrow('a is undefined');
  expect(() => render('{{ "x" | nothing }}')).toThrow('there is no filter "nothing"');
  expect(render('{{ "x" | nothing if false else "y" }}')).toBe('y');
  expect(() => render('{{ missing | tojson }}')).toThrow('undefined is not JSON serializable');
});

it.each([
  ['{{ "%g" % 1 }}', 'the format "%g" is not supported'],
  ['{{ "%s %s" % 1 }}', 'there is no value for "%s"'],
  ['{{ "%s" % (1, 2) }}', 'there are more values than fields in the text'],
  ['{{ "%(a)s" % {"a": 1} }}', 'the format "%(" is not supported'],
  ['{{ "{:e}".format(1.5) }}', 'the format "e" of float is not supported'],
  ['{{ "{0.a}".format(1) }}', 'has a field that is not supported'],
  ['{{ "{} {}".format(1) }}', 'there is no value for "{}"'],
  ['{{ [1, "a"] | sum }}', '+ is not possible between int and str'],
  ['{{ "a" | upper(1) }}', 'upper takes 0 arguments, not 1'],
  ['{{ [2] | sort(key=1) }}', 'sort takes no argument "key"'],
  ['{{ 1234 | round(-2) }}', 'round does not support negative digits'],
  ['{{ missing[1:] }}', 'missing is undefined'],
  ['{{ "b" < "b" != -1 }}', 'a chain of comparisons (at !=) is not supported'],
  ['{{ 1 == 1 not in [1] }}', 'a chain of comparisons (at in) is not supported'],
  ['{% if 0 < x < 5 %}{% endif %}', 'a chain of comparisons (at <) is not supported'],
  ['a\n {% raw %}{{ x }}{% endraw %}', 'line 2, column 2, {% raw %}: Unknown statement'],
  [
    '{{ "}}" }}{# {{ #}\n{{ 4 is divisibleby(2) }}',
    'line 2, column 1, {{ 4 is divisibleby(2) }}: ',
  ],
  ['{{ 1e3 }}', 'line 1, column 1, {{ 1e3 }}: '],
  ['{% if x %}', 'a block is still open at the end'],
  ['{{ "a".upper("b") }}', 'upper takes 0 arguments, not 1'],
  ['{{ "a".split(by=",") }}', 'split takes no argument "by"'],
  ['{{ [1].index(1, 0) }}', 'index takes 1 arguments, not 2'],
  ['{{ {}.get("a", key="b") }}', 'get takes no argument "key"'],
  ['{{ "a".split("") }}', 'the separator is empty'],
  ['{{ "a".ljust(3, "ab") }}', 'the fill character is not one character'],
])('refuses %s, which it would otherwise read differently', (source, message) => {
  expect(() => render(source)).toThrow(message);
});

it.each([
  ['loops', '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}'],
  [
    'macros',
    '{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}',
  ],
  [
    'texts',
    '{% set n = namespace(t="ab") %}{% for i in range(60) %}{% set n.t = n.t + n.t %}{% endfor %}',
  ],
  ['filters', '{% for i in range(99999) %}{{ (("a" * 99999) | trim).strip() }}{% endfor %}'],
])('ends a template with too many %s', (_, source) => {
  expect(() => render(source)).toThrow(/steps/);
});

it('takes no list that only a mistake would make', () => {
  for (const source of ['{{ [1] * 10 ** 9 }}', '{{ [1] | batch(10 ** 9, 0) }}'])
    expect(() => render(source)).toThrow('a list of 1000000000 items is longer than 100000');
});
