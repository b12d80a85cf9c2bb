/** Notices about wishes of clients that are not followed. */
import type { HandlerOptions } from './route.js';

interface Wishes {
  /** Names of all sampling settings the client gave. */
  readonly samplingFields: readonly string[];
  /** Names of fields that ask for constrained decoding. */
  readonly formFields: readonly string[];
}

/** Says once what of the clients' wishes is not followed. */
export function report(
  { samplingFields, formFields }: Wishes,
  options: Pick<
    HandlerOptions,
    'clientSampling' | 'constrainedDecoding' | 'counters' | 'notices' | 'runtime'
  >,
): void {
  const { clientSampling, constrainedDecoding, counters, notices, runtime } = options;
  if (clientSampling === 'override' && samplingFields.length > 0) {
    counters.add('sampling_overridden');
    notice(
      `The agent sets ${samplingFields.join(', ')}; the run's own sampling settings are used instead, so that what is trained is what was configured.`,
    );
  }
  if (formFields.length > 0 && constrainedDecoding) counters.add('constrained');
  else if (formFields.length > 0) {
    counters.add('unconstrained');
    notice(
      `The agent asks for a fixed form with ${formFields.join(', ')}; the model is told, not forced into it, so the reward has to judge. explorer.constrained_decoding forces it.`,
    );
  }
  function notice(text: string): void {
    if (notices.has(text)) return;
    notices.add(text);
    runtime.logger.info(text);
  }
}
