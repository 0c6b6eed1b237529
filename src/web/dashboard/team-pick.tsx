/** A choice among the teams that the reader may see; the address's team is always in it, even if unknown. */
import type { JSX } from 'preact';
import type { Team } from './answers.js';
import { list } from './api.js';
import { say } from './language.js';
import { useLoaded } from './loading.js';
import { Select } from './ui.js';

export function TeamPick({
  value,
  onPick,
  none = say('all'),
}: {
  readonly value: string;
  readonly onPick: (team: string) => void;
  /** The label for no team. */
  readonly none?: string;
}): JSX.Element {
  const { data } = useLoaded('team pick', (halt) => list<Team>('/v1/teams', {}, halt));
  const names = [...new Set([...(data?.items ?? []).map(({ id }) => id), ...(value === '' ? [] : [value])])].sort();
  return (
    <Select
      label={say('column.team')}
      value={value}
      options={[['', none], ...names.map((id) => [id, id] as const)]}
      onPick={onPick}
    />
  );
}
