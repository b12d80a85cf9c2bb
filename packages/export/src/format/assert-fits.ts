/** Checks the export options for contradictions before anything is read or written. */
import { isGguf } from '@trinity-rft/chat/gguf';
import { ConfigError } from '@trinity-rft/core';
import { adapterNumbers, type FormatName } from './formats.js';

interface Asked {
  readonly model: { readonly location: string };
  readonly format: FormatName;
  readonly quantize?: string | undefined;
  readonly adapterOnly?: boolean | undefined;
  readonly check?: object | undefined;
}

interface Refusal {
  readonly applies: (asked: Asked) => boolean;
  readonly message: (asked: Asked) => string;
}

const refusals: readonly Refusal[] = [
  {
    applies: ({ adapterOnly, format }) => adapterOnly === true && !adapterNumbers[format],
    message: ({ format }) =>
      `--adapter-only needs --to ${Object.keys(adapterNumbers).join(' or --to ')}; ${format} takes whole models. Leave it out.`,
  },
  {
    applies: ({ adapterOnly, quantize }) => adapterOnly === true && quantize !== undefined,
    message: ({ quantize, format }) =>
      `--quantize is "${quantize}", but an adapter alone is written in one number format (${adapterNumbers[format]?.name}). Leave --quantize out, or --adapter-only.`,
  },
  {
    applies: ({ adapterOnly, check }) => adapterOnly === true && check !== undefined,
    message: ({ format }) =>
      `--check plays whole models. Without --adapter-only, it checks the merged model, which differs where quantised weights are rounded again. To check the adapter itself, compare log-probabilities of the checkpoint (score() of loadModel) with those ${
        format === 'gguf' ? 'of loadModel(BASE.gguf, { adapter })' : 'that PEFT computes'
      }.`,
  },
  {
    applies: ({ model, format }) =>
      (format === 'gguf' || format === 'ollama') && isGguf(model.location),
    message: ({ model, format }) =>
      `${model.location} is a GGUF file, which llama.cpp and Ollama load as it is, and --to ${format} reads folders. Use the file itself, or name the checkpoint or model folder that it was written from.`,
  },
];

/**
 * Checks that the options of an export do not contradict each other.
 * @throws ConfigError if they do not
 */
export function assertFits(asked: Asked): void {
  const refusal = refusals.find(({ applies }) => applies(asked));
  if (refusal) throw new ConfigError(refusal.message(asked), { code: 'ARGUMENT_INVALID' });
}
