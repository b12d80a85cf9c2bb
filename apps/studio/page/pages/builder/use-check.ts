/** Checks the edited text, debounced. */
import type { Checked } from '../../../src/control/interface/index.js';
import { useEffect, useState } from 'preact/hooks';
import { act, messageOf } from '../../api.js';

const afterMs = 500;
/** Timeout for a check in ms, longer than the server's timeout. */
const answerMs = 70_000;

export interface Check {
  readonly checked: Checked | undefined;
  readonly isChecking: boolean;
}

/**
 * Returns the result of the latest check.
 * @param round number to increase for another check of the same text, whose referenced files may
 * have changed
 */
export function useCheck(file: string, text: string, round: number): Check {
  const [check, setCheck] = useState<Check>({ checked: undefined, isChecking: false });
  useEffect(() => {
    if (text.trim() === '') return setCheck({ checked: undefined, isChecking: false });
    setCheck(({ checked }) => ({ checked, isChecking: true }));
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(answerMs)]);
      const checked = await act<Checked>('builder/check', { file, text }, signal).catch(
        (error: unknown): Checked => ({ problems: [asProblem(error)], warnings: [] }),
      );
      if (!stop.signal.aborted) setCheck({ checked, isChecking: false });
    };
    const timer = setTimeout(() => void look(), afterMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [file, text, round]);
  return check;
}

const asProblem = (error: unknown): Checked['problems'][number] => ({
  line: 0,
  column: 0,
  key: '',
  message: messageOf(error),
});
