/**
 * Checks which training run owns an experience store that is outside of the training run's folder.
 */
import { ConfigError } from '@trinity-rft/core';
import type { StateTable } from './state-table.js';

export interface StoreOwner {
  /** Id that is stored in the training run's folder. */
  readonly id: string;
  /** Absolute path of the training run's folder. */
  readonly folder: string;
  /** True if the folder contains steps of the training run. */
  readonly hasBegun: boolean;
  /** Returns true if `folder` contains the training run `id`. */
  readonly isAt: (folder: string, id: string) => boolean;
}

interface Claimed {
  readonly path: string;
  readonly state: StateTable;
  readonly isEmpty: boolean;
}

/**
 * Checks the owner of a store, and records `owner` if the store has none. Stores of earlier
 * versions have no owner. Such a store is refused if it contains experiences, but `owner.folder`
 * contains no steps.
 * @throws ConfigError if the experiences belong to another training run
 */
export function claimStore(owner: StoreOwner, { path, state, isEmpty }: Claimed): void {
  const { id, folder, hasBegun, isAt } = owner;
  const json = state.get('run');
  const known =
    json === undefined ? undefined : (JSON.parse(json) as Pick<StoreOwner, 'id' | 'folder'>);
  const where = known?.folder ?? 'another folder';
  const isOthers = known === undefined ? !isEmpty && !hasBegun : known.id !== id;
  const isCopy = !isOthers && known !== undefined && where !== folder && isAt(where, id);
  if (isOthers || isCopy)
    throw new ConfigError(
      `The experiences in ${path} are those of the run in ${where}; the folder of this run is ${folder}${isCopy ? ', a copy of that one' : ''}. Give this run a database of its own (buffer.trainer_input.experience_buffer.path), continue that run from its folder, or train on its experiences with mode: train.`,
      { code: 'STORE_OF_OTHER_RUN' },
    );
  if (known?.folder !== folder) state.set('run', JSON.stringify({ id, folder }));
}
