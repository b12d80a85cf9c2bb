/** The processes of one run: a trainer, two explorers, and those that join later. */
import { cpSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { owningTrainer } from './facts.ts';
import { printedBy, startPost, stopPost, type Post } from './post.ts';
import { jobOf, type Role, type RunPlace } from './workspace.ts';

export interface Processes {
  /** Roles whose processes run and are not stopped. */
  readonly running: () => readonly Post[];
  /** Starts one more explorer, at most once. */
  readonly join: () => void;
  readonly hasJoined: () => boolean;
  /**
   * Starts a second trainer, which must be refused. Returns false if no running trainer could refuse
   * it.
   */
  readonly startSecondTrainer: (where: 'its folder' | 'another machine') => Promise<boolean>;
  /**
   * Stops the trainer for `ms`, and starts another one until it has taken over or the first one
   * continues. Undefined if the trainer was not stopped, because it does not own the run yet.
   */
  readonly replaceTrainer: (ms: number) => Promise<'replaced' | 'back' | undefined>;
  /** Number of the newest trainer, whose folder has the weights. */
  readonly trainer: () => number;
  /** Resolves with the unexpected exits once all processes have exited by themselves. */
  readonly ended: Promise<readonly string[]>;
}

/** Maximum number of restarts after failures, as with a supervisor. */
const maxFailures = 5;

interface Run {
  readonly place: RunPlace;
  readonly posts: Map<string, Post>;
  readonly problems: string[];
  trainer: number;
  joined: boolean;
  /** Number of roles whose processes are kept running. */
  kept: number;
  readonly onEnd: () => void;
}

export function startAll(place: RunPlace): Processes {
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>();
  const run: Run = {
    place,
    posts: new Map(),
    problems: [],
    trainer: 1,
    joined: false,
    kept: 0,
    onEnd,
  };
  for (const role of ['trainer', 'e1', 'e2'] as const) keep(run, start(run, role));
  return {
    running: () => [...run.posts.values()].filter((post) => !post.isStopped && !post.isReplaced),
    join: () => {
      run.joined = true;
      keep(run, start(run, 'e3'));
    },
    hasJoined: () => run.joined,
    startSecondTrainer: (where) => startSecondTrainer(run, where === 'its folder'),
    replaceTrainer: (ms) => replaceTrainer(run, ms),
    trainer: () => run.trainer,
    ended: ended.then(() => run.problems),
  };
}

const start = ({ place, trainer }: Run, role: Role): Post =>
  startPost(place, { role, trainer: role === 'trainer' ? trainer : 1 });

const keyOf = ({ role, trainer }: Post): string => `${role} ${trainer}`;

/** Restarts the process of a role until it exits by itself. */
function keep(run: Run, first: Post): void {
  run.kept += 1;
  void keepOn(run, first).finally(() => {
    run.posts.delete(keyOf(first));
    run.kept -= 1;
    if (run.kept === 0) run.onEnd();
  });
}

async function keepOn(run: Run, first: Post): Promise<void> {
  let post = first;
  for (let failures = 0; failures < maxFailures;) {
    run.posts.set(keyOf(post), post);
    const exitCode = await post.exit;
    if (post.isReplaced) return assertFenced(run, post, exitCode);
    if (exitCode === 0) return;
    if (exitCode !== null) {
      failures += 1;
      run.problems.push(
        `${post.role} ended with exit code ${exitCode}, see ${path.basename(post.log)}`,
      );
    }
    post = startPost(run.place, post);
  }
}

function assertFenced({ problems }: Run, post: Post, exitCode: number | null): void {
  if (exitCode !== 0 && printedBy(post).includes('has been replaced or has left')) return;
  problems.push(
    `a trainer that was replaced ended with exit code ${exitCode}, see ${path.basename(post.log)}`,
  );
}

const currentTrainer = (run: Run): Post | undefined => run.posts.get(`trainer ${run.trainer}`);

async function ownsRun({ place }: Run, post: Post | undefined): Promise<boolean> {
  return post !== undefined && (await owningTrainer(place)) === post.child.pid;
}

async function startSecondTrainer(run: Run, isSameFolder: boolean): Promise<boolean> {
  const first = currentTrainer(run);
  if (first === undefined || first.isStopped || !(await ownsRun(run, first))) return false;
  // The number selects a folder that no other trainer uses.
  const trainer = isSameFolder ? run.trainer : run.trainer + 100;
  const second = startPost(run.place, { role: 'trainer', trainer });
  const exitCode = await Promise.race([second.exit, first.exit.then(() => 'first ended')]);
  if (exitCode === 'first ended') {
    second.child.kill('SIGKILL');
    return false;
  }
  const isRefused = /takes part already|is in use by process|does not hold that run/.test(
    printedBy(second),
  );
  if (exitCode === 0 || !isRefused)
    run.problems.push(`a second trainer was not refused, see ${path.basename(second.log)}`);
  return true;
}

async function replaceTrainer(run: Run, ms: number): Promise<'replaced' | 'back' | undefined> {
  const stale = currentTrainer(run);
  if (stale === undefined || !(await ownsRun(run, stale))) return undefined;
  stopPost(stale, ms);
  const trainer = run.trainer + 1;
  copyFolder(run.place, stale.trainer, trainer);
  while (stale.isStopped) {
    const next = startPost(run.place, { role: 'trainer', trainer });
    if (await becomesOwner(run, next)) {
      stale.isReplaced = true;
      run.trainer = trainer;
      keep(run, next);
      return 'replaced';
    }
  }
  return 'back';
}

/** Waits until a trainer owns the run. Returns false if its process was refused. */
async function becomesOwner(run: Run, next: Post): Promise<boolean> {
  let isRunning = true;
  void next.exit.then(() => {
    isRunning = false;
  });
  while (isRunning) {
    if (await ownsRun(run, next)) return true;
    await pause(100);
  }
  return false;
}

/**
 * Copies the files of the silent trainer, as another machine that shares its disk would find them.
 */
function copyFolder(place: RunPlace, from: number, to: number): void {
  const [source, target] = [jobOf(place, from), jobOf(place, to)];
  // Explorers continue in their own folders.
  const explorers = path.join(source, 'explorers');
  cpSync(source, target, { recursive: true, filter: (file) => !file.startsWith(explorers) });
}
