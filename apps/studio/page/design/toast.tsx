/** Short messages at the lower edge, each shown for a few seconds. */
import { useEffect, useState } from 'preact/hooks';

const shownMs = 4000;
let show: ((text: string) => void) | undefined;

/** Confirms an action. Errors are not toasts: they are shown permanently, next to their cause. */
export const toast = (text: string): void => show?.(text);

export function Toasts() {
  const [shown, setShown] = useState<readonly { readonly text: string }[]>([]);
  useEffect(() => {
    show = (text) => {
      const one = { text };
      setShown((before) => [...before, one]);
      setTimeout(() => setShown((before) => before.filter((each) => each !== one)), shownMs);
    };
    return () => (show = undefined);
  }, []);
  return (
    <div class="toasts" role="status">
      {shown.map(({ text }, i) => (
        <p key={i}>{text}</p>
      ))}
    </div>
  );
}
