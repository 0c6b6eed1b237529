/** A button that asks once more before an irreversible change. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Ask } from './ask.js';
import { Act } from './ui.js';

export function Sure({
  name,
  of,
  sure,
  refused,
  isBusy,
  onAct,
}: {
  readonly name: string;
  /** Which of several: read out beside the name. */
  readonly of: string;
  /** The label of the second button. */
  readonly sure: string;
  readonly refused: string | null;
  readonly isBusy: boolean;
  readonly onAct: () => void;
}): JSX.Element {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Act refused={refused} onAct={() => setAsks(true)}>
        {name}
        <span class="hidden"> {of}</span>
      </Act>
      {asks ? (
        <Ask name={`${name} ${of}`} yes={sure} isBusy={isBusy} onYes={onAct} onLeave={() => setAsks(false)} />
      ) : null}
    </>
  );
}
