/** Source of promptfoo configurations. Each combination of a prompt and a test becomes a task. */
import { fillTemplate, stringifyExactly, type TemplatePlace } from '@trinity-rft/core/support';
import { asList, fault, orFault } from '../record/fault.js';
import { isJson, type Conversation, type Fault, type Finished, type Json } from '../record/item.js';
import { has, readPrompt, type Source } from './source.js';

export const promptfoo: Source = {
  looksFor: 'prompts and tests',
  detect: (record) => has(record, 'prompts') && (has(record, 'tests') || has(record, 'scenarios')),
  read: (record) => {
    const { prompts, defaultTest } = record;
    const tests = record['tests'] ?? [];
    if (!Array.isArray(tests)) throw elsewhere('the tests are', tests);
    if (typeof defaultTest === 'string') throw elsewhere('the default test is', defaultTest);
    const base = isJson(defaultTest) ? defaultTest : {};
    const assertions = objectAt(record, 'assertionTemplates');
    const unread = [base, ...tests].flatMap(unreadIn);
    const hasAsserts = [base, ...tests].some(
      (test: unknown) => isJson(test) && Array.isArray(test['assert']) && test['assert'].length > 0,
    );
    const templates = (Array.isArray(prompts) ? prompts : [prompts]) as readonly unknown[];
    const tasks = templates.flatMap((prompt) =>
      tests.flatMap((test: unknown) =>
        asList(orFault(() => tasksOf(prompt, test, base, assertions))).map((task) =>
          // An empty list shows in the report that the reward cannot score the task.
          hasAsserts && 'fields' in task
            ? { ...task, fields: { assert: [], ...task.fields } }
            : task,
        ),
      ),
    );
    if (has(record, 'scenarios')) return [scenarios, ...unread, ...tasks];
    if (tests.length === 0) throw fault('there are no tests');
    return [...unread, ...tasks];
  },
};

const scenarios = { reason: 'scenarios are not read; write their tests into `tests`' };

const elsewhere = (what: string, found: unknown) =>
  fault(`${what} in another file; write it into this one`, found);

/**
 * Returns a task, or the reason why there is none, for each combination of a test's variables.
 * @param assertions assertion templates, keyed by name
 * @throws TaskError from `fault` if the test as a whole is faulty
 */
function tasksOf(
  prompt: unknown,
  test: unknown,
  base: Json,
  assertions: Json,
): readonly Finished[] {
  if (!isJson(test)) throw fault('a test is not an object', test);
  const vars = { ...objectAt(base, 'vars'), ...objectAt(test, 'vars') };
  const options = { ...objectAt(base, 'options'), ...objectAt(test, 'options') };
  const around = (key: string) => textOf(options[key] ?? '', `the ${key} of a prompt`);
  const template = `${around('prefix')}${promptOf(prompt)}${around('suffix')}`;
  const transform = options['transform'] || options['postprocess'];
  const asserts = [...assertsOf(base), ...assertsOf(test)].map((each) => {
    const assertion = assertionOf(each, assertions);
    return transform ? { ...assertion, transform: assertion['transform'] || transform } : assertion;
  });
  const { transformVars } = options;
  if (transformVars)
    throw fault(
      'a test transforms its variables, which is not done here; write them',
      transformVars,
    );
  const all = options['disableVarExpansion'] === true ? [vars] : combinationsOf(vars);
  return all.map((each) => orFault(() => taskOf(template, each, asserts)));
}

/** Returns a fault for each key of a test, or of the default test, that is not read. */
const unreadIn = (test: unknown): readonly Fault[] =>
  Object.keys(isJson(test) ? test : {})
    .filter((key) => !testKeys.has(key))
    .map((detail) => ({
      reason: 'a test has a key that is not read (the test is imported without it)',
      detail,
    }));

/**
 * Keys of a test in promptfoo, without `threshold` and `assertScoringFunction`, which the reward
 * does not use.
 * @see https://www.promptfoo.dev/docs/configuration/reference/#test-case
 */
const testKeys: ReadonlySet<string> = new Set([
  'description',
  'vars',
  'provider',
  'providers',
  'prompts',
  'providerOutput',
  'assert',
  'options',
  'metadata',
]);

/**
 * Replaces references to assertion templates, such as `$ref: '#/assertionTemplates/NAME'`,
 * including references in assertion sets and in templates. Keys beside `$ref` override those of the
 * template.
 * @param within names of the templates that contain the assertion
 */
function assertionOf(assertion: unknown, templates: Json, within: readonly string[] = []): Json {
  if (!isJson(assertion)) throw fault('an assertion is not an object', assertion);
  const { $ref: ref, ...own } = assertion;
  if (ref === undefined) {
    if (typeof own['type'] !== 'string') throw fault('an assertion has no type', own);
    const { assert } = own;
    if (!Array.isArray(assert)) return own;
    return { ...own, assert: assert.map((each) => assertionOf(each, templates, within)) };
  }
  const [, name = ''] =
    (typeof ref === 'string' && /^#\/assertionTemplates\/(.+)$/.exec(ref)) || [];
  const template = Object.hasOwn(templates, name) && templates[name];
  if (!isJson(template)) throw fault('an assertion refers to a template that the file lacks', ref);
  if (within.includes(name)) throw fault('a template of assertions contains itself', ref);
  return assertionOf({ ...template, ...own }, templates, [...within, name]);
}

/** Maximum number of tasks from one test. */
const mostCombinations = 10_000;

/**
 * Expands variables that are lists of strings: returns one object for each combination of their
 * items. Other lists are not expanded, as in promptfoo.
 */
function combinationsOf(vars: Json): readonly Json[] {
  let all: readonly Json[] = [vars];
  for (const [name, value] of Object.entries(vars)) {
    if (!Array.isArray(value) || typeof value[0] !== 'string') continue;
    if (all.length * value.length > mostCombinations)
      throw fault('the lists of a test have too many combinations', mostCombinations);
    all = all.flatMap((one) => value.map((item: unknown) => ({ ...one, [name]: item })));
  }
  return all;
}

function taskOf(template: string, vars: Json, asserts: readonly Json[]): Conversation {
  const equals = asserts.find(({ type, transform }) => type === 'equals' && !transform);
  return {
    messages: readPrompt(filledPrompt(template, vars)),
    ...(equals && { truth: filledTruth(equals['value'], vars) }),
    fields: { vars, ...(asserts.length > 0 && { assert: asserts }) },
  };
}

const objectAt = (record: Json, key: string): Json => {
  const value = record[key];
  return isJson(value) ? value : {};
};

const assertsOf = ({ assert = [] }: Json): readonly unknown[] => {
  if (assert === null || Array.isArray(assert)) return assert ?? [];
  throw fault('the assert of a test is not a list', assert);
};

const promptOf = (prompt: unknown): string =>
  textOf(isJson(prompt) ? (prompt['raw'] ?? prompt['content'] ?? prompt) : prompt, 'a prompt');

function textOf(text: unknown, what: string): string {
  if (typeof text !== 'string') throw fault(`${what} is not a text`, text);
  if (isFile(text)) throw elsewhere(`${what} is`, text);
  return text;
}

const isFile = (value: unknown): boolean =>
  typeof value === 'string' && value.startsWith('file://');

function filledTruth(value: unknown, vars: Json): unknown {
  if (isFile(value)) throw elsewhere('an answer is', value);
  return filled(value, vars, ({ text }) => text);
}

/** Inserts the variables into a prompt. In prompts that are JSON, the values are escaped. */
function filledPrompt(template: string, vars: Json): string {
  const isChat = template.trimStart().startsWith('[');
  return filled(template, vars, ({ value, text }) => {
    const written = Array.isArray(value) ? stringifyExactly(value) : text;
    return isChat ? JSON.stringify(written).slice(1, -1) : written;
  });
}

function filled<T>(template: T, vars: Json, write: (place: TemplatePlace) => string): T {
  if (String(template).includes('{%'))
    throw fault('a template has conditions or loops, which are not evaluated here', template);
  return fillTemplate(template, vars, (place) => {
    const { name, value } = place;
    if (value === undefined && /[^\p{L}\p{M}\p{N}_.-]/u.test(name))
      throw fault('a template has a filter or an expression, which is not evaluated here', name);
    if (value === undefined) throw fault('a template names a variable that the test lacks', name);
    if (isFile(value)) throw elsewhere('a variable is', value);
    return write(place);
  });
}
