/** Sources, keyed by the values of `--from`. */
import { alpaca } from './alpaca.js';
import { braintrust } from './braintrust.js';
import { langfuse } from './langfuse.js';
import { langsmith } from './langsmith.js';
import { openai } from './openai.js';
import { otel } from './otel.js';
import { plain } from './plain.js';
import { promptfoo } from './promptfoo.js';
import { sharegpt } from './sharegpt.js';
import { together } from './together.js';
import type { Source } from './source.js';

/** Sources in the order in which detection tries them. */
const sources = {
  otel,
  langfuse,
  langsmith,
  sharegpt,
  promptfoo,
  alpaca,
  openai,
  braintrust,
  together,
  plain,
} as const satisfies Readonly<Record<string, Source>>;

export type SourceName = keyof typeof sources;

/** The values of `--from`. */
export const sourceNames = Object.keys(sources) as readonly SourceName[];

export const sourceNamed = (name: SourceName): Source => sources[name];
