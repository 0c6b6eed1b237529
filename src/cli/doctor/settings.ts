/**
 * The state of the settings by name: set, absent, missing or wrong. Never a value, not even of a setting that is not
 * secret.
 *
 * A variable that looks like ours but is unknown is reported with the setting that was probably meant: a misspelt
 * setting would otherwise have no effect.
 */
import type { Problem } from '../../core/errors.js';
import type { InstalledPart } from '../../core/installed.js';
import { attend, wrong, type Finding } from './finding.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface SettingState {
  readonly name: string;
  /** `bursar`, `provider aws`, `telemetry prometheus`, `channel slack`. */
  readonly of: string;
  /** `missing`: it is needed, and absent. */
  readonly state: 'set' | 'absent' | 'missing' | 'wrong';
}

export const titleOf = ({ kind, part }: Pick<InstalledPart, 'kind' | 'part'>): string => `${kind} ${part.name}`;

/** Every setting that is known, in the order of its owners. */
export function settingStates(
  environment: Environment,
  names: readonly string[],
  problems: readonly Problem[],
  parts: readonly InstalledPart[],
): SettingState[] {
  const stateOf = (name: string, own: readonly Problem[]): SettingState['state'] => {
    const isSet = (environment[name]?.trim() ?? '') !== '';
    if (!own.some(({ path }) => path === name)) return isSet ? 'set' : 'absent';
    return isSet ? 'wrong' : 'missing';
  };
  return [
    ...names.map((name) => ({ name, of: 'bursar', state: stateOf(name, problems) })),
    ...parts.flatMap((one) =>
      one.part.settings.map(({ name }) => ({ name, of: titleOf(one), state: stateOf(name, one.problems) })),
    ),
  ];
}

/** The problems of a part's settings, each with the setting's purpose. */
export function wrongSettings(one: InstalledPart): Finding[] {
  return one.problems.map(({ path, message }) => {
    const setting = one.part.settings.find(({ name }) => name === path);
    return wrong(
      titleOf(one),
      `${path ?? ''} ${message}`.trim(),
      setting === undefined
        ? `correct the settings of ${titleOf(one)}`
        : `correct ${setting.name}: ${setting.description}`,
    );
  });
}

/** Variables that begin as our settings do and are none of them. */
export function unknownSettings(environment: Environment, known: readonly SettingState[]): Finding[] {
  const names = known.map(({ name }) => name);
  return Object.keys(environment)
    .filter((name) => name.startsWith('BURSAR_') && !names.includes(name))
    .sort()
    .map((name) => {
      const meant = closest(name, names);
      return attend(
        'configuration',
        `${name} is not a setting`,
        meant === null ? 'remove it, or correct its name' : `is ${meant} meant?`,
      );
    });
}

/** The name that a misspelt one is nearest to; null if none is near: at most a third of its letters differ. */
export function closest(name: string, names: readonly string[]): string | null {
  const bare = (text: string): string => text.replace(/^BURSAR_/, '');
  let best: { readonly name: string; readonly distance: number } | null = null;
  for (const other of names) {
    const distance = editDistance(bare(name), bare(other));
    if (distance <= bare(name).length / 3 && (best === null || distance < best.distance))
      best = { name: other, distance };
  }
  return best?.name ?? null;
}

/** Letters to insert, delete, replace, or swap with a neighbour (Damerau 1964, "optimal string alignment"). */
function editDistance(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, n) => n)];
  const at = (row: readonly number[], n: number): number => row[n] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(before, j - 2) + 1 : Infinity;
      row.push(
        Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1), swapped),
      );
    }
    [before, last] = [last, row];
  }
  return at(last, b.length);
}
