import { join } from 'node:path';
import { describeExperienceStore } from '@trinity-rft/testing';
import { memoryExperienceStore } from './memory.js';
import { sqliteExperienceStore } from './sqlite.js';

describeExperienceStore('memory', (_folder, options) => memoryExperienceStore(options));
describeExperienceStore(
  'sqlite',
  (folder, options) =>
    sqliteExperienceStore({ ...options, path: join(folder, 'new', 'experiences.db') }),
  {
    durable: true,
  },
);
