/** Generates a Modelfile, from which `ollama create` builds a model. */
import type { ChatFormat } from '@trinity-rft/chat';
import { promptFormatOf } from './prompt-formats.js';

export interface ModelfileOptions {
  /** Name of the GGUF file next to the Modelfile. */
  readonly file: string;
  readonly format: ChatFormat;
  /**
   * True if the model was trained with tools. The Modelfile then has no Go template, because it
   * would describe the tools in a different format than the one used in training.
   */
  readonly usesTools: boolean;
  /**
   * Context length in tokens, for prompt and response together. If a prompt is longer, Ollama
   * removes its beginning.
   */
  readonly contextTokens: number;
}

export interface Modelfile {
  readonly text: string;
  /**
   * Name of the prompt format whose template is used. Undefined if there is none; clients must then
   * render prompts themselves and send them with `raw: true`.
   */
  readonly template: string | undefined;
}

/** Template that passes prompts through unchanged. */
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
    // These settings sample from the trained distribution. Ollama's defaults truncate the
    // distribution and penalise repetition.
    'PARAMETER temperature 1',
    'PARAMETER top_k 0',
    'PARAMETER top_p 1',
    'PARAMETER repeat_penalty 1',
  ];
  return { text: `${lines.join('\n')}\n`, template: known?.name };
}
