/** Two versions of the same settings: every value that differs, before and after. */
import type { JSX } from 'preact';
import { inWords, namedPath } from './field-words.js';
import { say } from './language.js';
import { isValues } from './merging.js';
import { Table } from './table.js';

interface Difference {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

const shown = (value: unknown): string => inWords(value) || '–';

/** Every value that differs, by its path; a list is one value. */
function differences(before: unknown, after: unknown, path: readonly string[] = []): Difference[] {
  if (isValues(before) || isValues(after)) {
    const [old, now] = [isValues(before) ? before : {}, isValues(after) ? after : {}];
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((name) =>
      differences(old[name], now[name], [...path, name]),
    );
  }
  if (shown(before) === shown(after)) return [];
  return [{ path: namedPath(path), before: shown(before), after: shown(after) }];
}

export function Differences({
  caption,
  changes,
}: {
  readonly caption: string;
  readonly changes: readonly { readonly before: unknown; readonly after: unknown }[];
}): JSX.Element {
  const rows = changes.flatMap(({ before, after }) => differences(before, after));
  if (rows.length === 0) return <p>{say('settings.no-change')}</p>;
  return (
    <Table
      caption={caption}
      columns={[
        { name: say('found.setting'), text: ({ path }) => path },
        { name: say('proof.before'), text: ({ before }) => before },
        { name: say('proof.after'), text: ({ after }) => after },
      ]}
      rows={rows}
      keyOf={({ path }) => path}
    />
  );
}
