/** Texts of the builder page. */
export const words = {
  about:
    'A configuration is edited as a form and as text, and checked as you type. A check loads the plugins that the text names. Start saves it and runs it in the folder of its project.',
  templates: 'Start from a template',
  needs: (what: string) => `Needs: ${what}`,
  files: 'Continue with a configuration',
  noFiles:
    'There is none below the folder where the studio was started. A template becomes the first one.',
  unreadable: (files: string, more: number) =>
    `Cannot be read: ${files}${more === 0 ? '' : ` and ${more} more`}`,
  searchFiles: 'Find a configuration',
  first: (shown: number, all: number) => `The first ${shown} of ${all}`,
  back: 'Templates and configurations',
  leave: 'The changes are not saved.',
  discard: 'Discard them',
  file: 'File',
  save: 'Save',
  check: 'Check again',
  start: 'Start',
  startedNow: 'Started. It keeps running when this page or the studio is closed.',
  checking: 'Checking ...',
  empty: 'The text is empty.',
  counted: (problems: number, warnings: number) =>
    `${problems === 0 ? 'No errors' : problems === 1 ? '1 error' : `${problems} errors`}, ${warnings === 1 ? '1 warning' : `${warnings} warnings`}.`,
  form: 'Settings',
  search: 'Find a setting',
  all: 'Show settings that are not set',
  noSetting: 'No setting matches.',
  notSet: 'not set',
  noTree: (why: string) => `The text is not YAML, so there is no form: ${why}`,
  yaml: 'YAML',
  problems: 'Errors',
  warnings: 'Warnings',
  line: (line: number) => `Line ${line}`,
  plan: 'Plan',
  started: 'Started runs',
  startedAs: (file: string, pid: number) => `${file}, process ${pid}:`,
  exit: (code: number | null | undefined) =>
    code === undefined
      ? 'running'
      : code === 0
        ? 'done'
        : code === null
          ? 'was killed'
          : `ended with exit code ${code}`,
  runs: 'Runs that can be stopped or resumed',
} as const;
