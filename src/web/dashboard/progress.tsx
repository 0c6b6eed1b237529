/**
 * Long work as it goes on, told by the server in events (EventSource; WHATWG HTML, "Server-sent events"). A stream that breaks is opened again by the
 * browser; one that the server ends is over.
 */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { count, words } from './format.js';

interface Load {
  readonly waiting: number;
  readonly parked: number;
  readonly stages: readonly { readonly stage: string; readonly waiting: number }[];
}

/** What the line still has to do after a change, until nothing waits. */
export function LineProgress({ onDone }: { readonly onDone: () => void }): JSX.Element {
  const [load, setLoad] = useState<Load | null>(null);
  const [most, setMost] = useState(0);
  const [end, setEnd] = useState<string | null>(null);
  useEffect(() => {
    const source = new EventSource('/v1/work/progress');
    const over = (text: string): void => {
      source.close();
      setEnd(text);
      onDone();
    };
    source.addEventListener('load', (event) => {
      const told = JSON.parse((event as MessageEvent<string>).data) as Load;
      setLoad(told);
      setMost((old) => Math.max(old, told.waiting));
    });
    source.addEventListener('done', () => over('Everything is worked in: the figures are up to date.'));
    source.addEventListener('slow', () => over('It still goes on: come back later.'));
    source.addEventListener('error', () => source.readyState === EventSource.CLOSED && over('The progress cannot be followed; the work goes on.'));
    return () => source.close();
  }, []);
  const waiting = load?.waiting ?? null;
  return (
    <div class="progress">
      {end === null && most > 0 && waiting !== null ? <progress max={most} value={most - waiting} aria-label="Work of the line that is done" /> : null}
      <p role="status" aria-live="polite">{end ?? (load === null ? 'Waiting for the line …' : `${count(load.waiting)} keys wait: ${load.stages.filter((one) => one.waiting > 0).map((one) => `${words(one.stage.replace('.', ' '))} ${count(one.waiting)}`).join(', ')}`)}</p>
      {load !== null && load.parked > 0 ? <p class="warning">{count(load.parked)} keys failed too often and are parked: see <code>bursar doctor</code>.</p> : null}
    </div>
  );
}
