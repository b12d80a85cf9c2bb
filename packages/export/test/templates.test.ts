/** Tests that each runtime renders real chat templates as we do, or that the export refuses. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AutoTokenizer, env } from '@huggingface/transformers';
import {
  buildCharTokenizer,
  chatTemplates,
  createChatFormat,
  createTokenizer,
  writeTokenizerFiles,
  type ChatFormat,
} from '@trinity-rft/chat';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conversations } from '../src/check/conversations.js';
import { withArguments } from '../src/check/transformers-js.js';
import { promptFormatOf, promptFormats } from '../src/ollama/prompt-formats.js';
import { modelfileOf } from '../src/ollama/modelfile.js';

const fixtures = fileURLToPath(new URL('../../chat/test/fixtures/templates', import.meta.url));
const smollm2 = fileURLToPath(
  new URL('../../../examples/smollm2/agent/template.jinja', import.meta.url),
);
const file = (name: string): Promise<string> =>
  readFile(path.join(fixtures, `${name}.jinja`), 'utf8');

/** A tokenizer with only the special tokens that the templates name. */
const characters = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('');
const specialTokens = ['<|im_start|>', '<s>', '</s>', '[INST]', '[/INST]'];
const filesOf = (chatTemplate: string) => ({
  ...buildCharTokenizer({ characters: `${characters}\n`, eosToken: '<|im_end|>', specialTokens }),
  chatTemplate,
});

const names = ['mistral-nemo', 'smollm3', 'qwen3-coder', 'qwen2.5', 'qwen3'] as const;
const sources: Readonly<Record<string, () => Promise<string>>> = {
  ...Object.fromEntries(names.map((name) => [name, () => file(name)])),
  'smollm2 agent': () => readFile(smollm2, 'utf8'),
  chatml: () => Promise.resolve(chatTemplates.chatml),
};

function rendered(render: () => string): string | undefined {
  try {
    return render();
  } catch {
    return undefined;
  }
}

let scratch = '';
beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'trinity-templates-'));
  env.allowRemoteModels = false;
  env.useFSCache = false;
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

describe.each(Object.keys(sources))('%s', (name) => {
  it('is rendered by transformers.js as by us, where we do not reject the conversation', async () => {
    const files = filesOf((await sources[name]?.()) ?? '');
    await writeTokenizerFiles(path.join(scratch, name), files);
    await writeFile(path.join(scratch, name, 'config.json'), '{"model_type":"llama"}');
    const theirs = await AutoTokenizer.from_pretrained(path.join(scratch, name));
    const format = createChatFormat({ tokenizer: createTokenizer(files) });
    const different = conversations.flatMap(({ messages, tools }, i) => {
      const ours = rendered(() => format.render({ messages, tools }));
      if (ours === undefined) return [];
      const other = rendered(
        () =>
          theirs.apply_chat_template(messages.map(withArguments) as never, {
            tools: (tools ?? null) as never,
            tokenize: false,
            add_generation_prompt: true,
          }) as string,
      );
      return other === ours ? [] : [{ conversation: i, ours, other }];
    });
    expect(different).toEqual([]);
  });

  it('has an Ollama template that renders plain conversations alike, or none', async () => {
    const files = filesOf((await sources[name]?.()) ?? '');
    const format = createChatFormat({ tokenizer: createTokenizer(files) });
    const known = promptFormatOf(format);
    const options = { file: 'model.gguf', format, contextTokens: 512 };
    expect(modelfileOf({ ...options, usesTools: true }).text).toContain(
      'TEMPLATE """{{ .Prompt }}"""',
    );
    if (known === undefined) return;
    for (const { messages } of conversations.slice(0, 3))
      expect(known.render(messages)).toBe(format.render({ messages }));
    expect(modelfileOf({ ...options, usesTools: false }).template).toBe(known.name);
  });
});

describe('the formats that Ollama has a template for', () => {
  const jinja: Readonly<Record<string, string>> = {
    chatml:
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    llama3:
      "{{ '<|begin_of_text|>' }}{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    phi3: "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
    gemma:
      "{{ '<bos>' }}{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% for m in messages %}{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' + m.content + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
  };
  const formatOf = (source: string): ChatFormat =>
    createChatFormat({ tokenizer: createTokenizer(filesOf(source)) });

  it('are found by what they render', () => {
    expect(
      promptFormats.map(({ name }) => [name, promptFormatOf(formatOf(jinja[name] ?? ''))?.name]),
    ).toEqual(promptFormats.map(({ name }) => [name, name]));
  });

  it('are not taken for a template that ends prompts in another way for enable_thinking', () => {
    const source = `${jinja['chatml']}{% if enable_thinking is defined and not enable_thinking %}{{ '<think></think>' }}{% endif %}`;
    const tokenizer = createTokenizer(filesOf(source));
    expect(promptFormatOf(createChatFormat({ tokenizer }))?.name).toBe('chatml');
    expect(promptFormatOf(createChatFormat({ tokenizer, enableThinking: false }))).toBeUndefined();
  });

  it('are not taken for a template that adds a system message of its own', () => {
    const own = `{% if messages[0].role != 'system' %}{{ '<|im_start|>system\\nYou are Qwen.<|im_end|>\\n' }}{% endif %}${jinja['chatml']}`;
    expect(promptFormatOf(formatOf(own))).toBeUndefined();
  });
});
