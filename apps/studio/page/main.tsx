/** Entry of the page: frame and current page. */
import '@awesome.me/webawesome/dist/styles/themes/default.css';
import '@awesome.me/webawesome/dist/styles/native.css';
import { render, type ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import { messageOf } from './api.js';
import { Command } from './design/command.js';
import { Problem } from './design/states.js';
import { Toasts } from './design/toast.js';
import { Header } from './frame/header.js';
import { KeyboardHelp, useKeyboard } from './frame/keyboard.js';
import { Palette } from './frame/palette.js';
import { RunHeader } from './frame/run-header.js';
import { useChosen, useRuns } from './frame/runs.js';
import { mainPages, runPages } from './pages.js';
import { usePlace } from './place.js';
import './design/design.css';
import './design/theme.js';
import './frame/frame.css';
import './style.css';
import { words } from './words/frame.js';

function App() {
  const { runs, left, status, ended } = useRuns();
  const place = useChosen(usePlace(), runs);
  const [opened, setOpened] = useState<'palette' | 'keyboard'>();
  useKeyboard({
    place,
    openPalette: () => setOpened('palette'),
    openHelp: () => setOpened('keyboard'),
  });
  const [id] = place.runs;
  const run = runs?.find((each) => each.id === id);
  const shown = [...mainPages, ...runPages].find(({ name }) => name === place.page) ?? mainPages[0];
  const { name, Page } = shown;
  useEffect(() => {
    document.title = [words.pages[name], words.title].join(' · ');
  }, [name]);
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        {words.skip}
      </a>
      <Header
        shown={name}
        place={place}
        status={status}
        onSearch={() => setOpened('palette')}
        onKeyboard={() => setOpened('keyboard')}
      />
      {id !== undefined && runPages.includes(shown) && (
        <RunHeader id={id} run={run} runs={runs ?? []} shown={name} />
      )}
      <main id="main" tabIndex={-1}>
        {ended !== undefined && (
          <div class="callout ended">
            <div>
              <p>{words.ended}</p>
              <Command text={ended} />
            </div>
          </div>
        )}
        <Guarded key={`${name} ${id}`}>
          <Page runs={runs} left={left} run={run} place={{ ...place, page: name }} />
        </Guarded>
      </main>
      {opened === 'palette' && (
        <Palette runs={runs ?? []} run={id} onClose={() => setOpened(undefined)} />
      )}
      {opened === 'keyboard' && <KeyboardHelp onClose={() => setOpened(undefined)} />}
      <Toasts />
    </>
  );
}

/** Shows an error of a page in its place, so that the other pages still work. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const [error] = useErrorBoundary((thrown: unknown) => reportError(thrown));
  return error === undefined ? children : <Problem text={messageOf(error)} />;
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.querySelector('main')?.focus();
}

const root = document.querySelector('#app');
if (root) render(<App />, root);
