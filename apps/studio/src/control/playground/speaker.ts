/** Entry of a process that samples and scores with one model. The process ends with the studio. */
import {
  loadTokenizer,
  normalizeMessages,
  tokenByteTable,
  type ChatFormat,
} from '@trinity-rft/chat';
import { describeError } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import { chatFormatOf, findModel } from '@trinity-rft/local';
import type { Spoken } from '../interface/index.js';
import type {
  CallToScore,
  FromSpeaker,
  Part,
  Question,
  SayQuestion,
  SpeakerStart,
  ToSpeaker,
} from './protocol.js';
import { scoreCall } from './score-call.js';

interface Model {
  readonly engine: Engine;
  readonly format: ChatFormat;
  readonly template: string;
}

/** Number of alternatives per token. */
const alternatives = 5;

let model: Model | undefined;
const open = new Map<number, AbortController>();
const tell = (message: FromSpeaker): void => void process.send?.(message);

async function load({ folder, threads }: SpeakerStart): Promise<void> {
  const tokenizer = await loadTokenizer(folder);
  const { chat } = await findModel(folder);
  const format = chatFormatOf(tokenizer, chat);
  const tokenBytes = tokenByteTable(tokenizer);
  const engine = await createOnnxEngine({ modelPath: folder, threads, tokenBytes });
  await engine.trainer.publish(0);
  await engine.sampler.adopt({ kind: 'published' }, 0);
  const { default: own, ...others } = tokenizer.chatTemplates;
  const template = chat.chat_template ?? own ?? Object.values(others)[0] ?? '';
  model = { engine, format, template };
  tell({ kind: 'ready' });
}

async function reply(question: Question): Promise<void> {
  const { id } = question;
  const stop = new AbortController();
  open.set(id, stop);
  const said = (part: Part): void => tell({ kind: 'said', id, part });
  try {
    if (model === undefined) throw new Error('The model is not open.');
    if (question.kind === 'say') said(await answer(model, question.request, stop.signal, said));
    else await score(model.engine, question.calls, stop.signal, said);
  } catch (error) {
    said({ kind: 'problem', problem: describeError(error) });
  } finally {
    open.delete(id);
  }
}

/** Queue of forward passes, because the trainer of an engine makes one pass at a time. */
let scoring: Promise<unknown> = Promise.resolve();

async function score(
  engine: Engine,
  calls: readonly CallToScore[],
  signal: AbortSignal,
  said: (part: Part) => void,
): Promise<void> {
  for (const call of calls) {
    const pass = scoring.then(() => {
      signal.throwIfAborted();
      return scoreCall(engine.trainer, call);
    });
    scoring = pass.catch(() => undefined);
    said(await pass);
  }
  said({ kind: 'end' });
}

async function answer(
  { engine, format, template }: Model,
  { messages, temperature, maxTokens, seed }: SayQuestion['request'],
  signal: AbortSignal,
  said: (part: Spoken) => void,
): Promise<Spoken> {
  const text = format.render({ messages: normalizeMessages(messages) });
  const prompt = format.encode(text);
  said({ kind: 'prompt', text, tokens: prompt.length, template });
  const { stopTokenIds } = format;
  const room = Math.max(1, engine.sampler.maxModelLen - prompt.length);
  const options = { temperature, seed, stopTokenIds, maxTokens: Math.min(maxTokens, room) };
  const ids: number[] = [];
  let shown = '';
  const [sequence] = await engine.sampler.sample(
    prompt,
    { ...options, topLogprobs: alternatives },
    signal,
    (_, tokens) => {
      ids.push(...tokens);
      const now = format.tokenizer.decode(ids);
      if (now.endsWith('\uFFFD')) return;
      said({ kind: 'text', text: now.slice(shown.length) });
      shown = now;
    },
  );
  if (sequence === undefined) throw new Error('The model has sampled nothing.');
  const { tokens, logprobs, topLogprobs, stopReason } = sequence;
  const texts = textsOf(format, tokens);
  const one = (token: number): string => format.tokenizer.decode([token]);
  return {
    kind: 'end',
    stopReason,
    text: format.readTurn(tokens, { tools: false, promptIds: prompt }).text,
    tokens: [...tokens].map((token, i) => ({
      id: token,
      text: texts[i] ?? '',
      logprob: logprobs[i] ?? 0,
      top: (topLogprobs?.[i] ?? []).map(({ token: other, logprob }) => ({
        text: one(other),
        logprob,
      })),
    })),
  };
}

/**
 * Returns the text of each token. A character that consists of several tokens is part of the text
 * of the last of them.
 */
function textsOf({ tokenizer }: ChatFormat, tokens: Int32Array): readonly string[] {
  let before = 0;
  return Array.from(tokens, (_, i) => {
    const all = tokenizer.decode(tokens.subarray(before, i + 1));
    if (all.endsWith('\uFFFD') && i + 1 < tokens.length) return '';
    before = i + 1;
    return all;
  });
}

process.on('message', (message: ToSpeaker) => {
  if (message.kind === 'open')
    load(message).catch((error: unknown) =>
      tell({ kind: 'failed', problem: describeError(error) }),
    );
  else if (message.kind === 'stop') open.get(message.id)?.abort();
  else void reply(message);
});
process.on('disconnect', () => process.exit());
