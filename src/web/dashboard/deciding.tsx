/**
 * Decides several items at once: the chosen ones, their certain savings together, and one confirmation before anything
 * is sent. Each is decided on its own: where the server refuses one, the others stay decided and the reason is shown.
 */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Ask } from './ask.js';
import type { Refusal } from './answers.js';
import { send } from './api.js';
import { code } from './format.js';
import { inReadersWords, isKey, say } from './language.js';
import { useTask, type Loaded } from './loading.js';
import { Listing, type Column } from './table.js';
import { AsWritten, Problems, Said, Show } from './ui.js';

interface Decidable {
  readonly id: string;
  /** Its name for people. */
  readonly name: string;
  /** Why it cannot be approved; null: it can. */
  readonly refused: string | null;
}

/** Why something may not be decided, in the reader's language; null: it may. The sentence about the kill switch names it. */
export const reasonOf = (refusal: Refusal): string | null =>
  refusal === null
    ? null
    : isKey(`may.${refusal.code}`)
      ? code('may', refusal.code)
      : (inReadersWords(refusal.message) ?? refusal.message);

/** A box for each row that can be approved. */
function choosing<Row>(
  chosen: ReadonlySet<string>,
  choose: (next: ReadonlySet<string>) => void,
  decidableOf: (row: Row) => Decidable,
): Column<Row> {
  return {
    name: say('deciding.choose'),
    text: () => '',
    cell: (row) => {
      const { id, name, refused } = decidableOf(row);
      return refused === null ? (
        <input
          type="checkbox"
          aria-label={say('deciding.choose-one', { name })}
          checked={chosen.has(id)}
          onChange={({ currentTarget }) => {
            const next = new Set(chosen);
            if (currentTarget.checked) next.add(id);
            else next.delete(id);
            choose(next);
          }}
        />
      ) : null;
    },
  };
}

interface Refused {
  readonly name: string;
  readonly message: string;
}

/** Why rows cannot be approved that could be by somebody else or later, once for each reason. */
function Standing({ refusals }: { readonly refusals: readonly Refusal[] }): JSX.Element {
  const reasons = new Map<string, number>();
  for (const one of refusals) {
    const why = one !== null && ['scope', 'stopped'].includes(one.code) ? reasonOf(one) : null;
    if (why !== null) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  }
  return (
    <>
      {[...reasons].map(([why, n]) => (
        <p key={why} class="note">
          {say('deciding.refused', { n, why })}
        </p>
      ))}
    </>
  );
}

/** Items as a table in which several can be chosen and approved; an item that cannot be decided has no box. */
export function Deciding<Row extends { readonly id: string; readonly may: { readonly approve: Refusal } }>({
  loaded,
  nameOf,
  path,
  summary,
  columns,
  many,
  ...table
}: {
  readonly loaded: Loaded<{ readonly items: readonly Row[]; readonly more: boolean }>;
  readonly nameOf: (row: Row) => string;
  /** Of the resource: `/v1/actions`. */
  readonly path: string;
  /** A note about all of them before they are approved. */
  readonly summary: string | null;
  readonly columns: readonly Column<Row>[];
  /** A note where there are more than were read. */
  readonly many: string;
  readonly empty: ComponentChildren;
  readonly caption: string;
  readonly file: string;
}): JSX.Element {
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const decidableOf = (row: Row): Decidable => ({ id: row.id, name: nameOf(row), refused: reasonOf(row.may.approve) });
  return (
    <>
      <Show loaded={loaded}>
        {({ items, more }) => (
          <>
            <Standing refusals={items.map(({ may }) => may.approve)} />
            <Listing
              {...table}
              items={items}
              note={more ? many : null}
              columns={
                items.some(({ may }) => may.approve === null)
                  ? [choosing<Row>(chosen, choose, decidableOf), ...columns]
                  : columns
              }
              keyOf={({ id }) => id}
            />
          </>
        )}
      </Show>
      <ApproveChosen
        chosen={(loaded.data?.items ?? []).filter(({ id }) => chosen.has(id)).map(decidableOf)}
        path={path}
        summary={summary}
        onDecided={() => {
          choose(new Set());
          loaded.again();
        }}
      />
    </>
  );
}

/** Asks once before it approves all chosen items, one after the other, and shows which were refused. */
function ApproveChosen({
  chosen,
  path,
  summary,
  onDecided,
}: {
  readonly chosen: readonly Decidable[];
  readonly path: string;
  readonly summary: string | null;
  readonly onDecided: () => void;
}): JSX.Element {
  const [asks, setAsks] = useState(false);
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const task = useTask(async (all: readonly Decidable[]) => {
    const failed = await approveEach(all, path);
    setRefused(failed);
    setAsks(false);
    onDecided();
    return say('deciding.done', { n: all.length - failed.length, all: all.length });
  });
  return (
    <>
      {chosen.length === 0 ? null : (
        <div class="buttons">
          <button type="button" class="primary" onClick={() => setAsks(true)}>
            {say('deciding.approve', { n: chosen.length })}
          </button>
        </div>
      )}
      {chosen.length > 0 && asks ? (
        <Ask
          name={say('deciding.sure', { n: chosen.length })}
          yes={say('deciding.do', { n: chosen.length })}
          tone="primary"
          isBusy={task.isBusy}
          onYes={() => task.run(chosen)}
          onLeave={() => setAsks(false)}
        >
          <p>
            <strong>{say('deciding.sure', { n: chosen.length })}</strong> {summary}
          </p>
          <ul>
            {chosen.map(({ id, name }) => (
              <li key={id}>{name}</li>
            ))}
          </ul>
        </Ask>
      ) : null}
      <Problems trouble={task.trouble} />
      <Said>{task.said}</Said>
      <NotApproved refused={refused} />
    </>
  );
}

async function approveEach(all: readonly Decidable[], path: string): Promise<Refused[]> {
  const failed: Refused[] = [];
  for (const { id, name } of all) {
    try {
      await send('POST', `${path}/${encodeURIComponent(id)}/approve`);
    } catch (trouble) {
      failed.push({ name, message: trouble instanceof Error ? trouble.message : String(trouble) });
    }
  }
  return failed;
}

function NotApproved({ refused }: { readonly refused: readonly Refused[] }): JSX.Element | null {
  if (refused.length === 0) return null;
  return (
    <ul class="problems" role="alert">
      {refused.map(({ name, message }) => (
        <li key={name}>
          {name}: {inReadersWords(message) ?? <AsWritten>{message}</AsWritten>}
        </li>
      ))}
    </ul>
  );
}
