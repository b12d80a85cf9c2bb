import { ConfigError, ModelError } from '@trinity-rft/core';
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createGrader, type GraderTools } from './create-grader.js';
import type { GraderModelAnswer, GraderModelRequest } from './model-graders.js';
import { graderSample, type GraderSample } from './sample.js';
import { graderSchema, modelsOfGrader, type GraderSpec } from './schema.js';

const item = { reference_answer: 'Paris', list: [{ n: 1.5 }], 'two-words': true, none: null };
const tool = {
  id: 'call_0',
  type: 'function' as const,
  function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
};

interface Given {
  readonly sample?: GraderSample;
  readonly tools?: GraderTools;
  readonly signal?: AbortSignal;
}

const graded = (spec: unknown, { sample = graderSample('Paris'), tools, signal }: Given = {}) =>
  createGrader(spec, tools).grade({ item, sample, ...(signal && { signal }) });

const check = (input: string, reference: string, operation = 'eq') => ({
  type: 'string_check',
  name: 'check',
  input,
  reference,
  operation,
});

const problems = (spec: unknown): readonly string[] =>
  graderSchema
    .safeParse(spec)
    .error!.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);

/** The flags that are set. */
const flags = (errors: object): readonly string[] =>
  Object.entries(errors)
    .filter(([, value]) => value === true)
    .map(([name]) => name);

describe('string_check', () => {
  it.each([
    ['eq', 'Paris', 'Paris', 1],
    ['eq', 'paris', 'Paris', 0],
    ['ne', 'paris', 'Paris', 1],
    ['like', 'In Paris.', 'Paris', 1],
    ['like', 'In paris.', 'Paris', 0],
    ['ilike', 'In paris.', 'Paris', 1],
    ['like', 'Paris', 'In Paris.', 0],
  ])('%s(%s, %s) is %d', async (operation, input, reference, reward) => {
    expect(await graded(check(input, reference, operation))).toMatchObject({ reward });
  });

  it('reports what a run of it is by the API', async () => {
    const result = await graded(check('{{ sample.output_text }}', '{{item.reference_answer}}'));
    expect(result).toEqual(expect.objectContaining({ reward: 1, subRewards: {}, tokenUsage: {} }));
    expect([Object.keys(result.errors).length, flags(result.errors)]).toEqual([14, []]);
    expect(result.seconds).toBeGreaterThanOrEqual(0);
  });
});

describe('templates', () => {
  const called = graderSample('{"city": "Paris", "days": [1, 2]}', [tool]);
  it.each([
    ['{{item.reference_answer}}!', 'Paris!'],
    ['{{ item.list[0].n }} {{ item.two-words }} {{ item.none }}', '1.5 true null'],
    ['{{ item.list }}', '[{"n":1.5}]'],
    ['{{ sample.output_json.city }} {{ sample.output_json.days[1] }}', 'Paris 2'],
    ['{{ sample.output_tools[0].function.name }}', 'get_weather'],
    ['{{ sample.choices[0].message.tool_calls[0].id }}', 'call_0'],
    ['} {a} }}', '} {a} }}'],
  ])('%s is %s', async (template, text) => {
    expect(await graded(check(template, text), { sample: called })).toMatchObject({ reward: 1 });
  });

  it('do not read inserted text as a template', async () => {
    const sample = graderSample('{{ item.reference_answer }}');
    const spec = check('{{ sample.output_text }}', 'Paris');
    expect(await graded(spec, { sample })).toMatchObject({ reward: 0 });
  });

  it.each([
    ['{{ item.answer }}', 'invalid_variable_error', 'The row has reference_answer, list'],
    ['{{ item.reference_answer.length }}', 'invalid_variable_error', 'which is not there'],
    ['{{ sample.output_tools[0].function.name }}', 'invalid_variable_error', 'output_tools[0]'],
    ['{{ item.toString }}', 'invalid_variable_error', 'which is not there'],
    ['{{ sample.output_json.city }}', 'sample_parse_error', 'the answer is not JSON: "Paris"'],
  ])('%s that is not there is an error, never empty', async (template, flag, text) => {
    const result = await graded(check(template, ''));
    expect([result.reward, flags(result.errors)]).toEqual([undefined, [flag]]);
    expect(result.message).toContain(text);
  });

  it.each([
    ['{{ item.a', 'is not closed'],
    ['{{ item }}', 'not a path into item or sample'],
    ['{{ row.a }}', 'not a path into item or sample'],
    ['{{ item.a | lower }}', 'not a path into item or sample'],
    ['{{ sample.text }}', 'is none of sample.output_text'],
    ['{{ item.a[-1] }}', 'not a path'],
  ])('%s is refused before the first answer', (template, text) => {
    expect(() => createGrader(check(template, ''))).toThrow(ConfigError);
    expect(() => createGrader(check('', template))).toThrow(text);
  });
});

describe('the schema', () => {
  it('names unknown fields, metrics and types, with their place', () => {
    expect(() => createGrader({ ...check('', ''), strict: true })).toThrow(
      'grader.strict: the grader has no argument "strict"',
    );
    const similar = { type: 'text_similarity', input: 'a', reference: 'b' };
    expect(problems({ ...similar, evaluation_metric: 'cosine' })[0]).toMatch(
      /^evaluation_metric: It compares embeddings.* Use one of fuzzy_match, bleu/,
    );
    expect(problems({ ...similar, evaluation_metric: 'meteor' })[0]).toContain('WordNet');
    expect(problems({ ...similar, evaluation_metric: 'wer' })[0]).toContain('expected one of fuzz');
    expect(problems({ type: 'label_model' })[0]).toContain('label_model is a part of multi only');
    expect(() => createGrader('x')).toThrow(ConfigError);
  });

  it('knows the parts of multi by name, and one grader by its own', () => {
    const one = { type: 'multi', graders: check('a', 'a'), calculate_output: '2 * check' };
    expect(Object.keys((graderSchema.parse(one) as { graders: object }).graders)).toEqual([
      'check',
    ]);
    expect(
      problems({ ...one, graders: { a: check('{{ x }}', '') }, calculate_output: 'a' }),
    ).toEqual([expect.stringMatching(/^graders\.a\.input: \{\{ x }} in a template is not a path/)]);
    expect(problems({ ...one, graders: { ...check('', ''), strict: 1 } })).toEqual([
      'graders: Unrecognized key: "strict"',
    ]);
    expect(problems({ ...one, graders: { a: one } })[0]).toContain('graders.a.type: expected the');
    expect(problems({ ...one, graders: { 'a b': check('', '') } })[0]).toContain('letters, digits');
    expect(problems({ ...one, graders: {} })[0]).toBe('graders: expected at least one grader');
    expect(problems({ ...one, calculate_output: 'chek' })).toEqual([
      'calculate_output: The formula names chek, which is none of the graders check. Did you mean "check"?',
    ]);
  });

  it('takes the examples of OpenAI, where multi and python have no name', () => {
    const spec = graderSchema.parse({
      type: 'multi',
      graders: {
        name: {
          name: 'name_grader',
          type: 'text_similarity',
          input: '{{sample.output_json.name}}',
          reference: '{{item.name}}',
          evaluation_metric: 'fuzzy_match',
          pass_threshold: 0.9,
        },
        code: { type: 'python', source: 'def grade(sample, item): return 1.0', image_tag: 'x' },
      },
      calculate_output: '(name + code) / 2',
    });
    expect(spec.name).toBe('multi');
  });
});

describe('multi', () => {
  const graders = {
    city: check('{{ sample.output_text }}', 'Paris', 'ilike'),
    exact: check('{{ sample.output_text }}', 'paris'),
  };

  it('computes the reward from its parts', async () => {
    const spec = { type: 'multi', graders, calculate_output: '0.75 * city + 0.25 * exact' };
    expect(await graded(spec)).toMatchObject({ reward: 0.75, subRewards: { city: 1, exact: 0 } });
  });

  it('fails with one of its parts, and keeps the scores of the others', async () => {
    const broken = { ...graders, exact: check('{{ item.x }}', '') };
    const spec = { type: 'multi', graders: broken, calculate_output: 'city' };
    const result = await graded(spec);
    expect(result).toMatchObject({ reward: undefined, subRewards: { city: 1 } });
    expect(flags(result.errors)).toEqual(['invalid_variable_error']);
  });

  it('fails with a formula whose result is not finite', async () => {
    const result = await graded({ type: 'multi', graders, calculate_output: 'city / exact' });
    expect([result.reward, flags(result.errors)]).toEqual([undefined, ['formula_parse_error']]);
    expect(result.message).toContain('is Infinity for {"city":1,"exact":0}');
  });
});

describe('graders that ask a model', () => {
  const message = { role: 'user', content: 'Rate {{ sample.output_text }}.' };
  const score = { type: 'score_model', name: 'judge', model: 'big', input: [message] };
  const label = {
    type: 'multi',
    graders: {
      tone: {
        ...score,
        type: 'label_model',
        model: 'small',
        labels: ['kind', 'rude'],
        passing_labels: ['kind'],
      },
    },
    calculate_output: 'tone',
  };

  /** Answers with the texts, one after the other, or throws. */
  function models(...answers: readonly (GraderModelAnswer | Error | string)[]) {
    const calls: { readonly model: string; readonly request: GraderModelRequest }[] = [];
    const complete: GraderTools['complete'] = async (model, request) => {
      const answer = answers[calls.push({ model, request }) - 1]!;
      if (answer instanceof Error) throw answer;
      return typeof answer === 'string' ? { text: answer } : answer;
    };
    return { calls, tools: { complete } };
  }

  it('name their models, and are refused where there is nothing to ask', () => {
    expect(modelsOfGrader(graderSchema.parse(score))).toEqual(['big']);
    expect(modelsOfGrader(graderSchema.parse(label))).toEqual(['small']);
    expect(() => createGrader(score)).toThrow('The grader "judge" asks the model "big"');
    expect(() => createGrader(label)).toThrow(ConfigError);
  });

  it('send messages, the form of the answer and sampling parameters, and add up tokens', async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const { calls, tools } = models({ text: '{"steps": [], "result": 7}', usage });
    const developer = {
      role: 'developer',
      content: [{ type: 'input_text', text: 'Be fair to {{ item.reference_answer }}.' }, 'So.'],
    };
    const spec = {
      ...score,
      input: [developer, message],
      range: [1, 10],
      sampling_params: { max_completions_tokens: 9, top_p: 1, seed: null },
    };
    const result = await graded(spec, { tools });
    expect(result).toMatchObject({ reward: 7, tokenUsage: { big: usage } });
    expect(calls[0]).toMatchObject({
      model: 'big',
      request: {
        messages: [
          { role: 'developer', content: 'Be fair to Paris.\nSo.' },
          { role: 'user', content: 'Rate Paris.' },
        ],
        max_completion_tokens: 9,
        top_p: 1,
        response_format: { json_schema: { schema: { required: ['result'] } } },
      },
    });
    expect(calls[0]!.request).not.toHaveProperty('seed');
  });

  it.each([
    ['{"result": 0}', 0],
    ['{"result": 1}', 1],
    ['{"result": 1.01}', undefined],
    ['{"result": "1"}', undefined],
    ['{"result": null}', undefined],
    ['1', undefined],
    ['null', undefined],
    ['A 1.', undefined],
  ])('read the number of %s as %s, and clamp nothing', async (answer, reward) => {
    const result = await graded(score, { tools: models(answer).tools });
    expect(result.reward).toBe(reward);
    expect(flags(result.errors)).toEqual(reward === undefined ? ['model_grader_parse_error'] : []);
  });

  it.each([
    ['{"result": "kind"}', 1],
    ['{"result": "rude"}', 0],
    ['{"result": "so so"}', undefined],
  ])('read the label of %s as %s', async (answer, reward) => {
    expect((await graded(label, { tools: models(answer).tools })).reward).toBe(reward);
  });

  it('fail with the model, not with 0', async () => {
    const down = new ModelError('It is down.', { status: 503 });
    const result = await graded(score, { tools: models(down).tools });
    expect(result).toMatchObject({
      reward: undefined,
      message: 'The model "big" of the grader "judge" failed: It is down.',
      errors: { model_grader_server_error: true, model_grader_server_error_details: 'It is down.' },
    });
    const refused = await graded(score, { tools: models({ text: '', refusal: 'No.' }).tools });
    expect(flags(refused.errors)).toEqual(['model_grader_refusal_error']);
  });

  it('pass on a wrong configuration, and end with the signal', async () => {
    const missing = new ConfigError('No such model.', { code: 'AUXILIARY_MODEL_MISSING' });
    await expect(graded(score, { tools: models(missing).tools })).rejects.toBe(missing);
    const signal = AbortSignal.abort(new Error('over'));
    const { tools } = models(new Error('aborted'));
    await expect(graded(score, { tools, signal })).rejects.toThrow('over');
  });

  it.each([
    [{ range: [1, 1] }, 'range: expected the lower number first'],
    [{ input: [] }, 'input: expected at least one message'],
    [{ input: [{ role: 'tool', content: '' }] }, 'input.0.role: expected user'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'no images and no audio'],
    [{ input: [{ role: 'user', content: '{{ a }}' }] }, 'not a path into item or sample'],
    [{ sampling_params: { n: 2 } }, 'Unrecognized key: "n"'],
  ])('refuse %j', (over, text) => {
    expect(problems({ ...score, ...over }).join('\n')).toContain(text);
  });

  it('refuse a passing label that is none of the labels', () => {
    const tone = { ...label.graders.tone, passing_labels: ['nice'] };
    expect(problems({ ...label, graders: { tone } })).toEqual([
      'graders.tone.passing_labels: "nice" is not in labels',
    ]);
  });
});

const hasPython =
  spawnSync('python3', ['--version'], { timeout: 120_000, killSignal: 'SIGKILL' }).status === 0;

describe.runIf(hasPython)('python', () => {
  const python = (body: string) => ({ type: 'python', name: 'mine', source: body });
  const tools = { python: { timeoutMs: 10_000 } };
  const grade = (body: string) => python(`def grade(sample, item):\n    ${body}`);

  it('is refused unless it is allowed', () => {
    expect(() => createGrader(grade('return 1'))).toThrow('runs Python code on this machine');
    expect(() => createGrader(grade('return 1'), { python: false })).toThrow(ConfigError);
  });

  it('gets sample and row, may print, and returns a number', async () => {
    const source = [
      'import os',
      'print("loading ö")',
      'def grade(sample, item):',
      '    print(sample)',
      '    assert sample["output_json"] is None and sample["output_tools"] == []',
      '    assert "PATH" in os.environ and "HOME" not in os.environ',
      '    return 0.25 + 0.5 * (sample["output_text"] == item["reference_answer"])',
    ].join('\n');
    expect(await graded(python(source), { tools })).toMatchObject({ reward: 0.75 });
    expect(await graded(grade('return True'), { tools: { python: true } })).toMatchObject({
      reward: 1,
    });
  });

  it('is a module, where classes are looked up by name', async () => {
    const source = [
      'from __future__ import annotations',
      'import pickle, typing',
      'class Inner: pass',
      'class Outer:',
      '    inner: Inner',
      'def grade(sample, item):',
      '    assert typing.get_type_hints(Outer) == {"inner": Inner}',
      '    return isinstance(pickle.loads(pickle.dumps(Inner())), Inner)',
    ].join('\n');
    expect(await graded(python(source), { tools })).toMatchObject({ reward: 1 });
  });

  it.each([
    'import threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); return 1',
    'import atexit, time; atexit.register(time.sleep, 60); return 1',
  ])('has its grade although it would wait at its end: %s', async (body) => {
    expect(await graded(grade(body), { tools })).toMatchObject({ reward: 1 });
  });

  it.each([
    ['return item["answer"]', "KeyError: 'answer'"],
    ['return float("nan")', 'ValueError: grade returned nan'],
    ['return "good"', "ValueError: could not convert string to float: 'good'"],
    ['return None', 'TypeError: float() argument'],
    ['import sys; sys.exit(0)', 'ended without a result'],
    ['import os; os.kill(os.getpid(), 9)', 'ended (SIGKILL)'],
    ['print("x" * 2_000_000); return 1', 'printed more than 1048576 bytes'],
    ['return 1 +', 'SyntaxError'],
    [
      'raise ValueError("no\\n\\n  key\\nSee the page\\nand more")',
      'failed: ValueError: no key See the page',
    ],
    ['class Odd(BaseException): pass\n    raise Odd("an odd end")', 'Odd: an odd end'],
  ])('%s is a failure with its reason', async (body, text) => {
    const result = await graded(grade(body), { tools });
    expect([result.reward, flags(result.errors)]).toEqual([
      undefined,
      ['python_grader_runtime_error'],
    ]);
    expect(result.message).toContain(text);
    expect(result.errors.python_grader_runtime_error_details).toContain(text);
  });

  it.runIf(process.platform === 'linux')('has a limit of memory', async () => {
    const limited = { python: { memoryMiB: 256 } };
    const result = await graded(grade('return len("x" * 300_000_000)'), { tools: limited });
    expect(result.message).toBe('The Python grader "mine" failed: MemoryError');
  });

  it('needs a function grade, and a Python', async () => {
    const none = await graded(python('x = 1'), { tools });
    expect(none.message).toContain('NameError: the source defines no function grade(sample, item)');
    const missing = await graded(grade('return 1'), { tools: { python: { program: 'python-x' } } });
    expect(missing.errors).toMatchObject({
      python_grader_server_error: true,
      python_grader_server_error_type: 'ENOENT',
    });
  });

  it('is killed at its time limit, with what it has started', async () => {
    const forks = 'import subprocess; subprocess.Popen(["sleep", "600"]).wait()';
    const result = await graded(grade(forks), { tools: { python: { timeoutMs: 300 } } });
    expect(result.message).toBe('The Python grader "mine" took more than 0.3 s and was killed.');
    expect(result.seconds).toBeLessThan(60);
  });

  it.skipIf(process.platform === 'win32')(
    'has its grade although it leaves a process',
    async () => {
      const leaves =
        'import subprocess; return subprocess.Popen(["sleep", "60"], start_new_session=True).pid';
      const { reward = 0, message } = await graded(grade(leaves), { tools });
      expect(message).toBeUndefined();
      process.kill(reward);
    },
  );

  it('is killed with the signal', async () => {
    const run = new AbortController();
    const grading = graded(grade('while True: pass'), { tools, signal: run.signal });
    run.abort(new Error('over'));
    await expect(grading).rejects.toThrow('over');
  });
});

it('a specification that was read can be read again', () => {
  const spec: GraderSpec = graderSchema.parse({
    type: 'multi',
    graders: check('{{ sample.output_text }}', 'a'),
    calculate_output: 'check',
  });
  expect(createGrader(JSON.parse(JSON.stringify(spec))).spec).toEqual(spec);
});
