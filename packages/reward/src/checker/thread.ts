/** The thread that compares, as its owner sees it. */
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { threadFlags } from '@trinity-rft/core';
import type { FromCheckThread, ToCheckThread } from './protocol.js';

export interface CheckThread {
  post(question: ToCheckThread): void;
  /** Hands out what has arrived and not yet been handed out: a late owner is no slow thread. */
  drain(): void;
  /** Does the thread keep the process alive? At first it does not. */
  hold(alive: boolean): void;
  /** Ends the thread, whatever it does; nothing is heard of it from now on. */
  end(): Promise<void>;
}

export interface CheckThreadOwner {
  readonly received: (answer: FromCheckThread) => void;
  /** It ended by itself; `cause` may be undefined. */
  readonly died: (cause: unknown) => void;
}

/**
 * In MB; what bounded input needs is a fraction of it. Beyond it the thread dies, and not the
 * process.
 */
const memory = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

export function startCheckThread(maxAnswerLength: number, owner: CheckThreadOwner): CheckThread {
  // A line of its own, for only that can be drained without waiting.
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    name: 'trinity-math',
    workerData: { port: port2, maxAnswerLength },
    transferList: [port2],
    resourceLimits: memory,
    ...threadFlags(),
  });
  let ended = false;
  let crash: unknown;
  const drain = (): void => {
    for (
      let next = receiveMessageOnPort(port);
      next !== undefined;
      next = receiveMessageOnPort(port)
    )
      owner.received(next.message as FromCheckThread);
  };
  port.on('message', (answer: FromCheckThread) => {
    if (!ended) owner.received(answer);
  });
  worker.on('error', (error) => (crash = error));
  worker.on('exit', () => {
    if (ended) return;
    drain();
    ended = true;
    port.close();
    owner.died(crash);
  });
  worker.unref();
  port.unref();
  return {
    post: (question) => port.postMessage(question),
    drain,
    hold: (alive) => (alive ? port.ref() : port.unref()),
    end: async () => {
      ended = true;
      port.close();
      await worker.terminate();
    },
  };
}
