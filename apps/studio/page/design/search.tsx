/** Search field that filters the list below it. */

interface SearchProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

export const Search = ({ label, value, onInput }: SearchProps) => (
  <input
    type="search"
    aria-label={label}
    placeholder={label}
    value={value}
    onInput={({ currentTarget }) => onInput(currentTarget.value)}
  />
);
