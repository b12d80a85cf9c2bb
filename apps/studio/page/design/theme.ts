/** Light or dark theme, according to the system setting or the user's choice. */
import { useState } from 'preact/hooks';

const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const storageName = 'trinity-studio-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

const stored = (): Theme =>
  themes.find((theme) => theme === localStorage.getItem(storageName)) ?? 'system';

/**
 * Applies the stored theme. Dispatches `themechange`, so that charts redraw with the new colours.
 */
function apply(): void {
  const theme = stored();
  const isDark = theme === 'dark' || (theme === 'system' && system.matches);
  document.documentElement.classList.toggle('wa-dark', isDark);
  dispatchEvent(new Event('themechange'));
}

system.addEventListener('change', apply);
apply();

/** Returns the theme, and a function that switches to the next one. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(stored);
  const next = (): void => {
    const chosen = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';
    localStorage.setItem(storageName, chosen);
    setTheme(chosen);
    apply();
  };
  return [theme, next];
}
