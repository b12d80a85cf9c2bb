import { readFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/**
 * Names the test files that do not end, and ends the run. Vitest has no deadline for imports, nor
 * for a process that is blocked.
 */
export default class StuckTests implements Reporter {
  readonly #files = new Set<string>();
  readonly #afterMs: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param options `afterMs`: time without news; by default more than any test or hook may take. */
  constructor({ afterMs = 600_000 }: { readonly afterMs?: number } = {}) {
    this.#afterMs = afterMs;
  }

  onTestModuleQueued(file: TestModule): void {
    this.#files.add(file.relativeModuleId);
    this.#wait();
  }

  onTestCaseResult(): void {
    this.#wait();
  }

  onTestModuleEnd(file: TestModule): void {
    this.#files.delete(file.relativeModuleId);
    this.#wait();
  }

  onTestRunEnd(): void {
    clearTimeout(this.#timer);
  }

  #wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), this.#afterMs);
  }

  #end(): void {
    const minutes = this.#afterMs / 60_000;
    console.error(`\nNo test has ended for ${minutes} minutes. These files do not end:`);
    for (const file of this.#files) console.error(`  ${file}`);
    printProcesses();
    process.exit(1);
  }
}

/** Prints whether each test process computes or sleeps, and its child processes. Linux only. */
function printProcesses(): void {
  for (const pid of childrenOf(process.pid)) {
    if (!commandOf(pid).includes('vitest')) continue;
    const [, state] = /\) (\w)/.exec(readProcess(pid, 'stat')) ?? [];
    const children = childrenOf(pid).map((child) => `\n    ${child}: ${commandOf(child)}`);
    console.error(`  process ${pid} is in state ${state}${children.join('')}`);
  }
}

const childrenOf = (pid: string | number): readonly string[] =>
  readProcess(pid, `task/${pid}/children`).split(' ').filter(Boolean);
const commandOf = (pid: string): string => readProcess(pid, 'cmdline').replaceAll('\0', ' ');

function readProcess(pid: string | number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
