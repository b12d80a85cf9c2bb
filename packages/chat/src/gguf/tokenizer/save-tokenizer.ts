import { isObject } from '../../json/object.js';
import { flag, text, u32, type TypedValue } from '../file/typed-value.js';
import { bytePairKeys } from './save-byte-pairs.js';
import { sentencePieceKeys } from './save-sentence-pieces.js';
import { wordKeys } from './save-words.js';
import {
  addedEntries,
  noCounterpart,
  section,
  tokenText,
  vocabularyEntries,
  type TokenizerKeys,
  type TokenizerSource,
} from './source.js';

type Key = readonly [string, TypedValue];

export interface TokenizerOptions {
  readonly files: TokenizerSource;
  /** Parsed `config.json`. It is read for special tokens that the tokenizer files do not name. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Number of embedding rows. */
  readonly rows: number;
}

/**
 * Returns the GGUF keys of a tokenizer of any supported kind: vocabulary, rules for splitting text,
 * special tokens and chat templates.
 * @throws CheckpointError that names the part of a file that has no counterpart in llama.cpp
 */
export function tokenizerKeys(options: TokenizerOptions): TokenizerKeys {
  const { files } = options;
  const split = splitKeys(options);
  const ends = specialIds(options);
  return {
    keys: [...split.keys, ...ends.keys, ...additions(files), ...templates(files)],
    notes: [...split.notes, ...ends.notes],
  };
}

function splitKeys({ files, config, rows }: TokenizerOptions): TokenizerKeys {
  const model = section(files.tokenizer, 'model');
  if (model['type'] === 'WordLevel') return wordKeys(files, rows);
  // Older tokenizer.json files do not name the type of the model.
  const isPairs = model['type'] === 'BPE' || (model['type'] === undefined && 'merges' in model);
  if (!isPairs)
    throw noCounterpart('model.type', model['type'], 'BPE, or WordLevel of characters and words');
  return model['byte_fallback'] === true
    ? sentencePieceKeys(files, rows, config['model_type'] === 'gemma4_text')
    : bytePairKeys(files, rows);
}

/** Returns the ids of the vocabulary and the added tokens, keyed by token. */
function idsOf(files: TokenizerSource): ReadonlyMap<string, number> {
  const added = addedEntries(files).map(({ content, id }) => [content, id] as const);
  return new Map([...vocabularyEntries(files), ...added]);
}

/** GGUF names of special tokens by their names in the tokenizer. */
const roles = { bos: 'bos', eos: 'eos', unk: 'unknown', pad: 'padding' } as const;

function specialIds({ files, config, rows }: TokenizerOptions): TokenizerKeys {
  const ids = idsOf(files);
  const idOf = (role: string): number | undefined => {
    const token = tokenText(files.tokenizerConfig[`${role}_token`]);
    const found =
      (token === undefined ? undefined : ids.get(token)) ?? listOf(config[`${role}_token_id`])[0];
    return found !== undefined && found < rows ? found : undefined;
  };
  const keys = Object.entries(roles).flatMap(([role, name]): readonly Key[] => {
    const id = idOf(role);
    return id === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, u32(id)]];
  });
  const all = [
    ...listOf(files.generationConfig?.['eos_token_id']),
    ...listOf(config['eos_token_id']),
  ];
  const eos = idOf('eos');
  const others = [...new Set(all)].filter((id) => id !== eos && id < rows);
  const [eot, eom, ...more] = others;
  const ends = eos === undefined ? others : [eos, ...others];
  return {
    keys: [
      ...keys,
      ...(eot === undefined ? [] : [['tokenizer.ggml.eot_token_id', u32(eot)] as const]),
      ...(eom === undefined ? [] : [['tokenizer.ggml.eom_token_id', u32(eom)] as const]),
      // Ollama's engine reads this list instead of the keys for eot and eom.
      ...(eot === undefined
        ? []
        : [['tokenizer.ggml.eos_token_ids', { list: 'i32', value: ends }] as const]),
    ],
    notes:
      more.length > 0
        ? [
            `llama.cpp reads three tokens that end an answer; the ids ${more.join(', ')} are not among them.`,
          ]
        : [],
  };
}

const listOf = (value: unknown): readonly number[] =>
  [value].flat().filter((id): id is number => Number.isInteger(id) && Number(id) >= 0);

/**
 * Returns the keys that say whether special tokens and a space are added to a text. They are
 * written even if the value is false, because llama.cpp's default is true for some tokenizers.
 */
function additions(files: TokenizerSource): readonly Key[] {
  const { tokenizerConfig: config } = files;
  const adds = (role: 'bos' | 'eos'): boolean => {
    const configured = config[`add_${role}_token`];
    if (typeof configured === 'boolean') return configured;
    const token = tokenText(config[`${role}_token`]);
    const around = templateTokens(files.tokenizer['post_processor']);
    return token !== undefined && (role === 'bos' ? around.first : around.last) === token;
  };
  const isPieces = section(files.tokenizer, 'model')['byte_fallback'] === true;
  return [
    ['tokenizer.ggml.add_bos_token', flag(adds('bos'))],
    ['tokenizer.ggml.add_eos_token', flag(adds('eos'))],
    ...(isPieces ? [] : [['tokenizer.ggml.add_space_prefix', flag(false)] as const]),
  ];
}

/** Returns the special tokens that a post-processor adds at the start and at the end of a text. */
function templateTokens(processor: unknown): { readonly first?: unknown; readonly last?: unknown } {
  if (!isObject(processor)) return {};
  const { processors, single } = processor;
  if (Array.isArray(processors))
    return processors.map(templateTokens).reduce((all, each) => ({ ...all, ...each }), {});
  if (!Array.isArray(single) || single.length < 2) return {};
  const token = (step: unknown): unknown => section(step, 'SpecialToken')['id'];
  const [first, last] = [token(single[0]), token(single.at(-1))];
  return {
    ...(first !== undefined && { first }),
    ...(last !== undefined && { last }),
  };
}

function templates({ chatTemplate, tokenizerConfig }: TokenizerSource): readonly Key[] {
  const stored = chatTemplate ?? tokenizerConfig['chat_template'];
  if (typeof stored === 'string') return [['tokenizer.chat_template', text(stored)]];
  if (!Array.isArray(stored)) return [];
  const all = stored
    .filter(isObject)
    .map(({ name, template }) => [String(name), String(template)] as const);
  const others = all.filter(([name]) => name !== 'default');
  const main = all.find(([name]) => name === 'default');
  return [
    ...(main ? [['tokenizer.chat_template', text(main[1])] as const] : []),
    ...(others.length > 0
      ? [
          [
            'tokenizer.chat_templates',
            { list: 'string', value: others.map(([name]) => name) },
          ] as const,
        ]
      : []),
    ...others.map(([name, template]): Key => [`tokenizer.chat_template.${name}`, text(template)]),
  ];
}
