/** A button that asks once more before an irreversible change. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { say } from './language.js';
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
  if (!asks)
    return (
      <Act refused={refused} onAct={() => setAsks(true)}>
        {name}
        <span class="hidden"> {of}</span>
      </Act>
    );
  return (
    <span class="act">
      <Act tone="danger" isBusy={isBusy} onAct={onAct}>
        {sure}
      </Act>
      <button type="button" onClick={() => setAsks(false)}>
        {say('leave')}
      </button>
    </span>
  );
}
