/** Columns of numbers, indexed by line number. */

const firstLength = 64;

/** Growable list of numbers; positions after its end read as NaN. */
export interface Column {
  /**
   * Adds a number. NaN means that there is no number. An infinite number means that the recorded
   * number was not finite.
   */
  readonly push: (value: number) => void;
  /** The finite number at a position, otherwise NaN. */
  readonly at: (index: number) => number;
  /** True if a number is recorded at a position, even if it is not finite. */
  readonly has: (index: number) => boolean;
  readonly length: () => number;
  /** True if any value is finite. */
  readonly isSet: () => boolean;
  /** True if any number is recorded, even if it is not finite. */
  readonly isRecorded: () => boolean;
}

export function createColumn(): Column {
  let values = new Float64Array(firstLength);
  let length = 0;
  let isSet = false;
  let isRecorded = false;
  return {
    push: (value) => {
      if (length === values.length) {
        const longer = new Float64Array(length * 2);
        longer.set(values);
        values = longer;
      }
      values[length++] = value;
      isSet ||= Number.isFinite(value);
      isRecorded ||= !Number.isNaN(value);
    },
    at: (index) => {
      const value = index < length ? values[index] : undefined;
      return value !== undefined && Number.isFinite(value) ? value : Number.NaN;
    },
    has: (index) => index < length && !Number.isNaN(values[index]),
    length: () => length,
    isSet: () => isSet,
    isRecorded: () => isRecorded,
  };
}
