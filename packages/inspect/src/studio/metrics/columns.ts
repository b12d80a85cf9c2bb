/** Numbers of a file's lines, by line number. */

const firstLength = 64;

/** Growable list of numbers; positions after its end read as NaN. */
export interface Column {
  readonly push: (value: number) => void;
  readonly at: (index: number) => number;
  readonly length: () => number;
  /** True if any value is not NaN. */
  readonly isSet: () => boolean;
}

export function createColumn(): Column {
  let values = new Float64Array(firstLength);
  let length = 0;
  let isSet = false;
  return {
    push: (value) => {
      if (length === values.length) {
        const longer = new Float64Array(length * 2);
        longer.set(values);
        values = longer;
      }
      values[length++] = value;
      isSet ||= !Number.isNaN(value);
    },
    at: (index) => (index < length ? (values[index] ?? Number.NaN) : Number.NaN),
    length: () => length,
    isSet: () => isSet,
  };
}
