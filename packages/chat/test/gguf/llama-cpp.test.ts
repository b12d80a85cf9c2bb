/** Compares llama.cpp's token ids for GGUF files with those of the original tokenizer. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getLlama, LlamaLogLevel, type Llama } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { preTokenizers } from '../../src/gguf/tokenizer/pre-tokenizers.js';
import { saveGgufModel } from '../../src/gguf/save/save-model.js';
import { buildCharTokenizer } from '../../src/tokenizer/char-tokenizer.js';
import type { TokenizerFiles } from '../../src/tokenizer/files.js';
import { createTokenizer } from '../../src/tokenizer/tokenizer.js';
import {
  gemma4Config,
  gemma4Shapes,
  llamaShapes,
  randomWeights,
  smallConfig,
} from './support/small-model.js';
import { bytePairs, sentencePieces, spacePrefixes, texts } from './support/tokenizers.js';

let scratch = '';
let llama: Llama | undefined;
beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-gguf-tokens-'));
  llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    logLevel: LlamaLogLevel.error,
    maxThreads: 1,
  }).catch(() => undefined);
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const runtime = ({ skip }: TestContext): Llama =>
  llama ?? skip('node-llama-cpp has no library for this platform');

interface Compared {
  readonly notes: readonly string[];
  /** Ids of each text in this package and in llama.cpp. */
  readonly ids: readonly {
    readonly text: string;
    readonly ours: readonly number[];
    readonly theirs: readonly number[];
  }[];
}

async function compare(
  files: TokenizerFiles,
  inputs: readonly string[],
  with_: Llama,
  isGemma4 = false,
): Promise<Compared> {
  const tokenizer = createTokenizer(files);
  const sizes = isGemma4 ? gemma4Config : smallConfig;
  const config = { ...sizes, vocab_size: tokenizer.vocabularySize + 3 };
  const target = path.join(scratch, 'model.gguf');
  const weights = randomWeights((isGemma4 ? gemma4Shapes : llamaShapes)(config));
  const { notes } = await saveGgufModel({ config, tokenizer: files, weights, target, type: 'F16' });
  const model = await with_.loadModel({ modelPath: target, gpuLayers: 0, useMmap: false });
  try {
    const ids = inputs.map((text) => ({
      text,
      ours: [...tokenizer.encode(text)],
      theirs: [...model.tokenize(text, true)].map(Number),
    }));
    return { notes, ids };
  } finally {
    await model.dispose();
  }
}

const different = ({ ids }: Compared) =>
  ids.filter(({ ours, theirs }) => ours.join() !== theirs.join());
const special = '<|im_start|>user\nHi<|im_end|>\n<tool_call>{"a": 1}';

/** Texts whose ids differ in llama.cpp, by tokenizer, with the note that announces the difference. */
const differing: Readonly<Record<string, { readonly text: RegExp; readonly note: string }>> = {
  Metaspace: { text: /^(<s>)? /, note: 'a text that begins with one' },
  'Metaspace of the first text': { text: /^(?!<s>)/, note: 'those of chat prompts do not' },
};

describe('ids of 200 texts in llama.cpp are those of the tokenizer:', () => {
  it.for([...preTokenizers.keys()])('byte pairs, %s', async (name, context) => {
    const pre = preTokenizers.get(name)!;
    const compared = await compare(bytePairs(pre), [...texts, special], runtime(context));
    const wrong = different(compared).filter(
      ({ text }) => !pre.asciiCapitals || !/[^\p{ASCII}]/u.test(text),
    );
    expect(wrong.slice(0, 3)).toEqual([]);
    const notes = compared.notes.join('\n');
    expect(notes.includes('does not normalize texts to NFC')).toBe(pre.normalizer !== null);
    expect(notes.includes('capitals outside ASCII')).toBe(pre.asciiCapitals === true);
  });

  it.for(Object.keys(spacePrefixes) as (keyof typeof spacePrefixes)[])(
    'SentencePiece, %s',
    async (prefix, context) => {
      const compared = await compare(
        sentencePieces(prefix),
        [...texts, ...texts.map((text) => `<s>${text}</s>`)],
        runtime(context),
      );
      const wrong = different(compared).filter(({ text }) => !differing[prefix]?.text.test(text));
      expect(wrong.slice(0, 3)).toEqual([]);
      const note = differing[prefix]?.note ?? 'no note';
      expect(compared.notes.some((each) => each.includes(note))).toBe(prefix in differing);
    },
  );
});

describe('ids of a SentencePiece tokenizer for Gemma 4 in llama.cpp are those of the tokenizer', () => {
  const files = sentencePieces('no space before a text');
  const model = files.tokenizer['model'] as { merges: readonly (readonly string[])[] };
  // llama.cpp always adds the BOS token.
  const inputs = texts.map((text) => `<s>${text}\n\n</s>`);
  const note = 'llama.cpp splits texts at line breaks';

  it('in the order of the merges, which scores do not have', async (context) => {
    const apart = model.merges.filter((merge) => !/\n[^\n]|[^\n]\n/.test(merge.join('')));
    const merges = apart.toReversed();
    expect(apart.length).toBeLessThan(model.merges.length);
    const tokenizer = { ...files.tokenizer, model: { ...model, merges } };
    const compared = await compare({ ...files, tokenizer }, inputs, runtime(context), true);
    expect(different(compared).slice(0, 3)).toEqual([]);
    expect(compared.notes).not.toContainEqual(expect.stringContaining(note));
  });

  it('but where merges join line breaks with other text, which is said', async (context) => {
    const compared = await compare(files, inputs, runtime(context), true);
    expect(compared.notes).toContainEqual(expect.stringContaining(note));
    const wrong = different(compared);
    expect(wrong.length).toBeGreaterThan(0);
    expect(wrong.every(({ text }) => text.includes('\n'))).toBe(true);
  });
});

describe('a tokenizer of characters and words', () => {
  const files = buildCharTokenizer({
    characters:
      Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('') + '\né東',
    words: ['answer', 'question', 'the answer'],
    markers: ['<tool_call>'],
    specialTokens: ['<|im_start|>'],
    eosToken: '<|im_end|>',
  });

  it('has the same ids where words do not overlap, and says that others differ', async (context) => {
    const plain = [
      '17+25=42',
      'the answer is é東\n',
      'question: what?',
      '<|im_start|>a<tool_call>{}',
    ];
    const compared = await compare(files, plain, runtime(context));
    expect(different(compared)).toEqual([]);
    expect(compared.notes).toEqual([expect.stringContaining('(WordLevel): ids differ')]);
  });

  it('leaves characters without a token out in llama.cpp', async (context) => {
    const { ids } = await compare(files, ['a😀b'], runtime(context));
    const [a, b] = ['a', 'b'].map((letter) => createTokenizer(files).tokenToId(letter));
    expect(ids[0]?.theirs).toEqual([a, b]);
    expect(ids[0]?.ours).toEqual([a, 0, b]);
  });
});
