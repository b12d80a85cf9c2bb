/** The Modelfile from which `ollama create` makes a model. */
import type { ChatFormat } from '@trinity-rft/chat';
import { promptFormatOf } from './prompt-formats.js';

export interface ModelfileOptions {
  /** GGUF file beside the Modelfile. */
  readonly file: string;
  readonly format: ChatFormat;
  /** Training gave the model tools: a Go template would write their definitions in another form. */
  readonly usesTools: boolean;
  /** Longest prompt and answer, in tokens. Ollama cuts longer prompts at the front. */
  readonly contextTokens: number;
}

export interface Modelfile {
  readonly text: string;
  /** Name of the template; undefined: prompts are rendered by the product and sent raw. */
  readonly template: string | undefined;
}

/** Prompts that Ollama is to leave as they are. */
const rawTemplate = '{{ .Prompt }}';

export function modelfileOf(options: ModelfileOptions): Modelfile {
  const { file, format, usesTools, contextTokens } = options;
  const known = usesTools ? undefined : promptFormatOf(format);
  const stops = format.stopTokenIds.flatMap((id) => format.tokenizer.idToToken(id) ?? []);
  const lines = [
    `FROM ./${file}`,
    `TEMPLATE """${known?.template ?? rawTemplate}"""`,
    ...[...new Set(stops)].map((stop) => `PARAMETER stop ${JSON.stringify(stop)}`),
    `PARAMETER num_ctx ${contextTokens}`,
    // The distribution that was trained: Ollama's defaults cut it and punish repetition.
    'PARAMETER temperature 1',
    'PARAMETER top_k 0',
    'PARAMETER top_p 1',
    'PARAMETER repeat_penalty 1',
  ];
  return { text: `${lines.join('\n')}\n`, template: known?.name };
}
