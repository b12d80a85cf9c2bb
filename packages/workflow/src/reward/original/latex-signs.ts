/** Plain text of LaTeX commands that have no arguments. */

/**
 * Names of commands, each followed by its plain text. The spelling is that of Trinity-RFT's DAPO
 * grader, which later looks for `pi`, `inf`, `U` and `*`.
 */
const named =
  "pi pi infty inf cup U cdot * times * div ÷ pm ± mp ∓ le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ approx ≈ in ∈ cap ∩ to → rightarrow → Rightarrow ⇒ ldots … dots … cdots ⋯ circ ∘ angle ∠ emptyset ∅ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ prime ' sin sin cos cos tan tan log log ln ln exp exp";
const greek =
  'alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ lambda λ mu μ nu ν xi ξ rho ρ sigma σ tau τ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Sigma Σ Phi Φ Psi Ψ Omega Ω';

/** Plain text of each sign, keyed by the command's name without the backslash. */
export const latexSigns: ReadonlyMap<string, string> = new Map([
  ...pairs(named),
  ...pairs(greek),
  ['quad', '  '],
  ['qquad', '    '],
]);

/** Plain text of LaTeX commands that are a backslash and a single character. */
export const latexEscapes: ReadonlyMap<string, string> = new Map([
  ...pairs('{ { } } % % $ $ & & # # _ _'),
  [' ', ' '],
  [',', ' '],
  [';', ' '],
  [':', ' '],
  ['\\', '\n'],
]);

function pairs(text: string): readonly (readonly [string, string])[] {
  const words = text.split(' ');
  return words.flatMap((word, index) =>
    index % 2 === 0 ? [[word, words[index + 1] ?? ''] as const] : [],
  );
}

/** Returns the bold Unicode letter that `\mathbf` shows for a plain letter. */
export const boldLetter = (letter: string): string => {
  const start = /[A-Z]/.test(letter) ? 0x1d400 - 65 : /[a-z]/.test(letter) ? 0x1d41a - 97 : 0;
  return String.fromCodePoint(start + (letter.codePointAt(0) ?? 0));
};
