/** Answers of SGLang as documented. */
import { expect, it } from 'vitest';
import { readChoices, readScores } from '../src/wire/generate.js';
import { choiceOf, scoresOf, sglangParams } from '../src/wire/sglang.js';

const url = 'http://127.0.0.1:30000/generate';
const meta = {
  id: 'a1',
  prompt_tokens: 2,
  completion_tokens: 3,
  cached_tokens: 1,
  weight_version: 'default',
  finish_reason: { type: 'stop', matched: 7 },
  output_token_logprobs: [
    [-0.5, 4, null],
    [-1.5, 5, ' b'],
    [-0.25, 7, '</s>'],
  ],
  output_top_logprobs: [[[-0.5, 4, null]], [[-1.5, 5, null]], [[-0.25, 7, null]]],
};
const answer = { text: 'a b', output_ids: [4, 5, 7], meta_info: meta };

it('are read with their ids, log-probabilities and weights', () => {
  const options = { maxTokens: 4, seed: 1, stopTokenIds: [7], topLogprobs: 1 };
  const [choice] = readChoices(
    { choices: [choiceOf(answer, 0, url)] },
    { url, options, vocabSize: 8 },
  );
  expect(choice).toMatchObject({
    tokens: Int32Array.of(4, 5, 7),
    logprobs: Float32Array.of(-0.5, -1.5, -0.25),
    stopReason: 'stop',
    labels: [{ label: 'default', start: 0, end: 3 }],
    topLogprobs: [[{ token: 4, logprob: -0.5 }], [{ token: 5 }], [{ token: 7 }]],
  });
  const aborted = { meta_info: { ...meta, finish_reason: { type: 'abort', message: 'x' } } };
  expect(() =>
    readChoices({ choices: [choiceOf(aborted, 0, url)] }, { url, options, vocabSize: 8 }),
  ).toThrow('an aborted text');
  expect(() => choiceOf({ text: '' }, 0, url)).toThrow(`${url} answered what cannot be read`);
});

it('hold the log-probabilities of a text', () => {
  const scored = [
    [null, 1, null],
    [-2, 2, null],
    [-3, 3, null],
  ];
  const read = scoresOf({ meta_info: { ...meta, input_token_logprobs: scored } }, url);
  const row = { tokens: Int32Array.of(1, 2, 3), promptLength: 1, url };
  expect(readScores(read, row)).toEqual({
    logprobs: Float32Array.of(-2, -3),
    labels: ['default'],
  });
});

it('stop ids are not ignored together with the end of the model', () => {
  const options = { maxTokens: 5, minTokens: 9, seed: 3, stopTokenIds: [7] };
  expect(sglangParams(options, 2)).toEqual({
    temperature: 1,
    top_p: 1,
    top_k: -1,
    max_new_tokens: 5,
    min_new_tokens: 5,
    stop_token_ids: [7],
    stop: [],
    ignore_eos: false,
    no_stop_trim: true,
    skip_special_tokens: false,
    sampling_seed: 5,
  });
  expect(sglangParams({ maxTokens: 5, seed: 3 }, 0)).toMatchObject({ ignore_eos: true });
});
