/** Settings next to the conversations: sampling, product and colours of tokens. */
import { SlidersHorizontal } from 'lucide';
import { useState } from 'preact/hooks';
import { Icon } from '../../design/icon.js';
import { ChanceScale } from '../../parts/heat.js';
import { words } from '../../words/playground.js';
import type { Sampling } from './conversation.js';
import { Address } from './product-parts.js';
import type { Product } from './sources.js';

interface SettingsProps {
  readonly sampling: Sampling;
  readonly onSampling: (sampling: Sampling) => void;
  /** Product whose settings are shown; undefined if none of the models is a product. */
  readonly product: Product | undefined;
  readonly onProduct: (product: Product) => void;
}

const numbers = [
  { name: 'temperature', step: '0.1' },
  { name: 'maxTokens', step: '1' },
  { name: 'seed', step: '1' },
] as const;

export function Settings({ sampling, onSampling, product, onProduct }: SettingsProps) {
  const [isWide] = useState(() => matchMedia('(min-width: 70em)').matches);
  return (
    <details class="card settings-panel" open={isWide || product !== undefined}>
      <summary>
        <span>
          <Icon of={SlidersHorizontal} /> {words.settings}
        </span>
      </summary>
      <label>
        {words.system}
        <textarea
          rows={3}
          placeholder={words.systemExample}
          value={sampling.system}
          onInput={({ currentTarget: { value } }) => onSampling({ ...sampling, system: value })}
        />
      </label>
      <div class="numbers">
        {numbers.map(({ name, step }) => (
          <label key={name}>
            {words[name]}
            <input
              type="number"
              min="0"
              step={step}
              value={sampling[name]}
              onChange={({ currentTarget: { valueAsNumber: value } }) =>
                Number.isFinite(value) && onSampling({ ...sampling, [name]: value })
              }
            />
          </label>
        ))}
      </div>
      {product && <Address product={product} onChange={onProduct} />}
      <p class="faint">
        {words.legend} <ChanceScale />
      </p>
    </details>
  );
}
