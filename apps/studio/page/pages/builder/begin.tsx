/** First step of a new configuration: a choice of templates and existing files. */
import { FileText } from 'lucide';
import { useState } from 'preact/hooks';
import type { ConfigTemplate } from '../../../src/control/interface/index.js';
import { Help } from '../../design/help.js';
import { Icon } from '../../design/icon.js';
import { Search } from '../../design/search.js';
import { words } from '../../words/builder.js';

interface BeginProps {
  readonly files: readonly string[];
  readonly unreadable: readonly string[];
  readonly moreUnreadable: number;
  readonly templates: readonly ConfigTemplate[];
  readonly onOpen: (file: string) => void;
  readonly onTemplate: (template: ConfigTemplate) => void;
}

export const Begin = ({ templates, onTemplate, ...found }: BeginProps) => (
  <>
    <section aria-label={words.templates}>
      <h2>
        {words.templates} <Help of={words.templates}>{words.about}</Help>
      </h2>
      <div class="cards begin">
        {templates.map((template) => (
          <button
            key={template.name}
            type="button"
            class="card"
            onClick={() => onTemplate(template)}
          >
            <strong>{template.title}</strong>
            <span>{template.about}</span>
            <small class="faint">{words.needs(template.needs)}</small>
          </button>
        ))}
      </div>
    </section>
    <Files {...found} />
  </>
);

/** Maximum number of listed files. */
const most = 30;

type FilesProps = Omit<BeginProps, 'templates' | 'onTemplate'>;

function Files({ files, unreadable, moreUnreadable, onOpen }: FilesProps) {
  const [search, setSearch] = useState('');
  const found = files.filter((file) => file.toLowerCase().includes(search.toLowerCase()));
  return (
    <section aria-label={words.files}>
      <h2>{words.files}</h2>
      {files.length === 0 && <p class="faint">{words.noFiles}</p>}
      {unreadable.length > 0 && (
        <p class="problem">{words.unreadable(unreadable.join(', '), moreUnreadable)}</p>
      )}
      {files.length > 8 && (
        <div class="controls">
          <Search label={words.searchFiles} value={search} onInput={setSearch} />
          {found.length > most && <small class="faint">{words.first(most, found.length)}</small>}
        </div>
      )}
      <ul class="files">
        {found.slice(0, most).map((file) => (
          <li key={file}>
            <button type="button" onClick={() => onOpen(file)}>
              <Icon of={FileText} /> {file}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
