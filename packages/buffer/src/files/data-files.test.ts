import { TaskError } from '@trinity-rft/core';
import { describe, expect, it } from 'vitest';
import { chooseDataFiles } from './data-files.js';
import { globPattern, readDatasetCard } from './dataset-card.js';
import { parseSplit, slicePart } from './splits.js';

const reports: string[] = [];
const choose = (paths: readonly string[], split = 'train', subsetName?: string, readme = '') =>
  chooseDataFiles(paths, {
    where: 'sums',
    split,
    subsetName,
    card: readDatasetCard(readme),
    report: (line) => reports.push(line),
  });

// Files that Python's `datasets` 5 loads from folders with these files (recorded once; the rows of
// each file held its name).
describe('chooses the files that Hugging Face datasets chooses', () => {
  it.each<[string, string[], Record<string, string[]>]>([
    [
      'files called by their split',
      ['test.jsonl', 'train.jsonl'],
      { train: ['train.jsonl'], test: ['test.jsonl'] },
    ],
    [
      'shards',
      [
        'data/train-00000-of-00002.jsonl',
        'data/train-00001-of-00002.jsonl',
        'data/validation-00000-of-00001.jsonl',
      ],
      {
        train: ['data/train-00000-of-00002.jsonl', 'data/train-00001-of-00002.jsonl'],
        validation: ['data/validation-00000-of-00001.jsonl'],
      },
    ],
    ['files that name no split', ['b.jsonl', 'a.jsonl'], { train: ['a.jsonl', 'b.jsonl'] }],
    [
      'words within names',
      ['math_train_v2.jsonl', 'my_dev.jsonl'],
      { train: ['math_train_v2.jsonl'], validation: ['my_dev.jsonl'] },
    ],
    [
      'folders of splits',
      ['train/a.jsonl', 'train/b.jsonl', 'testing/c.jsonl'],
      { train: ['train/a.jsonl', 'train/b.jsonl'], test: ['testing/c.jsonl'] },
    ],
    [
      'folders of subsets',
      ['main/train.jsonl', 'main/test.jsonl', 'socratic/train.jsonl'],
      { train: ['main/train.jsonl', 'socratic/train.jsonl'], test: ['main/test.jsonl'] },
    ],
    [
      'descriptions beside the data',
      ['dataset_info.json', 'train.jsonl'],
      { train: ['train.jsonl'] },
    ],
    [
      'a split with a name of its own',
      ['data/hard-00000-of-00001.jsonl', 'data/train-00000-of-00001.jsonl'],
      { hard: ['data/hard-00000-of-00001.jsonl'] },
    ],
    [
      'an unnamed file beside a named one',
      ['extra.jsonl', 'train.jsonl'],
      { train: ['train.jsonl'] },
    ],
    ['other words for test', ['eval.jsonl', 'train.jsonl'], { test: ['eval.jsonl'] }],
    ['a name that only contains a keyword', ['contest.jsonl'], { train: ['contest.jsonl'] }],
    [
      'numbered files',
      ['train1.jsonl', 'train2.jsonl', 'test.jsonl'],
      { train: ['train1.jsonl', 'train2.jsonl'] },
    ],
    ['hidden folders', ['.cache/train.jsonl', 'train.jsonl'], { train: ['train.jsonl'] }],
    [
      'words run together',
      ['testset.jsonl', 'trainset.jsonl'],
      { train: ['testset.jsonl', 'trainset.jsonl'] },
    ],
  ])('%s', (_what, paths, splits) => {
    for (const [split, files] of Object.entries(splits))
      expect(choose(paths, split)).toEqual(files);
  });
});

it('takes a folder for a subset when one is named', () => {
  expect(choose(['main/train.jsonl', 'socratic/train.jsonl'], 'train', 'socratic')).toEqual([
    'socratic/train.jsonl',
  ]);
  expect(choose(['data/main/train.jsonl', 'data/other/train.jsonl'], 'train', 'main')).toEqual([
    'data/main/train.jsonl',
  ]);
});

it('reports files that it leaves out for one that is called by the split', () => {
  reports.length = 0;
  expect(choose(['train.jsonl', 'train_part2.jsonl', 'test.jsonl'])).toEqual(['train.jsonl']);
  expect(reports).toEqual([
    expect.stringContaining('is read from train.jsonl, and not from train_part2.jsonl. To read'),
  ]);
  choose(['train1.jsonl', 'train2.jsonl', 'extra.jsonl']);
  expect(reports).toHaveLength(1);
});

it('reports files that it leaves out with the folder that the README gives', () => {
  reports.length = 0;
  const readme = '---\nconfigs:\n- config_name: hard\n  data_dir: hard\n---\n';
  const paths = ['hard/train.jsonl', 'hard/train_2.jsonl', 'easy/train.jsonl'];
  expect(choose(paths, 'train', 'hard', readme)).toEqual(['hard/train.jsonl']);
  expect(reports).toEqual([
    expect.stringMatching(
      /from hard\/train\.jsonl, and not from hard\/train_2\.jsonl\..*`data_files` of its README/,
    ),
  ]);
});

const card = `---
configs:
- config_name: main
  data_files:
  - split: train
    path: main/train-*
  - split: dev
    path: ["main/held-out/**"]
- config_name: flat
  data_files: "flat/*.jsonl"
---
# A card
`;
const cardFiles = [
  'flat/x.jsonl',
  'main/held-out/deep/a.jsonl',
  'main/train-00000-of-00001.jsonl',
  'main/train-notes.txt',
];

it('follows the README where it declares subsets', () => {
  expect(choose(cardFiles, 'train', 'main', card)).toEqual(['main/train-00000-of-00001.jsonl']);
  expect(choose(cardFiles, 'validation', 'main', card)).toEqual(['main/held-out/deep/a.jsonl']);
  expect(choose(cardFiles, 'train', 'flat', card)).toEqual(['flat/x.jsonl']);
});

const folderCard = `---
configs:
- config_name: easy
  data_dir: ./train/easy/
- config_name: hard
  data_dir: hard
  default: true
---
`;

it('chooses by name where the README gives only a folder', () => {
  const paths = [
    'hard/test.jsonl',
    'hard/train.jsonl',
    'train/easy/a.jsonl',
    'train/easy/b.jsonl',
    'train/easy-old/a.jsonl',
  ];
  expect(choose(paths, 'train', undefined, folderCard)).toEqual(['hard/train.jsonl']);
  expect(choose(paths, 'test', 'hard', folderCard)).toEqual(['hard/test.jsonl']);
  expect(choose(paths, 'train', 'easy', folderCard)).toEqual([
    'train/easy/a.jsonl',
    'train/easy/b.jsonl',
  ]);
  expect(() => choose(paths, 'test', 'easy', folderCard)).toThrow('it has no split "test"');
});

it('ignores front matter that declares nothing, or cannot be read', () => {
  for (const readme of [
    '# No front matter',
    '---\nlicense: mit\n---',
    '---\nconfigs: [1, 2\n---',
    '---\n- a list\n---',
    '---\nconfigs: text\n---',
    '---\nconfigs: [null, text]\n---',
  ]) {
    expect(choose(['train.jsonl'], 'train', undefined, readme)).toEqual(['train.jsonl']);
  }
});

it.each<[string, string, string[], string, string | undefined, string]>([
  [
    'a split that is not there',
    'it has no split "validation". Expected one of: test, train.',
    ['test.jsonl', 'train.jsonl'],
    'validation',
    undefined,
    '',
  ],
  [
    'a missing shard',
    'files number 1 of the 3 of its split "train" are missing',
    ['train-00000-of-00003.jsonl', 'train-00002-of-00003.jsonl'],
    'train',
    undefined,
    '',
  ],
  [
    'a missing shard of one of several folders',
    'files number 0 of the 2 of its split "train" are missing in b/ (counting from 0)',
    [
      'a/train-00000-of-00002.jsonl',
      'a/train-00001-of-00002.jsonl',
      'b/train-00001-of-00002.jsonl',
    ],
    'train',
    undefined,
    '',
  ],
  [
    'two formats',
    'its split "train" exists as Parquet and as JSON (train.jsonl, train.parquet)',
    ['train.jsonl', 'train.parquet'],
    'train',
    undefined,
    '',
  ],
  [
    'no data',
    'expected files ending in .jsonl, .json or .parquet, found none',
    ['README.md', 'config.json'],
    'train',
    undefined,
    '',
  ],
  ['other data', 'found only train.csv.', ['train.csv'], 'train', undefined, ''],
  [
    'Arrow files',
    'write it with to_json or to_parquet',
    ['data-00000-of-00001.arrow', 'state.json'],
    'train',
    undefined,
    '',
  ],
  [
    'an unknown subset',
    'it has no subset "odd". Set subset_name to one of: main.',
    ['main/train.jsonl'],
    'train',
    'odd',
    '',
  ],
  [
    'a README that leaves the choice open',
    'it has several subsets. Set subset_name to one of: flat, main.',
    cardFiles,
    'train',
    undefined,
    card,
  ],
  [
    'a split that the README does not give',
    'it has no split "test". Expected one of: train, validation.',
    cardFiles,
    'test',
    'main',
    card,
  ],
  [
    'a README whose glob is wrong',
    'its README gives main/[z-a]* as files of split "train", which is no glob or has too many wildcards',
    cardFiles,
    'train',
    'main',
    card.replace('main/train-*', 'main/[z-a]*'),
  ],
  [
    'a README whose glob takes for ever',
    'which is no glob or has too many wildcards. Correct it',
    [`main/${'a'.repeat(200)}.jsonl`],
    'train',
    'main',
    card.replace('main/train-*', `main/${'*a'.repeat(40)}b`),
  ],
  [
    'a README whose files are gone',
    'its README gives main/train-* as the files of split "train", but none of them exists',
    ['flat/x.jsonl'],
    'train',
    'main',
    card,
  ],
  [
    'a README whose folder is gone',
    'its README gives the folder train/easy/ for subset "easy", which has no data files',
    ['hard/train.jsonl'],
    'train',
    'easy',
    folderCard,
  ],
])('rejects %s', (_what, message, paths, split, subset, readme) => {
  expect(() => choose(paths, split, subset, readme)).toThrow(TaskError);
  expect(() => choose(paths, split, subset, readme)).toThrow(`Task set sums: `);
  expect(() => choose(paths, split, subset, readme)).toThrow(message);
});

it('reads a README that names thousands of files and folders one by one', () => {
  const files = Array.from({ length: 3000 }, (_, i) => `data/part-${i}/a+b.parquet`);
  const names = files.map((file, i) => (i % 2 === 0 ? file : file.replace('/a+b.parquet', '')));
  const readme = `---\nconfigs:\n- data_files: ${JSON.stringify([...names, 'data/*/c.parquet'])}\n---`;
  const paths = [...files, 'data/part-0/c.parquet', 'data/part-0/d.parquet'];
  expect(choose(paths, 'train', undefined, readme)).toEqual(paths.slice(0, -1).toSorted());
});

it.each([
  ['data/*.jsonl', 'data/a.jsonl', true],
  ['data/*.jsonl', 'data/deep/a.jsonl', false],
  ['data/**/*.jsonl', 'data/a.jsonl', true],
  ['**/train-[0-9][0-9].json', 'x/y/train-07.json', true],
  ['train-0?.json', 'train-1.json', false],
  ['{a,b*}/x.json', 'bcd/x.json', true],
  ['main', 'main/x.json', true],
  ['a+b (1).json', 'a+b (1).json', true],
])('matches the glob %s with %s: %s', (pattern, path, expected) => {
  expect(globPattern(pattern).test(path)).toBe(expected);
});

it.each<[string, number[]]>([
  ['train', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ['train[:3]', [0, 1, 2]],
  ['train[3:5]', [3, 4]],
  ['train[-2:]', [8, 9]],
  ['train[10%:30%]', [1, 2]],
  ['train[:25%]', [0, 1, 2]],
  ['train[:99]', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
])('reads the rows of %s', (split, expected) => {
  const rows = Array.from({ length: 10 }, (_, i) => i);
  expect(parseSplit(split).flatMap((part) => slicePart(rows, part))).toEqual(expected);
});

it('reads sums of splits, and other words for them', () => {
  expect(parseSplit('train+val[:2]').map(({ split }) => split)).toEqual(['train', 'validation']);
});

it.each(['', 'train[', 'train[1]', 'train[1:50%]', 'a b', 'train[:x]'])(
  'rejects the split "%s"',
  (split) => {
    expect(() => parseSplit(split)).toThrow(TaskError);
  },
);
