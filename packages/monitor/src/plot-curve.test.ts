import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plotCurve } from './plot-curve.js';

const rising = Array.from({ length: 41 }, (_, index) => index / 40);

describe('plotCurve', () => {
  it('draws a curve between its axes, with the ends of both', () => {
    expect(plotCurve(rising, { width: 24, height: 4, title: 'reward' }).split('\n')).toEqual([
      'reward',
      '1 ┤                ⣀⡠⠔⠒⠉',
      '  ┤          ⢀⣀⠤⠒⠊⠉',
      '  ┤     ⣀⡠⠤⠒⠉⠁',
      '0 ┤⣀⠤⠔⠊⠉',
      '  └─────────────────────',
      '   1: 0            41: 1',
    ]);
  });

  it('averages equal shares when there are more values than dots', () => {
    const noisy = Array.from({ length: 4000 }, (_, index) => (index % 2 === 0 ? 1 : 0));
    const rows = plotCurve(noisy, { width: 23, height: 3, yMin: 0, yMax: 1 }).split('\n');
    expect(rows[0]).toBe('1 ┤');
    expect(rows[1]).toBe(`  ┤${'⠤'.repeat(20)}`);
    expect(rows[2]).toBe('0 ┤');
  });

  it('joins steep values with a stroke, so that no row between them is empty', () => {
    const rows = plotCurve([0, 0, 0, 1, 1, 1], { width: 40, height: 6 }).split('\n').slice(0, 6);
    for (const row of rows) expect(row).toMatch(/[\u2801-\u28FF]/);
  });

  it('draws a flat line through the middle, a single value too', () => {
    for (const values of [[3], [3, 3, 3]]) {
      const rows = plotCurve(values, { width: 13, height: 3 }).split('\n');
      expect(rows.map((row) => /[\u2801-\u28FF]/.test(row))).toEqual([
        false,
        true,
        false,
        false,
        false,
      ]);
    }
  });

  it('keeps to the given axis, drawing what lies outside at its ends', () => {
    const rows = plotCurve([-5, 5], { width: 20, height: 4, yMin: 0, yMax: 1 }).split('\n');
    expect(rows[0]).toMatch(/^1 ┤.*[\u2801-\u28FF]$/);
    expect(rows[3]).toMatch(/^0 ┤[\u2801-\u28FF]/);
  });

  it('leaves gaps for values that are not finite, and says when there are none', () => {
    const [row] = plotCurve([1, 1, 1, NaN, NaN, 1, 1, 1], { width: 30, height: 1 }).split('\n');
    expect(row).toMatch(/[\u2801-\u28FF] +[\u2801-\u28FF]/);
    expect(plotCurve([], { title: 'reward' })).toBe('reward\n(no values)');
    expect(plotCurve([NaN])).toBe('(no values)');
  });

  it('fits its width and height, whatever the values', () => {
    const values = fc.array(fc.double({ min: -1e6, max: 1e6 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(
        values,
        fc.integer({ min: 40, max: 120 }),
        fc.integer({ min: 1, max: 20 }),
        (numbers, width, height) => {
          if (!numbers.some(Number.isFinite)) return;
          const rows = plotCurve(numbers, { width, height }).split('\n');
          expect(rows).toHaveLength(height + 2);
          for (const row of rows) expect(row.length).toBeLessThanOrEqual(width);
        },
      ),
    );
  });
});
