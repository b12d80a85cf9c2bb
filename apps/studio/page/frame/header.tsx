/** Header of every page: navigation and the state of the connection. */
import { Keyboard, Monitor, Moon, Search, Sun } from 'lucide';
import { Icon } from '../design/icon.js';
import { useTheme } from '../design/theme.js';
import { mainPages, type Page } from '../pages.js';
import { addressOf, type Place } from '../place.js';
import { words } from '../words/frame.js';

interface HeaderProps {
  readonly shown: Page['name'];
  readonly place: Place;
  readonly status: string;
  readonly onSearch: () => void;
  readonly onKeyboard: () => void;
}

export const Header = ({ shown, place, status, onSearch, onKeyboard }: HeaderProps) => (
  <header class="top">
    <a class="brand" href={addressOf('runs', [])}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M1 13 6 7l3 3 6-8" />
      </svg>
      <span>{words.title}</span>
    </a>
    <nav class="main-nav" aria-label={words.title}>
      {mainPages.map(({ name, icon }) => (
        <a
          key={name}
          href={addressOf(name, name === 'runs' ? [] : place.runs)}
          aria-current={name === shown ? 'page' : undefined}
        >
          <Icon of={icon} />
          <span>{words.pages[name]}</span>
        </a>
      ))}
    </nav>
    <button type="button" class="open-palette" onClick={onSearch}>
      <Icon of={Search} />
      <span>{words.palette.open}</span>
      <kbd>Ctrl K</kbd>
    </button>
    <output role="status" class={kindOf(status)}>
      {status}
    </output>
    <ThemeButton />
    <button
      type="button"
      class="quiet icon-only open-keyboard"
      aria-label={words.keyboard.title}
      title={words.keyboard.title}
      onClick={onKeyboard}
    >
      <Icon of={Keyboard} />
    </button>
  </header>
);

const kindOf = (status: string): string | undefined =>
  status === words.over ? undefined : status === words.live ? 'live' : 'problem';

const themeIcons = { system: Monitor, light: Sun, dark: Moon } as const;

function ThemeButton() {
  const [theme, next] = useTheme();
  const label = words.theme[theme];
  return (
    <button type="button" class="quiet icon-only" aria-label={label} title={label} onClick={next}>
      <Icon of={themeIcons[theme]} />
    </button>
  );
}
