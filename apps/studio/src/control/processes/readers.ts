/** Reads the status of runs and the causes of stalls. Databases stay open between requests. */
import { describeError } from '@trinity-rft/core';
import { redactText } from '@trinity-rft/core/support';
import {
  causesOf,
  openStatus,
  type CauseLink,
  type MemberStatus,
  type RunStatus,
  type StatusReader,
} from '@trinity-rft/inspect';
import type { Processes } from '../interface/index.js';

export interface ProcessReaders {
  /**
   * Reads the processes of a run.
   * @param job the folder of the run
   */
  look(job: string): Promise<Processes>;
  close(): Promise<void>;
}

/** Time in ms without a request after which a database is closed. */
const idleMs = 10_000;

interface Entry {
  readonly opened: Promise<StatusReader>;
  readonly idle: NodeJS.Timeout;
}

export function createProcessReaders(): ProcessReaders {
  const entries = new Map<string, Entry>();
  const drop = async (job: string): Promise<void> => {
    const entry = entries.get(job);
    entries.delete(job);
    clearTimeout(entry?.idle);
    const reader = await entry?.opened.catch(() => undefined);
    await reader?.close();
  };
  const entryOf = (job: string): Entry => {
    const known = entries.get(job);
    if (known) {
      known.idle.refresh();
      return known;
    }
    const idle = setTimeout(() => void drop(job).catch(() => undefined), idleMs);
    const entry = { opened: openStatus(job), idle: idle.unref() };
    entries.set(job, entry);
    return entry;
  };
  return {
    look: async (job) => {
      try {
        const reader = await entryOf(job).opened;
        return processesOf(await reader.look());
      } catch (error) {
        await drop(job).catch(() => undefined);
        return { problem: redactText(describeError(error)), members: [], chains: [] };
      }
    },
    close: async () => {
      await Promise.all([...entries.keys()].map(drop));
    },
  };
}

function processesOf(status: RunStatus): Processes {
  return {
    members: status.members.map(memberOf),
    chains: causesOf(status).chains.map(({ links }) => links.map(linkOf)),
    trainStep: status.trainStep,
    exploreStep: status.plannedUpTo,
    staleness: status.staleness,
    endedAt: status.end?.trainStep,
  };
}

function memberOf(member: MemberStatus): Processes['members'][number] {
  const { name, role, host, pid, health, process, isAlive, silentForMs, version } = member;
  const { waits, tasks, delivery } = member;
  return {
    ...{ name, role, host, pid, health, process, isAlive, silentForMs, version },
    waits: [...waits],
    tasks: [...tasks],
    problem: delivery?.problem,
  };
}

const linkOf = ({
  role,
  member,
  asked,
  state,
}: CauseLink): Processes['chains'][number][number] => ({ role, name: member?.name, asked, state });
