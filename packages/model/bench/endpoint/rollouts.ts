/** Rollouts over a sampler that answers at once, and a file that their records go to. */
import { DatabaseSync } from 'node:sqlite';
import { createRuntime, encodeExperience, type Experience, type Runtime, type Sampler } from '@trinity-rft/core';
import { createRolloutModel, type EndpointServer, type RecordingModel } from '@trinity-rft/model';
import { answer, benchFormat } from './conversation.js';

export interface Rollout {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: RecordingModel;
  close(): void;
}

/** @param records gets every call before its client has the answer */
export function rolloutMaker(server: EndpointServer, records?: RecordFile, runtime: Runtime = createRuntime()): () => Rollout {
  const format = benchFormat();
  const sampler = instantSampler(format.tokenizer.encode(answer));
  const notices = new Set<string>();
  return () => {
    const over = new AbortController();
    const { signal } = over;
    const mounted = server.mount({ handler: (request) => model.handler(request), signal });
    const model = createRolloutModel({
      sampler,
      format,
      modelPath: 'bench',
      seedFor: (call) => call,
      runtime,
      notices,
      mounted,
      signal,
      ...(records && { onAnswer: ({ experiences }) => records.add(experiences) }),
    });
    return { baseURL: mounted.baseURL, apiKey: mounted.apiKey, model, close: () => over.abort() };
  };
}

function instantSampler(tokens: Int32Array): Sampler {
  const logprobs = new Float32Array(tokens.length).fill(-0.25);
  return {
    maxModelLen: 32_768,
    policyVersion: 0,
    sample: () => Promise.resolve([{ tokens: tokens.slice(), logprobs: logprobs.slice(), stopReason: 'stop', policyVersion: 0 }]),
    adopt: () => Promise.resolve(),
  };
}

export interface RecordFile {
  /** When it returns, a killed process no longer loses them. */
  add(experiences: readonly Experience[]): void;
  /** How many there are. */
  close(): number;
}

export function openRecordFile(path: string): RecordFile {
  const database = new DatabaseSync(path);
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 100; CREATE TABLE records (id INTEGER PRIMARY KEY, experience BLOB NOT NULL)',
  );
  const insert = database.prepare('INSERT INTO records (experience) VALUES (?)');
  return {
    add: (experiences) => {
      for (const experience of experiences) insert.run(encodeExperience(experience));
    },
    close: () => {
      const { count } = database.prepare('SELECT count(*) AS count FROM records').get() as { count: number };
      database.close();
      return count;
    },
  };
}
