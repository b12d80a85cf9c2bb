/** Editor of configurations: form, text, results of checks, plan, and start. */
import type {
  Checked,
  ConfigTemplate,
  FoundFiles,
  OpenedFile,
  SavedFile,
} from '../../src/control/interface/index.js';
import { ArrowLeft, Play } from 'lucide';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { act, afterErrorMs, ask, isWorthAgain, messageOf } from '../api.js';
import { Command } from '../design/command.js';
import { Help } from '../design/help.js';
import { Icon } from '../design/icon.js';
import { Problem, Skeleton } from '../design/states.js';
import { useKept } from '../kept.js';
import { Sure } from '../parts/sure.js';
import type { PageProps } from '../place.js';
import { words } from '../words/builder.js';
import { words as frame } from '../words/frame.js';
import { Begin } from './builder/begin.js';
import type { Schema } from './builder/fields.js';
import { Form } from './builder/form.js';
import { RunControls, Started, useStarted } from './builder/processes-of-runs.js';
import { useCheck } from './builder/use-check.js';
import { readYaml, setInYaml } from './builder/yaml-edit.js';
import './builder.css';

/** Configuration that is being edited. */
interface Draft {
  readonly file: string;
  readonly text: string;
  /** Text as last opened or saved, or of the template. */
  readonly unedited: string;
  /** The file that has the text `unedited`; undefined if no file of this name has it. */
  readonly kept: SavedFile | undefined;
}

interface Offer {
  readonly schema: Schema;
  readonly found: FoundFiles;
  readonly templates: readonly ConfigTemplate[];
}

async function loadOffer(): Promise<Offer> {
  const [schema, found, templates] = await Promise.all([
    ask<Schema>('builder/schema'),
    ask<FoundFiles>('builder/files'),
    ask<ConfigTemplate[]>('builder/templates'),
  ]);
  return { schema, found, templates };
}

export function Builder({ runs }: PageProps) {
  const [offer, setOffer] = useState<Offer>();
  const [draft, setDraft] = useKept<Draft | undefined>('builder', undefined);
  const [said, setSaid] = useState('');
  const [round, setRound] = useState(0);
  const started = useStarted();
  const { checked, isChecking } = useCheck(draft?.file ?? '', draft?.text ?? '', round);
  const isEdited = draft !== undefined && draft.text !== draft.unedited;
  // Stays while another page of the studio is shown, which keeps the draft.
  useEffect(() => {
    globalThis.onbeforeunload = isEdited ? (event) => event.preventDefault() : null;
  }, [isEdited]);
  /** Runs asynchronous work, and shows its error on the page. */
  const attempt = (work: () => Promise<void>): void => {
    setSaid('');
    work().catch((error: unknown) => setSaid(messageOf(error)));
  };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async (): Promise<void> => {
      try {
        setOffer(await loadOffer());
      } catch (error) {
        if (isWorthAgain(error)) timer = setTimeout(() => attempt(load), afterErrorMs);
        throw error;
      }
    };
    attempt(load);
    return () => clearTimeout(timer);
  }, []);

  const open = (file: string): void =>
    attempt(async () => {
      const opened = await ask<OpenedFile>(`builder/file?file=${encodeURIComponent(file)}`);
      setDraft({ file, text: opened.text, unedited: opened.text, kept: opened });
    });
  /** Shows another draft. What was said is about an earlier one. */
  const show = (next: Draft | undefined): void => {
    setSaid('');
    setDraft(next);
  };
  const change = (how: (before: Draft) => Draft): void => {
    setSaid('');
    setDraft((now) => now && how(now));
  };
  const save = async ({ file, text, kept }: Draft): Promise<void> => {
    const digest = kept?.digest;
    const saved = await act<SavedFile>('builder/save', { file, text, digest });
    change((now) => (now.file === file ? { ...now, unedited: text, kept: saved } : now));
    setOffer(await loadOffer());
  };
  const start = (edited: Draft): void =>
    attempt(async () => {
      if (!isSaved(edited)) await save(edited);
      await act('builder/start', { file: edited.file });
      setSaid(words.startedNow);
    });
  if (offer === undefined) return said === '' ? <Skeleton lines={8} /> : <Problem text={said} />;
  return (
    <section aria-label={frame.pages.builder}>
      {draft === undefined ? (
        <>
          {said !== '' && <Problem text={said} />}
          <Begin
            {...offer.found}
            templates={offer.templates}
            onOpen={open}
            onTemplate={({ name, text }) =>
              show({ file: `${name}.yaml`, text, unedited: text, kept: undefined })
            }
          />
        </>
      ) : (
        <>
          <div class="controls builder-bar">
            <Back key={isEdited} isEdited={isEdited} onBack={() => show(undefined)} />
            <label>
              {words.file}{' '}
              <input
                value={draft.file}
                onChange={({ currentTarget: { value } }) =>
                  change((now) => ({ ...now, file: value, kept: undefined }))
                }
              />
            </label>
            <button
              type="button"
              disabled={isSaved(draft)}
              onClick={() => attempt(() => save(draft))}
            >
              {words.save}
            </button>
            <button
              type="button"
              onClick={() => {
                setSaid('');
                setRound((before) => before + 1);
              }}
            >
              {words.check}
            </button>
            <button
              type="button"
              class="primary"
              disabled={isChecking || checked === undefined || checked.problems.length > 0}
              onClick={() => start(draft)}
            >
              <Icon of={Play} /> {words.start}
            </button>
            <Help of={frame.pages.builder}>{words.about}</Help>
            {draft.kept && <Command text={draft.kept.command} />}
          </div>
          <p role="status" class={`callout verdict ${kindOf(checked, isChecking)}`}>
            {said === '' ? verdict(draft.text, checked, isChecking) : said}
          </p>
          <Editor schema={offer.schema} {...{ draft, checked, change }} />
        </>
      )}
      <RunControls runs={runs ?? []} />
      <Started started={started} />
    </section>
  );
}

const isSaved = ({ kept, text, unedited }: Draft): boolean =>
  kept !== undefined && text === unedited;

interface BackProps {
  readonly isEdited: boolean;
  readonly onBack: () => void;
}

function Back({ isEdited, onBack }: BackProps) {
  const [isAsked, setAsked] = useState(false);
  if (isAsked)
    return (
      <Sure
        label={words.back}
        question={words.leave}
        yes={words.discard}
        onYes={onBack}
        onNo={() => setAsked(false)}
      />
    );
  return (
    <button type="button" class="quiet" onClick={() => (isEdited ? setAsked(true) : onBack())}>
      <Icon of={ArrowLeft} /> {words.back}
    </button>
  );
}

function verdict(text: string, checked: Checked | undefined, isChecking: boolean): string {
  if (text.trim() === '') return words.empty;
  if (isChecking || checked === undefined) return words.checking;
  return words.counted(checked.problems.length, checked.warnings.length);
}

function kindOf(checked: Checked | undefined, isChecking: boolean): string {
  if (isChecking || checked === undefined) return '';
  return checked.problems.length > 0
    ? 'danger'
    : checked.warnings.length > 0
      ? 'warning'
      : 'success';
}

interface EditorProps {
  readonly schema: Schema;
  readonly draft: Draft;
  readonly checked: Checked | undefined;
  readonly change: (how: (before: Draft) => Draft) => void;
}

function Editor({ schema, draft, checked, change }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const { tree, problem } = useMemo(() => readYaml(draft.text), [draft.text]);
  const problems = checked?.problems ?? [];
  const edit = (text: string): void => change((before) => ({ ...before, text }));
  return (
    <div class="columns wide builder">
      <div class="card">
        {problem === undefined ? (
          <Form
            {...{ schema, tree, problems }}
            onChange={(path, value) => edit(setInYaml(draft.text, path, value))}
          />
        ) : (
          <Problem text={words.noTree(problem)} />
        )}
      </div>
      <div>
        <label class="yaml">
          {words.yaml}
          <textarea
            ref={area}
            spellcheck={false}
            wrap="off"
            rows={Math.min(40, draft.text.split('\n').length + 1)}
            value={draft.text}
            onInput={({ currentTarget: { value } }) => edit(value)}
          />
        </label>
        <Findings checked={checked} onLine={(line) => showLine(area.current, line)} />
      </div>
    </div>
  );
}

interface FindingsProps {
  readonly checked: Checked | undefined;
  readonly onLine: (line: number) => void;
}

function Findings({ checked, onLine }: FindingsProps) {
  if (checked === undefined) return null;
  return (
    <>
      {checked.problems.length > 0 && (
        <ul class="findings" aria-label={words.problems}>
          {checked.problems.map(({ line, key, message }) => (
            <li key={`${line} ${key} ${message}`}>
              {line > 0 && (
                <button type="button" onClick={() => onLine(line)}>
                  {words.line(line)}
                </button>
              )}{' '}
              <strong>{key}</strong> <span class="problem">{message}</span>
            </li>
          ))}
        </ul>
      )}
      {checked.warnings.length > 0 && (
        <ul class="findings" aria-label={words.warnings}>
          {checked.warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      {checked.plan !== undefined && (
        <>
          <h2>{words.plan}</h2>
          <pre class="output" tabIndex={0} aria-label={words.plan}>
            {checked.plan}
          </pre>
        </>
      )}
    </>
  );
}

/** Moves the cursor to a line of the text. */
function showLine(area: HTMLTextAreaElement | null, line: number): void {
  if (area === null) return;
  const lines = area.value.split('\n');
  const start = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
}
