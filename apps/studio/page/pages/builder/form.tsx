/** The settings as a form. */
import type { Checked } from '../../../src/control/interface/index.js';
import { useState } from 'preact/hooks';
import { parse } from 'yaml';
import { messageOf } from '../../api.js';
import { words } from '../../words/builder.js';
import {
  filtered,
  sectionOf,
  shown,
  valueAt,
  type Field,
  type Schema,
  type Section,
} from './fields.js';
import type { KeyPath } from './yaml-edit.js';

export interface FormProps {
  readonly schema: Schema;
  readonly tree: unknown;
  readonly problems: Checked['problems'];
  /**
   * Called when a setting is changed.
   * @param value undefined removes the setting
   * @throws {Error} If the text has no place for it. The setting shows the message.
   */
  readonly onChange: (path: KeyPath, value: unknown) => void;
}

export function Form({ schema, tree, problems, onChange }: FormProps) {
  const [search, setSearch] = useState('');
  const [showsAll, setShowsAll] = useState(false);
  const marked = new Set(problems.map(({ key }) => key));
  const whole = sectionOf(schema, tree);
  const filter = { tree, search: search.trim().toLowerCase(), showsAll, marked };
  const visible = filtered(whole, filter);
  const isOpen = filter.search !== '' || !showsAll;
  return (
    <form class="settings" aria-label={words.form} onSubmit={(event) => event.preventDefault()}>
      <div class="controls">
        <label>
          {words.search}{' '}
          <input
            type="search"
            value={search}
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={showsAll}
            onChange={({ currentTarget }) => setShowsAll(currentTarget.checked)}
          />{' '}
          {words.all}
        </label>
      </div>
      {visible === undefined ? (
        <p>{words.noSetting}</p>
      ) : (
        <Part section={visible} {...{ tree, problems, onChange, isOpen }} />
      )}
    </form>
  );
}

interface PartProps extends Omit<FormProps, 'schema'> {
  readonly section: Section;
  readonly isOpen: boolean;
}

function Part({ section, ...rest }: PartProps) {
  const { tree, problems, onChange, isOpen } = rest;
  return (
    <>
      {section.fields.map((field) => (
        <Setting
          key={field.key}
          field={field}
          tree={tree}
          value={valueAt(tree, field.path)}
          problems={problems.filter(({ key }) => key === field.key).map(({ message }) => message)}
          onChange={onChange}
        />
      ))}
      {section.sections.map((inner) => (
        <Group key={`${inner.key} ${isOpen}`} isOpen={isOpen} section={inner}>
          {() => <Part {...rest} section={inner} />}
        </Group>
      ))}
    </>
  );
}

interface GroupProps {
  readonly isOpen: boolean;
  readonly section: Section;
  readonly children: () => preact.JSX.Element;
}

/** Section that renders its fields only while open, because there are about 600 settings. */
function Group({ isOpen, section, children }: GroupProps) {
  const [open, setOpen] = useState(isOpen);
  return (
    <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <strong>{section.name}</strong> <span class="faint">{section.about}</span>
      </summary>
      {open && <div class="inside">{children()}</div>}
    </details>
  );
}

interface SettingProps {
  readonly field: Field;
  readonly tree: unknown;
  readonly value: unknown;
  readonly problems: readonly string[];
  readonly onChange: FormProps['onChange'];
}

function Setting({ field, tree, value, problems, onChange }: SettingProps) {
  const { key, name, path, kind, about, byDefault, choices } = field;
  const [wrong, setWrong] = useState<{ readonly tree: unknown; readonly message: string }>();
  // The message is about the text as it was then.
  const said = wrong !== undefined && wrong.tree === tree ? [wrong.message] : problems;
  const change = (text: string): void => {
    try {
      onChange(path, valueOf(text, kind));
      setWrong(undefined);
    } catch (error) {
      setWrong({ tree, message: messageOf(error) });
    }
  };
  const common = {
    id: `setting ${key}`.replaceAll(' ', '-'),
    'aria-describedby': `about-${key}${said.length > 0 ? ` wrong-${key}` : ''}`,
    'aria-invalid': said.length > 0,
  };
  const text = shown(value);
  return (
    <div class="setting">
      <label for={common.id}>{name}</label>
      {kind === 'choice' && (text === '' || choices.includes(text)) ? (
        <select {...common} value={text} onChange={({ currentTarget: at }) => change(at.value)}>
          <option value="">
            {words.notSet}
            {byDefault === '' ? '' : `: ${byDefault}`}
          </option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          value={text}
          placeholder={byDefault}
          inputMode={kind === 'number' ? 'decimal' : 'text'}
          onChange={({ currentTarget: at }) => change(at.value)}
        />
      )}
      {said.length > 0 && (
        <p class="problem" id={`wrong-${key}`}>
          {said.join(' ')}
        </p>
      )}
      <p class="faint" id={`about-${key}`}>
        {about}
      </p>
    </div>
  );
}

/**
 * Parses an input. Text settings remain strings even if they look like numbers.
 * @returns undefined for an empty input
 * @throws {Error} If the text is not YAML.
 */
function valueOf(text: string, kind: Field['kind']): unknown {
  if (text.trim() === '') return undefined;
  return kind === 'text' ? text : parse(text);
}
