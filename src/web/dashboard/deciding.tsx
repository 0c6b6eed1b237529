/**
 * Several decided at once: what is chosen, what it surely saves together, and one question before anything is sent. Each
 * is decided by itself: one that the server refuses leaves the others decided, and says why.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Refusal } from './answers.js';
import { send } from './api.js';
import { code } from './format.js';
import { isKey, say } from './language.js';
import { useTask } from './loading.js';
import type { Column } from './table.js';
import { AsWritten, Problems, Said } from './ui.js';

export interface Decidable {
  readonly id: string;
  /** As people read it. */
  readonly name: string;
  /** Why it cannot be approved; null: it can. */
  readonly refused: string | null;
}

/** Why something may not be decided, in the reader's language; null: it may. */
export const reasonOf = (refusal: Refusal): string | null =>
  refusal === null ? null : isKey(`may.${refusal.code}`) ? code('may', refusal.code) : refusal.message;

/** A box for each row that can be approved; the reason where one cannot. */
export function choosing<Row>(
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

export function ApproveChosen({
  chosen,
  path,
  summary,
  onDecided,
}: {
  readonly chosen: readonly Decidable[];
  /** Of the resource: `/v1/actions`. */
  readonly path: string;
  /** What is said of all of them before they are approved. */
  readonly summary: string | null;
  readonly onDecided: () => void;
}): JSX.Element | null {
  const [asks, setAsks] = useState(false);
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const task = useTask(async (all: readonly Decidable[]) => {
    const failed: Refused[] = [];
    for (const { id, name } of all) {
      try {
        await send('POST', `${path}/${encodeURIComponent(id)}/approve`);
      } catch (trouble) {
        failed.push({ name, message: trouble instanceof Error ? trouble.message : String(trouble) });
      }
    }
    setRefused(failed);
    setAsks(false);
    onDecided();
    return say('deciding.done', { n: all.length - failed.length, all: all.length });
  });
  return (
    <>
      {chosen.length === 0 ? null : asks ? (
        <div class="ask" role="group" aria-label={say('deciding.sure', { n: chosen.length })}>
          <p>
            <strong>{say('deciding.sure', { n: chosen.length })}</strong> {summary}
          </p>
          <ul>
            {chosen.map(({ id, name }) => (
              <li key={id}>{name}</li>
            ))}
          </ul>
          <div class="buttons">
            <button type="button" class="primary" aria-disabled={task.isBusy} onClick={() => task.run(chosen)}>
              {say('deciding.do', { n: chosen.length })}
              {task.isBusy ? ' …' : ''}
            </button>
            <button type="button" onClick={() => setAsks(false)}>
              {say('leave')}
            </button>
          </div>
        </div>
      ) : (
        <div class="buttons">
          <button type="button" class="primary" onClick={() => setAsks(true)}>
            {say('deciding.approve', { n: chosen.length })}
          </button>
        </div>
      )}
      <Problems trouble={task.trouble} />
      <Said>{task.said}</Said>
      {refused.length === 0 ? null : (
        <ul class="problems" role="alert">
          {refused.map(({ name, message }) => (
            <li key={name}>
              {name}: <AsWritten>{message}</AsWritten>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
